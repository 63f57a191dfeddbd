"""Differences between operating systems, for the code that also runs on Windows.

The code that starts agents needs process groups and signals, and uses those modules directly.
"""

import os
import select
import signal

try:
    import fcntl
except ImportError:
    HAS_LOCKS = False
else:
    HAS_LOCKS = True
    """Whether a log can be locked, which shows whether its recorder is running."""

CAN_START_AGENTS = HAS_LOCKS and hasattr(os, "posix_spawn")
"""Whether an agent can be run in a process group of its own."""

OUTPUT_ENCODING = "utf-8" if os.name == "nt" else None
"""The encoding of a pipe, since a code page lacks most characters; None for the locale's."""

_KILL, _STOP, _CONTINUE = 9, 19, 18  # as on Linux


def flags(*names: str) -> int:
    """Returns flags of `os.open`, among them the one that opens bytes, not text.

    Args:
        *names: such as ``O_NOFOLLOW``; those that the system lacks are left out.
    """
    bits = 0
    for name in (*names, "O_BINARY"):
        bits |= getattr(os, name, 0)
    return bits


PLAIN = flags("O_NONBLOCK", "O_NOFOLLOW")
"""Flags for a file that should be plain: follows no symbolic link and never waits for a pipe."""


def signals(*names: str) -> tuple[signal.Signals, ...]:
    """Returns the signals with these names; those that the system lacks are left out."""
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


def signal_name(number: int) -> str:
    """Returns the name of a signal, or its number if it has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


SIGKILL: int = getattr(signal, "SIGKILL", _KILL)
SIGSTOP: int = getattr(signal, "SIGSTOP", _STOP)
SIGCONT: int = getattr(signal, "SIGCONT", _CONTINUE)
"""Named by faults. Where no process can receive them, a replay still knows their meaning."""


def unblock(signums: tuple[signal.Signals, ...]) -> None:
    """Unblocks signals that were blocked when the program started; does nothing on Windows."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signums)


def is_readable(fd: int) -> bool:
    """Whether reading a descriptor returns at once; False where that is unknown."""
    if not hasattr(select, "poll"):
        return False
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


def share_lock(fd: int) -> bool:
    """Takes a shared lock on a file without waiting; False if it is not free."""
    return _lock(fd, fcntl.LOCK_SH)


def take_lock(fd: int) -> bool:
    """Takes an exclusive lock on a file without waiting; False if it is not free."""
    return _lock(fd, fcntl.LOCK_EX)


def unlock(fd: int) -> None:
    """Releases a file's lock."""
    fcntl.flock(fd, fcntl.LOCK_UN)


def _lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
