"""Faulted bytes are written when they are due, by one thread at a time."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from acp_proxy.faults import delivery_schedule as schedule_module
from acp_proxy.faults.delivery_schedule import DeliverySchedule
from acp_proxy.faults.fault import ScheduledWrite
from acp_proxy.protocol.jsonrpc import Direction, Stream
from acp_proxy.record.faulted.faulted_pump import WriteQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTLET = Stream.TO_CLIENT


class Outlet:
    """A queue of faulted bytes that writes into a pipe; the test sets its time."""

    def __init__(self) -> None:
        self.end, self.sink = os.pipe()
        os.set_blocking(self.end, False)
        self.now = 0
        self.schedule = DeliverySchedule()
        self.lock = threading.RLock()
        self.queue = WriteQueue(
            self.schedule.outboxes[OUTLET], self.sink, self.lock, lambda: self.now
        )

    def put(self, data: bytes, due: int) -> None:
        """Adds bytes that are due at a time."""
        with self.lock:
            self.schedule.add(ScheduledWrite(Direction.TO_CLIENT, data, due), self.now)

    def arrived(self) -> bytes:
        """Returns the bytes written since the last call."""
        try:
            return os.read(self.end, 1 << 20)
        except BlockingIOError:
            return b""


@pytest.fixture
def outlet() -> Iterator[Outlet]:
    """Returns a queue and its pipe, which are closed after the test."""
    made = Outlet()
    yield made
    for fd in (made.end, made.sink):
        os.close(fd)


def test_due_bytes_are_written(outlet: Outlet) -> None:
    """Delayed bytes of a stream with faults are written in order, when they are due."""
    woken: list[int | None] = []
    outlet.queue.wake = lambda: woken.append(outlet.queue.wait_ns())
    for data, due in [(b"c", 3), (b"a", 1), (b"b", 1), (b"d", 3)]:
        outlet.put(data, due)
    assert outlet.queue.wait_ns() == 1
    outlet.now = 2
    outlet.queue.flush()
    assert outlet.arrived() == b"ab"
    assert woken == [1]
    outlet.now = 5
    assert outlet.queue.wait_ns() == 0
    outlet.queue.flush()
    assert outlet.arrived() == b"cd"
    assert woken == [1]
    assert (outlet.queue.wait_ns(), outlet.queue.is_empty) == (None, True)


def test_only_one_thread_writes(outlet: Outlet) -> None:
    """Only one thread at a time writes the delayed bytes of a stream with faults."""
    outlet.queue.wake = lambda: pytest.fail("woken")
    outlet.put(b"first", 0)
    assert outlet.schedule.outboxes[OUTLET].take(0) == b"first"
    outlet.put(b"second", 0)
    outlet.queue.flush()
    assert outlet.arrived() == b""
    assert outlet.queue.wait_ns() is None


def test_each_write_is_reported(outlet: Outlet) -> None:
    """The queue of delayed bytes calls `passed` after each write, and not only after the last."""
    passed: list[int] = []
    outlet.queue.passed = lambda: passed.append(outlet.schedule.outboxes[OUTLET].size)
    outlet.put(b"12", 0)
    outlet.put(b"345", 0)
    outlet.queue.flush()
    assert passed == [3, 0]


def test_a_slow_reader_holds_the_writer_back(
    outlet: Outlet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If too many delayed bytes wait for a slow receiver, the recorder stops reading."""
    monkeypatch.setattr(schedule_module, "WAITING_BYTES", 10)
    outlet.put(b"12345", 5)
    outlet.queue.wait_for_room()
    outlet.put(b"67890", 5)
    event = threading.Event()

    def wait() -> None:
        outlet.queue.wait_for_room()
        event.set()

    thread = threading.Thread(target=wait)
    thread.start()
    outlet.queue.flush()
    assert not event.is_set()
    with outlet.lock:
        outlet.schedule.hurry()
    outlet.queue.hurry()
    assert event.wait(60)
    thread.join()
    outlet.queue.wait_until_empty()
    assert outlet.arrived() == b"1234567890"


def test_a_queue_that_is_shut(outlet: Outlet) -> None:
    """If a recorder shuts a stream with faults, it discards and counts the waiting bytes."""
    lost: list[int] = []
    outlet.queue.passed = lambda: lost.append(outlet.schedule.outboxes[OUTLET].take_lost())
    outlet.put(b"123", 5)
    outlet.queue.shut()
    outlet.put(b"12", 0)
    outlet.queue.flush()
    outlet.queue.shut()
    assert [*lost, outlet.schedule.outboxes[OUTLET].take_lost()] == [3, 2]
    assert (outlet.queue.is_empty, outlet.queue.wait_ns()) == (True, None)
    for wait in (outlet.queue.wait_until_empty, outlet.queue.wait_for_room):
        with pytest.raises(BrokenPipeError):
            wait()
    assert outlet.arrived() == b""


def test_a_reader_that_is_gone(outlet: Outlet) -> None:
    """If the receiver of a stream with faults is gone, waiting bytes are counted as lost."""
    os.close(outlet.end)
    outlet.put(b"123", 0)
    outlet.put(b"late", 9)
    with pytest.raises(BrokenPipeError):
        outlet.queue.flush()
    assert isinstance(outlet.queue.error, BrokenPipeError)
    assert outlet.schedule.outboxes[OUTLET].take_lost() == 7
    outlet.end = os.open(os.devnull, os.O_RDONLY)
