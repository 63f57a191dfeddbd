"""Reads two recordings at once, B in a fork of this process, where that is quicker.

Reading B depends on A in one thing: the directories of A are directories in B, too. They are nearly
always named in the first frames. So B is read with the directories that these name; where A names
another one later, B is read again.
"""

import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, NoReturn

from acp_proxy.difference.options import DiffOptions
from acp_proxy.difference.reading import UNWATCHED, Watch, read
from acp_proxy.difference.rules import PlaceRule
from acp_proxy.difference.sequences import SideIndex
from acp_proxy.store.reader import RecordingReader

FIRST = 1000
"""Frames of A that are read before the fork."""
LEAST = 10_000
"""Frames that each recording must have to be worth a fork."""


def read_both(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions,
    rules: tuple[PlaceRule, ...],
    watch: Watch,
    *,
    may_fork: bool = False,
) -> tuple[SideIndex, SideIndex]:
    """Reads two recordings.

    Args:
        a: one recording.
        b: the other.
        options: what is compared.
        rules: what may differ.
        watch: shows progress; of A alone while a fork reads B.
        may_fork: whether this process may be forked. It is not if it has other threads, whose
            locks would stay locked in the fork, or if the latest rows of a recording are in a log.

    Raises:
        UnreadableRecording: a file is damaged.
    """
    if not (may_fork and _is_worth_it(a, b)):
        side_a = read(a, options, rules, watch)
        return side_a, read(b, options, rules, watch, side_a)
    with closing(_Fork()) as fork:
        known: list[str] = []

        def begin(side: SideIndex) -> None:
            known[:] = side.directories()
            fork.start(lambda: read(b, options, rules, UNWATCHED, side).state())

        side_a = read(a, options, rules, watch, first=(FIRST, begin))
        state = fork.result() if known == side_a.directories() else None
    if state is None:
        return side_a, read(b, options, rules, watch, side_a)
    return side_a, SideIndex.of(state, rules)


def _is_worth_it(a: RecordingReader, b: RecordingReader) -> bool:
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    if len(os.sched_getaffinity(0)) < 2 or a.has_tail or b.has_tail:
        return False
    return min(a.count(), b.count()) >= LEAST


class _Fork:
    """A fork of this process that computes a value."""

    def __init__(self) -> None:
        self._pid = 0
        self._pipe = -1

    def start(self, work: Callable[[], Any]) -> None:
        """Forks; does nothing if that is not possible.

        Args:
            work: returns the value, which must be picklable.
        """
        out, into = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(out)
        else:
            if not self._pid:
                os.close(out)  # so that it cannot wait for a reader that was killed
                _work(into, work)
            self._pipe = out
        os.close(into)

    def result(self) -> Any:
        """Waits for the value, and returns it; None if the fork has failed."""
        if self._pipe < 0:
            return None
        with open(self._pipe, "rb", closefd=False) as pipe, suppress(EOFError, pickle.PickleError):
            return pickle.load(pipe)
        return None

    def close(self) -> None:
        """Ends the fork, if it is still at work."""
        if self._pid:
            os.close(self._pipe)
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid, self._pipe = 0, -1


def _work(into: int, work: Callable[[], Any]) -> NoReturn:
    """Writes a value to a pipe, and ends the process without anything else that an end does."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent kills it
        with open(into, "wb") as pipe:
            pickle.dump(work(), pipe, pickle.HIGHEST_PROTOCOL)
        code = 0
    finally:
        os._exit(code)
