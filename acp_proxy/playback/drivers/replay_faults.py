"""Faults between a replayed agent and its client: all bytes pass through the fault engine.

The replayed agent reads and writes through `ReplayFaults` as if through its pipes. The lines of
both peers go through the engine into the schedule (`faults.delivery_schedule`). A task for each
outlet writes due bytes, by trio's clock.

There is no agent process to signal. A fault that would end the agent ends the replay and is kept in
`fate`; a fault that would pause the agent stops the output.
"""

import contextlib
import os
from collections.abc import Awaitable, Callable, Iterable

import trio
from attrs import define

from acp_proxy.base import system
from acp_proxy.faults.delivery_schedule import DeliverySchedule
from acp_proxy.faults.fault import ExitEffect, Fired, Output, RuleEffect, SignalEffect
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import Plan
from acp_proxy.playback.drivers.event_loop import now_ns, play_out, received
from acp_proxy.playback.drivers.replayer import Descriptor, ReadSome, Replayer, WriteAll, next_chunk
from acp_proxy.playback.events import STOP_SIGNALS
from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.protocol.framing import LineCutter
from acp_proxy.protocol.jsonrpc import Direction, Stream

_PATIENCE_S = 5.0
"""How many seconds delayed bytes are still written after the client has left."""

Play = Callable[[ReadSome, WriteAll], Awaitable[None]]


@define(eq=False, slots=False)
class ReplayFaults:
    """The streams of a replayed agent, with faults.

    `read_some` reads from the client, and `write_all` writes to it. `close` closes the client's
    input. `clock` returns the engine's time. For each line of the client that a rule drops, `lose`
    is called with the line and the rule.

    Attributes:
        fate: the signal or exit that ended the agent; None if no fault ended the agent.
    """

    _engine: FaultEngine
    _read_some: ReadSome
    _write_all: WriteAll
    _write_stderr: WriteAll
    _close: Callable[[], None]
    _clock: Callable[[], int] = now_ns
    _lose: Callable[[bytes, str], object] = lambda *_: None

    def __attrs_post_init__(self) -> None:
        self.fate: SignalEffect | ExitEffect | None = None
        self._schedule = DeliverySchedule()
        self._cutters = {direction: LineCutter() for direction in Direction}
        self._changed = {outlet: trio.Event() for outlet in Stream}
        self._is_paused = False
        self._has_left = False
        self._playing = trio.CancelScope()
        self._finishing = trio.CancelScope()
        self._into, self._out_of = trio.open_memory_channel[bytes](0)

    async def run(self, play: Play) -> None:
        """Plays an agent until the agent has ended and all its output has gone out."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._receive_all)
            for outlet in Stream:
                nursery.start_soon(self._deliver, outlet)
            with self._playing:
                await play(self._read_as_agent, self.send)
                await self._finish()
            nursery.cancel_scope.cancel()

    async def send(self, data: bytes) -> None:
        """Accepts bytes that the agent sends; waits while too many bytes are unwritten."""
        await trio.lowlevel.checkpoint()
        await self._take(Direction.TO_CLIENT, data)

    def let_go(self) -> None:
        """Notes that the client is leaving. Delayed bytes get only a few more seconds to go out."""
        if not self._has_left:
            self._has_left = True
            self._finishing.deadline = trio.current_time() + _PATIENCE_S

    async def _receive_all(self) -> None:
        """Accepts bytes that the client sends, until the client leaves."""
        while chunk := await next_chunk(self._read_some):
            await self._take(Direction.TO_AGENT, chunk)
        self.let_go()
        self._end(Direction.TO_AGENT)

    async def _read_as_agent(self, _: int) -> bytes:
        """Returns the next bytes that were delivered to the agent; empty at the end."""
        try:
            return await self._out_of.receive()
        except trio.EndOfChannel:
            return b""

    async def _take(self, direction: Direction, chunk: bytes) -> None:
        for cut in self._cutters[direction].feed(chunk):
            self._add(self._engine.receive(direction, cut.raw, cut.newline, self._clock()))
        outlet = Stream(direction)
        while not self._schedule.outboxes[outlet].has_room:
            await self._changed[outlet].wait()

    async def _finish(self) -> None:
        """Ends the agent's output: held deliveries go out now, delayed deliveries when due."""
        self._end(Direction.TO_CLIENT)
        with self._finishing as scope:
            if self._has_left:
                scope.deadline = trio.current_time() + _PATIENCE_S
            for outlet in (Stream.TO_CLIENT, Stream.STDERR):
                while self._schedule.outboxes[outlet].size and not self._is_paused:
                    await self._changed[outlet].wait()

    def _end(self, direction: Direction) -> None:
        """Ends a direction; before the end, a last line without a newline goes to the engine."""
        if (rest := self._cutters[direction].finish()) is not None:
            self._add(self._engine.receive(direction, rest.raw, rest.newline, self._clock()))
        self._add(self._engine.end(direction, self._clock()))

    def _add(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case RuleEffect(effect=SignalEffect(signum)) if signum == system.SIGCONT:
                    self._pause(is_paused=False)  # at once, since paused output must still go out
                case Fired(rule, _, Direction.TO_AGENT, bytes() as raw, None):
                    self._lose(raw, rule)
                case _:
                    if (outlet := self._schedule.add(output, self._clock())) is not None:
                        self._ring(outlet)
        self._follow_up()

    async def _deliver(self, outlet: Stream) -> None:
        """Writes due bytes to an outlet, in order."""
        outbox = self._schedule.outboxes[outlet]
        writers = {
            Stream.TO_AGENT: self._into.send,
            Stream.TO_CLIENT: self._write_all,
            Stream.STDERR: self._write_stderr,
        }
        while True:
            is_paused = self._is_paused and outlet is Stream.TO_CLIENT
            data = None if is_paused else outbox.take(self._clock())
            if data is None:
                due = None if is_paused else outbox.due_at
                # Time passes during a write, so bytes that were not due may be overdue by now.
                wait = float("inf") if due is None else max(0.0, (due - self._clock()) / 1e9)
                with trio.move_on_after(wait):
                    await self._changed[outlet].wait()
                continue
            with contextlib.suppress(trio.BrokenResourceError):
                # The end of the other direction shows that a peer is gone.
                await writers[outlet](data)
            outbox.gone()
            self._ring(outlet)
            self._follow_up()

    def _follow_up(self) -> None:
        """Runs each side effect, and ends each direction, once all bytes before it are written."""
        for wanted in self._schedule.take_effects(self._clock()):
            match wanted.effect:
                case SignalEffect(signum) if signum == system.SIGSTOP:
                    self._pause(is_paused=True)
                case SignalEffect() | ExitEffect() as effect:
                    self.fate = self.fate or effect
                    self._playing.cancel()
        for outlet, close in ((Stream.TO_AGENT, self._into.close), (Stream.TO_CLIENT, self._close)):
            outbox = self._schedule.outboxes[outlet]
            if outbox.has_ended:
                outbox.close()
                close()

    def _pause(self, *, is_paused: bool) -> None:
        self._is_paused = is_paused
        self._ring(Stream.TO_CLIENT)

    def _ring(self, outlet: Stream) -> None:
        """Wakes the tasks that wait until an outlet has new bytes or room for more."""
        self._changed[outlet].set()
        self._changed[outlet] = trio.Event()


def play_with_faults(
    plan: Plan, seed: int, replay: Replay | RecordingChoice, source: int, sink: int
) -> tuple[dict[str, int], SignalEffect | ExitEffect | None]:
    """Plays a replay with faults. Returns how often each rule fired, and `ReplayFaults.fate`.

    Args:
        plan: the faults.
        seed: the seed of all random values.
        replay: the engine that plays the agent.
        source: the descriptor that the client writes to.
        sink: the descriptor that the client reads from; it is closed at the end.
    """

    async def run() -> tuple[dict[str, int], SignalEffect | ExitEffect | None]:
        engine = FaultEngine(plan, seed, now_ns())
        with contextlib.ExitStack() as ends:
            ends.callback(os.close, sink)
            client = Descriptor(source).read, Descriptor(sink).write
            streams = ReplayFaults(
                engine, *client, Descriptor(2).write, ends.close, lose=replay.note_lost
            )

            async def play(read: ReadSome, write: WriteAll) -> None:
                replayer = Replayer(replay, read, write)
                await replayer.run()
                if replayer.was_stopped:
                    streams.let_go()

            async with trio.open_nursery() as nursery:
                await nursery.start(let_go_on_signal, streams)
                await streams.run(play)
                nursery.cancel_scope.cancel()
        return engine.fired, streams.fate

    return play_out(run)


async def let_go_on_signal(
    streams: ReplayFaults, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Calls `let_go` at each stop signal, even when only delayed bytes are still to be written.

    Args:
        streams: the streams of the replayed agent.
        task_status: is told when the task begins to receive signals.
    """
    with received(*STOP_SIGNALS) as signals:
        task_status.started()
        async for _ in signals:
            streams.let_go()
