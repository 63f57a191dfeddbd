"""Finds the recorded message that a live one matches, or those that it nearly matches.

Candidates are the unplayed messages of the lane. Exact equality wins, the first recorded among
equals; then one that is equal once a directory or terminal of the client is bound. There is no
best guess. What lies beyond the part of the recording that is read is looked up by method.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from attrs import frozen

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.message_comparison import (
    SESSION_ID,
    ClientMessage,
    MessageComparer,
)
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import NearMiss
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.dialects import OPENING

_NEAR = 3
"""Near misses that a divergence names."""
_COMPARED = 50
"""How many recorded messages are compared to find them."""


@frozen
class MessageMatch:
    """The recorded message that a live one matches, perhaps but for values in conflict."""

    step: Step
    comparison: Comparison


class MessageMatcher:
    """Finds the recorded messages that live requests and notifications match.

    Args:
        state: the state of the replay.
        comparer: compares two messages.
    """

    def __init__(self, state: ReplayState, comparer: MessageComparer) -> None:
        self._script = state.script
        self._schedule = state.schedule
        self._bindings = state.bindings
        self._comparer = comparer

    def lane_of(self, session: str | None) -> Lane:
        """Returns the lane of a live session; the connection's for one that was not recorded."""
        recorded = self._bindings.recorded_session(session)
        return self._schedule.lanes.get(recorded) or self._schedule.lanes[None]

    def find(self, live: ClientMessage, lane: Lane | None = None) -> MessageMatch | None:
        """Finds the recorded request or notification that a live one matches.

        Args:
            live: the live message.
            lane: the only lane to look in, whatever the message's session; None for those
                where it can be.

        Returns:
            the match; with conflicts, if it would be one but for what the client chose before.
        """
        bindable = conflicting = None
        for step in self._candidates(live, lane):
            comparison = self._comparer.compare(step, live)
            if lane is not None:
                comparison = comparison.without(SESSION_ID)
            if comparison.is_equal:
                return MessageMatch(step, comparison)
            if comparison.is_match:
                bindable = bindable or MessageMatch(step, comparison)
            elif not comparison.differences:
                conflicting = conflicting or MessageMatch(step, comparison)
        return bindable or conflicting

    def find_played(self, live: ClientMessage) -> Step | None:
        """Finds an equal message that was used up already, the latest one first."""
        for step in _same_kind(reversed(self._played(live)), live):
            if self._comparer.compare(step, live).is_match:
                return step
        return None

    def near_misses(self, live: ClientMessage) -> tuple[NearMiss, ...]:
        """Finds recorded messages of the same method: the awaited one, then the most alike.

        Those that are not played yet come before those that are.
        """
        awaited = self.lane_of(live.message.session).awaited
        expected = None if awaited is None else awaited.seq
        unplayed = islice(self._candidates(live, None), _COMPARED)
        played = _same_kind(self._played(live), live)
        misses = [
            *(self._near_miss(step, live, is_played=False) for step in unplayed),
            *(self._near_miss(step, live, is_played=True) for step in played),
        ]
        misses.sort(key=lambda m: (m.is_played, m.seq != expected, len(m.differences), m.seq))
        return tuple(misses[:_NEAR])

    def _near_miss(self, step: Step, live: ClientMessage, *, is_played: bool) -> NearMiss:
        comparison = self._comparer.compare(step, live)
        differences = (*comparison.differences, *comparison.conflicts)
        return NearMiss(step.seq, step.method or step.kind, differences, is_played)

    def _candidates(self, live: ClientMessage, lane: Lane | None) -> Iterator[Step]:
        message = live.message
        if lane is not None:
            yield from _same_kind(list(lane.expected), live)
            return
        anywhere, lanes = self._lanes(live)
        known = [
            step for one in lanes if not one.abandoned for step in _same_kind(one.expected, live)
        ]
        yield from sorted(known, key=lambda step: step.key)
        if self._schedule.is_whole:
            return
        recorded = self._bindings.recorded_session(message.session)
        later = self._script.later(message.method, message.kind, self._schedule.horizon)
        for step in _same_kind(later, live):
            if anywhere or step.session == recorded:
                yield step

    def _lanes(self, live: ClientMessage) -> tuple[bool, list[Lane]]:
        """Whether a message may be of any lane, and those that it may be of."""
        if live.message.session is None or live.message.method in OPENING:
            return True, list(self._schedule.lanes.values())
        return False, [self.lane_of(live.message.session)]

    def _played(self, live: ClientMessage) -> list[Step]:
        """The messages that were played last and that a message may be once more."""
        _, lanes = self._lanes(live)
        played = (step for one in lanes for step in [*one.played][-_COMPARED:])
        return sorted(played, key=lambda step: step.key)


def _same_kind(steps: Iterable[Step], live: ClientMessage) -> Iterator[Step]:
    """Yields the steps of a live message's kind and method that name a session if it does."""
    kind, method = live.message.kind, live.message.method
    names_session = live.message.session is not None
    for step in steps:
        if step.kind == kind and step.method == method and step.names_session == names_session:
            yield step
