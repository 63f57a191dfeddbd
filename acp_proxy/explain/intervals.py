"""Determines who has to act at each moment, for waits, silences and the times of turns.

`Intervals` is pure and incremental: it reads the transitions of a connection in order. Each open
request is kept in the session that it names, or in the connection if it names no session.

The first result is who has to act in each session:

- The agent has to act while a turn or a request of the client is open. The agent is not blamed
  while it is held up: by a request that the client has yet to answer, by a running terminal of the
  turn, or by a client that does not read.
- The client has to act while it has yet to answer a request. It is not blamed while a person or a
  program has to act, or while the agent does not read. After a cancel, the client itself must
  answer the permission requests of the turn.
- A request that names no session holds up every session.

A *silence* is a time in which a peer had to act in a session, but sent nothing in this session.

The second result is how each turn spends its time: see `explain.stats.turn_times`.

`Intervals` has no clock: the caller passes the time.
"""

from collections.abc import Iterator

from attrs import define, evolve, field

from acp_proxy.explain.stats.turn_times import (
    Interval,
    RunningTurn,
    TurnTime,
    WholeTime,
    waiting_part,
)
from acp_proxy.explain.waits import (
    LONG_NS,
    OpenWait,
    Party,
    PendingRequest,
    Silence,
    SilenceLog,
    answering_party,
)
from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Exchange, Transition, Turn
from acp_proxy.protocol.dialects import CANCEL, PERMISSION
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import FrameRun, RecordedEvent

_TERMINAL_ENDS = ("terminal/wait_for_exit", "terminal/kill", "terminal/release")
_NOTIFICATION = Kind.NOTIFICATION
_ANSWERS = (Kind.RESPONSE, Kind.ERROR)
_TO_AGENT, _TO_CLIENT = Direction.TO_AGENT, Direction.TO_CLIENT
_AGENT = Party.AGENT
_SENDERS = {_TO_AGENT.value: Party.CLIENT, _TO_CLIENT.value: _AGENT}


_Moment = tuple[int, int]
"""A time in nanoseconds, and the number of the frame or event at that time."""


@define(eq=False)
class _SessionWaits:
    """The open requests and running terminals of a session, or of the connection."""

    name: str | None = None
    pending: dict[object, PendingRequest] = field(factory=dict)
    counts: dict[Party, int] = field(factory=lambda: dict.fromkeys(Party, 0))
    """For each party that has to act, how many requests and turns are open."""
    asked: int = 0
    """How many requests of the agent are open."""
    terminals: set[str] = field(factory=set)
    """The ids of the terminals whose commands run."""
    silent: dict[Party, _Moment] = field(factory=dict)
    """The peers that have to act, each with the moment when its silence began."""

    @property
    def is_held_up(self) -> bool:
        return bool(self.terminals) or self.asked > 0

    def add(self, key: object, request: PendingRequest) -> None:
        self.pending[key] = request
        self.counts[request.awaited] += 1
        self.asked += request.direction == _TO_CLIENT

    def remove(self, key: object) -> None:
        if (request := self.pending.pop(key, None)) is not None:
            self.counts[request.awaited] -= 1
            self.asked -= request.direction == _TO_CLIENT

    def open(self, t_ns: int) -> Iterator[OpenWait]:
        for request in self.pending.values():
            wait = OpenWait(request, t_ns - request.t_ns)
            if (since := self.silent.get(request.awaited)) is not None:
                wait = evolve(wait, last_seq=since[1], silent_ns=t_ns - since[0])
            yield wait

    def oldest(self, party: Party) -> PendingRequest | None:
        return next((r for r in self.pending.values() if r.awaited is party), None)


_Place = tuple[_SessionWaits, RunningTurn | None]
"""The session (or connection) to which an open request belongs, and the turn that waits for it."""


class Intervals:
    """Determines who has to act in each session, and how each turn spends its time.

    Args:
        connection: the state machine that makes the transitions.

    Attributes:
        silences: the silences that have ended so far.
        running: the open turns by their numbers.
        ended: the finished intervals of all turns; None if intervals are not kept.
    """

    def __init__(self, connection: Connection) -> None:
        self.silences = SilenceLog()
        self.running: dict[int | None, RunningTurn] = {}
        self.ended: list[Interval] | None = None
        self._terminals = connection.state.terminals
        self._connection = _SessionWaits()
        self._holds_up = False
        """Whether requests without a session held up the agent when `_settle_all` ran last."""
        self._sessions: dict[str | None, _SessionWaits] = {None: self._connection}
        self._places: dict[object, _Place] = {}
        self._least_ns = dict.fromkeys(LONG_NS, 1)
        """For each peer, the length of the shortest silence that is kept, in nanoseconds."""
        self._absent: dict[Party, set[str]] = {Party.AGENT: set(), Party.CLIENT: set()}
        self._finished: list[TurnTime] = []
        self._first_ns: int | None = None
        self._busy_since = self._busy_ns = 0

    def take(self, run: FrameRun, message: Message, transition: Transition) -> None:
        """Reads the next message. Of a batch, reads the messages one after the other.

        Args:
            run: the frame of the message, or the run of frames that the message begins.
            message: the message.
            transition: the changes that the message made to the state of the connection.
        """
        if message.members:
            for member, change in zip(message.members, transition.members, strict=True):
                self.take(run, member, change)
        seq, t_ns, stream, frame_kind, _, last_seq, last_ns = run
        kind, now = message.kind, (last_ns, last_seq)  # only a notification can begin a run
        if kind is _NOTIFICATION:
            if (waits := self._sessions.get(transition.session)) is not None:
                self._end_silence(waits, stream, seq, t_ns, now)
                if message.method == CANCEL and stream == _TO_AGENT:
                    self._cancel(waits, now)
            running = self.running.get(transition.turn)
            if running is not None and frame_kind == "notification" and stream == _TO_CLIENT:
                self._pass_time(running, t_ns, seq)
                running.has_spoken = True
                if running.first_update_ns is None and message.method == UPDATE:
                    running.first_update_ns = max(0, t_ns - running.start_ns)
                if last_seq != seq:
                    self._pass_time(running, last_ns, last_seq, is_pause=False)
        elif (asked := transition.opened) is not None:
            waits = self._of(transition.session)
            self._end_silence(waits, stream, seq, t_ns, now)
            self._open(waits, asked, transition.begun, now)
            self._settle(waits, now)
        elif kind in _ANSWERS:
            exchange = transition.exchange
            if (place := self._places.pop(exchange, None)) is not None:
                waits, waiting = place
            else:  # the message answers a prompt, or no known request
                waits, waiting = self._of(transition.session), None
            self._end_silence(waits, stream, seq, t_ns, now)
            waits.remove(exchange)
            if transition.terminal is not None:
                self._follow_terminal(waits, transition.terminal, message, transition)
            self._settle(waits, now)
            # A turn that ended before the answer no longer waits for it.
            if waiting is not None and exchange in waiting.waits:
                self._pass_time(waiting, t_ns, seq)
                waiting.has_spoken = False
                self._end_wait(waiting, exchange, seq)
        for turn in transition.ended:
            if (place := self._places.pop(("turn", turn.id), None)) is not None:
                place[0].remove(("turn", turn.id))
                place[0].terminals.clear()
                self._settle(place[0], now)
            self._end_turn(turn.id, t_ns, seq)

    def _of(self, session: str | None) -> _SessionWaits:
        if (waits := self._sessions.get(session)) is None:
            waits = self._sessions[session] = _SessionWaits(session)
        return waits

    def _open(
        self, waits: _SessionWaits, exchange: Exchange, begun: Turn | None, now: _Moment
    ) -> None:
        # In v2, the answer to a prompt only accepts the prompt, so the turn has a key of its own.
        key: object = exchange.id if begun is None else ("turn", begun.id)
        request = PendingRequest(  # not the exchange, whose session the answer may change
            exchange.request_seq, exchange.request_ns, exchange.direction, exchange.method,
            exchange.session, exchange.turn, answering_party(exchange.direction, exchange.method),
        )  # fmt: skip
        waits.add(key, request)
        running = None
        if begun is not None:
            self._begin_turn(begun, now[0])
        elif self.running and exchange.direction == _TO_CLIENT:
            running = self._ask(exchange, now)
        self._places[key] = waits, running

    # Who has to act in each session

    def note(self, event: RecordedEvent) -> None:
        """Reads an event, such as the end of a peer, or a note that a peer does not read."""
        now, stream = (event.t_ns, event.seq), event.data.get("stream")
        match event.kind:
            case "exit":
                self._leave(Party.AGENT, now)
            case "eof" if stream in tuple(Direction):
                self._leave(_SENDERS[stream], now)
            case "note" if isinstance(stream, str):
                absent = self._absent[_SENDERS.get(stream, _AGENT)]
                match event.data.get("action"):
                    case "stalled":  # a sender whose receiver does not read is not to blame
                        absent.add(stream)
                    case "resumed":
                        absent.discard(stream)
                self._settle_all(now)

    def open(self, t_ns: int) -> list[OpenWait]:
        """Returns all requests and turns that are open at the moment `t_ns`, the oldest first."""
        opened = [wait for waits in self._sessions.values() for wait in waits.open(t_ns)]
        return sorted(opened, key=lambda wait: wait.request.seq)

    def end_silences(self, t_ns: int) -> None:
        """Adds the silences that still last at `t_ns`. After this, `take` must not be called."""
        for waits in self._sessions.values():
            for party in LONG_NS:
                self._record(waits, party, None, t_ns)

    def _leave(self, peer: Party, now: _Moment) -> None:
        """Notes that a peer has ended its output. The peer will answer no more requests."""
        self._absent[peer].add("gone")
        if peer is Party.CLIENT:  # the terminals end with the client
            for waits in self._sessions.values():
                waits.terminals.clear()
        self._settle_all(now)

    def _follow_terminal(
        self, waits: _SessionWaits, terminal: str, message: Message, transition: Transition
    ) -> None:
        if transition.method == "terminal/create":
            if message.kind is Kind.RESPONSE:
                waits.terminals.add(terminal)
            return
        known = self._terminals.get(terminal)
        has_exited = known is not None and known.has_exited
        if has_exited or transition.method in _TERMINAL_ENDS:
            waits.terminals.discard(terminal)

    def _cancel(self, waits: _SessionWaits, now: _Moment) -> None:
        for key, request in list(waits.pending.items()):
            if request.method == PERMISSION and request.direction == _TO_CLIENT:
                waits.remove(key)
                waits.add(key, evolve(request, awaited=Party.CLIENT))
        self._settle(waits, now)

    def _end_silence(
        self, waits: _SessionWaits, stream: str, seq: int, t_ns: int, last: _Moment
    ) -> None:
        """Ends the silence of the peer that sent a frame. Its next silence begins at `last`."""
        party = _SENDERS[stream]
        if (since := waits.silent.get(party)) is not None:
            if t_ns - since[0] >= self._least_ns[party]:
                self._record(waits, party, seq, t_ns)
            waits.silent[party] = last

    def _settle(self, waits: _SessionWaits, now: _Moment) -> None:
        """Determines who has to act in a session whose requests or turns have changed."""
        if waits is self._connection and waits.is_held_up != self._holds_up:
            self._settle_all(now)  # only this change of the connection affects other sessions
        else:
            self._settle_one(waits, now)

    def _settle_all(self, now: _Moment) -> None:
        self._holds_up = self._connection.is_held_up
        for waits in [*self._sessions.values()]:
            self._settle_one(waits, now)

    def _settle_one(self, waits: _SessionWaits, now: _Moment) -> None:
        silent, is_held_up = waits.silent, self._holds_up or waits.is_held_up
        for party, absent in self._absent.items():
            if waits.counts[party] and not absent and not (is_held_up and party is _AGENT):
                silent.setdefault(party, now)
            elif party in silent:
                if silent[party] is not now:
                    # The peer is held up, so its silence ends; if the peer left, it never ends.
                    self._record(waits, party, None if "gone" in absent else now[1], now[0])
                del silent[party]
        if waits.name is not None and not waits.pending and not waits.terminals:
            self._sessions.pop(waits.name, None)  # a request will add the session again

    def _record(self, waits: _SessionWaits, party: Party, to_seq: int | None, t_ns: int) -> None:
        """Keeps a silence that ends now, if it is a hang or the longest silence so far."""
        since = waits.silent.get(party)
        if since is None or (length_ns := t_ns - since[0]) < self._least_ns[party]:
            return  # checked first, since finding the oldest request may be slow
        request = waits.oldest(party)
        if request is not None:  # without a request, its answer has just ended the silence
            silence = Silence(party, request, since[1], to_seq, since[0], length_ns)
            self.silences.add(silence)
            for peer, long_ns in LONG_NS.items():
                self._least_ns[peer] = max(self._least_ns[peer], min(long_ns, length_ns + 1))

    # How each turn spends its time

    def turn_waiting_for(self, exchange: int) -> int | None:
        """Returns the number of the turn that waits for an exchange's answer; None if none does."""
        place = self._places.get(exchange)
        return None if place is None or place[1] is None else place[1].turn.id

    def turn_times(self, end_ns: int) -> tuple[list[TurnTime], WholeTime]:
        """Ends the open turns. Returns how each turn, and the whole recording, spent its time.

        Args:
            end_ns: the end of the recording; for a live recording, the present time.
        """
        for turn in list(self.running):
            self._end_turn(turn, end_ns, None)
        before = end_ns if self._first_ns is None else min(self._first_ns, end_ns)
        busy = min(self._busy_ns, end_ns - before)
        whole = WholeTime(before, busy, end_ns - before - busy)
        return sorted(self._finished, key=lambda turn: turn.id), whole

    def turns_until(self, end_ns: int) -> list[TurnTime]:
        """Returns how each turn spent its time so far. An open turn is measured until `end_ns`."""
        return [*self._finished, *(turn.until(end_ns) for turn in self.running.values())]

    def _begin_turn(self, turn: Turn, t_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns = t_ns
        if not self.running:
            self._busy_since = t_ns
        self.running[turn.id] = RunningTurn(turn, t_ns, t_ns)

    def _end_turn(self, turn: int | None, t_ns: int, seq: int | None) -> None:
        if (running := self.running.pop(turn, None)) is None:
            return
        self._pass_time(running, t_ns, seq)
        for exchange in [*running.waits]:
            self._end_wait(running, exchange, None)
        self._finished.append(running.finished())
        if not self.running:
            self._busy_ns += max(0, t_ns - self._busy_since)

    def _ask(self, asked: Exchange, now: _Moment) -> RunningTurn | None:
        turn = asked.turn
        if turn is None and asked.session is None and len(self.running) == 1:
            turn = next(iter(self.running))  # the request names no session; only one turn is open
        running = None if turn is None else self.running.get(turn)
        if running is not None:
            self._pass_time(running, *now)
            part = waiting_part(asked.method)
            running.waits[asked.id] = asked, part, running.now_ns
            running.awaited[part] += 1
        return running

    def _end_wait(self, running: RunningTurn, exchange: int, seq: int | None) -> None:
        asked, part, since_ns = running.waits.pop(exchange)
        running.awaited[part] -= 1
        if self.ended is not None:
            interval = Interval(running.turn.id, part, since_ns, running.now_ns, seq, asked)
            self.ended.append(interval)

    def _pass_time(
        self, running: RunningTurn, t_ns: int, seq: int | None, *, is_pause: bool = True
    ) -> None:
        """Advances a turn to ``t_ns``. The time since its ``now_ns`` goes to one of its parts."""
        if (since_ns := running.now_ns) < t_ns:
            part = running.pass_time(t_ns, is_pause=is_pause)[0]
            if self.ended is not None:
                self.ended.append(Interval(running.turn.id, part, since_ns, t_ns, seq))
