"""Where the time of each turn went: the agent spoke, was silent, or waited for its client.

Every nanosecond of a turn belongs to exactly one part, so the parts add up to the turn. While a
request of the agent to its client is open, the turn waits for its answer; of several that are open
at once, the first in the order of `WAITING` has the time, so that parallel requests are not counted
twice. The rest is the agent's: it streams as long as it goes on within `PAUSE_NS` of what it sent
last, and else it is silent, as it is until its first update and after each answer.

`TurnIntervals` takes the transitions of the connection: `inspect stats` needs the sums of each
turn, the waterfall of a turn the stretches themselves. What is kept grows with turns, not frames.
"""

from collections import Counter
from enum import StrEnum
from typing import Any, NamedTuple

from attrs import define, field, frozen

from acp_proxy.inspection.waits import Party, answering_party
from acp_proxy.protocol.connection_state import Exchange, Transition, Turn
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording import FrameRun

PAUSE_NS = 2 * 10**9
"""An agent that sends nothing for so long no longer streams."""


class Part(StrEnum):
    """What the time of a turn is spent on."""

    STREAMING = "streaming"
    SILENT = "silent"
    PERSON = "person"
    TERMINALS = "terminals"
    FILES = "files"
    OTHER = "other"


WAITING = (Part.PERSON, Part.TERMINALS, Part.FILES, Part.OTHER)
"""The parts in which the client is waited for; an earlier one comes before a later one."""


def waiting_part(method: str | None) -> Part:
    """What a turn waits for while a request of the agent to its client is open."""
    match answering_party("to-client", method):
        case Party.PERSON:
            return Part.PERSON
        case Party.PROGRAM:
            return Part.TERMINALS
    group = (method or "").partition("/")[0]
    return {"terminal": Part.TERMINALS, "fs": Part.FILES}.get(group, Part.OTHER)


class Interval(NamedTuple):
    """A stretch of a turn in which one party had to act: the agent, or who had to answer."""

    turn: int
    part: Part
    """What the time was spent on."""
    from_ns: int
    to_ns: int
    seq: int | None
    """The frame that ended it; None if the recording ended before."""
    request: Exchange | None = None
    """Set for a request of the agent to its client, from when it was sent until its answer. Such
    intervals overlap; those without a request divide the time of the turn."""


@frozen
class TurnTime:
    """One turn and where its time went."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    stop_reason: str | None
    open: bool
    """Whether nothing ended it; then it counts until the end of the recording, or until now."""
    start_ns: int
    """When the prompt had passed, from the start of the recording."""
    duration_ns: int
    first_update_ns: int | None
    """From the prompt to the first session update."""
    first_chunk_ns: int | None
    """From the prompt to the first piece of a message or thought of the agent."""
    agent_ns: int
    """Streaming and silent together."""
    client_ns: int
    """The four below them together."""
    streaming_ns: int
    silent_ns: int
    person_ns: int
    terminals_ns: int
    files_ns: int
    other_ns: int
    prompt: str = ""
    """The beginning of the prompt's text."""

    def part_ns(self, part: Part) -> int:
        """The time of one part."""
        ns: int = getattr(self, f"{part}_ns")
        return ns


@frozen
class WholeTime:
    """How the time of the whole recording divides into turns and the rest."""

    before_turns_ns: int
    """Until the first prompt; all of it, if there is none."""
    in_turns_ns: int
    """While at least one turn was open."""
    between_turns_ns: int
    """After the first prompt, while no turn was open."""


@define
class RunningTurn:
    """A turn that has begun, and how its time divides among its parts so far."""

    turn: Turn
    start_ns: int
    now_ns: int
    """The latest time at which something happened."""
    spent: dict[Part, int] = field(factory=lambda: dict.fromkeys(Part, 0))
    first_update_ns: int | None = None
    has_spoken: bool = False
    """Whether the agent has sent anything since the prompt or the last answer."""
    waits: dict[int, tuple[Exchange, Part, int]] = field(factory=dict)
    """The requests without an answer so far by exchange, and since when."""
    awaited: Counter[Part] = field(factory=Counter)
    """How many of these are of each part."""

    def pass_time(self, t_ns: int, *, is_pause: bool = True) -> tuple[Part, int]:
        """Returns on what the time since the latest thing was spent, and how much it was.

        Args:
            t_ns: the time now; one before the latest counts as the latest.
            is_pause: whether nothing was sent meanwhile.
        """
        elapsed = max(0, t_ns - self.now_ns)
        if self.waits:
            part = next(part for part in WAITING if self.awaited[part])
        elif self.has_spoken and (elapsed < PAUSE_NS or not is_pause):
            part = Part.STREAMING
        else:
            part = Part.SILENT
        self.spent[part] += elapsed
        self.now_ns += elapsed
        return part, elapsed

    def finished(self) -> TurnTime:
        """Returns how the turn has divided."""
        turn, spent = self.turn, self.spent
        parts: dict[str, Any] = {f"{part}_ns": ns for part, ns in spent.items()}
        return TurnTime(
            turn.id,
            turn.session,
            turn.prompt_seq,
            turn.end_seq,
            turn.stop_reason,
            open=turn.end_seq is None,
            start_ns=self.start_ns,
            duration_ns=self.now_ns - self.start_ns,
            first_update_ns=self.first_update_ns,
            first_chunk_ns=None,
            agent_ns=spent[Part.STREAMING] + spent[Part.SILENT],
            client_ns=sum(spent[part] for part in WAITING),
            **parts,
        )


class TurnIntervals:
    """Takes transitions in their order, and divides the time of each turn into intervals."""

    def __init__(self) -> None:
        self._running: dict[int, RunningTurn] = {}
        self._waiting: dict[int, int] = {}
        """The turns that wait for requests, by exchange."""
        self._moved: set[int] = set()
        self._done: list[TurnTime] = []
        self._first_ns: int | None = None
        self._busy_since = self._busy_ns = 0

    def feed(self, run: FrameRun, message: Message, done: Transition) -> list[Interval]:
        """Takes the next message, and returns the intervals that end with it.

        Args:
            run: its frame, or the run of which it is the first.
            message: the message.
            done: what it has changed.
        """
        seq, t_ns, found = run.seq, run.t_ns, list[Interval]()
        if done.begun is not None:
            self._begin(done.begun, t_ns)
        if done.opened is not None and done.opened.direction == Direction.TO_CLIENT:
            self._ask(seq, t_ns, done.opened, found)
        elif done.answered is not None:
            self._answer(seq, t_ns, done.answered, found)
        elif run.kind == "notification" and run.stream == Direction.TO_CLIENT:
            self._say(run, message, done.turn, found)
        for turn in done.ended:
            self._end(turn.id, t_ns, seq, found)
        return found

    def waits_for(self, exchange: Exchange | None) -> int | None:
        """Returns the turn that waits for the answer to a request."""
        return None if exchange is None else self._waiting.get(exchange.id)

    def now_ns(self, turn: int, default: int) -> int:
        """Returns when the last thing happened in a turn.

        Args:
            turn: the turn.
            default: what to return if it is not running.
        """
        running = self._running.get(turn)
        return default if running is None else running.now_ns

    def take_moved(self) -> set[int]:
        """Returns the turns in which time has passed since this was last asked."""
        moved, self._moved = self._moved, set()
        return moved

    def end_turn(self, turn: int, end_ns: int) -> list[Interval]:
        """Ends a turn that nothing ended, and returns its last intervals; none if it has ended.

        Args:
            turn: the turn.
            end_ns: the end of the recording, or now if it is live.
        """
        found: list[Interval] = []
        if turn in self._running:
            self._end(turn, end_ns, None, found)
        return found

    def finish(self, end_ns: int) -> tuple[list[TurnTime], WholeTime]:
        """Ends the turns that nothing ended, and returns all of them in order.

        Args:
            end_ns: the end of the recording, or now if it is live.
        """
        for turn in list(self._running):
            self.end_turn(turn, end_ns)
        before = end_ns if self._first_ns is None else min(self._first_ns, end_ns)
        busy = min(self._busy_ns, end_ns - before)
        whole = WholeTime(before, busy, end_ns - before - busy)
        return sorted(self._done, key=lambda turn: turn.id), whole

    def _begin(self, turn: Turn, t_ns: int) -> None:
        if self._first_ns is None:
            self._first_ns = t_ns
        if not self._running:
            self._busy_since = t_ns
        self._running[turn.id] = RunningTurn(turn, t_ns, t_ns)

    def _end(self, turn: int, t_ns: int, seq: int | None, found: list[Interval]) -> None:
        running = self._running.pop(turn)
        self._pass_time(running, t_ns, seq, found)
        now_ns = running.now_ns
        for exchange, part, since_ns in running.waits.values():
            found.append(Interval(turn, part, since_ns, now_ns, None, exchange))
            del self._waiting[exchange.id]
        self._done.append(running.finished())
        if not self._running:
            self._busy_ns += max(0, t_ns - self._busy_since)

    def _say(
        self, run: FrameRun, message: Message, turn: int | None, found: list[Interval]
    ) -> None:
        running = None if turn is None else self._running.get(turn)
        if running is None:
            return
        self._pass_time(running, run.t_ns, run.seq, found)
        running.has_spoken = True
        if running.first_update_ns is None and message.method == UPDATE:
            running.first_update_ns = max(0, run.t_ns - running.start_ns)
        running.pass_time(run.last_ns, is_pause=False)

    def _ask(self, seq: int, t_ns: int, asked: Exchange, found: list[Interval]) -> None:
        turn = asked.turn
        if turn is None and asked.session is None and len(self._running) == 1:
            turn = next(iter(self._running))  # it names no session, and only one turn is open
        if turn is not None and (running := self._running.get(turn)) is not None:
            part = waiting_part(asked.method)
            self._pass_time(running, t_ns, seq, found)
            running.waits[asked.id] = asked, part, running.now_ns
            running.awaited[part] += 1
            self._waiting[asked.id] = turn

    def _answer(self, seq: int, t_ns: int, answered: Exchange, found: list[Interval]) -> None:
        turn = self._waiting.pop(answered.id, None)
        if turn is not None:
            running = self._running[turn]
            self._pass_time(running, t_ns, seq, found)
            running.has_spoken = False
            exchange, part, since_ns = running.waits.pop(answered.id)
            running.awaited[part] -= 1
            found.append(Interval(turn, part, since_ns, running.now_ns, seq, exchange))

    def _pass_time(
        self, running: RunningTurn, t_ns: int, seq: int | None, found: list[Interval]
    ) -> None:
        """Adds the stretch that something ended, if any time has passed."""
        part, elapsed = running.pass_time(t_ns)
        self._moved.add(running.turn.id)
        if elapsed:
            now_ns = running.now_ns
            found.append(Interval(running.turn.id, part, now_ns - elapsed, now_ns, seq))
