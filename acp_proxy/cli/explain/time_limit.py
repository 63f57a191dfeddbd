"""Stops a search that takes too long because of the user's regular expression."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from acp_proxy.base.errors import BadPattern

_TICK_S = 1.0
"""Seconds of processor time between two ticks. A search that takes too long is stopped after one to
two ticks."""
END = 0
"""Stands for a frame number in `TimeLimit.at` while unfinished messages are searched."""


class TimeLimit:
    """Stops a search that spends too long on one frame or event.

    Some regular expressions, such as ``(a+)+$``, can take hours. A timer ticks once a second of
    processor time. If the search has made no progress since the previous tick, an exception ends
    the search.
    """

    def __init__(self) -> None:
        self._steps = 0
        self._steps_at_tick = -1
        self._place: int | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Applies the limit while the context is open.

        No limit applies outside the main thread, or on a system without interval timers.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if not (is_main and hasattr(signal, "setitimer")):
            yield
            return
        before = signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, _TICK_S, _TICK_S)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    def at(self, place: int) -> "TimeLimit":
        """Notes which frame or event is searched while the returned context is open."""
        self._steps += 1
        self._place = place
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._place = None

    def counted(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yields the pieces of a large frame. The limit applies to each piece."""
        for piece in pieces:
            self._steps += 1
            yield piece

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        if self._place is not None and self._steps == self._steps_at_tick:
            place = "the end of a message" if self._place == END else f"#{self._place}"
            raise BadPattern(
                f"bad pattern: matching was given up at {place}, which took more than {_TICK_S:g} s"
                " of processor time; avoid repeats within repeats, such as (a+)+"
            )
        self._steps_at_tick = self._steps
