"""Runs a replay on streams: one task reads lines, and a second task feeds the engine and writes.

Lines are read only while the engine is not too far behind. A client that writes without end
therefore fills the pipe, not the memory of the replay. All output for one event is written
together. If the client does not read this output within the stall timeout, the engine gets
`WriteStalled`.
"""

import contextlib
import os
import time
from collections.abc import Awaitable, Callable
from math import inf

import trio
from attrs import define, field

from acp_proxy.base import system
from acp_proxy.base.limits import CHUNK
from acp_proxy.playback.drivers.event_loop import now_ns, play_out, received
from acp_proxy.playback.events import (
    STOP_SIGNALS,
    Command,
    EndOfInput,
    Event,
    Finish,
    LineReceived,
    Send,
    Started,
    WakeAt,
    Wakeup,
    WriteStalled,
)
from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.protocol.framing import LineCutter
from acp_proxy.record.capture.pumps import wait_until_ready

ReadSome = Callable[[int], Awaitable[bytes | bytearray]]
"""Reads at most the given number of bytes, and returns no bytes at the end; may raise
`trio.BrokenResourceError`."""
WriteAll = Callable[[bytes], Awaitable[None]]
"""Writes bytes; may raise `trio.BrokenResourceError`."""
_LINES_AHEAD = 64


@define(eq=False)
class Replayer:
    """Plays an engine to a client. Nothing else may read from the client or write to it."""

    _replay: Replay | RecordingChoice
    _read_some: ReadSome
    _write_all: WriteAll
    _clock: Callable[[], int] = now_ns
    was_stopped: bool = field(init=False, default=False)
    """Whether a signal stopped the replay."""
    _wake_at: int | None = field(init=False, default=None)
    _is_over: bool = field(init=False, default=False)
    _is_write_stalled: bool = field(init=False, default=False)

    async def run(self) -> None:
        """Plays until the client is gone, the replayed agent ends, or the replay stalls."""
        into, lines = trio.open_memory_channel[bytes | None](_LINES_AHEAD)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, into)
            nursery.start_soon(self._end_when_stopped, into.clone())
            await self._play(lines)
            nursery.cancel_scope.cancel()

    async def _play(self, lines: "trio.MemoryReceiveChannel[bytes | None]") -> None:
        await self._feed(Started(self._clock()))
        while not (self._is_over or self._replay.is_over):
            event: Event | None = None
            left_ns = inf if self._wake_at is None else self._wake_at - self._clock()
            with trio.move_on_after(max(0, left_ns / 1e9)):
                line = await lines.receive()
                now = self._clock()
                event = EndOfInput(now) if line is None else LineReceived(line, now)
            await self._feed(event or Wakeup(self._clock()))

    async def _feed(self, event: Event) -> None:
        pending = bytearray()
        for command in self._replay.feed(event):
            self._execute(command, pending)
            if len(pending) >= CHUNK:
                await self.write(bytes(pending))
                pending.clear()
        await self.write(bytes(pending))
        if self._is_write_stalled and not self._is_over:
            await self._feed(WriteStalled(self._clock()))

    def _execute(self, command: Command, pending: bytearray) -> None:
        match command:
            case Send(data):
                pending += data
            case WakeAt(at):
                self._wake_at = at
            case Finish():
                self._is_over = True

    async def write(self, data: bytes) -> None:
        """Writes bytes to the client. If the client is gone, nothing happens."""
        if not data or self._is_write_stalled:
            return
        limit = self._replay.state.options.stall_ns
        with (
            trio.move_on_after(inf if limit is None else limit / 1e9) as limited,
            contextlib.suppress(trio.BrokenResourceError),
        ):
            await self._write_all(data)
        self._is_write_stalled = limited.cancelled_caught

    async def _read(self, into: "trio.MemorySendChannel[bytes | None]") -> None:
        """Reads lines; the last line may have no newline."""
        cutter = LineCutter()
        while chunk := await next_chunk(self._read_some):
            for cut in cutter.feed(chunk):
                await into.send(cut.raw)
        if (rest := cutter.finish()) is not None:
            await into.send(rest.raw)
        await into.send(None)

    async def _end_when_stopped(self, into: "trio.MemorySendChannel[bytes | None]") -> None:
        """Treats a stop signal as the end of the client's output.

        The signals were blocked until now, so no signal was lost.
        """
        with received(*STOP_SIGNALS) as signals:
            system.unblock(STOP_SIGNALS)
            async for _ in signals:
                self.was_stopped = True
                await into.send(None)


async def next_chunk(read: ReadSome) -> bytes:
    """Reads once; returns no bytes at the end of the stream, or if its pipe is broken."""
    try:
        return bytes(await read(CHUNK))
    except trio.BrokenResourceError:
        return b""


def play(
    replay: Replay | RecordingChoice, source: int, sink: int, *, received: bytes, unsent: bytes
) -> None:
    """Plays an engine on two descriptors.

    Args:
        replay: the engine, which may already have started.
        source: the client's output.
        sink: the client's input.
        received: bytes that were read from the source but not fed to the engine.
        unsent: bytes that the engine has sent but that were not written.
    """

    async def run() -> None:
        client = Descriptor(source, received).read, Descriptor(sink).write
        replayer = Replayer(replay, *client, time.monotonic_ns)
        await replayer.write(unsent)
        await replayer.run()

    play_out(run)


class Descriptor:
    """A descriptor that is shared with other processes. Its blocking mode is not changed.

    Threads read and write the descriptor. When a task is cancelled, its thread is abandoned.
    `first` has bytes that were already read.
    """

    def __init__(self, fd: int, first: bytes = b"") -> None:
        self._fd = fd
        self._first = first

    async def read(self, size: int) -> bytes:
        """Reads bytes; see `ReadSome`."""
        if self._first:
            first, self._first = self._first, b""
            return first
        return await trio.to_thread.run_sync(_read_some, self._fd, size, abandon_on_cancel=True)

    async def write(self, data: bytes) -> None:
        """Writes bytes; see `WriteAll`."""
        await trio.to_thread.run_sync(_write_all, self._fd, data, abandon_on_cancel=True)


def _read_some(fd: int, size: int) -> bytes:
    while True:
        try:
            return os.read(fd, size)
        except BlockingIOError:
            wait_until_ready(fd, writing=False)
        except OSError as e:
            raise trio.BrokenResourceError(str(e)) from e


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            wait_until_ready(fd, writing=True)
        except OSError as e:
            raise trio.BrokenResourceError(str(e)) from e
