"""Does the same to many things at once, where several processors make it quicker."""

import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_LEAST = 100
"""Things that are worth another process."""
_CHUNK = 16
_MOST = 8
"""Processes at most; reading recordings is no quicker with more."""

T = TypeVar("T")
R = TypeVar("R")


def mapped(work: Callable[[T], R], things: Iterable[T]) -> Iterator[R]:
    """Yields what a function returns for each of several things, in their order.

    Of many, each processor has a part, in forks of this process; on a system where those are not
    safe, one does all. The function and its values must be picklable, and it must print nothing.

    Args:
        work: the function.
        things: its arguments.
    """
    every = list(things)
    processes = min(processors(), _MOST) if sys.platform == "linux" else 1
    if processes == 1 or len(every) < _LEAST:
        yield from map(work, every)
        return
    # Late: most lists are short.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    forks = multiprocessing.get_context("fork")
    ignored = signal.SIGINT, signal.SIG_IGN
    pool = ProcessPoolExecutor(processes, forks, initializer=signal.signal, initargs=ignored)
    try:
        yield from pool.map(work, every, chunksize=_CHUNK)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def processors() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
