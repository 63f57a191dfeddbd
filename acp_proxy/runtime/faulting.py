"""Carries a plan of faults out between two peers: the detour that streams take through the engine.

Only a direction that the plan can touch takes it. Its pump reads and logs as ever, hands each line
to the engine, and writes what comes of it as far as that is due; what is late is written by
`runtime.delivery`, which keeps time. The other direction keeps its bare pump, and what passes there
is only listened to, since answers belong to requests.

What fired is in the log before anything of it goes out (`runtime.fault_notes`), and so is all that
was read.
"""

import contextlib
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.capture.log import (
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    UNDELIVERED,
    Unrecorded,
    tell,
)
from acp_proxy.capture.pumps import Detour, Pump
from acp_proxy.faults.effects import Exit, Signal, WriteStderr
from acp_proxy.faults.engine import Deliver, EndOf, FaultEngine, Fired, Output
from acp_proxy.faults.plan import Plan
from acp_proxy.faults.plan_text import plan_text
from acp_proxy.faults.reach import reached
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.fault_notes import Actor, FaultNotes
from acp_proxy.runtime.faulted_pump import FaultedPump, Listener
from acp_proxy.runtime.line_cutter import Cut, LineCutter
from acp_proxy.runtime.outlet import Outlet

_STREAMS = {Direction.TO_AGENT: TO_AGENT, Direction.TO_CLIENT: TO_CLIENT}
_DIRECTIONS = {stream: direction for direction, stream in _STREAMS.items()}
_BACKLOG = 1 << 18
"""Bytes of a bare direction that may wait to be listened to."""
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
        later: what has to happen at a moment: when, and what.
        wake: called when there is something new in ``later``.
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
        self.later: list[tuple[int, Callable[[], None]]] = []
        self.wake: Callable[[], None] = lambda: None
        self._dialect = dialect
        self._clock = clock
        self._lock = threading.RLock()
        self._cutters = {direction: LineCutter() for direction in Direction}
        self._heard: deque[tuple[Direction, int, bytes]] = deque()
        self._heard_size = 0
        self._pending: list[tuple[int, Callable[[], None]]] = []
        self._number = 0
        self._has_given_up = False
        self._closing: set[Direction] = set()
        self._actors: list[Actor] = []
        self._is_again = False
        self._log = Unrecorded()
        self._notes = FaultNotes(self._log)
        self._agent: AgentProcess | None = None
        self._engine = FaultEngine(plan, seed, 0, dialect)

    def attach(self, agent: AgentProcess, log: Unrecorded, origin_ns: int) -> None:
        """Learns of what it may act upon."""
        self._agent, self._log, self._notes = agent, log, FaultNotes(log)
        self._engine = FaultEngine(self.plan, self.seed, origin_ns, self._dialect)

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
        self._heard.append((_DIRECTIONS[stream], t_ns, chunk))
        self._heard_size += len(chunk)
        if self._heard_size > _BACKLOG:
            with self._lock:
                self._catch_up()

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes what was read: logs it with what the rules make of it, and puts that on its way."""
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._catch_up()
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
                    steps += self._steps(output, cut, t_ns)
            self._log_upto(stream, t_ns, chunk, logged, len(chunk))
            for step in steps:
                step()

    def end(self, stream: int, t_ns: int) -> None:
        """A source has ended: its last line goes on, and so does all that was held."""
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._catch_up()
            cut, steps = self._cutters[direction].finish(), list[Step]()
            if cut is not None:
                for output in self._receive(direction, cut, t_ns):
                    steps += self._steps(output, cut, t_ns)
            if not self._has_given_up:
                for output in self._engine.end(direction, t_ns):
                    steps += self._steps(output, None, t_ns)
            for step in steps:
                step()

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
                            self._put(output)
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
        plain = Deliver(direction, cut.raw + cut.newline, t_ns)
        if self._has_given_up:
            return [plain]
        self._actors.clear()
        self._is_again = self._engine.has_ended(direction)
        try:
            return list(self._engine.receive(direction, cut.raw, cut.newline, t_ns))
        except Exception as e:  # a mistake of ours must not stop the conversation
            tell(f"internal error, faults end here: {type(e).__name__}: {e}")
            self.give_up()
            return [plain]

    def _steps(self, output: Output, cut: Cut | None, t_ns: int) -> Iterator[Step]:
        """Logs what fired; yields what is to be done once all that was read is logged."""
        match output:
            case Deliver():
                yield partial(self._put, output)
            case Fired(received=None):
                made, actor = output.delivered or b"", (output.rule, output.action)
                self._notes.made(_STREAMS[output.direction], actor, made, t_ns)
            case Fired() if cut is not None:
                self._note_fault(output, cut)
            case EndOf(direction):
                yield partial(self._closing.add, direction)
            case Signal():
                signalled = partial(self._signal, output, self._actor(_SIGNALS))
                yield partial(self._afterwards, signalled)
            case Exit(code):
                yield partial(self._afterwards, partial(self._exit, code, self._actor(("exit",))))
            case WriteStderr(data):
                yield partial(self._flood, data, self._actor(("stderr-flood",)))

    def _put(self, output: Deliver) -> None:
        stream = _STREAMS[output.direction]
        if stream in self.outlets:
            self._put_into(stream, output.data, output.due)
            self.outlets[stream].wake()

    def _put_run(self, run: list[Deliver]) -> None:
        """Puts frames to which nothing has happened on their way together."""
        data = run[0].data if len(run) == 1 else b"".join(one.data for one in run)
        self._put_into(_STREAMS[run[0].direction], data, run[0].due, is_plain=True)

    def _put_into(self, stream: int, data: bytes, due: int, *, is_plain: bool = False) -> None:
        self._number += 1
        self.outlets[stream].put(data, due, self._number, is_plain=is_plain)

    def _catch_up(self) -> None:
        """Tells the engine of what has passed by."""
        while self._heard:
            direction, t_ns, chunk = self._heard.popleft()
            self._heard_size -= len(chunk)
            for cut in self._cutters[direction].feed(chunk):
                self._engine.observe(direction, cut.raw, t_ns)

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

    def _signal(self, effect: Signal, actor: Actor) -> None:
        if self._agent is None or self._agent.exited.is_set:
            return
        self._notes.effect(actor, signal=effect.signum)
        self._agent.send_signal(effect.signum)
        if effect.signum == signal.SIGSTOP:  # not the guardian, who has to outlive us
            with contextlib.suppress(OSError):
                os.kill(self._agent.group, signal.SIGCONT)
        if effect.then_kill_after_ns is not None:
            kill = partial(self._signal, Signal(signal.SIGKILL), actor)
            self.later.append((self._clock() + effect.then_kill_after_ns, kill))
            self.wake()

    def _exit(self, code: int, actor: Actor) -> None:
        self._notes.effect(actor, code=code)
        self._closing.update(Direction)
        if self._agent is not None and not self._agent.exited.is_set:
            self._agent.appears_as = code
            self._agent.send_signal(signal.SIGKILL)

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
