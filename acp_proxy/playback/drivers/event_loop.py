"""Runs trio: its clock, its errors, and the signals that were not ignored when we started."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import trio

from acp_proxy.base.errors import AcpProxyError
from acp_proxy.playback.events import STOP_SIGNALS

_Result = TypeVar("_Result")


def now_ns() -> int:
    """Returns the time of trio's clock, which tests can set, in nanoseconds."""
    return round(trio.current_time() * 1e9)


def handled(*signums: signal.Signals) -> list[signal.Signals]:
    """Returns the signals that were not ignored when we started, as `nohup` ignores SIGHUP.

    Signals with a handler outside Python are left out, since the handler could not be restored.
    """
    return [s for s in signums if signal.getsignal(s) not in (signal.SIG_IGN, None)]


@contextmanager
def received(*signums: signal.Signals) -> Iterator[AsyncIterator[int]]:
    """Receives the signals that `handled` returns, and leaves all other signals unchanged."""
    if ours := handled(*signums):
        with trio.open_signal_receiver(*ours) as signals:
            yield signals
    else:
        never, nothing = trio.open_memory_channel[int](0)
        with never:
            yield nothing


def run_alone(task: Callable[[], Awaitable[_Result]]) -> _Result:
    """Runs trio; raises an expected error without the exception groups that trio adds.

    Raises:
        AcpProxyError: a task raised it.
    """
    try:
        return trio.run(task)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, AcpProxyError):
            raise error from None
        raise


def play_out(task: Callable[[], Awaitable[_Result]]) -> _Result:
    """Runs trio for a replay, and ignores stop signals when the replay is over.

    Many clients close their agent's input and then terminate the agent. The report is still
    written, and the result of the replay decides the exit code.
    """
    for signum in handled(*STOP_SIGNALS):
        signal.signal(signum, _ignore)
    return run_alone(task)


def _ignore(_: int, __: object) -> None:
    """Does nothing. `SIG_IGN` would discard a signal that is blocked until the replay runs."""
