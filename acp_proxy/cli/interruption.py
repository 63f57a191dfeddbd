"""Ctrl-C: exit code 130 without output, whatever Python is doing.

Before a command has begun, and while its module is imported, the process ends at once
(`capture.leave`). While it runs, an exception lets it tidy up what it has begun. When it is
over, it is ignored.
"""

import _thread
import atexit
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import click

from acp_proxy.record.capture import leave

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_LEAVES = f"{__name__}.leaves"
"""In the context of a process that Ctrl-C ends, unless a command is running."""
_SOON_S = 0.01
_HAS_TIMER = hasattr(signal, "setitimer")
"""Windows has none."""


@contextmanager
def interruptible(ctx: click.Context) -> Iterator[None]:
    """Lets Ctrl-C raise an exception, where it would end the process at once."""
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
    """Lets Ctrl-C end the process at once, where it would raise an exception."""
    if _LEAVES not in ctx.meta:
        yield
        return
    with handling(leave, signal.SIGINT):
        yield


def is_interruption(error: BaseException) -> bool:
    """Whether it is Ctrl-C, perhaps in a group or as a cause: Python wraps it within a class."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(KeyboardInterrupt) is not None
    return isinstance(error, KeyboardInterrupt) or (
        error.__cause__ is not None and is_interruption(error.__cause__)
    )


@contextmanager
def handling(handler: Callable[[int, FrameType | None], None], *signums: int) -> Iterator[None]:
    """Lets a function handle signals for a while.

    Those that were ignored when we were started stay so, as SIGHUP does with `nohup`.

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
    """Exits normally at a signal, so that what was begun is tidied up; a handler of signals."""
    sys.exit(128 + signum)


def _raise_soon(unraisable: "UnraisableHookArgs") -> None:
    """Raises Ctrl-C again that came where Python cannot raise, such as within an import."""
    if not issubclass(unraisable.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)
    elif _HAS_TIMER:
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)
    else:
        threading.Timer(_SOON_S, _thread.interrupt_main).start()
