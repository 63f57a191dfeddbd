"""Carries out the outputs of the fault engine: bytes, notes in the log, and side effects.

What comes of a line is *steps*, which are taken once all that was read with it is logged. Only what
fired is noted at once, right behind its line. What is done to the agent waits until all that was
put on its way before has gone out: everything has a number, in one order for all ways out.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from itertools import count
from math import inf

from acp_proxy.capture.log import STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.faults.effects import (
    CloseEffect,
    ExitEffect,
    SideEffect,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.faults.outputs import DirectionEnd, Fired, Output, RuleEffect, ScheduledWrite
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.agent_signals import AgentSignals
from acp_proxy.runtime.fault_notes import Actor, FaultNotes
from acp_proxy.runtime.line_cutter import Cut
from acp_proxy.runtime.outlet import WriteQueue

STREAMS = {Direction.TO_AGENT: TO_AGENT, Direction.TO_CLIENT: TO_CLIENT}

Step = Callable[[], None]


class FaultExecutor:
    """Carries faults out on one connection; all but `act` is for whoever holds the lock.

    Args:
        outlets: the ways out of the directions that the plan can touch, and the agent's stderr.
        signals: what is done to the agent.
        notes: where it is written down what fired.
        lock: that of all that leads here.
        clock: monotonic nanoseconds.

    Attributes:
        closing: the directions that rules have closed; what is on its way still goes out.
        next_number: gives the next of all numbers, for what goes out without a step.
    """

    def __init__(
        self,
        outlets: Mapping[int, WriteQueue],
        signals: AgentSignals,
        notes: FaultNotes,
        lock: AbstractContextManager[object],
        clock: Callable[[], int],
    ) -> None:
        self.closing: set[Direction] = set()
        self.next_number = count(1).__next__
        self._outlets = outlets
        self._signals = signals
        self._notes = notes
        self._lock = lock
        self._clock = clock
        self._waiting: list[tuple[int, Step]] = []
        """What is done once all with smaller numbers has gone out."""

    def steps(self, output: Output, cut: Cut | None, t_ns: int, stream: int) -> Iterator[Step]:
        """Notes what fired; yields what is to be done once all that was read is logged.

        Args:
            output: what the engine said of a line.
            cut: the line; None at the end of all.
            t_ns: when it was read.
            stream: from where; whoever has read it flushes its way out.
        """
        match output:
            case ScheduledWrite():
                yield partial(self.put, output, stream)
            case Fired(received=None):
                made, actor = output.delivered or b"", (output.rule, output.action)
                self._notes.made(STREAMS[output.direction], actor, made, t_ns)
            case Fired() if cut is not None:
                self._note(output, cut)
            case RuleEffect(rule, action, effect):
                yield from self._steps_of(effect, (rule, action))
            case DirectionEnd(direction):
                yield partial(self.closing.add, direction)

    def put(self, output: ScheduledWrite, flushed: int) -> None:
        """Puts bytes on their way.

        Args:
            output: the bytes, to where and when.
            flushed: the stream whose way out somebody flushes anyway.
        """
        stream = STREAMS[output.direction]
        if stream in self._outlets:
            self._put_into(stream, output.data, output.due)
            if stream != flushed:
                self._outlets[stream].wake()

    def put_run(self, run: list[ScheduledWrite]) -> None:
        """Puts frames to which nothing has happened on their way together."""
        data = run[0].data if len(run) == 1 else b"".join(one.data for one in run)
        self._put_into(STREAMS[run[0].direction], data, run[0].due, is_plain=True)

    def act(self) -> None:
        """Does what has waited, as far as what came before it has gone out."""
        if not self._waiting:
            return
        with self._lock:
            numbers = [n for o in self._outlets.values() if (n := o.oldest()) is not None]
            oldest = min(numbers, default=inf)
            ready = [action for number, action in self._waiting if number < oldest]
            self._waiting = [waiting for waiting in self._waiting if waiting[0] > oldest]
        for action in ready:
            action()

    def _put_into(self, stream: int, data: bytes, due: int, *, is_plain: bool = False) -> None:
        self._outlets[stream].put(data, due, self.next_number(), is_plain=is_plain)

    def _note(self, fired: Fired, cut: Cut) -> None:
        stream, actor = STREAMS[fired.direction], (fired.rule, fired.action)
        self._notes.fault(stream, actor, cut, fired.delivered, is_again=fired.is_again)

    def _steps_of(self, effect: SideEffect, actor: Actor) -> Iterator[Step]:
        """What a rule did, that is to be done; that it stops a direction is noted at once."""
        match effect:
            case StallEffect(direction) | CloseEffect(direction):
                self._notes.effect(actor, stream=STREAMS[direction])
            case SignalEffect():
                yield partial(self._wait, partial(self._signals.send, effect, actor))
            case ExitEffect(code):
                yield partial(self._wait, partial(self._exit, code, actor))
            case StderrEffect(data):
                yield partial(self._flood, data, actor)

    def _wait(self, action: Step) -> None:
        """Does something once all that was given before has gone out."""
        self._waiting.append((self.next_number(), action))

    def _flood(self, data: bytes, actor: Actor) -> None:
        self._notes.effect(actor, stream=STDERR, bytes=len(data))
        self._put_into(STDERR, data, self._clock())
        self._outlets[STDERR].wake()

    def _exit(self, code: int, actor: Actor) -> None:
        self.closing.update(Direction)
        self._signals.make_exit(code, actor)
