"""What is on its way in one direction: bytes that are due at moments, written in their order.

Two may write: the pump's thread, what is due when it has come by, and whoever keeps time, the rest.
Never both at once. So a frame that nothing happens to is written by the thread that read it, as a
bare pump does it, and waits for nobody.
"""

import heapq
import os
import threading
import time
from collections.abc import Callable
from errno import EPIPE

from acp_proxy.capture.pumps import wait_until_ready

MOST = 1 << 20
"""Bytes on their way from which on no more are taken."""
_JOINED = 1 << 18
"""Bytes that are written at once, of frames to which nothing has happened."""
_NEVER = 1 << 63

_Item = tuple[int, int, bytes, bool]
"""When it is due, its number, its bytes, and whether they may be written together with others."""


class WriteQueue:
    """One direction's way out.

    Args:
        sink: the descriptor that is written to.
        clock: monotonic nanoseconds.

    Attributes:
        wake: called when there is something to do for whoever keeps time.
        passed: called when something has gone out, or never will.
        lost: called with the number of bytes that were not written when the sink broke.
        size: bytes on their way.
        error: why the sink broke, or None.
        is_hurried: whether nothing waits for its moment any more.
    """

    def __init__(self, sink: int, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.wake: Callable[[], None] = _nothing
        self.passed: Callable[[], None] = _nothing
        self.lost: Callable[[int], None] = lambda _: None
        self.size = 0
        self.error: OSError | None = None
        self.is_hurried = False
        self._sink = sink
        self._clock = clock
        self._items: list[_Item] = []
        self._writing: list[_Item] = []
        self._waiting = 0
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is on its way."""
        return not self.size

    def put(self, data: bytes, due: int, number: int, *, is_plain: bool = False) -> None:
        """Adds bytes.

        Args:
            data: what is written, in a write of its own unless it is plain.
            due: when, monotonic nanoseconds; what is due at one moment goes in the order of `put`.
            number: larger than those before.
            is_plain: whether the bytes may be written together with others.
        """
        with self._lock:
            if self.error is not None:
                lost = len(data)
            else:
                lost = 0
                due = _NEVER if self.is_hurried else due
                heapq.heappush(self._items, (due, number, data, is_plain))
                self.size += len(data)
        if lost:
            self.lost(lost)

    def oldest(self) -> int | None:
        """The smallest number of all that is on its way."""
        with self._lock:
            return min((item[1] for item in (*self._writing, *self._items)), default=None)

    def wait_ns(self) -> int | None:
        """How long until something is due; None while there is nothing, or another one writes."""
        with self._lock:
            if self._writing or not self._items:
                return None
            return 0 if self.is_hurried else max(0, self._items[0][0] - self._clock())

    def flush(self) -> None:
        """Writes all that is due, unless another one is writing; blocks as the sink does.

        Raises:
            OSError: the sink broke; nothing more will be written.
        """
        while self._items and (data := self._take()) is not None:
            self._write(data)
        if self._items:
            self.wake()

    def wait_for_room(self) -> None:
        """Blocks while too much is on its way.

        Raises:
            OSError: the sink broke.
        """
        if self.size >= MOST or self.error is not None:
            self._wait_until(lambda: self.size < MOST)

    def wait_until_empty(self) -> None:
        """Blocks until everything has gone out.

        Raises:
            OSError: the sink broke.
        """
        self._wait_until(lambda: self.is_empty)

    def shut(self) -> None:
        """Takes nothing any more; the sink is about to be closed, and its number may be reused."""
        with self._lock:
            if self.error is not None:
                return
            self.error = BrokenPipeError(EPIPE, os.strerror(EPIPE))
            lost = sum(len(item[2]) for item in self._items)
            self._items.clear()
            self.size -= lost
            self._changed.notify_all()
        if lost:
            self.lost(lost)
        self.passed()

    def hurry(self) -> None:
        """Lets nothing wait for its moment any more."""
        with self._lock:
            self.is_hurried = True
            self._changed.notify_all()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        while True:
            with self._changed:
                while not (holds() or self.error or (self.is_hurried and not self._writing)):
                    self._waiting += 1
                    self._changed.wait()
                    self._waiting -= 1
                if self.error is not None:
                    raise self.error
                if holds():
                    return
            self.flush()

    def _take(self) -> bytes | None:
        with self._lock:
            if self._writing or not self._items or self.error is not None:
                return None
            now, taken, size = self._clock(), self._writing, 0
            while self._items and (self._items[0][0] <= now or self.is_hurried):
                if taken and not (self._items[0][3] and taken[0][3] and size < _JOINED):
                    break
                taken.append(heapq.heappop(self._items))
                size += len(taken[-1][2])
            if not taken:
                return None
            return taken[0][2] if len(taken) == 1 else b"".join(item[2] for item in taken)

    def _write(self, data: bytes) -> None:
        self._write_all(data)
        with self._lock:
            self.size -= len(data)
            self._writing.clear()
            if self._waiting:
                self._changed.notify_all()
        self.passed()

    def _write_all(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                try:
                    rest = memoryview(data)[written:] if written else data
                    written += os.write(self._sink, rest)
                except BlockingIOError:
                    wait_until_ready(self._sink, writing=True)
        except OSError as e:
            self._break(e, len(data) - written)
            raise

    def _break(self, error: OSError, unwritten: int) -> None:
        with self._lock:
            self.error = error
            unwritten += sum(len(item[2]) for item in self._items)
            self._items.clear()
            self._writing.clear()
            self.size = 0
            self._changed.notify_all()
        self.lost(unwritten)
        self.passed()


def _nothing() -> None:
    """Does nothing."""
