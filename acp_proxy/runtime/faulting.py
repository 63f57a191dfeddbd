"""Carries a plan of faults out between two peers: the detour that streams take through the engine.

Only a direction that the plan can touch takes it. Its pump reads and logs as ever. What the engine
foresees to pass as it is the pump writes like a bare one. Everything else is handed to the engine
line by line, and what comes of it is written as far as that is due; what is late is written by
`runtime.delivery`, which keeps time. The other direction keeps its bare pump. What passes there is
only listened to, since answers belong to requests, and so is what passes ahead of the engine.

What fired is in the log before anything of it goes out (`runtime.fault_notes`), and so is all that
was read.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.capture.log import (
    NO_STREAM,
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    UNDELIVERED,
    Unrecorded,
    tell,
)
from acp_proxy.capture.pumps import Detour, Pump
from acp_proxy.faults.effects import Exit, Signal, WriteStderr
from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.outputs import Deliver, EndOf, Fired, Output
from acp_proxy.faults.plan import Plan
from acp_proxy.faults.plan_text import plan_text
from acp_proxy.faults.reach import reached
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.agent_signals import AgentSignals
from acp_proxy.runtime.backlog import PART, Backlog
from acp_proxy.runtime.fault_notes import Actor, FaultNotes
from acp_proxy.runtime.faulted_pump import FaultedPump, Listener
from acp_proxy.runtime.line_cutter import Cut, LineCutter
from acp_proxy.runtime.outlet import Outlet

_STREAMS = {Direction.TO_AGENT: TO_AGENT, Direction.TO_CLIENT: TO_CLIENT}
_DIRECTIONS = {stream: direction for direction, stream in _STREAMS.items()}
_STOPPING = ("stall", "close", "limit-data")
_SIGNALS = ("kill", "pause", "resume", "terminate")

Step = Callable[[], None]


class Faulting(Detour):
    """Faults on one connection.

    Args:
        plan: the rules.
        seed: of all chance.
        dialect: as ``--dialect`` has it.
        clock: monotonic nanoseconds.

    Attributes:
        outlets: the ways out of the directions that take the detour, and the agent's stderr.
        signals: what is done to the agent, once there is one.
    """

    def __init__(
        self,
        plan: Plan,
        seed: int,
        dialect: str = "auto",
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        super().__init__()
        self.plan = plan
        self.seed = seed
        self.fields = {"seed": seed, "fault_plan": plan_text(plan, seed)}
        self.streams = tuple(_STREAMS[direction] for direction in reached(plan))
        self.outlets: dict[int, Outlet] = {}
        self.signals: AgentSignals
        self._dialect = dialect
        self._clock = clock
        self._lock = threading.RLock()
        self._cutters = {direction: LineCutter() for direction in Direction}
        self._pending: list[tuple[int, Callable[[], None]]] = []
        self._number = 0
        self._has_given_up = False
        self._closing: set[Direction] = set()
        self._actors: list[Actor] = []
        self._is_again = False
        self._log = Unrecorded()
        self._notes = FaultNotes(self._log)
        self._engine = FaultEngine(plan, seed, 0, dialect)
        self._backlog = Backlog(self._cutters, self._engine.foresees, self._observe)

    def attach(self, agent: AgentProcess, log: Unrecorded, origin_ns: int) -> None:
        """Learns of what it may act upon."""
        self._log, self._notes = log, FaultNotes(log)
        self.signals = AgentSignals(agent, self._notes, self._clock)
        self._engine = FaultEngine(self.plan, self.seed, origin_ns, self._dialect)
        self._backlog = Backlog(self._cutters, self._engine.foresees, self._observe)

    def pump(
        self, stream: int, source: int, sink: int, log: Unrecorded, *, keep_sink: bool = False
    ) -> Pump:
        """Makes the pump of a stream: one with a detour, one that is listened to, or a bare one."""
        if stream in self.streams or (stream == STDERR and self.streams):
            outlet = self.outlets[stream] = Outlet(sink, self._clock)
            outlet.passed = self.act
            outlet.lost = partial(self._lost, stream)
        if stream in self.streams:
            return FaultedPump(stream, source, sink, log, self.outlets[stream], self)
        if stream in _DIRECTIONS and self.streams:
            log = Listener(log, self)
        return Pump(stream, source, sink, log, keep_sink=keep_sink)

    def listen(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes note of what passes by in a direction without faults; quick."""
        self._backlog.overhear(_DIRECTIONS[stream], chunk, t_ns)
        if self._backlog.is_large:
            with self._lock:
                self._backlog.catch_up(PART)

    def passes_ahead(self, stream: int, t_ns: int, chunk: bytes) -> bool:
        """Whether what was read goes out as it is, for sure and at once; it is logged then.

        The way out is claimed for it: the caller writes it with `Outlet.write_ahead`.
        """
        outlet, direction = self.outlets[stream], _DIRECTIONS[stream]
        with self._lock:
            if self._has_given_up or not outlet.is_free:
                return False
            try:
                if not self._backlog.passes_ahead(direction, chunk, t_ns):
                    return False
            except Exception as e:
                self._fail(e)
                return False
            self._log.append(stream, t_ns, chunk)
            self._number += 1
            outlet.claim(self._number)
            if self._backlog.is_large:
                self._backlog.catch_up(PART)
            return True

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes what was read: logs it with what the rules make of it, and puts that on its way."""
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._backlog.catch_up()
            logged, steps, run = 0, list[Step](), list[Deliver]()
            for cut in self._cutters[direction].feed(chunk):
                outputs = self._receive(direction, cut, t_ns)
                if len(outputs) == 1 and isinstance(plain := outputs[0], Deliver):
                    if not run or run[-1].due != plain.due:
                        run = []
                        steps.append(partial(self._put_run, run))
                    run.append(plain)
                    continue
                run = []
                start = max(0, cut.end - len(cut.raw) - len(cut.newline))
                for output in outputs:
                    if isinstance(output, Fired):  # what was made up may go before the line
                        upto = start if output.received is None else cut.end
                        logged = self._log_upto(stream, t_ns, chunk, logged, upto)
                    steps += self._steps(output, cut, t_ns, stream)
            self._log_upto(stream, t_ns, chunk, logged, len(chunk))
            for step in steps:
                step()

    def end(self, stream: int, t_ns: int) -> None:
        """A source has ended: its last line goes on, and so does all that was held."""
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._backlog.catch_up()
            cut, steps = self._cutters[direction].finish(), list[Step]()
            if cut is not None:
                for output in self._receive(direction, cut, t_ns):
                    steps += self._steps(output, cut, t_ns, stream)
            if not self._has_given_up:
                for output in self._engine.end(direction, t_ns):
                    steps += self._steps(output, None, t_ns, stream)
            for step in steps:
                step()

    @property
    def behind(self) -> int:
        """How many bytes have passed that the engine has still to be given."""
        return self._backlog.size

    def keep_up(self) -> None:
        """Gives the engine the oldest of them; quick, since a pump may have to wait for it."""
        with self._lock:
            self._backlog.catch_up(1)

    def is_closing(self, stream: int) -> bool:
        """Whether a rule has closed a direction; what is on its way still goes out."""
        return _DIRECTIONS[stream] in self._closing

    def give_up(self) -> None:
        """Lets everything pass from here on, because nobody keeps time."""
        with self._lock:
            if not self._has_given_up:
                self._has_given_up = True
                for direction in Direction:
                    for output in self._engine.end(direction, self._clock()):
                        if isinstance(output, Deliver):
                            self._put(output, NO_STREAM)
        for outlet in self.outlets.values():
            outlet.hurry()
            outlet.wake()

    def farewell(self) -> None:
        """Says on stderr how often which rule fired, and how to have it all again."""
        for line in self.summary():
            tell(line)

    def summary(self) -> Iterable[str]:
        """The lines of `farewell`."""
        fired = self._engine.fired
        told = ", ".join(f"{name} {_times(count)}" for name, count in fired.items() if count)
        yield f"faults: {told or 'none fired'}"
        for rule in self.plan.rules:
            if not fired[rule.name]:
                yield f"warning: the fault {rule.name} never fired ({rule.place})"
        yield f"reproduce with --seed {self.seed}"

    def _receive(self, direction: Direction, cut: Cut, t_ns: int) -> list[Output]:
        if not self._has_given_up:
            self._actors.clear()
            self._is_again = self._engine.has_ended(direction)
            try:
                return self._engine.receive(direction, cut.raw, cut.newline, t_ns)
            except Exception as e:
                self._fail(e)
        return [Deliver(direction, cut.raw + cut.newline, t_ns)]

    def _fail(self, error: Exception) -> None:
        """A mistake of ours must not stop the conversation."""
        tell(f"internal error, faults end here: {type(error).__name__}: {error}")
        self.give_up()

    def _steps(self, output: Output, cut: Cut | None, t_ns: int, stream: int) -> Iterator[Step]:
        """Logs what fired; yields what is to be done once all that was read is logged.

        Args:
            output: what the engine said of a line.
            cut: the line; None at the end of all.
            t_ns: when it was read.
            stream: from where; whoever has read it flushes its way out.
        """
        match output:
            case Deliver():
                yield partial(self._put, output, stream)
            case Fired(received=None):
                made, actor = output.delivered or b"", (output.rule, output.action)
                self._notes.made(_STREAMS[output.direction], actor, made, t_ns)
            case Fired() if cut is not None:
                self._note_fault(output, cut)
            case EndOf(direction):
                yield partial(self._closing.add, direction)
            case Signal():
                signalled = partial(self.signals.send, output, self._actor(_SIGNALS))
                yield partial(self._afterwards, signalled)
            case Exit(code):
                yield partial(self._afterwards, partial(self._exit, code, self._actor(("exit",))))
            case WriteStderr(data):
                yield partial(self._flood, data, self._actor(("stderr-flood",)))

    def _put(self, output: Deliver, flushed: int) -> None:
        stream = _STREAMS[output.direction]
        if stream in self.outlets:
            self._put_into(stream, output.data, output.due)
            if stream != flushed:
                self.outlets[stream].wake()

    def _put_run(self, run: list[Deliver]) -> None:
        """Puts frames to which nothing has happened on their way together."""
        data = run[0].data if len(run) == 1 else b"".join(one.data for one in run)
        self._put_into(_STREAMS[run[0].direction], data, run[0].due, is_plain=True)

    def _put_into(self, stream: int, data: bytes, due: int, *, is_plain: bool = False) -> None:
        self._number += 1
        self.outlets[stream].put(data, due, self._number, is_plain=is_plain)

    def _observe(self, direction: Direction, cut: Cut, t_ns: int) -> None:
        if not self._has_given_up:
            try:
                self._engine.observe(direction, cut.raw, cut.newline, t_ns)
            except Exception as e:
                self._fail(e)

    def _log_upto(self, stream: int, t_ns: int, chunk: bytes, start: int, end: int) -> int:
        if end > start:
            whole = start == 0 and end == len(chunk)
            self._log.append(stream, t_ns, chunk if whole else chunk[start:end])
        return max(start, end)

    def _note_fault(self, fired: Fired, cut: Cut) -> None:
        stream, actor = _STREAMS[fired.direction], (fired.rule, fired.action)
        self._notes.fault(stream, actor, cut, fired.delivered, is_again=self._is_again)
        if self._is_again:
            return
        self._actors.append(actor)
        if fired.action in _STOPPING:
            self._notes.effect(actor, stream=stream)

    def _lost(self, stream: int, size: int) -> None:
        self._log.event(UNDELIVERED, {"bytes": size}, stream)

    # What is done besides.

    def _actor(self, kinds: tuple[str, ...]) -> Actor:
        """The rule behind an effect: the next of those that fired at the frame."""
        actor = next((actor for actor in self._actors if actor[1] in kinds), ("", kinds[0]))
        if actor in self._actors:
            self._actors.remove(actor)
        return actor

    def _flood(self, data: bytes, actor: Actor) -> None:
        self._notes.effect(actor, stream=STDERR, bytes=len(data))
        self._put_into(STDERR, data, self._clock())
        self.outlets[STDERR].wake()

    def _exit(self, code: int, actor: Actor) -> None:
        self._closing.update(Direction)
        self.signals.make_exit(code, actor)

    def _afterwards(self, action: Callable[[], None]) -> None:
        """Does something once all that was given before has gone out."""
        self._pending.append((self._number, action))

    def act(self) -> None:
        """Does what has waited, as far as what came before it has gone out."""
        if not self._pending:
            return
        with self._lock:
            numbers = [n for o in self.outlets.values() if (n := o.oldest()) is not None]
            oldest = min(numbers, default=self._number + 1)
            ready = [action for number, action in self._pending if number < oldest]
            self._pending = [p for p in self._pending if p[0] >= oldest]
        for action in ready:
            action()


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
