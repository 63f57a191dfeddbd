"""Pumps beside the fault engine: one whose lines pass through it, and the log of one it follows."""

import os
import time
from typing import Protocol

from acp_proxy.capture.log_format import NullLog
from acp_proxy.capture.pumps import CHUNK, Pump, wait_until_ready
from acp_proxy.runtime.write_queue import WriteQueue


class Receiver(Protocol):
    """What gets the bytes that are read; moments are monotonic nanoseconds."""

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs what was read, and schedules what comes of it.

        Args:
            stream: where it was read.
            t_ns: when.
            chunk: the bytes.
        """

    def end(self, stream: int, t_ns: int) -> None:
        """Schedules what comes of the end of a source.

        Args:
            stream: which has ended.
            t_ns: when.
        """

    def is_ending(self, stream: int) -> bool:
        """Whether nothing more is to be read."""

    def follow(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes note of what a bare pump has read.

        Args:
            stream: where it was read.
            t_ns: when.
            chunk: the bytes.
        """


class FaultedPump(Pump):
    """Reads, hands over what it has read, and writes what is due."""

    def __init__(
        self,
        stream: int,
        source: int,
        sink: int,
        log: NullLog,
        queue: WriteQueue,
        receiver: Receiver,
    ) -> None:
        self._queue = queue
        self._receiver = receiver
        super().__init__(stream, source, sink, log)

    @property
    def in_read(self) -> bool:
        """Whether the thread waits for its source, and nothing is on its way."""
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
        """Returns the next bytes of the source, and takes the time."""
        while True:
            try:
                chunk = os.read(self._source, CHUNK)
            except BlockingIOError:
                wait_until_ready(self._source, writing=False)
                continue
            self._in_read = False
            self.last_ns = time.monotonic_ns()
            return chunk


class TappedLog(NullLog):
    """A log that also gives the fault engine what a bare pump has read."""

    def __init__(self, log: NullLog, receiver: Receiver) -> None:
        self._log = log
        self._receiver = receiver

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk.

        Args:
            stream: where it was read.
            t_ns: when, monotonic nanoseconds.
            chunk: the bytes.
        """
        self._log.append(stream, t_ns, chunk)
        self._receiver.follow(stream, t_ns, chunk)

    def event(self, kind: int, fields: "dict[str, str | int | list[str]]", stream: int = 0) -> bool:
        """Logs an event; returns whether that worked.

        Args:
            kind: of the record.
            fields: what it holds.
            stream: what it is about; 0 for the connection.
        """
        return self._log.event(kind, fields, stream)
