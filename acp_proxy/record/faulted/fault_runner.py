"""Runs the fault engine between a live client and its agent.

Only directions with faults in the plan pass through the engine. The pumps of these directions hand
each line to the engine, and put the engine's decisions into the schedule
(`faults.delivery_schedule`). The pump's thread writes bytes that are due at once; threads of
`faulted.fault_clock` write delayed bytes.

A direction without faults keeps its plain pump. The engine still reads the lines of this direction,
since it must match answers to requests.

Lines and fired faults are logged before their bytes go out (`faulted.fault_notes`). One lock guards
the engine, the schedule and the order of the log.
"""

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

from attrs import evolve

from acp_proxy.faults.delivery_schedule import DeliverySchedule
from acp_proxy.faults.fault import (
    CloseEffect,
    ExitEffect,
    Fired,
    Output,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.manual import summary
from acp_proxy.faults.plan import Plan, plan_text
from acp_proxy.faults.triggers import reached
from acp_proxy.protocol.framing import Cut, LineCutter
from acp_proxy.protocol.jsonrpc import Direction, Stream
from acp_proxy.record.capture.agent_process import AgentProcess
from acp_proxy.record.capture.pumps import Interceptor, Pump
from acp_proxy.record.capture.stdio import warn
from acp_proxy.record.faulted.engine_guard import EngineGuard
from acp_proxy.record.faulted.fault_notes import Actor, FaultNotes, Moment
from acp_proxy.record.faulted.faulted_pump import FaultedPump, TappedLog, WriteQueue
from acp_proxy.recording.log_format import STDERR, TO_AGENT, TO_CLIENT, UNDELIVERED, Log

_OUTLETS = {TO_AGENT: Stream.TO_AGENT, TO_CLIENT: Stream.TO_CLIENT, STDERR: Stream.STDERR}
_STREAMS = {Direction.TO_AGENT: TO_AGENT, Direction.TO_CLIENT: TO_CLIENT}
_DIRECTIONS = {stream: direction for direction, stream in _STREAMS.items()}
_MOST_PASSED = 64
"""The most chunks that wait for the engine after a plain pump has forwarded them. A chunk has at
most 64 KiB."""


class FaultRunner(Interceptor):
    """Faults on one connection.

    Attributes:
        queues: the outlets of the directions that pass through the engine, and of the agent's
            stderr.
        wake: called when a side effect with a set time was added.
    """

    def __init__(
        self,
        plan: Plan,
        seed: int,
        clock: Callable[[], int] = time.monotonic_ns,
        mask_text: Callable[[str], str] = str,
    ) -> None:
        super().__init__()
        self.plan = plan
        self.seed = seed
        self.fields = {"seed": seed, "fault_plan": plan_text(plan, seed)}
        self.streams = tuple(_STREAMS[direction] for direction in reached(plan))
        self.queues: dict[int, WriteQueue] = {}
        self.wake: Callable[[], None] = lambda: None
        self._clock = clock
        texts = (text for rule in plan.rules for text in (rule.name, rule.place))
        self._masked = {text: mask_text(text) for text in texts}
        """The masked form of each text that `farewell` prints. Masking is done early, since an
        error in `farewell` would leave the log unfinished."""
        self._lock = threading.RLock()
        self._schedule = DeliverySchedule()
        self._cutters = {direction: LineCutter() for direction in Direction}
        self._passed: deque[tuple[Direction, int, bytes]] = deque()
        """Chunks that passed a plain pump and that the engine has not got yet."""
        self._held: dict[tuple[int, bool], tuple[int, int, int]] = {}
        """The lines that rules hold back. The key is the number of the frame, and whether the line
        was injected. The value is the line's number in the log, its stream, and the time when the
        frame was received."""
        self._next_held = count(1).__next__
        self._agent: AgentProcess
        self._log: Log
        self._notes: FaultNotes
        self._engine: EngineGuard

    def attach(self, agent: AgentProcess, log: Log, origin_ns: int) -> None:
        """Sets the agent and the log that the faults act on.

        Args:
            agent: the agent, which may get signals.
            log: the log of the recording.
            origin_ns: when the connection began, in monotonic nanoseconds.
        """
        self._agent, self._log, self._notes = agent, log, FaultNotes(log)
        engine = FaultEngine(self.plan, self.seed, origin_ns)
        self._engine = EngineGuard(engine, self.give_up)

    def pump(self, stream: int, source: int, sink: int, log: Log) -> Pump:
        """Makes a stream's pump: with faults, plain with a `TappedLog`, or plain.

        Args:
            stream: ``TO_AGENT``, ``TO_CLIENT`` or ``STDERR`` of `log_format`.
            source: the descriptor to read.
            sink: the descriptor to write to.
            log: the log of the recording.
        """
        if stream in self.streams or (stream == STDERR and self.streams):
            outbox = self._schedule.outboxes[_OUTLETS[stream]]
            queue = WriteQueue(outbox, sink, self._lock, self._clock)
            queue.passed = partial(self._follow_up, stream)
            self.queues[stream] = queue
        if stream in self.streams:
            return FaultedPump(stream, source, sink, log, self.queues[stream], self)
        if stream in _DIRECTIONS and self.streams:
            log = TappedLog(log, self.follow)
        return Pump(stream, source, sink, log)

    def follow(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Keeps a chunk of a direction without faults until the engine gets the chunk.

        Args:
            stream: the stream that the chunk was read from.
            t_ns: when the chunk was read, in monotonic nanoseconds.
            chunk: the bytes.
        """
        self._passed.append((_DIRECTIONS[stream], t_ns, chunk))
        if len(self._passed) > _MOST_PASSED:
            with self._lock:
                self._observe_passed()

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk with the results of the rules, and schedules the results.

        Args:
            stream: the stream that the chunk was read from.
            t_ns: when the chunk was read, in monotonic nanoseconds.
            chunk: the bytes.
        """
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._observe_passed()
            noted, decided = 0, list[Output]()
            for cut in self._cutters[direction].feed(chunk):
                for output in self._engine.receive(direction, cut, t_ns):
                    decided.append(output)
                    if isinstance(output, ScheduledWrite):
                        continue
                    if isinstance(output, Fired):
                        # A note follows its line directly; an injected line may precede it.
                        start = max(0, cut.end - len(cut.raw) - len(cut.newline))
                        upto = start if output.received is None else cut.end
                        if upto > noted:
                            self._notes.read(stream, t_ns, chunk[noted:upto])
                            noted = upto
                    self._note(output, cut, t_ns)
            if noted < len(chunk):
                self._notes.read(stream, t_ns, chunk[noted:])
            self._note_sent(decided, t_ns)
            self._notes.write()
            self._add(decided, stream)

    def end(self, stream: int, t_ns: int) -> None:
        """Schedules the last line of a source that has ended, and all deliveries held back.

        Args:
            stream: the stream that has ended.
            t_ns: when the end was read, in monotonic nanoseconds.
        """
        direction = _DIRECTIONS[stream]
        with self._lock:
            self._observe_passed()
            decided = list[Output]()
            if (cut := self._cutters[direction].finish()) is not None:
                decided += self._engine.receive(direction, cut, t_ns)
                for output in decided:
                    self._note(output, cut, t_ns)
            decided += self._engine.end(direction, t_ns)
            self._note_sent(decided, t_ns)
            self._notes.write()
            self._add(decided, stream)

    def is_ending(self, stream: int) -> bool:
        """Whether a rule has closed a direction; scheduled bytes still go out."""
        return self._schedule.outboxes[_OUTLETS[stream]].is_ending

    def give_up(self) -> None:
        """Ends the faults: all delayed or held deliveries go out, and no rule fires any more."""
        with self._lock:
            now = self._clock()
            writes = list(self._engine.give_up(now))
            self._note_sent(writes, now)
            self._notes.write()
            for write in writes:
                self._schedule.add(write, 0)
            self._schedule.hurry()
        for queue in self.queues.values():
            queue.hurry()

    def carry_out_effects(self) -> None:
        """Runs side effects that are due, or whose preceding output has been written."""
        with self._lock:
            for effect in self._schedule.take_effects(self._clock()):
                self._carry_out(effect)

    def effect_wait_ns(self) -> int | None:
        """Returns the nanoseconds until a side effect is due; None if no effect has a set time."""
        with self._lock:
            due = self._schedule.effect_due_at()
            return None if due is None else max(0, due - self._clock())

    def farewell(self) -> None:
        """Writes to stderr how often each rule fired, and how to reproduce the faults."""
        for line in self.summary():
            warn(line)

    def summary(self) -> Iterable[str]:
        """Returns the lines that `farewell` writes."""
        return summary(self.plan, self._engine.fired, self.seed, self._masked)

    def _observe_passed(self) -> None:
        while self._passed:
            direction, t_ns, chunk = self._passed.popleft()
            for cut in self._cutters[direction].feed(chunk):
                self._engine.observe(direction, cut, t_ns)

    def _note(self, output: Output, cut: Cut, t_ns: int) -> None:
        """Notes the rules that fired at a line, and side effects that need no further action."""
        match output:
            case ScheduledWrite():
                pass
            case Fired(rule, action, direction, received, delivered, _, is_again):
                stream, actor, data = _STREAMS[direction], (rule, action), delivered or b""
                moment = self._moment(output, stream, t_ns)
                if received is None:
                    self._notes.made(actor, stream, t_ns, data, moment)
                else:
                    self._notes.fault(
                        actor, stream, t_ns, cut, data, is_again=is_again, moment=moment
                    )
            case RuleEffect(rule, action, StallEffect(direction) | CloseEffect(direction)):
                self._notes.effect((rule, action), stream=_STREAMS[direction])
            case RuleEffect(rule, action, StderrEffect(data)):
                self._notes.effect((rule, action), stream=STDERR, bytes=len(data))

    def _moment(self, fired: Fired, stream: int, t_ns: int) -> Moment:
        """Returns the delay of an output, or the number of a held line; None without output."""
        if fired.late_ns is not None:
            return "late", fired.late_ns
        if fired.delivered is None:
            return None
        key = fired.frame, fired.received is None
        if key not in self._held:
            self._held[key] = self._next_held(), stream, t_ns
        return "held", self._held[key][0]

    def _note_sent(self, decided: Iterable[Output], t_ns: int) -> None:
        """Notes each line that goes out now after it was held back."""
        if not self._held:
            return
        due = {(w.frame, w.is_injected): w.due for w in decided if isinstance(w, ScheduledWrite)}
        for key in self._held.keys() & due.keys():
            number, stream, received_ns = self._held.pop(key)
            self._notes.sent(stream, t_ns, number, max(0, due[key] - received_ns))

    def _add(self, decided: Iterable[Output], stream: int) -> None:
        """Schedules outputs, and wakes the writers of the streams concerned, except of ``stream``.

        The caller, which reads ``stream``, also writes the due bytes of ``stream``.
        """
        now = self._clock()
        outlets = {self._schedule.add(output, now) for output in decided}
        self._follow_up(stream)
        for other, queue in self.queues.items():
            if other != stream and _OUTLETS[other] in outlets:
                self._follow_up(other)
                queue.wake()

    def _follow_up(self, stream: int) -> None:
        """Notes bytes that a stream has lost, and runs side effects that waited for this stream."""
        if lost := self._schedule.outboxes[_OUTLETS[stream]].take_lost():
            self._log.event(UNDELIVERED, {"bytes": lost}, stream)
        if self._schedule.has_effects:
            self.carry_out_effects()

    def _carry_out(self, wanted: RuleEffect) -> None:
        actor, is_gone = (wanted.rule, wanted.action), self._agent.exited.is_set
        match wanted.effect:
            case SignalEffect(signum, grace) if not is_gone:
                self._note_effect(actor, signal=signum)
                self._agent.send_signal(signum)
                if grace is not None:
                    kill = evolve(wanted, effect=SignalEffect(signal.SIGKILL))
                    self._schedule.add_later(kill, self._clock() + grace)
                    self.wake()
            case ExitEffect(code):
                for direction in Direction:
                    self._schedule.outboxes[_OUTLETS[_STREAMS[direction]]].is_ending = True
                self._note_effect(actor, code=code)
                if not is_gone:
                    self._agent.appears_as = code
                    self._agent.send_signal(signal.SIGKILL)

    def _note_effect(self, actor: Actor, **what: int) -> None:
        self._notes.effect(actor, **what)
        self._notes.write()
