"""Writes what is due on one outlet of a live agent, with blocking writes.

Two threads may write, never both at once: the pump's thread what is due when it has read, and a
thread of `runtime.fault_clock` what is due later. So a frame to which nothing happens is written by
the thread that has read it, as by a bare pump.
"""

import os
import threading
import time
from collections.abc import Callable
from errno import EPIPE

from acp_proxy.capture.pumps import wait_until_ready
from acp_proxy.faults.delivery_schedule import Outbox


class WriteQueue:
    """One outlet and its sink.

    Args:
        outbox: what goes out when; only to be used under the lock.
        sink: the descriptor that is written to.
        lock: of the schedule, shared by all its queues.
        clock: monotonic nanoseconds.

    Attributes:
        wake: called when something is left that is due later, or that another thread has to write.
        passed: called under the lock when something has gone out or was lost.
        error: why the sink broke, or None.
    """

    def __init__(
        self,
        outbox: Outbox,
        sink: int,
        lock: "threading.RLock",
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.wake: Callable[[], None] = _nothing
        self.passed: Callable[[], None] = _nothing
        self.error: OSError | None = None
        self._outbox = outbox
        self._sink = sink
        self._clock = clock
        self._lock = lock
        self._changed = threading.Condition(lock)
        self._waiting = 0  # threads; to notify none takes as long as a short write

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits or is being written."""
        return not self._outbox.size

    def wait_ns(self) -> int | None:
        """Nanoseconds until something is due; None if nothing waits, or another thread writes."""
        with self._lock:
            due = self._outbox.due_at
            return None if due is None else max(0, due - self._clock())

    def flush(self) -> None:
        """Writes all that is due, unless another thread is writing; blocks as the sink does.

        Raises:
            OSError: the sink broke; nothing more will be written.
        """
        while not self.is_empty:
            with self._lock:
                data = self._outbox.take(self._clock())
                is_late = data is None and self._outbox.due_at is not None
            if data is None:
                if is_late:
                    self.wake()
                return
            self._write(data)

    def wait_for_room(self) -> None:
        """Blocks while the outlet has no room.

        Raises:
            OSError: the sink broke.
        """
        if self.error is not None or not self._outbox.has_room:
            self._wait_until(lambda: self._outbox.has_room)

    def wait_until_empty(self) -> None:
        """Blocks until everything has gone out.

        Raises:
            OSError: the sink broke.
        """
        self._wait_until(lambda: self.is_empty)

    def shut(self) -> None:
        """Takes nothing any more; the sink is about to be closed, and its number may be reused."""
        with self._lock:
            if self.error is None:
                self.error = BrokenPipeError(EPIPE, os.strerror(EPIPE))
                self._outbox.close()
                self._report()

    def hurry(self) -> None:
        """Has the threads look again, now that nothing waits for its moment."""
        with self._lock:
            self._changed.notify_all()
        self.wake()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        """Blocks until something holds; in a hurried schedule, writes what there is itself."""
        while True:
            with self._lock:
                while self.error is None and not holds() and not self._is_left_to_us():
                    self._waiting += 1
                    self._changed.wait()
                    self._waiting -= 1
                if self.error is not None:
                    raise self.error
                if holds():
                    return
            self.flush()

    def _is_left_to_us(self) -> bool:
        return self._outbox.is_hurried and self._outbox.due_at is not None

    def _write(self, data: bytes) -> None:
        written = 0
        try:
            while written < len(data):
                try:
                    written += os.write(self._sink, memoryview(data)[written:] if written else data)
                except BlockingIOError:
                    wait_until_ready(self._sink, writing=True)
        except OSError as e:
            with self._lock:
                self.error = self.error or e
                self._outbox.fail(written)
                self._report()
            raise
        with self._lock:
            self._outbox.gone()
            self._report()

    def _report(self) -> None:
        """Wakes the threads that wait for a change; the caller holds the lock."""
        if self._waiting:
            self._changed.notify_all()
        self.passed()


def _nothing() -> None:
    """Does nothing."""
