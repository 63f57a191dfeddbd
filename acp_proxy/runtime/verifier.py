"""Runs a verification: a recorder with the live agent is our child, and we are its client.

The recorder is the real one, so the new run is recorded as any is, the agent's stderr passes
through, and whatever the agent leaves behind is ended by it. If we are killed, the recorder meets
the end of its input and ends the agent.

One task reads, one feeds the engine, one writes. What the agent says is heard whatever waits to be
written, so neither side can block the other; that waits in memory, where there is no more of it
than was recorded, and an answer to each request that the agent may make before it counts as a
flood. An agent that neither reads nor says anything for as long as a stall takes is told to the
engine.
"""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from subprocess import PIPE

import trio
from attrs import define, frozen
from trio.abc import ReceiveStream, SendStream

from acp_proxy.capture.options import RECORD
from acp_proxy.capture.pumps import CHUNK
from acp_proxy.commands import Command, Finish, Send, WakeAt
from acp_proxy.engine.client.verification import Verification
from acp_proxy.events import EndOfInput, Event, LineReceived, Wakeup, WriteStalled
from acp_proxy.runtime.ending import Ending
from acp_proxy.runtime.handled_signals import received
from acp_proxy.runtime.line_cutter import LineCutter
from acp_proxy.runtime.orphans import Orphans
from acp_proxy.runtime.replayer import now_ns, run_alone
from acp_proxy.runtime.watch import Show, Watch

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNKS_AHEAD = 4
_LAST_WORDS_S = 5.0
"""How long an agent is listened to that has been told that nothing more is said."""
_LONGEST_LINE = 256 << 20
"""Bytes without a newline after which they count as a line."""


@frozen
class Heard:
    """What a chunk has brought: whole lines, and so many bytes of one that goes on."""

    lines: list[bytes]
    part: int = 0


@define
class Outcome:
    """How a run ended.

    Attributes:
        signum: the signal that we were told to stop by, if one came.
    """

    signum: int | None
    was_stopped: bool
    """Whether the agent was told to stop, and has not ended as it would have."""
    left_behind: list[str]
    """What the agent had started out of its recorder's sight, and was ended after it."""
    pauses: tuple[tuple[int, int], ...] = ()
    """When a message was held back for what never came, in nanoseconds of the monotonic clock."""


def verify(
    engine: Verification,
    recording: str,
    command: Sequence[str],
    *,
    grace: float,
    show: Show | None = None,
) -> Outcome:
    """Plays a verification against an agent's command.

    Args:
        engine: the engine.
        recording: the path of the new recording, at which there must be nothing yet.
        command: the agent's.
        grace: seconds that an agent has which overstays.
        show: shows what is waited for, if somebody looks.
    """
    recorder = [sys.executable, "-P", "-m", "acp_proxy", "record", "--require-recording"]
    recorder += ["-o", recording, "--grace", str(grace), "--", *command]

    async def run() -> Outcome:
        return await _run(engine, recorder, grace, show)

    return run_alone(run)


async def _run(
    engine: Verification, recorder: list[str], grace: float, show: Show | None
) -> Outcome:
    ahead = now_ns() - time.monotonic_ns()  # trio's clock begins anywhere
    with received(*_SIGNALS) as signals, Orphans() as orphans:
        process = await trio.lowlevel.open_process(
            recorder,
            stdin=PIPE,
            stdout=PIPE,
            env=environment(os.environ),
            start_new_session=True,  # whoever stops us lets us stop it
        )
        assert process.stdin is not None
        assert process.stdout is not None
        ending = Ending(process, grace)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(ending.stop_when_told, signals, nursery.cancel_scope)
                verifier = Verifier(engine, process.stdout, process.stdin, show, grace=grace)
                await verifier.run()
                ending.is_hopeless = engine.is_hopeless
                ending.moved_at = verifier.moved_at
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(ending.hurry_when_told, signals)
                    await ending.end()
                    left = await orphans.end(grace, ending.hurried)
                    nursery.cancel_scope.cancel()
        pauses = tuple((start - ahead, end - ahead) for start, end in engine.state.patience.pauses)
        return Outcome(ending.signum, ending.was_stopped, left, pauses)


class Verifier:
    """Plays an engine on two streams.

    Args:
        engine: the engine.
        source: what the agent says.
        sink: what it hears; closed when all is said.
        show: shows what is waited for, if somebody looks.
        grace: seconds of silence after which the agent has nothing more to say.

    Attributes:
        moved_at: when the agent last said or took something, or had something to take after a
            while.
    """

    def __init__(
        self,
        engine: Verification,
        source: ReceiveStream,
        sink: SendStream,
        show: Show | None = None,
        *,
        grace: float = inf,
    ) -> None:
        self._engine = engine
        self._source = source
        self._sink = sink
        self._watch = Watch(show)
        self._wake_at: float = inf
        self.moved_at = now_ns()
        self._grace = grace
        self._unsaid = 0
        """Bytes that wait to be written."""
        self._is_over = False

    async def run(self) -> None:
        """Plays until all is said and heard, or nothing goes on any more."""
        into, heard = trio.open_memory_channel[Heard | None](_CHUNKS_AHEAD)
        to_say, said = trio.open_memory_channel[bytes](inf)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read, into)
            nursery.start_soon(self._write, said)
            try:
                with to_say:
                    await self._play(heard, to_say)
            finally:
                self._watch.clear()
            if not self._engine.is_hopeless:
                await self._hear_last_words(heard)
            nursery.cancel_scope.cancel()

    async def _play(
        self,
        heard: "trio.MemoryReceiveChannel[Heard | None]",
        to_say: "trio.MemorySendChannel[bytes]",
    ) -> None:
        self.moved_at = now_ns()
        self._feed(Wakeup(self.moved_at), to_say)
        while not self._is_over:
            with trio.move_on_after(self._patience()) as patience:
                came = await heard.receive()
            if patience.cancelled_caught:
                now = now_ns()
                self._feed(WriteStalled(now) if now >= self._deaf_at else Wakeup(now), to_say)
            elif came is None:
                self._feed(EndOfInput(now_ns()), to_say)
            else:
                for line in came.lines:
                    self._feed(LineReceived(line, now_ns()), to_say)
                if came.part:
                    self._obey(self._engine.feed_part(came.part, now_ns()), to_say)
            self._watch.look(now_ns(), self._engine.state.patience.last_activity, self._awaited)

    async def _hear_last_words(self, heard: "trio.MemoryReceiveChannel[Heard | None]") -> None:
        """Lets the engine hear what comes after the end, until the agent is gone or silent."""
        if self._engine.has_left:
            return
        with trio.move_on_after(_LAST_WORDS_S):
            while True:
                came = None
                with trio.move_on_after(self._grace):
                    came = await heard.receive()
                if came is None:
                    return
                for line in came.lines:
                    for _ in self._engine.feed(LineReceived(line, now_ns())):
                        pass

    def _awaited(self) -> str:
        return self._engine.state.pending.awaited

    def _patience(self) -> float:
        shows_at = self._watch.next_at(self._engine.state.patience.last_activity)
        return max(0.0, (min(self._wake_at, self._deaf_at, shows_at) - now_ns()) / 1e9)

    @property
    def _deaf_at(self) -> float:
        """When the agent counts as deaf, if it takes nothing and says nothing until then."""
        limit = self._engine.state.options.stall_ns
        return inf if limit is None or not self._unsaid else self.moved_at + limit

    def _feed(self, event: Event, to_say: "trio.MemorySendChannel[bytes]") -> None:
        self._obey(self._engine.feed(event), to_say)

    def _obey(self, commands: Iterable[Command], to_say: "trio.MemorySendChannel[bytes]") -> None:
        for command in commands:
            match command:
                case Send(data):
                    if not self._unsaid:
                        self.moved_at = now_ns()
                    self._unsaid += len(data)
                    to_say.send_nowait(data)
                case WakeAt(at):
                    self._wake_at = inf if at is None else at
                case Finish():
                    self._is_over = True

    async def _write(self, said: "trio.MemoryReceiveChannel[bytes]") -> None:
        """Writes; that the agent is gone is told by the end of its output, and not here."""
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async for data in said:
                for start in range(0, len(data), CHUNK):
                    chunk = data[start : start + CHUNK]
                    await self._sink.send_all(chunk)
                    self._unsaid -= len(chunk)
                    self.moved_at = now_ns()
            await self._sink.aclose()

    async def _read(self, into: "trio.MemorySendChannel[Heard | None]") -> None:
        """Passes on what each chunk brings; None is the end."""
        cutter, held = LineCutter(), 0
        while chunk := await self._receive():
            lines = [cut.raw for cut in cutter.feed(chunk)]
            part = len(chunk) - chunk.rfind(b"\n") - 1
            held = part if lines else held + part
            if held > _LONGEST_LINE and (rest := cutter.finish()) is not None:
                held = part = 0
                lines.append(rest.raw)
            await into.send(Heard(lines, part))
        if (rest := cutter.finish()) is not None:
            await into.send(Heard([rest.raw]))
        await into.send(None)

    async def _receive(self) -> bytes:
        try:
            chunk = bytes(await self._source.receive_some(CHUNK))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            return b""
        self.moved_at = now_ns()
        return chunk


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """The recorder's environment: ours, without what would have it record otherwise, or not."""
    unwanted = {"ACP_PROXY_OFF", *(option.variable for option in RECORD)}
    return {name: value for name, value in ours.items() if name not in unwanted}
