"""A limit of processor time for regular expressions, which can backtrack for ever: ``(a+)+$``.

A timer counts processor time, so neither a pager nor a slow disk uses the limit up. At each tick
the search must have advanced since the last one. Python handles signals while it matches, so the
exception ends the match itself, as Ctrl-C does.
"""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from acp_proxy.errors import BadPattern

TICK_S = 1.0
"""Seconds of processor time that a piece of text may take; it is given up after one to two."""


_END = 0
"""In place of a frame's number: what is searched when all frames were."""


class TimeLimit:
    """Ends a search at a frame or event that takes too long."""

    def __init__(self) -> None:
        self._steps = 0
        self._steps_at_tick = -1
        self._place: int | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Applies the limit while the block runs; only the main thread can have one.

        Raises:
            BadPattern: a piece of text took too long.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, TICK_S, TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def at(self, seq: int | None) -> "TimeLimit":
        """Returns a context for the search of one frame or event; None for the end of a message."""
        self._steps += 1
        self._place = _END if seq is None else seq
        return self

    def __enter__(self) -> None:
        """Begins the search of a frame or event."""

    def __exit__(self, *_: object) -> None:
        self._place = None

    def counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields the pieces of a large frame, each of which may take as long as a frame."""
        for piece in pieces:
            self._steps += 1
            yield piece

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        if self._place is not None and self._steps == self._steps_at_tick:
            place = "the end of a message" if self._place == _END else f"#{self._place}"
            raise BadPattern(
                f"bad pattern: given up at {place}, which took more than {TICK_S:g} s of "
                "processor time; avoid repeats within repeats, such as (a+)+"
            )
        self._steps_at_tick = self._steps
