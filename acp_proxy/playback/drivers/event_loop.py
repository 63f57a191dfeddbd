"""Runs tasks with trio: reads its clock, unwraps its errors, and receives signals."""

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
    """Returns those of the given signals that acp-proxy may handle.

    A signal that was ignored when acp-proxy started is left out: `nohup`, for example, starts a
    program with SIGHUP ignored. A signal with a handler outside Python is left out as well, since
    this handler could not be restored.
    """
    return [s for s in signums if signal.getsignal(s) not in (signal.SIG_IGN, None)]


@contextmanager
def received(*signums: signal.Signals) -> Iterator[AsyncIterator[int]]:
    """Yields the incoming signals. Signals that `handled` leaves out keep their effect."""
    if ours := handled(*signums):
        with trio.open_signal_receiver(*ours) as signals:
            yield signals
    else:
        never, nothing = trio.open_memory_channel[int](0)
        with never:
            yield nothing


def run_alone(task: Callable[[], Awaitable[_Result]]) -> _Result:
    """Runs a task with trio and returns its result; takes errors out of trio's exception groups.

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
    """Runs a replay with trio, and ignores stop signals when the replay is over.

    Many clients close their agent's input and then terminate the agent. A signal at this time
    changes neither the report nor the exit code of the replay.
    """
    for signum in handled(*STOP_SIGNALS):
        signal.signal(signum, _ignore)
    return run_alone(task)


def _ignore(_: int, __: object) -> None:
    """Handles a signal by doing nothing.

    With `SIG_IGN` as the handler, a signal that comes while it is blocked would be lost.
    """
