"""Chooses between several recordings of one agent: each start plays the recording that fits.

If a client restarts its agent, there are recordings of several processes. All recordings are played
at once, and a recording is dropped if it diverges and another recording does not. No state is kept
between starts: of several recordings with the same client messages, the first is always chosen.

Output that all recordings have in common is sent, with the session ids of the first recording.
Output is held back while only some recordings have it and the client does not wait for it. If
recordings send different output, the first remaining recording is chosen.

Session ids do not distinguish recordings, since an agent makes up new ids in every process.
"""

import json
from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.playback.events import Command, Event, Finish, Send, WakeAt
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayState
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.divergence import Rank
from acp_proxy.playback.shared.line_rewriter import ANY_BYTES, LineRewriter
from acp_proxy.protocol.dialects import FORK
from acp_proxy.protocol.typed_places import Place, Span, places_of, spans, splice
from acp_proxy.protocol.vocabulary import Role
from acp_proxy.recording.steps import Wire

_BLANK = "\0"
"""A character that no line of JSON contains."""
_AWAITED = ("request", "response", "error", "batch")
"""Kinds of messages that a client may wait for."""


@define(eq=False)
class Candidate:
    """A recording that may be chosen, and its output that was not sent yet."""

    replay: Replay
    """The engine of the recording, which gets everything that the client sends."""
    pending: deque[Send | Finish] = field(factory=deque)
    """The commands that are held back, in order."""
    names: dict[str, str] = field(factory=dict)
    """For each recorded session whose id was sent to the client: the live id, by recorded id."""
    wake_at: int | None = None

    def feed(self, event: Event) -> None:
        """Feeds an event to the engine, and holds back the engine's output."""
        self.wake_at = None
        for command in self.replay.feed(event):
            if isinstance(command, WakeAt):
                self.wake_at = command.at
            else:
                self.pending.append(command)

    @property
    def divergence_count(self) -> int:
        """How often the client has diverged from the recording."""
        log = self.replay.state.divergences
        return log.left_out + sum(entry.rank is not Rank.INFO for entry in log.found)

    @property
    def can_be_held_back(self) -> bool:
        """Whether all pending output may wait, since the client needs none of it to continue."""
        wires = (self._wire(command) for command in self.pending)
        return all(wire is not None and wire.kind not in _AWAITED for wire in wires)

    @property
    def is_slower(self) -> bool:
        """Whether the recording has output that waits for its time and for nothing else."""
        state = self.replay.state
        return any(ready.due > state.schedule.now for ready in state.scheduler.ready_frames())

    def names_in(self, other: "Candidate") -> dict[str, str] | None:
        """Finds the session ids to replace so that the next output equals another recording's.

        Returns:
            The ids of the other recording, by the ids of this recording; None if the outputs also
            differ elsewhere, or if an id cannot be replaced.
        """
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
        """Replaces ids of the recording's sessions by live ids, in pending and later output.

        Args:
            names: the live ids, by recorded id.
        """
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
        """Maps session ids to new ids; None if two ids would become equal, or one cannot change."""
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
        """Whether the new id of a session may replace the session's own id.

        The new id must not be the id of a recorded session, and the client must not have chosen the
        own id. The client has chosen the own id if it opened the session by that id; the agent
        chooses the id of a fork.
        """
        state = self.replay.state
        lane = state.schedule.lanes.get(state.bindings.recorded_session(own))
        opening = lane.first if lane is not None else None
        is_chosen = opening is not None and opening.names_session and opening.method != FORK
        return not is_chosen and new not in state.schedule.lanes

    def _wire(self, command: Send | Finish) -> Wire | None:
        """Returns the recorded frame that a command sends, if any."""
        if isinstance(command, Finish) or command.seq is None:
            return None
        return self.replay.state.script.wire(command.seq)


class RecordingChoice:
    """Plays the recording that fits, preferably the first; has the methods of a `Replay`."""

    def __init__(self, replays: list[Replay]) -> None:
        self._candidates = [Candidate(replay) for replay in replays]
        self.is_over = False
        """Whether the output is over."""

    @property
    def replays(self) -> list[Replay]:
        """The recordings that may still be chosen. The first is chosen if it does not diverge."""
        return [candidate.replay for candidate in self._candidates]

    @property
    def chosen(self) -> Replay:
        """The recording that is played, or that would be chosen now."""
        return self._candidates[0].replay

    @property
    def state(self) -> ReplayState:
        """The state of the recording that is played."""
        return self.chosen.state

    def feed(self, event: Event) -> Iterator[Command]:
        """Processes an event and yields commands; take all commands before the next event."""
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
            rule: the rule that dropped the line.
        """
        for candidate in self._candidates:
            candidate.replay.note_lost(raw, rule)

    def _send_common(self) -> Iterator[Command]:
        """Sends the output common to all recordings; all output if only one recording is left."""
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
    """Whether the output of two recordings is so similar that both may still fit."""
    if first.pending and other.pending:
        return other.names_in(first) is not None
    ahead, behind = (first, other) if first.pending else (other, first)
    return ahead.can_be_held_back or behind.is_slower


def session_pairs(
    line: bytes, other: bytes, kind: str, method: str | None
) -> list[tuple[str, str]] | None:
    """Pairs the session ids at equal places of two lines; None if the lines differ elsewhere.

    Args:
        line: a line.
        other: another line.
        kind: the kind of both messages.
        method: the method of both messages.
    """
    if line == other:
        return [(session, session) for _, session in _sessions(line, kind, method)]
    ids, expected = (_sessions(each, kind, method) for each in (line, other))
    rest = splice(_text(line), [(span, _BLANK) for span, _ in ids])
    if rest != splice(_text(other), [(span, _BLANK) for span, _ in expected]):
        return None
    return [(was, now) for (_, was), (_, now) in zip(ids, expected, strict=True)]


def _sessions(line: bytes, kind: str, method: str | None) -> list[tuple[Span, str]]:
    """Returns the session ids in a message, each with its place."""
    text = _text(line)
    ids = []
    for span in spans(text, places_of(kind, method, Role.SESSION)):
        value = json.loads(text[span.start : span.end])
        if isinstance(value, str):
            ids.append((span, value))
    return ids


def _text(line: bytes) -> str:
    return line.decode("utf-8", ANY_BYTES)
