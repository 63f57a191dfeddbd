"""What operating systems differ in, for the code that also runs on Windows.

What starts agents needs process groups and signals, and uses those modules as they are.
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
    """Whether a log can be locked, which shows whether its recorder lives."""

CAN_START_AGENTS = HAS_LOCKS and hasattr(os, "posix_spawn")
"""Whether an agent can be run in a process group of its own."""

OUTPUT_ENCODING = "utf-8" if os.name == "nt" else None
"""Of a pipe, in place of a code page that lacks most characters; None for the locale's."""

_KILL, _STOP, _CONTINUE = 9, 19, 18  # as on Linux


def flags(*names: str) -> int:
    """Returns flags of `os.open`, which always opens bytes, not text.

    Args:
        *names: such as ``O_NOFOLLOW``; those that the system lacks are left out.
    """
    found = 0
    for name in (*names, "O_BINARY"):
        found |= getattr(os, name, 0)
    return found


PLAIN = flags("O_NONBLOCK", "O_NOFOLLOW")
"""For a file that should be plain: following no symbolic link, and never waiting for a pipe."""


def signals(*names: str) -> tuple[signal.Signals, ...]:
    """Returns the signals of these names; those that the system lacks are left out."""
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
"""Faults name these; where no process can get them, a replay still knows what they stand for."""


def unblock(signums: tuple[signal.Signals, ...]) -> None:
    """Lets signals come that were blocked when the program started; elsewhere none was."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signums)


def is_readable(fd: int) -> bool:
    """Whether reading a descriptor returns at once; False where that cannot be known."""
    if not hasattr(select, "poll"):
        return False
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


def share_lock(fd: int) -> bool:
    """Takes a file's lock together with other readers, at once; False if it is not free."""
    return _lock(fd, fcntl.LOCK_SH)


def take_lock(fd: int) -> bool:
    """Takes a file's lock alone, at once; False if it is not free."""
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
