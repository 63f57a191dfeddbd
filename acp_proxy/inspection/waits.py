"""Follows who waits for whom in each session, and finds the silences that are hangs.

An open request is no fault by itself. A person may think for an hour over a permission, a program
may run for a day; silence counts only where a peer had to answer and nothing else held it up.

`WaitTracker` is pure and incremental. It takes the transitions of a connection in their order, and
knows at any time who has to act in each session, and on the connection for what names no session.

- The agent has to act while a turn or a request of the client is open. It is held up, and is not
  blamed, while the client has any request of its own to answer there, be it with a file or with a
  person's choice, while a terminal of the turn runs, and while the client does not read.
- The client has to act while a request is open that waits neither for a person nor for the end of a
  program, and while the agent reads. A permission no longer waits for a person once the client has
  cancelled the turn: then the client has to answer it.
- A request that names no session holds up every session, since any of them may wait for it.

A *silence* is a stretch in which a peer had to act in a session and sent nothing there. Time comes
with each call; the tracker knows no clock and no payload. Which requests, turns and terminals are
open is known by the state machine of the connection.
"""

import heapq
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from attrs import define, evolve, field, frozen

from acp_proxy.limits import SHORT_LIST
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Exchange, Transition
from acp_proxy.protocol.dialects import CANCEL, LOGIN, PERMISSION
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import FrameRun, RecordedEvent

_PERSON = {PERMISSION, "elicitation/create", *LOGIN}
_PROGRAM = {"terminal/wait_for_exit"}
_TERMINAL_ENDS = ("terminal/wait_for_exit", "terminal/kill", "terminal/release")


class Party(StrEnum):
    """Who has to act before an open request is answered."""

    PERSON = "person"
    PROGRAM = "program"
    CLIENT = "client"
    AGENT = "agent"


LONG_NS = {Party.AGENT: 60 * 10**9, Party.CLIENT: 10 * 10**9}
"""A longer silence of a peer is a hang: a model may think, but a client only reads a file."""


def answering_party(direction: str, method: str | None) -> Party:
    """Returns who has to act on a request: its receiver, or a person or program that it waits for.

    Args:
        direction: the direction of the request.
        method: the method of the request.
    """
    if method in _PERSON:
        return Party.PERSON
    if method in _PROGRAM:
        return Party.PROGRAM
    return Party.AGENT if direction == "to-agent" else Party.CLIENT


@frozen
class PendingRequest:
    """A request without an answer so far, or a turn without an end."""

    seq: int
    """The frame of the request, or of the prompt."""
    t_ns: int
    direction: str
    """Of that frame."""
    method: str | None
    session: str | None
    turn: int | None
    """Set for a turn, and for a request within one."""
    awaited: Party


@frozen
class Silence:
    """A stretch in which a peer had to act and sent nothing."""

    # The names in JSON are a contract with programs (docs/json.md).
    party: Party = field(metadata={"json": "debtor"})
    """The agent or the client."""
    request: PendingRequest = field(metadata={"json": "owed"})
    from_seq: int
    """The frame or event from which on it had to act, or the last frame that it sent."""
    to_seq: int | None
    """The frame with which it went on, or the event from which on it was held up; None if it never
    went on."""
    t_ns: int
    """When it began."""
    length_ns: int

    @property
    def is_long(self) -> bool:
        """Whether it is a hang."""
        return self.length_ns >= LONG_NS[self.party]


@frozen
class OpenWait:
    """An open request, how long it has waited, and how long the peer that has to act was silent."""

    request: PendingRequest
    waited_ns: int
    last_seq: int | None = None
    """The last frame from the peer that has to act; the request's own, if none came. None where no
    peer is to blame, or another request comes first."""
    silent_ns: int | None = None
    """How long ago that was."""

    @property
    def is_streaming(self) -> bool:
        """Whether anything came since the request."""
        return self.last_seq is not None and self.last_seq > self.request.seq

    @property
    def is_hang(self) -> bool:
        """Whether a peer has to act and has been silent for too long."""
        limit = LONG_NS.get(self.request.awaited)
        return self.silent_ns is not None and limit is not None and self.silent_ns >= limit


@define
class SilenceLog:
    """Keeps the longest silence, and the longest of those that were hangs."""

    longest: Silence | None = None
    long_count: int = 0
    """How many silences were hangs."""
    _long: list[tuple[int, int, Silence]] = field(factory=list)

    @property
    def long(self) -> list[Silence]:
        """The longest of the silences that were hangs, in their order."""
        return sorted((silence for _, _, silence in self._long), key=lambda s: s.t_ns)

    def add(self, silence: Silence) -> None:
        """Keeps a silence if it is a hang or the longest so far."""
        if self.longest is None or silence.length_ns > self.longest.length_ns:
            self.longest = silence
        if silence.is_long:
            self.long_count += 1
            heapq.heappush(self._long, (silence.length_ns, self.long_count, silence))
            if len(self._long) > SHORT_LIST:
                heapq.heappop(self._long)


class _Moment(NamedTuple):
    t_ns: int
    seq: int
    """The frame or event at that time."""


@define(eq=False)
class _SessionWaits:
    """What is open in a session, or on the connection."""

    name: str | None = None
    pending: dict[object, PendingRequest] = field(factory=dict)
    counts: Counter[tuple[str, Party]] = field(factory=Counter)
    """How many requests and turns are open, by direction and by who has to act."""
    asked: int = 0
    """How many requests of the agent are open."""
    terminals: set[str] = field(factory=set)
    """The terminals that run."""
    silent: dict[Party, _Moment] = field(factory=dict)
    """The peers that have to act, and since when."""

    @property
    def is_held_up(self) -> bool:
        return bool(self.terminals) or self.asked > 0

    def add(self, key: object, request: PendingRequest) -> None:
        self.pending[key] = request
        self.counts[request.direction, request.awaited] += 1
        self.asked += request.direction == Direction.TO_CLIENT

    def remove(self, key: object) -> None:
        if (request := self.pending.pop(key, None)) is not None:
            self.counts[request.direction, request.awaited] -= 1
            self.asked -= request.direction == Direction.TO_CLIENT

    def oldest(self, party: Party) -> PendingRequest | None:
        return next((r for r in self.pending.values() if r.awaited is party), None)


class WaitTracker:
    """Tracks who has to act in each session, and how long that peer has been silent.

    Args:
        connection: the state machine whose transitions are fed.
    """

    def __init__(self, connection: Connection) -> None:
        self.silences = SilenceLog()
        """The silences that have ended so far."""
        self._terminals = connection.state.terminals
        self._connection = _SessionWaits()
        self._holds_up = False
        """Whether the agent was held up by the connection when all sessions were settled."""
        self._sessions: dict[str | None, _SessionWaits] = {None: self._connection}
        self._waits_of: dict[object, _SessionWaits] = {}
        self._absent: dict[Party, set[str]] = {Party.AGENT: set(), Party.CLIENT: set()}

    def feed(self, run: FrameRun, message: Message, done: Transition) -> None:
        """Takes the next message; a batch comes as its members, one after the other.

        Args:
            run: the frame of the message, or the run of frames that it begins.
            message: the message.
            done: the transitions that the message has caused.
        """
        now = _Moment(run.t_ns, run.seq)
        waits: _SessionWaits | None
        match message.kind:
            case Kind.NOTIFICATION:
                if (waits := self._sessions.get(done.session)) is not None:
                    self._end_silence(waits, run.stream, now)
                    if message.method == CANCEL and run.stream == Direction.TO_AGENT:
                        self._cancel(waits, now)
            case Kind.REQUEST if done.opened is not None:
                waits = self._of(done.session)
                self._end_silence(waits, run.stream, now)
                self._add(waits, done.opened, done)
                self._settle(waits, now)
            case Kind.RESPONSE | Kind.ERROR:
                waits = self._waits_of.pop(done.exchange, None)
                if waits is None:  # of a prompt, or of nothing
                    waits = self._of(done.session)
                self._end_silence(waits, run.stream, now)
                waits.remove(done.exchange)
                self._follow_terminal(waits, message, done)
                self._settle(waits, now)
        for turn in done.ended:
            if (waits := self._waits_of.pop(("turn", turn.id), None)) is not None:
                waits.remove(("turn", turn.id))
                waits.terminals.clear()
                self._settle(waits, now)
        waits = self._sessions.get(done.session) if run.last_seq != run.seq else None
        if waits is not None and Party.AGENT in waits.silent:  # it went on without a pause
            waits.silent[Party.AGENT] = _Moment(run.last_ns, run.last_seq)

    def note(self, event: RecordedEvent) -> None:
        """Takes an event: a peer that leaves, stops reading or reads again."""
        now, stream = _Moment(event.t_ns, event.seq), event.data.get("stream")
        match event.kind:
            case "exit":
                self._leave(Party.AGENT, now)
            case "eof" if stream in tuple(Direction):
                self._leave(_sender(stream), now)
            case "note" if isinstance(stream, str):
                absent = self._absent[_sender(stream)]
                match event.data.get("action"):
                    case "stalled":  # who sends while nobody reads is not to blame
                        absent.add(stream)
                    case "resumed":
                        absent.discard(stream)
                self._settle_all(now)

    def open(self, t_ns: int) -> list[OpenWait]:
        """Returns all open requests and turns at a given time, oldest first."""
        found = [wait for waits in self._sessions.values() for wait in _open_waits(waits, t_ns)]
        return sorted(found, key=lambda wait: wait.request.seq)

    def finish(self, t_ns: int) -> None:
        """Ends the silences that still last; nothing may be fed afterwards."""
        for waits in self._sessions.values():
            for party in LONG_NS:
                self._record(waits, party, None, t_ns)
            waits.silent.clear()

    def _of(self, session: str | None) -> _SessionWaits:
        return self._sessions.setdefault(session, _SessionWaits(session))

    def _leave(self, peer: Party, now: _Moment) -> None:
        """Notes that a peer has ended its output, and will answer nothing more."""
        self._absent[peer].add("gone")
        if peer is Party.CLIENT:  # and its terminals with it
            for waits in self._sessions.values():
                waits.terminals.clear()
        self._settle_all(now)

    def _add(self, waits: _SessionWaits, exchange: Exchange, done: Transition) -> None:
        # In v2 the answer to a prompt only accepts it, so that the turn counts, not the answer.
        key: object = exchange.id if done.begun is None else ("turn", done.begun.id)
        request = PendingRequest(
            exchange.request_seq, exchange.request_ns, exchange.direction, exchange.method,
            exchange.session, exchange.turn, answering_party(exchange.direction, exchange.method),
        )  # fmt: skip
        waits.add(key, request)
        self._waits_of[key] = waits

    def _follow_terminal(self, waits: _SessionWaits, message: Message, done: Transition) -> None:
        if done.terminal is None:
            return
        if done.method == "terminal/create":
            if message.kind is Kind.RESPONSE:
                waits.terminals.add(done.terminal)
            return
        known = self._terminals.get(done.terminal)
        has_exited = known is not None and known.has_exited
        if has_exited or done.method in _TERMINAL_ENDS:
            waits.terminals.discard(done.terminal)

    def _cancel(self, waits: _SessionWaits, now: _Moment) -> None:
        for key, request in list(waits.pending.items()):
            if request.method == PERMISSION and request.direction == Direction.TO_CLIENT:
                waits.remove(key)
                waits.add(key, evolve(request, awaited=Party.CLIENT))
        self._settle(waits, now)

    def _end_silence(self, waits: _SessionWaits, stream: str, now: _Moment) -> None:
        """Ends the silence of a frame's sender; the next one begins if it still has to act."""
        party = _sender(stream)
        if party in waits.silent:
            self._record(waits, party, now.seq, now.t_ns)
            waits.silent[party] = now

    def _settle(self, waits: _SessionWaits, now: _Moment) -> None:
        """Determines who has to act in a session after a change."""
        if waits is self._connection and waits.is_held_up != self._holds_up:
            self._settle_all(now)  # the only change on it that concerns other sessions
        else:
            self._settle_one(waits, now)

    def _settle_all(self, now: _Moment) -> None:
        self._holds_up = self._connection.is_held_up
        for waits in [*self._sessions.values()]:
            self._settle_one(waits, now)

    def _settle_one(self, waits: _SessionWaits, now: _Moment) -> None:
        is_held_up = waits.is_held_up or self._connection.is_held_up
        has_to_act = {
            Party.AGENT: waits.counts[Direction.TO_AGENT, Party.AGENT] > 0 and not is_held_up,
            Party.CLIENT: waits.counts[Direction.TO_CLIENT, Party.CLIENT] > 0,
        }
        for party, acts in has_to_act.items():
            if acts and not self._absent[party]:
                waits.silent.setdefault(party, now)
            elif party in waits.silent:
                # A silence ends with what holds its peer up; that of a peer that left never ends.
                is_gone = "gone" in self._absent[party]
                self._record(waits, party, None if is_gone else now.seq, now.t_ns)
                del waits.silent[party]
        if waits.name is not None and not waits.pending and not waits.terminals:
            self._sessions.pop(waits.name, None)  # nothing of it is looked at until it asks again

    def _record(self, waits: _SessionWaits, party: Party, to_seq: int | None, t_ns: int) -> None:
        """Keeps a silence that ends now, if it is a hang or the longest so far."""
        since, longest = waits.silent.get(party), self.silences.longest
        shortest_ns = min(LONG_NS[party], 1 if longest is None else longest.length_ns + 1)
        if since is None or t_ns - since.t_ns < shortest_ns:
            return  # before the oldest request is looked for among perhaps many
        request = waits.oldest(party)
        if request is not None:  # else its answer is what ends the silence
            silence = Silence(party, request, since.seq, to_seq, since.t_ns, t_ns - since.t_ns)
            self.silences.add(silence)


def _open_waits(waits: _SessionWaits, t_ns: int) -> Iterator[OpenWait]:
    for request in waits.pending.values():
        wait = OpenWait(request, t_ns - request.t_ns)
        since = waits.silent.get(request.awaited)
        if since is not None:
            wait = evolve(wait, last_seq=since.seq, silent_ns=t_ns - since.t_ns)
        yield wait


def _sender(stream: str) -> Party:
    return Party.CLIENT if stream == Direction.TO_AGENT else Party.AGENT
