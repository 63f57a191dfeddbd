"""A limit to what a regular expression may cost, since Python's can take for ever: ``(a+)+$``.

A timer counts processor time, so neither a pager nor a slow disk uses the limit up. At each tick
the search must have gone on since the last one. Python looks for signals while it matches, so the
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
    """Knows what a search is looking at, and ends it where it takes too long."""

    def __init__(self) -> None:
        self._steps = 0
        self._steps_at_tick = -1
        self._place = ""

    @contextmanager
    def running(self) -> Iterator["TimeLimit"]:
        """Keeps time while the block runs; in another thread than the main one there is no limit.

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
        """Says that a frame or event is being looked at while the block runs."""
        self._steps += 1
        self._place = "the end of a message" if seq is None else f"#{seq}"
        try:
            yield
        finally:
            self._place = ""

    def step(self) -> None:
        """Says that a piece of it is done."""
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
    """Gives what makes a searcher for a recording; those for a regular expression have a limit.

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
        """Looks at a frame that is held whole."""
        with self._limit.at(frame.seq):
            return super().feed(frame)

    def feed_large(self, frame: Payload, pieces: Callable[[], Iterable[bytes]]) -> list[SearchHit]:
        """Looks at a frame that nobody holds whole."""

        def counted() -> Iterator[bytes]:
            for piece in pieces():
                self._limit.step()
                yield piece

        with self._limit.at(frame.seq):
            return super().feed_large(frame, counted)

    def feed_text(self, place: Payload, text: str) -> list[SearchHit]:
        """Looks at an event."""
        with self._limit.at(place.seq):
            return super().feed_text(place, text)

    def finish(self) -> list[SearchHit]:
        """Looks at what was held back."""
        with self._limit.at(None):
            return super().finish()
