"""Finds the recorded message that a live message matches, and near misses.

Candidates are the unplayed messages of the lane. The match is the first of:

- a recorded message that equals the live message;
- a recorded message that becomes equal when a directory or terminal of the client is bound.

A message that is only similar never matches. In the part of the recording that was not read yet,
messages are looked up by method.

Two sessions are interchangeable if equal requests created them and equal messages have come in
both. If a message matches in an interchangeable session and not in its own, the two sessions are
swapped.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from attrs import define, frozen

from acp_proxy.base.limits import CANDIDATES, NAMED
from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.replay.replay_state import SESSION_ID, ClientMessage, ReplayState
from acp_proxy.playback.shared.comparison import Comparison
from acp_proxy.playback.shared.divergence import NearMiss
from acp_proxy.protocol.dialects import OPENING
from acp_proxy.recording.steps import Step


@frozen
class MessageMatch:
    """A recorded message that a live message matches, and the comparison of the two messages."""

    step: Step
    comparison: Comparison


@define(eq=False)
class MessageMatcher:
    """Finds the recorded messages that live requests and notifications match."""

    _state: ReplayState

    def lane_of(self, session: str | None) -> Lane:
        """Returns the lane of a live session; the connection's lane for an unrecorded session."""
        return self._state.schedule.lane_of(self._state.bindings.recorded_session(session))

    def find(self, live: ClientMessage) -> MessageMatch | None:
        """Finds the recorded message that a live message matches; may swap two sessions.

        If nothing matches fully, the match may conflict with values that the client chose earlier.
        """
        if (match := self._best(self._candidates(live), live)) is not None:
            return match
        lane = self.lane_of(live.message.session)
        sibling = self._find_sibling(lane, live)
        if sibling is None or lane.name is None or sibling.name is None:
            return None
        self._state.bindings.swap_sessions(lane.name, sibling.name)
        return self._best(self._candidates(live), live)

    def find_played(self, live: ClientMessage) -> Step | None:
        """Finds the latest recorded message that was already matched and equals a live message."""
        for step in _same_kind(reversed(self._played(live)), live):
            if self._state.comparer.compare(step, live).is_match:
                return step
        return None

    def near_misses(self, live: ClientMessage) -> tuple[NearMiss, ...]:
        """Finds recorded messages of the same method: the awaited message, then similar messages.

        Unplayed messages come before played messages.
        """
        awaited = self.lane_of(live.message.session).first_missing
        expected = None if awaited is None else awaited.seq
        unplayed = islice(self._candidates(live), CANDIDATES)
        played = _same_kind(self._played(live), live)
        misses = [
            *(self._near_miss(step, live, is_played=False) for step in unplayed),
            *(self._near_miss(step, live, is_played=True) for step in played),
        ]
        misses.sort(key=lambda m: (m.is_played, m.seq != expected, len(m.differences), m.seq))
        return tuple(misses[:NAMED])

    def _best(
        self, candidates: Iterable[Step], live: ClientMessage, without: str | None = None
    ) -> MessageMatch | None:
        """Finds the best match. Differences at the JSON pointer ``without`` do not count."""
        bindable = conflicting = None
        for step in candidates:
            comparison = self._state.comparer.compare(step, live)
            if without is not None:
                comparison = comparison.without(without)
            if comparison.is_equal:
                return MessageMatch(step, comparison)
            if comparison.is_match:
                bindable = bindable or MessageMatch(step, comparison)
            elif not comparison.differences:
                conflicting = conflicting or MessageMatch(step, comparison)
        return bindable or conflicting

    def _near_miss(self, step: Step, live: ClientMessage, *, is_played: bool) -> NearMiss:
        differences = self._state.comparer.compare(step, live).all_differences
        return NearMiss(step.seq, step.method or step.kind, differences, is_played)

    def _candidates(self, live: ClientMessage) -> Iterator[Step]:
        message = live.message
        if _is_of_any_lane(live):
            known = self._state.schedule.expected_like(message.kind, message.method)
            yield from _same_kind(known, live)
        elif not (lane := self.lane_of(message.session)).abandoned:
            yield from _same_kind(lane.expected, live)
        if self._state.schedule.is_whole:
            return
        recorded = self._state.bindings.recorded_session(message.session)
        later = self._state.script.later(message.method, message.kind, self._state.schedule.horizon)
        for step in _same_kind(later, live):
            if _is_of_any_lane(live) or step.session == recorded:
                yield step

    def _lanes(self, live: ClientMessage) -> list[Lane]:
        """Returns the lanes that a message may belong to."""
        if _is_of_any_lane(live):
            return list(self._state.schedule.lanes.values())
        return [self.lane_of(live.message.session)]

    def _played(self, live: ClientMessage) -> list[Step]:
        """Returns the most recently matched messages of the recording, in recorded order.

        Only the lanes that the live message could belong to are searched.
        """
        played = (step for lane in self._lanes(live) for step in [*lane.played][-CANDIDATES:])
        return sorted(played, key=lambda step: step.key)

    def _find_sibling(self, lane: Lane, live: ClientMessage) -> Lane | None:
        """Finds a lane that expects the live message and can be swapped with the message's lane."""
        if lane.name != self._state.bindings.recorded_session(live.message.session):
            return None  # a session without its own lane
        if lane.name is None or lane.abandoned or lane.messages == 0:
            return None
        for other in self._state.schedule.live_lanes:
            if other is lane or other.name is None or not self._are_alike(lane, other):
                continue
            match = self._best(_same_kind(other.expected, live), live, without=SESSION_ID)
            if match is not None:
                return other if match.comparison.is_match else None
        return None

    def _are_alike(self, lane: Lane, other: Lane) -> bool:
        """Whether equal messages came in both lanes."""
        if lane.messages != other.messages or lane.messages != len(lane.played):
            return False
        pairs = zip(lane.played, other.played, strict=True)
        return all(self._state.comparer.are_alike(*pair) for pair in pairs)


def _is_of_any_lane(live: ClientMessage) -> bool:
    return live.message.session is None or live.message.method in OPENING


def _same_kind(steps: Iterable[Step], live: ClientMessage) -> Iterator[Step]:
    """Yields the steps that have the kind and the method of a live message.

    If the message names a session, all yielded steps name a session, which may be another one.
    Otherwise, no yielded step names a session.
    """
    kind, method = live.message.kind, live.message.method
    names_session = live.message.session is not None
    for step in steps:
        if step.kind == kind and step.method == method and step.names_session == names_session:
            yield step
