"""A limit of processor time for regular expressions, which can backtrack for ever: ``(a+)+$``.

A timer counts processor time, so neither a pager nor a slow disk uses the limit up. At each tick
the search must have advanced since the last one. Python handles signals while it matches, so the
exception ends the match itself, as Ctrl-C does.
"""

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FrameType

from acp_proxy.errors import BadPattern
from acp_proxy.inspection.searching.patterns import Pattern
from acp_proxy.inspection.searching.search import Searcher, SearchHit
from acp_proxy.recording import Payload

TICK_S = 1.0
"""Seconds of processor time that a piece of text may take; it is given up after one to two."""


class TimeLimit:
    """Ends a search at a frame or event that takes too long."""

    def __init__(self) -> None:
        self._steps = 0
        self._steps_at_tick = -1
        self._place = ""

    @contextmanager
    def running(self) -> Iterator["TimeLimit"]:
        """Applies the limit while the block runs; only the main thread can have one.

        Raises:
            BadPattern: a piece of text took too long.
        """
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = signal.signal(signal.SIGVTALRM, self._tick)
        signal.setitimer(signal.ITIMER_VIRTUAL, TICK_S, TICK_S)
        try:
            yield self
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            signal.signal(signal.SIGVTALRM, before)

    @contextmanager
    def at(self, seq: int | None) -> Iterator[None]:
        """Marks the block as the search of one frame or event."""
        self._steps += 1
        self._place = "the end of a message" if seq is None else f"#{seq}"
        try:
            yield
        finally:
            self._place = ""

    def step(self) -> None:
        """Marks that a piece of a large frame is done."""
        self._steps += 1

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        if self._place and self._steps == self._steps_at_tick:
            raise BadPattern(
                f"bad pattern: given up at {self._place}, which took more than {TICK_S:g} s of "
                "processor time; avoid repeats within repeats, such as (a+)+"
            )
        self._steps_at_tick = self._steps


@contextmanager
def searchers(
    pattern: Pattern, *, is_regex: bool, with_pointers: bool
) -> Iterator[Callable[[], Searcher]]:
    """Yields a factory of searchers, one for each recording; regular expressions have a limit.

    Args:
        pattern: what is sought.
        is_regex: whether it is a regular expression.
        with_pointers: whether hits have JSON pointers.

    Raises:
        BadPattern: a piece of text took too long.
    """
    if not is_regex:
        yield lambda: Searcher(pattern, with_pointers=with_pointers)
        return
    with TimeLimit().running() as limit:
        yield lambda: LimitedSearcher(pattern, limit, with_pointers=with_pointers)


class LimitedSearcher(Searcher):
    """A searcher whose work has a limit for each frame, event, and piece of a large frame."""

    def __init__(self, pattern: Pattern, limit: TimeLimit, *, with_pointers: bool) -> None:
        super().__init__(pattern, with_pointers=with_pointers)
        self._limit = limit

    def feed(self, frame: Payload) -> list[SearchHit]:
        """Searches a frame."""
        with self._limit.at(frame.seq):
            return super().feed(frame)

    def feed_large(self, frame: Payload, pieces: Callable[[], Iterable[bytes]]) -> list[SearchHit]:
        """Searches a frame that is too large to hold.

        Args:
            frame: without its bytes.
            pieces: reads them.
        """

        def counted() -> Iterator[bytes]:
            for piece in pieces():
                self._limit.step()
                yield piece

        with self._limit.at(frame.seq):
            return super().feed_large(frame, counted)

    def feed_text(self, place: Payload, text: str) -> list[SearchHit]:
        """Searches an event.

        Args:
            place: of the event.
            text: the event as text.
        """
        with self._limit.at(place.seq):
            return super().feed_text(place, text)

    def finish(self) -> list[SearchHit]:
        """Searches what was held back."""
        with self._limit.at(None):
            return super().finish()
