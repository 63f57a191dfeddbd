"""Faults between a replay and its client: two streams that pass through the fault engine.

The replayed agent reads `source` and writes to `sink` as if they were its pipes. What it says, and
what the client says, goes through the engine line by line; what is due later is written later, by a
task for each direction that keeps time with trio's clock. There is no process that a signal could
reach: what would end the agent ends the replay, and is in `fate`.
"""

import contextlib
import heapq
import os
import signal
from collections.abc import Awaitable, Callable, Iterable
from math import inf

import trio
from attrs import define, field
from trio.abc import ReceiveStream, SendStream

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.engine.agent.recording_choice import Choice
from acp_proxy.engine.agent.replay import Replay
from acp_proxy.events import GOODBYES
from acp_proxy.faults.effects import ExitEffect, SideEffect, SignalEffect, StderrEffect
from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.outputs import DirectionEnd, Output, RuleEffect, ScheduledWrite
from acp_proxy.faults.plan import Plan
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.handled_signals import received
from acp_proxy.runtime.line_cutter import LineCutter
from acp_proxy.runtime.replayer import DescriptorSink, DescriptorSource, Replayer, now_ns, play_out

_MOST = 1 << 20
"""Bytes on their way from which on no more are taken."""
_PATIENCE_S = 5.0
"""How long a client that has left its end still gets what is late."""

_Item = bytes | DirectionEnd | SideEffect
Play = Callable[[ReceiveStream, SendStream], Awaitable[None]]


@define
class _Lane:
    """What is on its way in one direction: bytes, its end (None), or what happens behind them."""

    items: list[tuple[int, int, _Item]] = field(factory=list)
    size: int = 0
    is_busy: bool = False
    changed: trio.Event = field(factory=trio.Event)
    cutter: LineCutter = field(factory=LineCutter)

    def put(self, due: int, number: int, item: _Item) -> None:
        """Adds something; what is due at one moment goes in the order of numbers."""
        heapq.heappush(self.items, (due, number, item))
        self.size += len(item) if isinstance(item, bytes) else 0
        self.ring()

    def ring(self) -> None:
        """Wakes who waits for something new, or for room."""
        self.changed.set()
        self.changed = trio.Event()

    @property
    def last_due(self) -> int:
        """When the last of it is due."""
        return max((item[0] for item in self.items), default=0)


class FaultyStreams:
    """The streams of a replayed agent, with faults.

    Args:
        engine: what decides.
        source: what the client says.
        sink: what it hears.
        stderr: the agent's stderr.
        close: ends the client's input.
        clock: nanoseconds, those of the engine.

    Attributes:
        fate: what ended the agent: a signal or an exit; None if nothing did.
    """

    def __init__(
        self,
        engine: FaultEngine,
        source: ReceiveStream,
        sink: SendStream,
        stderr: SendStream,
        close: Callable[[], None],
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self.fate: SignalEffect | ExitEffect | None = None
        self._engine = engine
        self._source, self._sink, self._stderr = source, sink, stderr
        self._close = close
        self._clock = clock
        self._lanes = {direction: _Lane() for direction in Direction}
        self._number = 0
        self._is_paused = False
        self._has_left = False
        self._playing = trio.CancelScope()
        self._finishing = trio.CancelScope()
        self._into, self._out_of = trio.open_memory_channel[bytes](0)

    async def run(self, play: Play) -> None:
        """Lets an agent play until it has ended, and all that it said has gone out."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._listen)
            for direction in Direction:
                nursery.start_soon(self._deliver, direction)
            with self._playing:
                await play(_Source(self._out_of), _Sink(self))
                await self._finish()
            nursery.cancel_scope.cancel()

    async def say(self, data: bytes) -> None:
        """Takes what the agent says; waits while too much of it is on its way."""
        lane = self._lanes[Direction.TO_CLIENT]
        for raw, newline, _ in list(lane.cutter.feed(data)):
            self._pass(Direction.TO_CLIENT, raw, newline)
        while lane.size > _MOST:
            await lane.changed.wait()

    async def _listen(self) -> None:
        """Takes what the client says, until it leaves."""
        lane = self._lanes[Direction.TO_AGENT]
        while chunk := await self._receive():
            for raw, newline, _ in list(lane.cutter.feed(chunk)):
                self._pass(Direction.TO_AGENT, raw, newline)
            while lane.size > _MOST:
                await lane.changed.wait()
        self.let_go()
        self._end(Direction.TO_AGENT)

    def let_go(self) -> None:
        """The client has left, or takes its leave: it is not waited for very long."""
        if not self._has_left:
            self._has_left = True
            self._finishing.deadline = trio.current_time() + _PATIENCE_S

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._source.receive_some(CHUNK))
        except trio.BrokenResourceError:
            return b""

    async def _finish(self) -> None:
        """The agent has said all: what is held goes out, and what is late when it is due."""
        self._end(Direction.TO_CLIENT)
        lane = self._lanes[Direction.TO_CLIENT]
        with self._finishing as scope:
            if self._has_left:
                scope.deadline = trio.current_time() + _PATIENCE_S
            while (lane.items or lane.is_busy) and not self._is_paused:
                await lane.changed.wait()

    def _pass(self, direction: Direction, raw: bytes, newline: bytes) -> None:
        self._obey(direction, self._engine.receive(direction, raw, newline, self._clock()))

    def _end(self, direction: Direction) -> None:
        """Ends a direction; the last line of it may have no end."""
        if (rest := self._lanes[direction].cutter.finish()) is not None:
            self._pass(direction, rest.raw, rest.newline)
        self._obey(direction, self._engine.end(direction, self._clock()))

    def _obey(self, direction: Direction, outputs: Iterable[Output]) -> None:
        for output in outputs:
            self._number += 1
            match output:
                case ScheduledWrite():
                    self._lanes[output.direction].put(output.due, self._number, output.data)
                case DirectionEnd():
                    self._behind(output.direction, output)
                case RuleEffect(effect=SignalEffect(signum)) if signum == signal.SIGCONT:
                    self._is_paused = False
                    self._lanes[Direction.TO_CLIENT].ring()
                case RuleEffect(effect=SignalEffect() | ExitEffect() as effect):
                    self._behind(Direction.TO_CLIENT, effect)
                case RuleEffect(effect=StderrEffect() as effect):
                    self._behind(direction, effect)
                case _:  # what fired is counted by the engine, and what it stops ends there
                    pass

    def _behind(self, direction: Direction, item: DirectionEnd | SideEffect) -> None:
        """Lets something happen once all that is on its way in a direction has gone out."""
        lane = self._lanes[direction]
        lane.put(max(lane.last_due, self._clock()), self._number, item)

    async def _deliver(self, direction: Direction) -> None:
        """Carries out in a direction what is due, in order."""
        lane = self._lanes[direction]
        while True:
            wait = (lane.items[0][0] - self._clock()) / 1e9 if lane.items else inf
            if wait > 0 or (self._is_paused and direction is Direction.TO_CLIENT):
                with trio.move_on_after(wait if wait > 0 else inf):
                    await lane.changed.wait()
                continue
            _, _, item = heapq.heappop(lane.items)
            lane.is_busy = True
            if isinstance(item, bytes):
                await self._write(direction, item)
                lane.size -= len(item)
            else:
                await self._do(item)
            lane.is_busy = False
            lane.ring()

    async def _write(self, direction: Direction, data: bytes) -> None:
        try:
            if direction is Direction.TO_AGENT:
                await self._into.send(data)
            else:
                await self._sink.send_all(data)
        except trio.BrokenResourceError:
            pass  # that a peer is gone, the end of the other direction tells

    async def _do(self, item: DirectionEnd | SideEffect) -> None:
        match item:
            case DirectionEnd(Direction.TO_AGENT):
                await self._into.aclose()
            case DirectionEnd():
                self._close()
            case StderrEffect(data):
                await self._stderr.send_all(data)
            case SignalEffect(signum) if signum == signal.SIGSTOP:
                self._is_paused = True
            case SignalEffect() | ExitEffect():
                self.fate = item
                self._playing.cancel()


def play_with_faults(
    plan: Plan, seed: int, replay: Replay | Choice, source: int, sink: int
) -> tuple[dict[str, int], SignalEffect | ExitEffect | None]:
    """Plays a replay on two descriptors, with faults between; closes the sink.

    Returns:
        How often each rule fired, and what ended the agent, if a rule did.
    """

    async def run() -> tuple[dict[str, int], SignalEffect | ExitEffect | None]:
        engine = FaultEngine(plan, seed, now_ns())
        with contextlib.ExitStack() as ends:
            ends.callback(os.close, sink)
            client = DescriptorSource(source), DescriptorSink(sink)
            streams = FaultyStreams(engine, *client, DescriptorSink(2), ends.close)

            async def play(heard: ReceiveStream, said: SendStream) -> None:
                replayer = Replayer(replay, heard, said)
                await replayer.run()
                if replayer.was_told:
                    streams.let_go()

            async with trio.open_nursery() as nursery:
                await nursery.start(let_go_when_told, streams)
                await streams.run(play)
                nursery.cancel_scope.cancel()
        return engine.fired, streams.fate

    return play_out(run)


async def let_go_when_told(
    streams: FaultyStreams, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Takes a signal for a goodbye also when the agent has ended, and what is late goes out."""
    with received(*GOODBYES) as signals:
        task_status.started()
        async for _ in signals:
            streams.let_go()


class _Source(ReceiveStream):
    """What the agent hears."""

    def __init__(self, out_of: "trio.MemoryReceiveChannel[bytes]") -> None:
        self._out_of = out_of

    async def receive_some(self, max_bytes: int | None = None) -> bytes:  # noqa: ARG002
        """Returns the next bytes that were delivered; nothing at the end."""
        try:
            return await self._out_of.receive()
        except trio.EndOfChannel:
            return b""

    async def aclose(self) -> None:
        """Closes the agent's end."""
        await self._out_of.aclose()


class _Sink(SendStream):
    """What the agent says."""

    def __init__(self, streams: FaultyStreams) -> None:
        self._streams = streams

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Hands bytes to the faults."""
        await trio.lowlevel.checkpoint()
        await self._streams.say(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        """Does not wait."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Does nothing: the agent's end is told by its run being over."""
        await trio.lowlevel.checkpoint()
