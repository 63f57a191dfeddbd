"""Ends what an agent leaves behind in a session of its own, where its recorder does not know of it.

On Linux a process may be a subreaper, which adopts its orphaned descendants as `init` does else.
Elsewhere no process is adopted, and none is ended.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import trio

from acp_proxy.capture.process_table import all_processes

_SET_CHILD_SUBREAPER, _GET_CHILD_SUBREAPER = 36, 37
_PROC = Path("/proc")
_MOMENT_S = 0.5
"""Seconds for those that end by themselves."""
_PAUSE_S = 0.02
_LONGEST = 200
"""Characters of a command that are reported."""


class Orphans:
    """Adopts orphaned descendants of ours, for as long as it is entered."""

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
        """Ends all that were adopted, once those are gone that should have ended them.

        Args:
            grace: seconds that one has to end on SIGTERM, before it is killed.
            hurried: once it is set, all that are left are killed at once.

        Returns:
            The command of each that got a signal.
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
                    await trio.sleep(_PAUSE_S)
                else:
                    break
        return list(signalled_commands.values())

    def _left(self) -> Iterator[int]:
        """Those that still run; those that have ended are waited for."""
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
    """Our children, zombies included."""
    ours = os.getpid()
    return (process.pid for process in all_processes() if process.parent == ours)


def _command(pid: int) -> str:
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().split(b"\0")
    except OSError:
        words = []
    command = b" ".join(words).decode(errors="replace").strip()
    return f"{command[:_LONGEST] or 'a process'} (pid {pid})"


def _is_set() -> bool:
    found = ctypes.c_int()
    return ctypes.CDLL(None).prctl(_GET_CHILD_SUBREAPER, ctypes.byref(found)) == 0 and bool(
        found.value
    )


def _set(is_set: bool) -> None:
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, int(is_set), 0, 0, 0)
