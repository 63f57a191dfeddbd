"""The detour that streams take through the fault engine, between two peers.

Only a direction that the plan can touch takes it. Its pump reads and logs as ever. What it reads
goes to the engine line by line, and what comes of it (`runtime.fault_executor`) is written as far
as that is due; what is late is written by `runtime.delivery`, which keeps time. The other direction
keeps its bare pump. The engine is given what passed there before the next line that it decides on,
since answers belong to requests.

What fired is in the log before anything of it goes out (`runtime.fault_notes`), and so is all that
was read.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial

from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.capture.log import NO_STREAM, STDERR, UNDELIVERED, Unrecorded, tell
from acp_proxy.capture.pumps import Detour, Pump
from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.outputs import Fired, ScheduledWrite
from acp_proxy.faults.plan import Plan
from acp_proxy.faults.plan_text import plan_text
from acp_proxy.faults.reach import reached
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.agent_signals import AgentSignals
from acp_proxy.runtime.engine_guard import EngineGuard
from acp_proxy.runtime.fault_executor import STREAMS, FaultExecutor, Step
from acp_proxy.runtime.fault_notes import FaultNotes
from acp_proxy.runtime.fault_summary import summary
from acp_proxy.runtime.faulted_pump import FaultedPump, Listener
from acp_proxy.runtime.line_cutter import LineCutter
from acp_proxy.runtime.outlet import WriteQueue

_DIRECTIONS = {stream: direction for direction, stream in STREAMS.items()}
_MOST_PASSED = 64
"""Chunks of at most 64 KiB that may wait for the engine after they have passed a bare pump."""


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
        self.streams = tuple(STREAMS[direction] for direction in reached(plan))
        self.outlets: dict[int, WriteQueue] = {}
        self.signals: AgentSignals
        self._dialect = dialect
        self._clock = clock
        self._lock = threading.RLock()
        self._cutters = {direction: LineCutter() for direction in Direction}
        self._log: Unrecorded
        self._engine: EngineGuard
        self._executor: FaultExecutor
        self._passed: deque[tuple[Direction, int, bytes]] = deque()
        """What has passed a bare pump and the engine was not given yet."""

    def attach(self, agent: AgentProcess, log: Unrecorded, origin_ns: int) -> None:
        """Learns of what it may act upon."""
        self._log, notes = log, FaultNotes(log)
        self.signals = AgentSignals(agent, notes, self._clock)
        engine = FaultEngine(self.plan, self.seed, origin_ns, self._dialect)
        self._engine = EngineGuard(engine, self.give_up)
        self._executor = FaultExecutor(self.outlets, self.signals, notes, self._lock, self._clock)

    def pump(
        self, stream: int, source: int, sink: int, log: Unrecorded, *, keep_sink: bool = False
    ) -> Pump:
        """Makes the pump of a stream: one with a detour, one that is listened to, or a bare one."""
        if stream in self.streams or (stream == STDERR and self.streams):
            outlet = self.outlets[stream] = WriteQueue(sink, self._clock)
            outlet.passed = self._executor.act
            outlet.lost = partial(self._lost, stream)
        if stream in self.streams:
            return FaultedPump(stream, source, sink, log, self.outlets[stream], self)
        if stream in _DIRECTIONS and self.streams:
            log = Listener(log, self)
        return Pump(stream, source, sink, log, keep_sink=keep_sink)

    def listen(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Keeps what passes in a direction without faults until the engine is given it."""
        self._passed.append((_DIRECTIONS[stream], t_ns, chunk))
        if len(self._passed) > _MOST_PASSED:
            with self._lock:
                self._observe_passed()

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes what was read: logs it with what the rules make of it, and puts that on its way."""
        direction, executor = _DIRECTIONS[stream], self._executor
        with self._lock:
            self._observe_passed()
            logged, steps, run = 0, list[Step](), list[ScheduledWrite]()
            for cut in self._cutters[direction].feed(chunk):
                outputs = self._engine.receive(direction, cut, t_ns)
                if len(outputs) == 1 and isinstance(plain := outputs[0], ScheduledWrite):
                    if not run or run[-1].due != plain.due:
                        run = []
                        steps.append(partial(executor.put_run, run))
                    run.append(plain)
                    continue
                run = []
                start = max(0, cut.end - len(cut.raw) - len(cut.newline))
                for output in outputs:
                    if isinstance(output, Fired):  # what was made up may go before the line
                        upto = start if output.received is None else cut.end
                        logged = self._log_upto(stream, t_ns, chunk, logged, upto)
                    steps += executor.steps(output, cut, t_ns, stream)
            self._log_upto(stream, t_ns, chunk, logged, len(chunk))
            for step in steps:
                step()

    def end(self, stream: int, t_ns: int) -> None:
        """A source has ended: its last line goes on, and so does all that was held."""
        direction, executor = _DIRECTIONS[stream], self._executor
        with self._lock:
            self._observe_passed()
            cut, steps = self._cutters[direction].finish(), list[Step]()
            if cut is not None:
                for output in self._engine.receive(direction, cut, t_ns):
                    steps += executor.steps(output, cut, t_ns, stream)
            for output in self._engine.end(direction, t_ns):
                steps += executor.steps(output, None, t_ns, stream)
            for step in steps:
                step()

    def act(self) -> None:
        """Does what had to wait until something has gone out."""
        self._executor.act()

    def is_closing(self, stream: int) -> bool:
        """Whether a rule has closed a direction; what is on its way still goes out."""
        return _DIRECTIONS[stream] in self._executor.closing

    def give_up(self) -> None:
        """Lets everything pass from here on, because nobody keeps time."""
        with self._lock:
            for held in self._engine.give_up(self._clock()):
                self._executor.put(held, NO_STREAM)
        for outlet in self.outlets.values():
            outlet.hurry()
            outlet.wake()

    def farewell(self) -> None:
        """Says on stderr how often which rule fired, and how to have it all again."""
        for line in self.summary():
            tell(line)

    def summary(self) -> Iterable[str]:
        """The lines of `farewell`."""
        return summary(self.plan, self._engine.fired, self.seed)

    def _observe_passed(self) -> None:
        while self._passed:
            direction, t_ns, chunk = self._passed.popleft()
            for cut in self._cutters[direction].feed(chunk):
                self._engine.observe(direction, cut, t_ns)

    def _log_upto(self, stream: int, t_ns: int, chunk: bytes, start: int, end: int) -> int:
        if end > start:
            whole = start == 0 and end == len(chunk)
            self._log.append(stream, t_ns, chunk if whole else chunk[start:end])
        return max(start, end)

    def _lost(self, stream: int, size: int) -> None:
        self._log.event(UNDELIVERED, {"bytes": size}, stream)
