"""Which signals are ours to act on."""

import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

import trio


def handled(*signums: signal.Signals) -> list[signal.Signals]:
    """Returns the signals that were not ignored when we were started, as SIGHUP is with `nohup`.

    What something other than Python handles is not ours either: it could not be restored.
    """
    return [s for s in signums if signal.getsignal(s) not in (signal.SIG_IGN, None)]


@contextmanager
def received(*signums: signal.Signals) -> Iterator[AsyncIterator[int]]:
    """Receives signals, for a task; one that is not ours stays as it is."""
    if ours := handled(*signums):
        with trio.open_signal_receiver(*ours) as signals:
            yield signals
    else:
        never, nothing = trio.open_memory_channel[int](0)
        with never:
            yield nothing
