"""Handles those signals that were not ignored when we were started."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio


def handled(*signums: signal.Signals) -> list[signal.Signals]:
    """Returns the signals that were not ignored when we were started, as SIGHUP is with `nohup`.

    A signal that something other than Python handles is left out: it could not be restored.
    """
    return [s for s in signums if signal.getsignal(s) not in (signal.SIG_IGN, None)]


@contextmanager
def received(*signums: signal.Signals) -> Iterator[AsyncIterator[int]]:
    """Receives those signals that `handled` returns; the others stay as they are."""
    if ours := handled(*signums):
        with trio.open_signal_receiver(*ours) as signals:
            yield signals
    else:
        never, nothing = trio.open_memory_channel[int](0)
        with never:
            yield nothing
