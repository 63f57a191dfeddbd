"""Chooses between several recordings of one agent: each start plays the one that fits.

A client that restarts its agent has recordings of several processes. Which of them a start plays
depends on the client's first messages: all are played at once, and one that diverges where another
does not is dropped. Nothing is kept from one start to the next, so the first of several recordings
in which the client sends the same is always chosen.

What all of them send goes out, with the first one's session ids: an agent makes up a new id in
every process, so that ids alone do not distinguish recordings. What only some have sent so far, for
instance an update that came before the prompt in one recording and after it in another, is held
back while the client does not wait for it. Where they send different things, the first of those
left is chosen.
"""

import json
from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.playback.events import Command, Event, Finish, Send, WakeAt
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayState
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.divergence import DivergenceLog, Rank
from acp_proxy.playback.shared.line_rewriter import ANY_BYTES, LineRewriter
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.typed_places import Place, Span, places_of, spans, splice
from acp_proxy.protocol.vocabulary import Role
from acp_proxy.recording.steps import Wire

_BLANK = "\0"
"""A character that no line of JSON contains."""
_AWAITED = ("request", "response", "error", "batch")
"""Kinds of messages for which a client may wait."""


@define(eq=False)
class Candidate:
    """A recording that may be chosen, and its output that has not gone out."""

    replay: Replay
    """Its engine, which is fed everything that the client sends."""
    pending: deque[Send | Finish] = field(factory=deque)
    """The commands that are held back, in order."""
    names: dict[str, str] = field(factory=dict)
    """The live name of each of its sessions that went out, by its own id."""
    wake_at: int | None = None

    def feed(self, event: Event) -> None:
        """Feeds the engine, and holds back what it sends."""
        self.wake_at = None
        for command in self.replay.feed(event):
            if isinstance(command, WakeAt):
                self.wake_at = command.at
            else:
                self.pending.append(command)

    @property
    def divergence_count(self) -> int:
        """How often the client has diverged from it."""
        log = self.replay.divergences
        return log.left_out + sum(one.rank is not Rank.INFO for one in log.found)

    @property
    def can_be_held_back(self) -> bool:
        """Whether a client does not wait for anything that is pending."""
        wires = (self._wire(command) for command in self.pending)
        return all(wire is not None and wire.kind not in _AWAITED for wire in wires)

    @property
    def is_slower(self) -> bool:
        """Whether it will send something that only waits for its time."""
        state = self.replay.state
        return any(ready.due > state.schedule.now for ready in state.scheduler.ready_frames())

    def names_in(self, other: "Candidate") -> dict[str, str] | None:
        """Returns the other's names of its sessions; None if the two send different things next."""
        mine, theirs = self.pending[0], other.pending[0]
        if isinstance(mine, Finish) or isinstance(theirs, Finish):
            return {} if mine == theirs else None
        wire, their_wire = self._wire(mine), other._wire(theirs)
        if (
            wire is None
            or their_wire is None
            or (wire.kind, wire.method) != (their_wire.kind, their_wire.method)
        ):
            return {} if mine.data == theirs.data else None
        pairs = session_pairs(mine.data, theirs.data, wire.kind, wire.method)
        return None if pairs is None else self._consistent(pairs)

    def rename(self, names: dict[str, str]) -> None:
        """Gives its sessions live names, in what is pending and in what follows."""
        self.names |= names
        changed = {own: new for own, new in names.items() if own != new}
        if not changed:
            return
        for recorded, live in changed.items():
            self.replay.state.bindings.bind(Place.SESSION, recorded, live)
        rewriter = LineRewriter(Bindings(sessions=changed), rewrite_text=False)
        for place, command in enumerate(self.pending):
            wire = self._wire(command)
            if isinstance(command, Send) and wire is not None:
                line = rewriter.written(wire._replace(raw=command.data), {})
                self.pending[place] = Send(line, command.seq)

    def _consistent(self, pairs: list[tuple[str, str]]) -> dict[str, str] | None:
        """Returns new names for sessions; None if one needs two names, or two need the same."""
        names: dict[str, str] = {}
        for own, new in pairs:
            taken = {*self.names.values(), *names.values()}
            known = own if own in taken else names.get(own)
            if known is None:
                if new in taken or (own != new and not self._may_be_renamed(own, new)):
                    return None
                names[own] = new
            elif known != new:
                return None
        return names

    def _may_be_renamed(self, own: str, new: str) -> bool:
        """Whether the client did not choose the session's id, and no other session has the new one.

        The client chooses the id where it opens a recorded session, but for the copy of a fork.
        """
        state = self.replay.state
        lane = state.schedule.lanes.get(state.bindings.recorded_session(own))
        opening = lane.first if lane is not None else None
        is_chosen = opening is not None and opening.names_session and opening.method != FORK
        return not is_chosen and new not in state.schedule.lanes

    def _wire(self, command: Send | Finish) -> Wire | None:
        """The recorded frame that a command sends, if it is one."""
        if isinstance(command, Finish) or command.seq is None:
            return None
        return self.replay.state.script.wire(command.seq)


class RecordingChoice:
    """Plays the recording that fits, preferably the first; has the methods of a `Replay`."""

    def __init__(self, replays: list[Replay]) -> None:
        self._candidates = [Candidate(replay) for replay in replays]
        self.is_over = False
        """Whether nothing will be sent any more."""

    @property
    def replays(self) -> list[Replay]:
        """The recordings that may still be chosen; the first one is chosen unless it diverges."""
        return [candidate.replay for candidate in self._candidates]

    @property
    def chosen(self) -> Replay:
        """The recording that is played, or would be if the choice ended now."""
        return self._candidates[0].replay

    @property
    def state(self) -> ReplayState:
        """The state of the recording that is played."""
        return self.chosen.state

    @property
    def divergences(self) -> DivergenceLog:
        """The divergences of the recording that is played."""
        return self.chosen.divergences

    def feed(self, event: Event) -> Iterator[Command]:
        """Feeds an event and yields commands."""
        if self.is_over:
            return
        if len(self._candidates) == 1:
            yield from self.chosen.feed(event)
            self.is_over = self.chosen.is_over
            return
        for candidate in self._candidates:
            candidate.feed(event)
        fewest = min(candidate.divergence_count for candidate in self._candidates)
        self._candidates = [c for c in self._candidates if c.divergence_count == fewest]
        yield from self._send_common()

    def note_lost(self, raw: bytes, rule: str) -> None:
        """Notes that a fault dropped a line of the client.

        Args:
            raw: the line, without its newline.
            rule: the rule that dropped it.
        """
        for candidate in self._candidates:
            candidate.replay.note_lost(raw, rule)

    def _send_common(self) -> Iterator[Command]:
        """Sends what all recordings would send; with only one left, everything."""
        while True:
            first, *others = self._candidates
            self._candidates = [first, *(c for c in others if _may_both_be(first, c))]
            if not all(candidate.pending for candidate in self._candidates):
                break
            for other in self._candidates[1:]:
                other.rename(other.names_in(first) or {})
                other.pending.popleft()
            command = first.pending.popleft()
            self.is_over |= isinstance(command, Finish)
            yield command
        if not self.is_over:
            moments = [c.wake_at for c in self._candidates if c.wake_at is not None]
            yield WakeAt(min(moments, default=None))


def _may_both_be(first: Candidate, other: Candidate) -> bool:
    """Whether two recordings have sent the same so far."""
    if first.pending and other.pending:
        return other.names_in(first) is not None
    ahead, behind = (first, other) if first.pending else (other, first)
    return ahead.can_be_held_back or behind.is_slower


def session_pairs(
    one: bytes, other: bytes, kind: str, method: str | None
) -> list[tuple[str, str]] | None:
    """Pairs the session ids at the typed places of two lines; None if any other byte differs.

    Args:
        one: a line.
        other: another one.
        kind: of both messages.
        method: of both.
    """
    if one == other:
        return [(session, session) for _, session in _sessions(one, kind, method)]
    found, expected = (_sessions(line, kind, method) for line in (one, other))
    rest = splice(_text(one), [(span, _BLANK) for span, _ in found])
    if rest != splice(_text(other), [(span, _BLANK) for span, _ in expected]):
        return None
    return [(was, now) for (_, was), (_, now) in zip(found, expected, strict=True)]


def _sessions(line: bytes, kind: str, method: str | None) -> list[tuple[Span, str]]:
    """The places of a message's session ids, and the ids."""
    text = _text(line)
    found = []
    for span in spans(text, places_of(kind, method, Role.SESSION)):
        value = json.loads(text[span.start : span.end])
        if isinstance(value, str):
            found.append((span, value))
    return found


def _text(line: bytes) -> str:
    return line.decode("utf-8", ANY_BYTES)
