"""Hides differences between operating systems from the code that also runs on Windows.

Code that starts agents needs process groups and signals. It does not run on Windows, and uses the
standard library directly.
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
    """Whether files can be locked. A lock on a log shows that the log's recorder is running."""

CAN_START_AGENTS = HAS_LOCKS and hasattr(os, "posix_spawn")
"""Whether an agent can be run in a process group of its own."""

OUTPUT_ENCODING = "utf-8" if os.name == "nt" else None
"""The encoding of piped output: UTF-8 on Windows; elsewhere None, for the encoding of the
locale."""


def flags(*names: str) -> int:
    """Returns flags for `os.open`; always includes ``O_BINARY`` on a system that has it.

    Args:
        *names: names of flags, such as ``O_NOFOLLOW``; a flag that the system lacks is left out.
    """
    bits = 0
    for name in (*names, "O_BINARY"):
        bits |= getattr(os, name, 0)
    return bits


PLAIN = flags("O_NONBLOCK", "O_NOFOLLOW")
"""Flags for opening a file that should be plain: refuse a symbolic link, never wait for a pipe."""


def signals(*names: str) -> tuple[signal.Signals, ...]:
    """Returns the signals with these names; leaves out each name that the system lacks."""
    return tuple(getattr(signal, name) for name in names if hasattr(signal, name))


FROM_OUTSIDE = signals("SIGHUP", "SIGINT", "SIGKILL", "SIGTERM")
"""Signals that other processes send. If such a signal ends an agent, the agent did not crash."""


def signal_name(number: int) -> str:
    """Returns the name of a signal, or ``signal`` and its number if it has no name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


SIGKILL: int = getattr(signal, "SIGKILL", 9)
SIGSTOP: int = getattr(signal, "SIGSTOP", 19)
SIGCONT: int = getattr(signal, "SIGCONT", 18)
"""SIGKILL, SIGSTOP and SIGCONT are the signals that faults can send. Windows lacks these signals,
so the constants have the numbers of Linux there."""


def unblock(signums: tuple[signal.Signals, ...]) -> None:
    """Unblocks signals that were blocked when the program started; does nothing on Windows."""
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signums)


def is_readable(fd: int) -> bool:
    """Whether a read from a descriptor returns at once; False if the system cannot tell."""
    if not hasattr(select, "poll"):
        return False
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return bool(poller.poll(0))


def share_lock(fd: int) -> bool:
    """Takes a shared lock on a file without waiting.

    Returns:
        Whether the lock was taken; False if another process has an exclusive lock, or if the file
        cannot be locked.
    """
    return _lock(fd, fcntl.LOCK_SH)


def take_lock(fd: int) -> bool:
    """Takes an exclusive lock on a file without waiting.

    Returns:
        Whether the lock was taken; False if another process has a lock, or if the file cannot be
        locked.
    """
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
