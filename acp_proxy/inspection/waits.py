"""Who is waited for, and whether that is a hang.

An open request is no fault by itself. A person may think for an hour over a permission, a program
may run for a day; silence counts only where a peer owed an answer and nobody else held it up.

`WaitTracker` is a pure incremental machine. Heads of frames go in, in their order, and it knows at
any time who owes what in each *lane*: a session, or the connection for what names no session.

- The agent owes while a turn or a request of the client is open in a lane. It is held up, and owes
  nothing, while the client has any request of its own to answer there, be it with a file or with a
  person's choice, while a terminal of the turn runs, and while the client does not read.
- The client owes while it has something to answer that is neither a person's choice nor the end of
  a program, and while the agent reads. A permission is no longer a person's choice once the
  client has cancelled the turn: then it has to say so.
- A request that names no session holds up every lane, for who knows what waits for it.

A *silence* is a stretch in which a peer owed something in a lane and nothing of it came there. Time
comes with each call; of clocks and payloads the machine knows nothing.
"""

import heapq
import itertools
from collections.abc import Container, Iterator, Mapping, Sequence
from enum import StrEnum

from attrs import define, evolve, field, frozen

from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import FrameHead

_PERMISSION = "session/request_permission"
_PERSON = {_PERMISSION, "elicitation/create", "authenticate", "auth/login"}
_PROGRAM = {"terminal/wait_for_exit"}
_TERMINAL_ENDS = ("terminal/wait_for_exit", "terminal/kill", "terminal/release")
_KEPT = 20
"""How many long silences are kept, the longest ones."""


class Party(StrEnum):
    """Whom an open request waits for."""

    PERSON = "person"
    PROGRAM = "program"
    CLIENT = "client"
    AGENT = "agent"


LONG_NS = {Party.AGENT: 60 * 10**9, Party.CLIENT: 10 * 10**9}
"""From here on the silence of a peer is a hang: a model thinks, a client only looks into a file."""


def answering_party(direction: str, method: str | None) -> Party:
    """Tells whom a request waits for: its receiver, unless that one waits for somebody itself.

    Args:
        direction: of the request.
        method: its method.
    """
    if method in _PERSON:
        return Party.PERSON
    if method in _PROGRAM:
        return Party.PROGRAM
    return Party.AGENT if direction == "to-agent" else Party.CLIENT


@frozen
class PendingRequest:
    """What somebody waits for: the answer to a request, or the end of a turn."""

    seq: int
    """The frame that asked."""
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
    """A stretch in which a peer owed something and nothing of it came."""

    debtor: Party
    """The agent or the client."""
    owed: PendingRequest
    from_seq: int
    """The frame or event from which on it owed, or the last that came of it."""
    to_seq: int | None
    """The frame with which it went on, or the event from which on somebody else was to blame;
    None if it never went on."""
    t_ns: int
    """When it began."""
    length_ns: int

    @property
    def is_long(self) -> bool:
        """Whether it deserves to be called a hang."""
        return self.length_ns >= LONG_NS[self.debtor]


@frozen
class OpenWait:
    """What is still open, with who is waited for and for how long."""

    request: PendingRequest
    waited_ns: int
    last_seq: int | None = None
    """The last frame that came of a peer that owes; its request's, if nothing came. None where
    nobody is to blame, or somebody else comes first."""
    silent_ns: int | None = None
    """How long ago that was."""

    @property
    def is_streaming(self) -> bool:
        """Whether anything came since it was asked."""
        return self.last_seq is not None and self.last_seq > self.request.seq

    @property
    def is_hang(self) -> bool:
        """Whether a peer owes it and has been silent for too long."""
        limit = LONG_NS.get(self.request.awaited)
        return self.silent_ns is not None and limit is not None and self.silent_ns >= limit


@define(eq=False)
class _SessionWaits:
    """What is open in a session, or on the connection.

    ``agent_ns`` and ``client_ns`` say since when the peer owes and is silent; None if it owes
    nothing.
    """

    session: str | None
    open: dict[object, PendingRequest] = field(factory=dict)
    asked: int = 0
    """How much of it the agent owes."""
    wanted: int = 0
    """How much of it the client owes."""
    held: int = 0
    """How many requests of the agent are open, whoever is to answer them."""
    terminals: set[str] = field(factory=set)
    """Those that run."""
    agent_ns: int | None = None
    agent_seq: int = 0
    client_ns: int | None = None
    client_seq: int = 0

    @property
    def is_held(self) -> bool:
        return self.held > 0 or bool(self.terminals)

    def add(self, key: object, owed: PendingRequest) -> None:
        self.open[key] = owed
        self._count(owed, 1)

    def remove(self, key: object) -> None:
        if (owed := self.open.pop(key, None)) is not None:
            self._count(owed, -1)

    def _count(self, owed: PendingRequest, by: int) -> None:
        if owed.direction == Direction.TO_CLIENT:
            self.held += by
            self.wanted += by if owed.awaited is Party.CLIENT else 0
        elif owed.awaited is Party.AGENT:
            self.asked += by

    def oldest(self, debtor: Party) -> PendingRequest:
        return next(owed for owed in self.open.values() if owed.awaited is debtor)


class WaitTracker:
    """Knows who owes what, in each lane, and how long nothing came.

    Attributes:
        longest: the longest silence so far, or None.
        long_count: how many silences were hangs.
    """

    def __init__(
        self, turn_ends: Mapping[int, Sequence[int]], program_ends: Container[int] = ()
    ) -> None:
        """Begins with a connection on which nothing was said.

        Args:
            turn_ends: the turns that end with a frame, by its number.
            program_ends: the numbers of answers to ``terminal/output`` that tell of an exit.
        """
        self.longest: Silence | None = None
        self.long_count = 0
        self._shortest_ns = 0
        self._turn_ends = turn_ends
        self._program_ends = program_ends
        self._connection = _SessionWaits(None)
        self._lanes: dict[str | None, _SessionWaits] = {None: self._connection}
        self._places: dict[int, _SessionWaits] = {}
        self._turns: dict[int, _SessionWaits] = {}
        self._long: list[tuple[int, int, Silence]] = []
        self._counter = itertools.count()
        self._absent: dict[Party, set[str]] = {Party.AGENT: set(), Party.CLIENT: set()}

    @property
    def long(self) -> list[Silence]:
        """The longest of the silences that were hangs, in their order."""
        return sorted((silence for _, _, silence in self._long), key=lambda s: s.t_ns)

    def feed(self, head: FrameHead) -> None:
        """Takes the next frame; a batch comes as its members, one after the other."""
        kind = head.kind
        if kind == "notification":
            self.feed_update(head.session, head.stream, head.seq, head.t_ns)
            is_cancel = head.method == "session/cancel" and head.stream == "to-agent"
            if is_cancel and (lane := self._lanes.get(head.session)) is not None:
                self._cancel(lane, head)
        elif kind == "request":
            self._ask(head)
        elif kind in ("response", "error"):
            self._answer(head)
        if head.seq in self._turn_ends:
            self._end_turns(head)

    def feed_update(self, session: str | None, stream: str, seq: int, t_ns: int) -> None:
        """Takes a notification that ends no turn and cancels none, as most frames do.

        Args:
            session: the session that it names.
            stream: its stream.
            seq: its number.
            t_ns: when it came.
        """
        lane = self._lanes.get(session)
        if lane is not None:
            self._end_silence(lane, stream, seq, t_ns)

    def stop_reading(self, stream: str, seq: int, t_ns: int) -> None:
        """Nobody reads at the end of a stream, so who writes there can be blamed for nothing."""
        self._absent[_writer(stream)].add(stream)
        self._settle_all(seq, t_ns)

    def read_again(self, stream: str, seq: int, t_ns: int) -> None:
        """Somebody reads again at the end of a stream."""
        self._absent[_writer(stream)].discard(stream)
        self._settle_all(seq, t_ns)

    def leave(self, peer: Party, seq: int, t_ns: int) -> None:
        """The agent or the client has ended what it says, and will answer nothing more."""
        self._absent[peer].add("gone")
        if peer is Party.CLIENT:  # and its terminals with it
            for lane in self._lanes.values():
                lane.terminals.clear()
        self._settle_all(seq, t_ns)

    def open(self, t_ns: int) -> list[OpenWait]:
        """All that is open at some time, oldest first; what is held up by another comes without."""
        waits = [wait for lane in self._lanes.values() for wait in self._open_in(lane, t_ns)]
        return sorted(waits, key=lambda wait: wait.request.seq)

    def finish(self, t_ns: int) -> None:
        """Ends the silences that last, for nothing more will be fed."""
        for lane in self._lanes.values():
            self._record(lane, Party.AGENT, None, t_ns)
            self._record(lane, Party.CLIENT, None, t_ns)
            lane.agent_ns = lane.client_ns = None

    def _ask(self, head: FrameHead) -> None:
        lane = self._lane(head.session)
        self._end_silence(lane, head.stream, head.seq, head.t_ns)
        owed = PendingRequest(
            head.seq, head.t_ns, head.stream, head.method, head.session, head.turn,
            answering_party(head.stream, head.method),
        )  # fmt: skip
        is_prompt = head.method == "session/prompt" and head.stream == "to-agent"
        if is_prompt and head.turn is not None:
            lane.add(("turn", head.turn), owed)
            self._turns[head.turn] = lane
        elif head.exchange is not None:
            lane.add(head.exchange, owed)
            self._places[head.exchange] = lane
        self._settle(lane, head.seq, head.t_ns)

    def _answer(self, head: FrameHead) -> None:
        lane = self._places.pop(head.exchange, None) if head.exchange is not None else None
        if lane is None:  # of a prompt, or of nothing
            lane = self._lane(head.session)
        self._end_silence(lane, head.stream, head.seq, head.t_ns)
        lane.remove(head.exchange)
        if head.terminal is not None:
            if head.method == "terminal/create":
                if head.kind == "response":
                    lane.terminals.add(head.terminal)
            elif head.method in _TERMINAL_ENDS or head.seq in self._program_ends:
                lane.terminals.discard(head.terminal)
        self._settle(lane, head.seq, head.t_ns)

    def _end_turns(self, head: FrameHead) -> None:
        for turn in self._turn_ends[head.seq]:
            if (lane := self._turns.pop(turn, None)) is not None:
                lane.remove(("turn", turn))
                lane.terminals.clear()
                self._settle(lane, head.seq, head.t_ns)

    def _cancel(self, lane: _SessionWaits, head: FrameHead) -> None:
        for key, owed in list(lane.open.items()):
            if owed.method == _PERMISSION and owed.direction == Direction.TO_CLIENT:
                lane.remove(key)
                lane.add(key, evolve(owed, awaited=Party.CLIENT))
        self._settle(lane, head.seq, head.t_ns)

    def _end_silence(self, lane: _SessionWaits, stream: str, seq: int, t_ns: int) -> None:
        """Ends the silence of a frame's sender; the next one begins if it still has to answer."""
        if stream == "to-client":
            if lane.agent_ns is not None:
                # This runs for every chunk, few of which end a silence that is worth a call.
                if t_ns - lane.agent_ns > self._shortest_ns:
                    self._record(lane, Party.AGENT, seq, t_ns)
                lane.agent_ns, lane.agent_seq = t_ns, seq
        elif lane.client_ns is not None:
            self._record(lane, Party.CLIENT, seq, t_ns)
            lane.client_ns, lane.client_seq = t_ns, seq

    def _settle(self, lane: _SessionWaits, seq: int, t_ns: int) -> None:
        """Finds out who owes in a lane, now that something has changed."""
        if lane is self._connection and len(self._lanes) > 1:
            self._settle_all(seq, t_ns)
        else:
            self._settle_one(lane, seq, t_ns)

    def _settle_all(self, seq: int, t_ns: int) -> None:
        for lane in self._lanes.values():
            self._settle_one(lane, seq, t_ns)

    def _settle_one(self, lane: _SessionWaits, seq: int, t_ns: int) -> None:
        held = lane.is_held or self._connection.is_held or self._absent[Party.AGENT]
        if lane.asked and not held:
            if lane.agent_ns is None:
                lane.agent_ns, lane.agent_seq = t_ns, seq
        elif lane.agent_ns is not None:
            self._record(lane, Party.AGENT, self._stop(Party.AGENT, seq), t_ns)
            lane.agent_ns = None
        if lane.wanted and not self._absent[Party.CLIENT]:
            if lane.client_ns is None:
                lane.client_ns, lane.client_seq = t_ns, seq
        elif lane.client_ns is not None:
            self._record(lane, Party.CLIENT, self._stop(Party.CLIENT, seq), t_ns)
            lane.client_ns = None

    def _stop(self, debtor: Party, seq: int) -> int | None:
        """Where a silence stops to count: with what holds its debtor up, or never if it is gone."""
        return None if "gone" in self._absent[debtor] else seq

    def _record(self, lane: _SessionWaits, debtor: Party, to_seq: int | None, t_ns: int) -> None:
        """Remembers a silence that ends now, if it is long enough to matter."""
        is_agent = debtor is Party.AGENT
        since = lane.agent_ns if is_agent else lane.client_ns
        if since is None:
            return
        length = t_ns - since
        is_longest = length > (self.longest.length_ns if self.longest is not None else 0)
        if not is_longest and length < LONG_NS[debtor]:
            return
        start = lane.agent_seq if is_agent else lane.client_seq
        try:
            owed = lane.oldest(debtor)
        except StopIteration:  # its answer is what ends it
            return
        silence = Silence(debtor, owed, start, to_seq, since, length)
        if is_longest:
            self.longest = silence
            self._shortest_ns = min(length, LONG_NS[Party.AGENT] - 1)
        if silence.is_long:
            self.long_count += 1
            heapq.heappush(self._long, (length, next(self._counter), silence))
            if len(self._long) > _KEPT:
                heapq.heappop(self._long)

    def _open_in(self, lane: _SessionWaits, t_ns: int) -> Iterator[OpenWait]:
        for owed in lane.open.values():
            wait = OpenWait(owed, t_ns - owed.t_ns)
            if owed.awaited is Party.AGENT and lane.agent_ns is not None:
                wait = evolve(wait, last_seq=lane.agent_seq, silent_ns=t_ns - lane.agent_ns)
            elif owed.awaited is Party.CLIENT and lane.client_ns is not None:
                wait = evolve(wait, last_seq=lane.client_seq, silent_ns=t_ns - lane.client_ns)
            yield wait

    def _lane(self, session: str | None) -> _SessionWaits:
        lane = self._lanes.get(session)
        if lane is None:
            lane = self._lanes[session] = _SessionWaits(session)
        return lane


def _writer(stream: str) -> Party:
    return Party.CLIENT if stream == Direction.TO_AGENT else Party.AGENT
