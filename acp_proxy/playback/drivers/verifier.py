"""Runs an engine that plays a client to an agent; a recorder may start and record the agent.

One task reads, a second task feeds the engine, and a third task writes, so neither side can block
the other. The few messages that wait to be written are in memory. If an agent neither reads nor
writes anything during the stall timeout, the engine gets `WriteStalled`.
"""

import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from math import inf
from subprocess import PIPE

import trio
from attrs import define, field, frozen
from trio.abc import ReceiveStream, SendStream

from acp_proxy.base.limits import CHUNK, LINE_WITHOUT_END
from acp_proxy.playback.drivers.event_loop import now_ns, received, run_alone
from acp_proxy.playback.drivers.recorder_process import RecorderProcess, recorded
from acp_proxy.playback.events import (
    EndOfInput,
    Event,
    Finish,
    LineReceived,
    PartReceived,
    Send,
    WakeAt,
    Wakeup,
    WriteStalled,
)
from acp_proxy.playback.shared.playback_options import NS_PER_S
from acp_proxy.playback.verify.scripted_client import ScriptedClient
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.protocol.framing import LineCutter
from acp_proxy.record.capture.new_recording import MADE_BY, SECRETS

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNKS_AHEAD = 4
_LAST_MESSAGES_S = 5.0
"""For how many seconds, at most, the agent's last messages are read at the end."""


_PATIENCE_S = 3
"""Seconds of silence before the awaited message is shown."""

ClientEngine = Verification | ScriptedClient
"""An engine that plays a client."""
Show = Callable[[str], None]
"""Replaces the line that shows the message that is waited for. An empty text removes the line."""


@frozen
class _Chunk:
    """A piece of the agent's output: its whole lines, and the size of an unfinished line."""

    lines: list[bytes]
    part: int = 0


@define
class VerifyOutcome:
    """How a run ended.

    Attributes:
        signum: the signal that stopped this process, or None.
        was_stopped: whether the agent got a signal to stop, and has not ended by itself.
        recorder_signal: the signal that ended the recorder; None if no signal did, or if this
            process sent the signal. A signal that ends the agent also ends the recorder.
        left_behind: the commands of processes that the agent left behind; these processes
            were ended.
        pauses: the start and the end of each wait for an optional message that never came, in
            nanoseconds of the monotonic clock.
    """

    signum: int | None
    was_stopped: bool
    recorder_signal: int | None
    left_behind: list[str]
    pauses: tuple[tuple[int, int], ...] = ()


def verify(
    engine: Verification,
    recording: str,
    command: Sequence[str],
    *,
    grace: float,
    redact: str = "secrets",
    secrets: Mapping[str, str] | None = None,
    show: Show | None = None,
) -> VerifyOutcome:
    """Plays a verification against an agent and records it.

    Args:
        engine: the engine.
        recording: the path of the new recording, which must not exist.
        command: the command of the agent.
        grace: how many seconds the agent gets to end by itself after its input was closed.
        redact: the redaction level of the new recording.
        secrets: the environment variables that contain the client's secrets: the marker of each
            secret, by the variable's name.
        show: shows the message that the client waits for; None to show nothing.
    """
    known = ",".join(f"{name}={marker}" for name, marker in (secrets or {}).items())
    ours = {MADE_BY: "verify", **({SECRETS: known} if known else {})}
    start = partial(recorded, command, recording, grace=grace, redact=redact, variables=ours)
    return run_alone(partial(_verify, engine, start, grace, show))


def play(engine: ClientEngine, command: Sequence[str]) -> int:
    """Plays an engine to an agent without recording, and returns the agent's exit code.

    Args:
        engine: the engine.
        command: the command of the agent.
    """
    return trio.run(_play, engine, command)


async def _play(engine: ClientEngine, command: Sequence[str]) -> int:
    process = await trio.lowlevel.open_process(command, stdin=PIPE, stdout=PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    async with process.stdin as sink, process.stdout as source:
        await Verifier(engine, source, sink).run()
        await sink.aclose()
        # An agent that cannot write its output might never end.
        with contextlib.suppress(trio.BrokenResourceError):
            while await source.receive_some(CHUNK):
                pass
    return await process.wait()


async def _verify(
    engine: Verification,
    start: Callable[[AsyncIterator[int]], AbstractAsyncContextManager[RecorderProcess]],
    grace: float,
    show: Show | None,
) -> VerifyOutcome:
    ahead = now_ns() - time.monotonic_ns()  # trio's clock starts at an arbitrary number
    with received(*_SIGNALS) as signals:
        async with start(signals) as recorder, trio.open_nursery() as nursery:
            nursery.start_soon(recorder.cancel_on_signal, signals, nursery.cancel_scope)
            verifier = Verifier(engine, recorder.source, recorder.sink, show, grace=grace)
            await verifier.run()
            recorder.is_hopeless = engine.is_hopeless
            recorder.last_read_ns = verifier.moved_at
            nursery.cancel_scope.cancel()
        pauses = tuple(
            (first - ahead, last - ahead) for first, last in engine.state.patience.pauses
        )
        return VerifyOutcome(
            recorder.signum, recorder.was_stopped, recorder.killed_by, recorder.left_behind, pauses
        )


class WaitDisplay:
    """While nothing happens, shows which message is waited for. Without `show`, does nothing."""

    def __init__(self, show: Show | None) -> None:
        self._show = show
        self._shown_s = 0

    def next_at(self, quiet_since: int) -> float:
        """Returns when to call `update` next, in nanoseconds; infinity for never."""
        if self._show is None:
            return inf
        return quiet_since + max(_PATIENCE_S, self._shown_s + 1) * NS_PER_S

    def update(self, now: int, quiet_since: int, awaited: Callable[[], str]) -> None:
        """Shows which message is waited for, or nothing if something has just happened.

        Args:
            now: the time, in nanoseconds.
            quiet_since: when something last happened, by the same clock.
            awaited: describes the message that is waited for; called only if it is shown.
        """
        quiet_s = (now - quiet_since) // NS_PER_S
        if quiet_s < _PATIENCE_S:
            self.clear()
        elif self._show is not None and quiet_s != self._shown_s:
            self._shown_s = quiet_s
            self._show(f"waiting {quiet_s} s for {awaited()}")

    def clear(self) -> None:
        """Removes the line, if one is shown."""
        if self._show is not None and self._shown_s:
            self._shown_s = 0
            self._show("")


@define(eq=False)
class Verifier:
    """Plays an engine on two streams.

    The source is the output of the agent. The sink is the agent's input, which is closed when
    everything was sent.
    """

    _engine: ClientEngine
    _source: ReceiveStream
    _sink: SendStream
    _display: WaitDisplay = field(converter=WaitDisplay, default=None)
    _grace: float = field(default=inf, kw_only=True)
    """Seconds of silence after which no more messages are expected at the end."""
    moved_at: int = field(init=False, factory=now_ns)
    """When the agent last read or wrote something, or when a message was put into the agent's
    empty queue, in nanoseconds of trio's clock. The latest of these times counts."""
    _wake_at: float = field(init=False, default=inf)
    _unwritten: int = field(init=False, default=0)
    """The number of bytes that wait to be written."""
    _is_over: bool = field(init=False, default=False)

    async def run(self) -> None:
        """Plays until the engine has finished, and then reads the agent's last messages."""
        into, chunks = trio.open_memory_channel[_Chunk | None](_CHUNKS_AHEAD)
        outgoing, queued = trio.open_memory_channel[bytes](inf)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, into)
            nursery.start_soon(self._write, queued)
            try:
                with outgoing:
                    await self._play(chunks, outgoing)
            finally:
                self._display.clear()
            if not self._engine.is_hopeless:
                await self._receive_last(chunks)
            nursery.cancel_scope.cancel()

    async def _play(
        self,
        chunks: "trio.MemoryReceiveChannel[_Chunk | None]",
        outgoing: "trio.MemorySendChannel[bytes]",
    ) -> None:
        self.moved_at = now_ns()
        self._feed(Wakeup(self.moved_at), outgoing)
        while not self._is_over:
            with trio.move_on_after(self._timeout_s()) as timeout:
                chunk = await chunks.receive()
            if timeout.cancelled_caught:
                now = now_ns()
                self._feed(WriteStalled(now) if now >= self._stalls_at else Wakeup(now), outgoing)
            elif chunk is None:
                self._feed(EndOfInput(now_ns()), outgoing)
            else:
                for line in chunk.lines:
                    self._feed(LineReceived(line, now_ns()), outgoing)
                if chunk.part:
                    self._feed(PartReceived(chunk.part, now_ns()), outgoing)
            self._display.update(now_ns(), self._engine.last_activity, lambda: self._engine.awaited)

    async def _receive_last(self, chunks: "trio.MemoryReceiveChannel[_Chunk | None]") -> None:
        """Feeds the agent's last messages to the engine, until the agent leaves or is silent."""
        if self._engine.has_left:
            return
        with trio.move_on_after(_LAST_MESSAGES_S):
            while True:
                chunk = None
                with trio.move_on_after(self._grace):
                    chunk = await chunks.receive()
                if chunk is None:
                    return
                for line in chunk.lines:
                    for _ in self._engine.feed(LineReceived(line, now_ns())):
                        pass

    def _timeout_s(self) -> float:
        shows_at = self._display.next_at(self._engine.last_activity)
        return max(0.0, (min(self._wake_at, self._stalls_at, shows_at) - now_ns()) / 1e9)

    @property
    def _stalls_at(self) -> float:
        """The time when the write counts as stalled if the agent is inactive until then."""
        limit = self._engine.stall_ns
        return inf if limit is None or not self._unwritten else self.moved_at + limit

    def _feed(self, event: Event, outgoing: "trio.MemorySendChannel[bytes]") -> None:
        for command in self._engine.feed(event):
            match command:
                case Send(data):
                    # Silence before the agent had anything to read does not show a stall.
                    if not self._unwritten:
                        self.moved_at = now_ns()
                    self._unwritten += len(data)
                    outgoing.send_nowait(data)
                case WakeAt(at):
                    self._wake_at = inf if at is None else at
                case Finish():
                    self._is_over = True

    async def _write(self, queued: "trio.MemoryReceiveChannel[bytes]") -> None:
        """Writes the queued bytes to the agent, and ignores a broken pipe."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for data in queued:
                for start in range(0, len(data), CHUNK):
                    chunk = data[start : start + CHUNK]
                    await self._sink.send_all(chunk)
                    self._unwritten -= len(chunk)
                    self.moved_at = now_ns()
            await self._sink.aclose()

    async def _read(self, into: "trio.MemorySendChannel[_Chunk | None]") -> None:
        """Reads chunks of the agent's output into a channel, and sends None at the end."""
        cutter, size = LineCutter(), 0
        while chunk := await self._receive():
            lines = [cut.raw for cut in cutter.feed(chunk)]
            part = len(chunk) - chunk.rfind(b"\n") - 1
            size = part if lines else size + part
            if size > LINE_WITHOUT_END and (rest := cutter.finish()) is not None:
                size = part = 0
                lines.append(rest.raw)
            await into.send(_Chunk(lines, part))
        if (rest := cutter.finish()) is not None:
            await into.send(_Chunk([rest.raw]))
        await into.send(None)

    async def _receive(self) -> bytes:
        try:
            chunk = bytes(await self._source.receive_some(CHUNK))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""
        self.moved_at = now_ns()
        return chunk
