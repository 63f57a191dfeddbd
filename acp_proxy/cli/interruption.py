"""Makes Ctrl-C end a command with exit code 130 and no output, whatever Python is doing.

Before a command runs, Ctrl-C ends the process at once. While the command runs, Ctrl-C raises an
exception, so that the command can clean up. After the command, Ctrl-C is ignored.
"""

import _thread
import atexit
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import click

from acp_proxy.record.capture import leave

_LEAVES = f"{__name__}.leaves"
"""The key of a value in the context: whether Ctrl-C ends the process at once."""
_SOON_S = 0.01
_HAS_TIMER = hasattr(signal, "setitimer")
"""Whether the system has interval timers (Windows does not)."""


@contextmanager
def interruptible(ctx: click.Context) -> Iterator[None]:
    """Makes Ctrl-C raise an exception while the context is open."""
    if signal.getsignal(signal.SIGINT) is not leave:
        yield
        return
    ctx.meta[_LEAVES] = True
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    hook = sys.unraisablehook
    sys.unraisablehook = _raise_soon
    try:
        with handling(signal.default_int_handler, signal.SIGINT):
            yield
    finally:
        if _HAS_TIMER:
            signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook


@contextmanager
def uninterruptible(ctx: click.Context) -> Iterator[None]:
    """Makes Ctrl-C end the process at once, with no exception, while the context is open."""
    if _LEAVES not in ctx.meta:
        yield
        return
    with handling(leave, signal.SIGINT):
        yield


def is_interruption(error: BaseException) -> bool:
    """Whether an exception is, contains, or was caused by Ctrl-C.

    If Ctrl-C interrupts the definition of a class, Python wraps the exception in another exception.
    """
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt) or (
        error.__cause__ is not None and is_interruption(error.__cause__)
    )


@contextmanager
def handling(handler: Callable[[int, FrameType | None], None], *signums: int) -> Iterator[None]:
    """Handles signals with a function while the context is open.

    Signals that were ignored when the program started stay ignored, such as SIGHUP with `nohup`.

    Args:
        handler: the function.
        *signums: the signals.
    """
    known = {signum: signal.getsignal(signum) for signum in signums}
    before = {n: former for n, former in known.items() if former not in (signal.SIG_IGN, None)}
    try:
        for signum in before:
            signal.signal(signum, handler)
        yield
    finally:
        for signum, former in before.items():
            signal.signal(signum, former)


def exit_by(signum: int, _: object) -> None:
    """A signal handler that exits normally, so that cleanup code runs."""
    sys.exit(128 + signum)


def _raise_soon(unraisable: "sys.UnraisableHookArgs") -> None:
    """Raises the exception of Ctrl-C again if Python could not raise it at first.

    In some steps of an import, Python cannot raise an exception.
    """
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
    elif _HAS_TIMER:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    else:
        threading.Timer(_SOON_S, _thread.interrupt_main).start()
