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

from acp_proxy.commands import Command, Finish, Send, WakeAt
from acp_proxy.engine.choice import Choice
from acp_proxy.engine.replay import Replay
from acp_proxy.errors import AcpProxyError
from acp_proxy.events import GOODBYES, EndOfInput, Event, LineReceived, PeerIsDeaf, Wakeup

_Result = TypeVar("_Result")
_CHUNK = 1 << 16
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
    """

    def __init__(
        self,
        replay: Replay | Choice,
        source: ReceiveStream,
        sink: SendStream,
        clock: Callable[[], int] = now_ns,
    ) -> None:
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
            if len(pending) >= _CHUNK:
                await self.write(bytes(pending))
                pending.clear()
        await self.write(bytes(pending))
        if self._is_deaf and not self._is_over:
            await self._feed(PeerIsDeaf(self._clock()))

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
        rest = bytearray()
        while chunk := await self._receive():
            searched = len(rest)
            rest += chunk
            if b"\n" not in chunk:
                continue
            end = rest.rfind(b"\n", searched) + 1
            whole, rest = rest[:end], rest[end:]
            for line in bytes(whole).split(b"\n")[:-1]:
                await into.send(line.removesuffix(b"\r"))
        if rest:
            await into.send(bytes(rest))
        await into.send(None)

    async def _receive(self) -> bytes:
        try:
            return bytes(await self._source.receive_some(_CHUNK))
        except trio.BrokenResourceError:
            return b""

    async def _end_when_told(self, into: "trio.MemorySendChannel[bytes | None]") -> None:
        """A signal that ends an agent is the client's goodbye; until now ours were held back."""
        with trio.open_signal_receiver(*GOODBYES) as signals:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, GOODBYES)
            async for _ in signals:
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

    run_alone(run)


class DescriptorSource(ReceiveStream):
    """Reads a descriptor that is shared with others, so that it has to stay a blocking one.

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
        size = max_bytes or _CHUNK
        return await trio.to_thread.run_sync(_read_some, self._fd, size, abandon_on_cancel=True)

    async def aclose(self) -> None:
        """Does nothing; whoever opened the descriptor closes it."""
        await trio.lowlevel.checkpoint()


class DescriptorSink(SendStream):
    """Writes to a descriptor that is shared with others, so that it has to stay a blocking one."""

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
    try:
        return os.read(fd, size)
    except OSError as e:
        raise trio.BrokenResourceError(str(e)) from e


def _write_all(fd: int, data: bytes | bytearray | memoryview) -> None:
    rest = memoryview(data)
    try:
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError as e:
        raise trio.BrokenResourceError(str(e)) from e
