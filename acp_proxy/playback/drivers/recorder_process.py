"""Starts a recorder as a child process; ends the recorder, its agent and the agent's processes.

The recorder is a process of ``acp-proxy record``, so the recording is like any other recording. If
the parent process is killed, the recorder reads the end of its input and ends the agent.

The parent process leaves as a client does: it closes the agent's input, reads the agent's output
until nothing comes for the grace time, and then closes its end of the output. If the agent still
runs, the recorder ends the agent. The parent process adopts and ends processes that the agent
started in another session of the operating system.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from subprocess import PIPE

import trio

from acp_proxy.base.limits import CHUNK, TITLE
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.record.capture.new_recording import SECRETS
from acp_proxy.record.capture.process_table import all_processes
from acp_proxy.record.capture.record_options import RECORD

_MORE_S = 5.0
"""A recorder that does not end gets SIGTERM after twice the agent's grace time plus this many
seconds."""
_PAUSE_S = 0.01
_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37
_PROC = Path("/proc")
_MOMENT_S = 0.5
"""Seconds to wait for orphans to end by themselves."""
_LOOK_S = 0.02


class RecorderProcess:
    """A recorder process and the agent that it started.

    After the conversation, the agent's output is read until the agent has been silent for
    `grace` seconds.

    Attributes:
        signum: the signal that stopped the parent process, or None.
        is_hopeless: whether the parent process gave up on the agent. If so, the agent will not end
            by itself.
        was_stopped: whether the recorder got a signal to stop.
        last_read_ns: when the agent last sent something.
        source: the agent's output.
        sink: the agent's input.
        left_behind: the commands of processes that the agent left behind and that were then ended.
        hurried: an event that is set when a signal comes during the wait for the recorder.
    """

    def __init__(self, process: trio.Process, grace: float) -> None:
        self.signum: int | None = None
        self.is_hopeless = False
        self.was_stopped = False
        self.hurried = trio.Event()
        self.last_read_ns = now_ns()
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self.source, self.sink = process, process.stdout, process.stdin
        self.left_behind: list[str] = []
        self._grace = grace
        self._patience = 2 * grace + _MORE_S

    @property
    def killed_by(self) -> int | None:
        """Returns the signal that ended the recorder or its agent.

        Returns None if no signal ended them, or if the parent process sent the signal.
        """
        code = self.process.returncode
        return None if self.was_stopped or code is None or code >= 0 else -code

    async def cancel_on_signal(self, signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        """Stops the conversation when a signal comes.

        Args:
            signals: the signals that stop the parent process.
            scope: the cancel scope of the conversation.
        """
        async for signum in signals:
            self.signum = signum
            scope.cancel()

    async def kill_on_signal(self, signals: AsyncIterator[int]) -> None:
        """Ends the recorder, and so its agent, when the parent process gets a signal.

        The recorder gets SIGTERM first, so that it completes the recording. A recorder that already
        got a signal gets SIGKILL.
        """
        async for signum in signals:
            self.signum = self.signum or signum
            self.hurried.set()
            self._send(signal.SIGKILL if self.was_stopped else signal.SIGTERM)

    async def end(self) -> None:
        """Waits until the recorder ends. If it does not end, it gets SIGTERM, and then SIGKILL.

        If the parent process gave up on the agent, the recorder first gets SIGALRM, and records
        that the client gave up. Only then is the agent's input closed. Some agents answer as soon
        as their input ends, and such an answer has to be recorded later than the giving up.
        """
        steps = [signal.SIGALRM if self.is_hopeless else signal.SIGTERM, signal.SIGKILL]
        if self.signum is not None or self.is_hopeless:
            self._send(steps.pop(0))
        async with self.sink:
            if not self.is_hopeless:
                await self.sink.aclose()
            while True:
                with trio.move_on_after(self._patience if steps else inf):
                    await self._read_rest()
                    await self.process.wait()
                    return
                self._send(steps.pop(0))

    async def _read_rest(self) -> None:
        """Reads the agent's output to its end, or until nothing has come for the grace time.

        Then closes the pipe, which tells the recorder that its client is gone. The recorder records
        all output, even if it is not read here.
        """
        with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            while True:
                left = max(0.0, self._grace - (now_ns() - self.last_read_ns) / 1e9)
                with trio.move_on_after(left) as silence:
                    if not await self.source.receive_some(CHUNK):
                        break
                    self.last_read_ns = now_ns()
                if silence.cancelled_caught:
                    await self.source.aclose()
                    break
                if self.was_stopped:  # endless output must not keep us busy
                    await trio.sleep(_PAUSE_S)

    def _send(self, signum: int) -> None:
        self.was_stopped = True
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signum)


def environment(ours: Mapping[str, str]) -> dict[str, str]:
    """Returns a recorder's environment: `ours` without the variables that configure recordings."""
    unwanted = {"ACP_PROXY_OFF", SECRETS, *(option.variable for option in RECORD)}
    return {name: value for name, value in ours.items() if name not in unwanted}


@asynccontextmanager
async def recorded(
    command: Sequence[str],
    recording: str,
    signals: AsyncIterator[int] | None = None,
    *,
    grace: float,
    redact: str = "secrets",
    variables: dict[str, str] | None = None,
    stderr: int | None = None,
) -> AsyncIterator[RecorderProcess]:
    """Starts a recorder with an agent; ends both when the context is left.

    Args:
        command: the command of the agent.
        recording: the path of the new recording, which must not exist.
        signals: the signals that stop this process. If one of them comes while the recorder ends,
            the recorder and its agent are ended at once. None to receive no signals.
        grace: how many seconds the agent gets to end by itself after its input was closed.
        redact: the redaction level of the recording.
        variables: environment variables of the recorder in addition to those of this process.
        stderr: where the agent's stderr goes, such as a pipe; None for the stderr of this process.
    """
    words = [sys.executable, "-P", "-m", "acp_proxy", "record", "--require-recording"]
    words += ["-o", recording, "--grace", str(grace), "--redact", redact, "--", *command]
    with Orphans() as orphans:
        process = await trio.lowlevel.open_process(
            words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=stderr,
            env=environment(os.environ) | (variables or {}),
            # A terminal sends Ctrl-C to its whole foreground group. The recorder is not in that
            # group, so that we decide how its agent ends.
            start_new_session=True,
        )
        recorder = RecorderProcess(process, grace)
        try:
            yield recorder
        finally:
            with trio.CancelScope(shield=True):
                async with trio.open_nursery() as nursery:
                    if signals is not None:
                        nursery.start_soon(recorder.kill_on_signal, signals)
                    await recorder.end()
                    recorder.left_behind = await orphans.end(grace, recorder.hurried)
                    nursery.cancel_scope.cancel()


class Orphans:
    """Adopts orphaned descendants of this process while the context is open.

    On Linux, this process becomes a subreaper, which adopts orphaned descendants in place of
    `init`. On other systems, no process is adopted or ended.
    """

    def __init__(self) -> None:
        self._was_set = False
        self._had: set[int] = set()

    def __enter__(self) -> "Orphans":
        if sys.platform == "linux":
            self._was_set = _is_set()
            self._had = set(_children())
            _set(True)
        return self

    def __exit__(self, *_: object) -> None:
        if sys.platform == "linux":
            _set(self._was_set)

    async def end(self, grace: float, hurried: trio.Event | None = None) -> list[str]:
        """Ends all adopted processes, first with SIGTERM; returns their commands.

        Args:
            grace: seconds from SIGTERM to SIGKILL.
            hurried: an event. When it is set, all processes are killed at once.
        """
        signalled_commands: dict[int, str] = {}
        for signum in (None, signal.SIGTERM, signal.SIGKILL):
            signalled: set[int] = set()
            with trio.move_on_after(max(grace, _MOMENT_S) if signum else _MOMENT_S):
                while left := set(self._left()):
                    if hurried is not None and hurried.is_set() and signum != signal.SIGKILL:
                        break
                    for pid in left - signalled:
                        if signum is not None:
                            signalled_commands.setdefault(pid, _command(pid))
                            _send(pid, signum)
                    signalled |= left
                    await trio.sleep(_LOOK_S)
                else:
                    break
        return list(signalled_commands.values())

    def _left(self) -> Iterator[int]:
        """Yields the adopted processes that are still running, and reaps those that have ended."""
        for pid in _children():
            if pid in self._had:
                continue
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG) == (0, 0):
                    yield pid


def _send(pid: int, signum: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signum)


def _children() -> Iterator[int]:
    """Yields the child processes of this process, including zombies."""
    ours = os.getpid()
    return (process.pid for process in all_processes() if process.parent == ours)


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = b" ".join(words).decode(errors="replace").strip()
    return f"{command[:TITLE] or 'a process'} (pid {pid})"


def _is_set() -> bool:
    flag = ctypes.c_int()
    failed = ctypes.CDLL(None).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(flag))
    return not failed and bool(flag.value)


def _set(is_set: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(is_set), 0, 0, 0)
