"""Finds the recorded message that a live one is, or says why there is none.

Candidates are the unplayed messages of the lane. Exact equality wins, the first recorded among
equals; then one that is equal once a directory or terminal of the client's is bound. There is no
best guess. What lies beyond the part of the recording that is unrolled is looked up by method.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from attrs import define, frozen

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.outcomes import Outcome, outcome
from acp_proxy.engine.agent.schedule import ReplaySchedule
from acp_proxy.engine.agent.sender import OpenAsk
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparer, Comparison, Difference, shown
from acp_proxy.engine.shared.divergence import NearMiss
from acp_proxy.engine.shared.steps import FORK, Step
from acp_proxy.protocol.dialects import OPENING
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.splice import Place
from acp_proxy.protocol.typed_places import places_of

_SESSION_ID = "/params/sessionId"
_NEAR = 3
_LOOKED_AT = 50
"""How many recorded messages are compared to find those that are near."""


@define
class Heard:
    """A line of the client's, or a member of a batch."""

    message: Message
    raw: bytes
    line: int
    """Its number, counted from 1."""
    at: int
    value: Any = None
    """Decoded."""


@frozen
class Found:
    """The recorded message that a live one is."""

    step: Step
    comparison: Comparison


class Listener:
    """Compares what the client says with what was recorded.

    Args:
        story: the recording.
        bindings: what recorded values are called now.
        ignored: JSON pointers that do not count.
    """

    def __init__(
        self, schedule: ReplaySchedule, bindings: Bindings, ignored: tuple[str, ...]
    ) -> None:
        self._schedule = schedule
        self._bindings = bindings
        self._ignored = ignored
        self._comparer = Comparer(bindings, ignored)

    def lane_of(self, session: str | None) -> Lane:
        """The lane of a live session; the connection's for one that was never recorded."""
        recorded = self.recorded_session(session)
        return self._schedule.lanes.get(recorded) or self._schedule.lanes[None]

    def recorded_session(self, session: str | None) -> str | None:
        """What a live session was called in the recording."""
        for old, new in self._bindings.sessions.items():
            if new == session:
                return old
        return session

    def find(self, heard: Heard, lane: Lane | None = None) -> Found | None:
        """Finds the recorded request or notification that a live one is.

        Args:
            heard: what came.
            lane: the only lane to look in, whatever the message's session; None for those
                where it can be.

        Returns:
            the pair; with conflicts, if it would be one but for what the client chose before.
        """
        bindable = conflicting = None
        for step in self._candidates(heard, lane):
            comparison = self.compare(step, heard)
            if lane is not None:
                comparison.differences = _but_session(comparison)
            if comparison.is_equal:
                return Found(step, comparison)
            if comparison.is_match:
                bindable = bindable or Found(step, comparison)
            elif not comparison.differences:
                conflicting = conflicting or Found(step, comparison)
        return bindable or conflicting

    def find_played(self, heard: Heard) -> Step | None:
        """Finds an equal message that was used up already, the latest one first."""
        for step in self._same_kind(reversed(self._played(heard)), heard):
            if self.compare(step, heard).is_match:
                return step
        return None

    def find_sibling(self, heard: Heard) -> Lane | None:
        """Finds a lane that is interchangeable with the message's and does have the message.

        Sessions made by equal requests are interchangeable while the same was said in both.
        """
        lane = self.lane_of(heard.message.session)
        if lane.name is None or lane.abandoned or lane.messages == 0:
            return None
        for other in list(self._schedule.lanes.values()):
            if other is lane or other.name is None or other.abandoned:
                continue
            if self._are_alike(lane, other) and (found := self.find(heard, other)):
                return other if found.comparison.is_match else None
        return None

    def near_misses(self, heard: Heard) -> tuple[NearMiss, ...]:
        """Recorded messages of the same method: the one that was awaited, then the most alike.

        Those that are not played yet come before those that are.
        """
        awaited = self.lane_of(heard.message.session).awaited
        expected = None if awaited is None else awaited.seq
        misses = []
        unplayed = [*islice(self._candidates(heard, None), _LOOKED_AT)]
        played = [*self._same_kind(self._played(heard), heard)]
        for step in [*unplayed, *played]:
            comparison = self.compare(step, heard)
            differences = (*comparison.differences, *comparison.conflicts)
            method = step.method or step.kind
            misses.append(NearMiss(step.seq, method, differences, step in played))
        misses.sort(
            key=lambda m: (m.is_played, m.seq != expected, len(m.differences), m.seq),
        )
        return tuple(misses[:_NEAR])

    def compare(self, step: Step, heard: Heard) -> Comparison:
        """Compares a recorded message with a live one."""
        recorded = self.value(step)
        if step.kind in ("invalid", "blank") or recorded is None or heard.value is None:
            line = self._raw(step)
            texts = (shown(raw.decode(errors="replace")) for raw in (line, heard.raw))
            return Comparison([] if line == heard.raw else [Difference("", *texts)])
        places = places_of(step.kind, step.method)
        if step.is_reply:
            places = places_of("response", step.method)
            return self._comparer.results(recorded, heard.value, places)
        comparison = self._comparer.params(step.method, recorded, heard.value, places)
        if step.method in OPENING and step.names_session and step.method != FORK:
            old, new = step.session or "", heard.message.session or ""
            comparison.differences = _but_session(comparison)
            if self._bindings.live(Place.SESSION, old) != new:
                comparison.proposals.append((Place.SESSION, old, new))
        return comparison

    def outcomes(self, opened: OpenAsk, step: Step, heard: Heard) -> tuple[Outcome, Outcome]:
        """Classifies the recorded reply to a request of the agent's, and the live one."""
        method, request = opened.ask.method, self._asked(opened)
        return (
            outcome(method, request, self.value(step)),
            outcome(method, request, heard.value),
        )

    def terminal_of(self, opened: OpenAsk) -> str:
        """The recorded terminal that a request of the agent's is about."""
        params = self._asked(opened).get("params")
        return str(params.get("terminalId")) if isinstance(params, dict) else ""

    def _asked(self, opened: OpenAsk) -> dict[str, Any]:
        """A request of the agent's, decoded; of a batch, the member with its id."""
        line = self._schedule.script.wire(opened.step.seq).raw
        message = read(line)
        if message.kind is Kind.BATCH:
            wanted = (Kind.REQUEST, opened.ask.rpc_id)
            parts = (m.raw or b"" for m in message.members if (m.kind, m.rpc_id) == wanted)
            line = next(parts, b"")
        value = json_or_none(line)
        return value if isinstance(value, dict) else {}

    def value(self, step: Step) -> Any:
        """A recorded message, decoded."""
        return json_or_none(self._raw(step))

    def _raw(self, step: Step) -> bytes:
        raw = self._schedule.script.wire(step.seq).raw
        return raw if step.member is None else read(raw).members[step.member].raw or b""

    def _candidates(self, heard: Heard, lane: Lane | None) -> Iterator[Step]:
        message = heard.message
        if lane is not None:
            yield from self._same_kind(list(lane.expected), heard)
            return
        anywhere, lanes = self._lanes(heard)
        known = [
            step
            for one in lanes
            if not one.abandoned
            for step in self._same_kind(one.expected, heard)
        ]
        yield from sorted(known, key=lambda step: step.key)
        if self._schedule.is_whole:
            return
        recorded = self.recorded_session(message.session)
        later = self._schedule.script.later(message.method, message.kind, self._schedule.horizon)
        for step in self._same_kind(later, heard):
            if anywhere or step.session == recorded:
                yield step

    def _lanes(self, heard: Heard) -> tuple[bool, list[Lane]]:
        """Whether a message may be of any lane, and those that it may be of."""
        if heard.message.session is None or heard.message.method in OPENING:
            return True, list(self._schedule.lanes.values())
        return False, [self.lane_of(heard.message.session)]

    def _played(self, heard: Heard) -> list[Step]:
        """The messages that were played last and that a message may be once more."""
        _, lanes = self._lanes(heard)
        played = (step for one in lanes for step in [*one.played][-_LOOKED_AT:])
        return sorted(played, key=lambda step: step.key)

    def _same_kind(self, steps: Any, heard: Heard) -> Iterator[Step]:
        kind, method = heard.message.kind, heard.message.method
        names_session = heard.message.session is not None
        for step in steps:
            if step.kind == kind and step.method == method and step.names_session == names_session:
                yield step

    def _are_alike(self, lane: Lane, other: Lane) -> bool:
        """Whether all that the client has said in one lane, it has said in the other."""
        if lane.messages != other.messages or lane.messages != len(lane.played):
            return False
        comparer = Comparer(Bindings(), self._ignored)
        pairs = zip(lane.played, other.played, strict=True)
        return all(self._is_alike(comparer, one, two) for one, two in pairs)

    def _is_alike(self, comparer: Comparer, one: Step, two: Step) -> bool:
        if (one.kind, one.method) != (two.kind, two.method):
            return False
        old, new = self.value(one), self.value(two)
        if one.is_reply:
            return comparer.results(old, new, places_of("response", one.method)).is_match
        found = comparer.params(one.method, old, new, places_of(one.kind, one.method))
        return not _but_session(found)


def _but_session(comparison: Comparison) -> list[Difference]:
    """The differences of two messages that need not be of one session."""
    return [one for one in comparison.differences if one.pointer != _SESSION_ID]
