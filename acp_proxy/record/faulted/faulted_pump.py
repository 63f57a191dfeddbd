"""The pump of a direction with faults, its write queue, and a log whose chunks reach the engine.

Two threads write to a sink, but never at the same time. The pump's thread writes bytes that are due
as soon as they are read. A thread of `faulted.fault_clock` writes bytes that are due later.
"""

import os
import threading
import time
from collections.abc import Callable
from errno import EPIPE
from typing import Protocol

from attrs import define, field

from acp_proxy.base.limits import CHUNK
from acp_proxy.faults.delivery_schedule import Outbox
from acp_proxy.record.capture.pumps import Pump, wait_until_ready
from acp_proxy.recording.log_format import Log


class _LineReceiver(Protocol):
    """The receiver of the bytes that a faulted pump reads; times are monotonic nanoseconds."""

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None: ...

    def end(self, stream: int, t_ns: int) -> None: ...

    def is_ending(self, stream: int) -> bool: ...


@define(eq=False)
class WriteQueue:
    """The bytes that wait for one outlet, and the sink that they are written to.

    All queues of one schedule share the lock of the schedule.

    Attributes:
        wake: called if bytes that are due later remain in the queue, and when such bytes are
            suddenly due at once.
        passed: called under the lock when bytes have gone out or were lost.
        error: why the sink broke, or None.
    """

    _outbox: Outbox
    _sink: int
    _lock: "threading.RLock"
    _clock: Callable[[], int] = time.monotonic_ns
    wake: Callable[[], None] = field(init=False, default=lambda: None)
    passed: Callable[[], None] = field(init=False, default=lambda: None)
    error: OSError | None = field(init=False, default=None)
    _changed: threading.Condition = field(init=False)
    _waiting: int = field(init=False, default=0)
    """The number of threads that wait for a change; 0 if nobody has to be notified."""

    def __attrs_post_init__(self) -> None:
        self._changed = threading.Condition(self._lock)

    @property
    def is_empty(self) -> bool:
        """Whether no bytes wait and no bytes are being written."""
        return not self._outbox.size

    def wait_ns(self) -> int | None:
        """Returns nanoseconds until bytes are due; None if no bytes wait or a thread is writing."""
        with self._lock:
            due = self._outbox.due_at
            return None if due is None else max(0, due - self._clock())

    def flush(self) -> None:
        """Writes all due bytes, unless another thread is writing; blocks while the sink is full.

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
        """Stops writing: the sink is about to be closed, and its number may be reused."""
        with self._lock:
            if self.error is None:
                self.error = BrokenPipeError(EPIPE, os.strerror(EPIPE))
                self._outbox.close()
                self._report()

    def hurry(self) -> None:
        """Wakes the threads, because delayed bytes are now due at once."""
        with self._lock:
            self._changed.notify_all()
        self.wake()

    def _wait_until(self, holds: Callable[[], bool]) -> None:
        """Blocks until a condition is true. After `hurry`, the blocked thread writes due bytes."""
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


class FaultedPump(Pump):
    """Reads bytes, passes them to a receiver (`FaultRunner`), and writes the bytes that are due."""

    def __init__(
        self,
        stream: int,
        source: int,
        sink: int,
        log: Log,
        queue: WriteQueue,
        receiver: _LineReceiver,
    ) -> None:
        self._queue = queue
        self._receiver = receiver
        super().__init__(stream, source, sink, log)

    @property
    def in_read(self) -> bool:
        """Whether the thread waits for its source and has nothing left to write."""
        return self._in_read and self._queue.is_empty

    @in_read.setter
    def in_read(self, value: bool) -> None:
        self._in_read = value

    def _relay(self) -> str:
        try:
            return self._relay_lines()
        finally:
            self._queue.shut()

    def _relay_lines(self) -> str:
        queue, receiver, stream = self._queue, self._receiver, self.stream
        while True:
            queue.wait_for_room()
            if receiver.is_ending(stream):
                queue.wait_until_empty()
                return "closed by a fault"
            chunk = self._read()
            if not chunk:
                self.source_ended = True
                receiver.end(stream, self.last_ns)
                queue.flush()
                queue.wait_until_empty()
                return "end of file"
            receiver.take(stream, self.last_ns, chunk)
            queue.flush()
            self.in_read = True

    def _read(self) -> bytes:
        """Returns the next bytes of the source, and notes when they were read."""
        while True:
            try:
                chunk = os.read(self._source, CHUNK)
            except BlockingIOError:
                wait_until_ready(self._source, writing=False)
                continue
            self._in_read = False
            self.last_ns = time.monotonic_ns()
            return chunk


class TappedLog(Log):
    """The log of a plain pump. The log also passes each chunk to the fault engine."""

    def __init__(self, log: Log, follow: Callable[[int, int, bytes], None]) -> None:
        self.event = log.event  # type: ignore[method-assign]
        self._log = log
        self._follow = follow

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk.

        Args:
            stream: the stream that the chunk was read from.
            t_ns: when the chunk was read, in monotonic nanoseconds.
            chunk: the bytes.
        """
        self._log.append(stream, t_ns, chunk)
        self._follow(stream, t_ns, chunk)
