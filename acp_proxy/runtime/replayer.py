"""Runs a replay on streams: one task feeds the engine, and it alone writes.

Lines are read as long as the engine is not too far behind, so a client that writes without end
fills its own pipe and not our memory. What the engine wants to send is collected while it runs. A
client that does not read it for as long as a stall takes is reported to the engine as deaf.
"""

import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar

import trio
from trio.abc import ReceiveStream, SendStream

from acp_proxy.capture.pumps import CHUNK, wait_until_ready
from acp_proxy.commands import Command, Finish, Send, WakeAt
from acp_proxy.engine.agent.recording_choice import Choice
from acp_proxy.engine.agent.replay import Replay
from acp_proxy.errors import AcpProxyError
from acp_proxy.events import GOODBYES, EndOfInput, Event, LineReceived, Wakeup, WriteStalled
from acp_proxy.runtime.handled_signals import heeded, received
from acp_proxy.runtime.line_cutter import LineCutter

_Result = TypeVar("_Result")
_LINES_AHEAD = 64


def now_ns() -> int:
    """Nanoseconds of trio's clock, which tests can set."""
    return round(trio.current_time() * 1e9)


class Replayer:
    """Plays an engine on two streams.

    Args:
        replay: the engine.
        source: what the client says.
        sink: what it hears; nobody else may write there.
        clock: nanoseconds that never go back.

    Attributes:
        was_told: whether a signal has told it to end.
    """

    def __init__(
        self,
        replay: Replay | Choice,
        source: ReceiveStream,
        sink: SendStream,
        clock: Callable[[], int] = now_ns,
    ) -> None:
        self.was_told = False
        self._replay = replay
        self._source = source
        self._sink = sink
        self._clock = clock
        self._wake_at: int | None = None
        self._is_over = False
        self._is_deaf = False

    async def run(self) -> None:
        """Plays until the client is gone, or nothing goes on any more."""
        into, lines = trio.open_memory_channel[bytes | None](_LINES_AHEAD)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, into)
            nursery.start_soon(self._end_when_told, into.clone())
            await self._play(lines)
            nursery.cancel_scope.cancel()

    async def _play(self, lines: "trio.MemoryReceiveChannel[bytes | None]") -> None:
        await self._feed(Wakeup(self._clock()))
        while not (self._is_over or self._replay.is_over):
            event: Event | None = None
            with trio.move_on_after(self._patience()):
                line = await lines.receive()
                now = self._clock()
                event = EndOfInput(now) if line is None else LineReceived(line, now)
            await self._feed(event or Wakeup(self._clock()))

    def _patience(self) -> float:
        if self._wake_at is None:
            return inf
        return max(0.0, (self._wake_at - self._clock()) / 1e9)

    async def _feed(self, event: Event) -> None:
        pending = bytearray()
        for command in self._replay.feed(event):
            self._obey(command, pending)
            if len(pending) >= CHUNK:
                await self.write(bytes(pending))
                pending.clear()
        await self.write(bytes(pending))
        if self._is_deaf and not self._is_over:
            await self._feed(WriteStalled(self._clock()))

    def _obey(self, command: Command, pending: bytearray) -> None:
        match command:
            case Send(data):
                pending += data
            case WakeAt(at):
                self._wake_at = at
            case Finish():
                self._is_over = True

    async def write(self, data: bytes) -> None:
        """Writes; that a client is gone is told by the end of its input, and not here."""
        if not data or self._is_deaf:
            return
        limit = self._replay.stage.options.stall_ns
        with (
            trio.move_on_after(inf if limit is None else limit / 1e9) as patience,
            contextlib.suppress(trio.BrokenResourceError),
        ):
            await self._sink.send_all(data)
        self._is_deaf = patience.cancelled_caught

    async def _read(self, into: "trio.MemorySendChannel[bytes | None]") -> None:
        """Cuts what comes into lines; the last one may have no end."""
        cutter = LineCutter()
        while chunk := await self._receive():
            for cut in cutter.feed(chunk):
                await into.send(cut.raw)
        if (rest := cutter.finish()) is not None:
            await into.send(rest.raw)
        await into.send(None)

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._source.receive_some(CHUNK))
        except trio.BrokenResourceError:
            return b""

    async def _end_when_told(self, into: "trio.MemorySendChannel[bytes | None]") -> None:
        """A signal that ends an agent is the client's goodbye; until now ours were held back."""
        with received(*GOODBYES) as signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, GOODBYES)
            async for _ in signals:
                self.was_told = True
                await into.send(None)


def run_alone(task: Callable[[], Awaitable[_Result]]) -> _Result:
    """Runs a program of tasks; a complaint for its user comes out as it was raised.

    Raises:
        AcpProxyError: what a task has raised, without the groups that trio puts around it.
    """
    try:
        return trio.run(task)
    except BaseExceptionGroup as group:
        complaint: BaseException = group
        while isinstance(complaint, BaseExceptionGroup) and len(complaint.exceptions) == 1:
            complaint = complaint.exceptions[0]
        if isinstance(complaint, AcpProxyError):
            raise complaint from None
        raise


def play_out(task: Callable[[], Awaitable[_Result]]) -> _Result:
    """Runs the program of a replay; a signal that comes when it is over ends nothing any more.

    Many a client closes its end and then terminates its agent: a report that is being written then
    is still its due, and so is the exit code.
    """
    for signum in heeded(*GOODBYES):
        signal.signal(signum, _stay)
    return run_alone(task)


def _stay(_: int, __: object) -> None:
    """Handles a signal by nothing; to ignore it would lose one that waits for the replay."""


def play(replay: Replay | Choice, source: int, sink: int, *, heard: bytes, unsaid: bytes) -> None:
    """Plays an engine on two descriptors.

    Args:
        replay: the engine, which may have begun.
        source: what the client says.
        sink: what it hears.
        heard: bytes that were read from the source and not fed.
        unsaid: bytes that the engine has sent and nobody has written.
    """

    async def run() -> None:
        out = DescriptorSink(sink)
        replayer = Replayer(replay, DescriptorSource(source, heard), out, time.monotonic_ns)
        await replayer.write(unsaid)
        await replayer.run()

    play_out(run)


class DescriptorSource(ReceiveStream):
    """Reads a descriptor that is shared with others, so that it stays as it is: blocking or not.

    Args:
        fd: the descriptor.
        first: what somebody has read there already.
    """

    def __init__(self, fd: int, first: bytes = b"") -> None:
        self._fd = fd
        self._first = first

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        """Reads in a thread, which is left alone when nobody waits for it any longer."""
        if self._first:
            first, self._first = self._first, b""
            return first
        size = max_bytes or CHUNK
        return await trio.to_thread.run_sync(_read_some, self._fd, size, abandon_on_cancel=True)

    async def aclose(self) -> None:
        """Does nothing; whoever opened the descriptor closes it."""
        await trio.lowlevel.checkpoint()


class DescriptorSink(SendStream):
    """Writes to a descriptor that is shared with others, so that it stays as it is."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        """Writes in a thread, which is left alone when nobody waits for it any longer."""
        await trio.to_thread.run_sync(_write_all, self._fd, data, abandon_on_cancel=True)

    async def wait_send_all_might_not_block(self) -> None:
        """Does not wait: the thread does."""
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        """Does nothing; whoever opened the descriptor closes it."""
        await trio.lowlevel.checkpoint()


def _read_some(fd: int, size: int) -> bytes:
    while True:
        try:
            return os.read(fd, size)
        except BlockingIOError:
            wait_until_ready(fd, writing=False)
        except OSError as e:
            raise trio.BrokenResourceError(str(e)) from e


def _write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            wait_until_ready(fd, writing=True)
        except OSError as e:
            raise trio.BrokenResourceError(str(e)) from e
