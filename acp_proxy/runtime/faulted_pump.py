"""Pumps beside the fault engine: one whose lines pass through it, one that is only listened to."""

import os
import time
from typing import Protocol

from acp_proxy.capture.log import Unrecorded
from acp_proxy.capture.pumps import CHUNK, Pump, wait_until_ready
from acp_proxy.runtime.outlet import WriteQueue


class Taker(Protocol):
    """What becomes of the bytes that are read."""

    def take(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes what was read, logs it, and puts what comes of it on its way."""

    def end(self, stream: int, t_ns: int) -> None:
        """A source has ended."""

    def act(self) -> None:
        """Does what had to wait until something has gone out."""

    def is_closing(self, stream: int) -> bool:
        """Whether nothing more is to be read."""

    def listen(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Takes note of what passes by."""


class FaultedPump(Pump):
    """Reads, has logged and changed what it read, and writes what of it is due."""

    def __init__(
        self, stream: int, source: int, sink: int, log: Unrecorded, outlet: WriteQueue, taker: Taker
    ) -> None:
        self._outlet = outlet
        self._taker = taker
        super().__init__(stream, source, sink, log)

    @property
    def in_read(self) -> bool:
        """Whether the thread waits for its source, and nothing is on its way."""
        return self._in_read and self._outlet.is_empty

    @in_read.setter
    def in_read(self, value: bool) -> None:
        self._in_read = value

    def _relay(self) -> str:
        try:
            return self._relay_lines()
        finally:
            self._outlet.shut()

    def _relay_lines(self) -> str:
        outlet, taker, stream = self._outlet, self._taker, self.stream
        while True:
            outlet.wait_for_room()
            if taker.is_closing(stream):
                outlet.wait_until_empty()
                return "closed by a fault"
            t_ns, chunk = self._read()
            if not chunk:
                self.source_ended = True
                taker.end(stream, t_ns)
                outlet.flush()
                taker.act()
                outlet.wait_until_empty()
                return "end of file"
            taker.take(stream, t_ns, chunk)
            outlet.flush()
            taker.act()
            self.in_read = True

    def _read(self) -> tuple[int, bytes]:
        """Returns when the next bytes were read, in monotonic nanoseconds, and the bytes."""
        while True:
            try:
                chunk = os.read(self._source, CHUNK)
            except BlockingIOError:
                wait_until_ready(self._source, writing=False)
                continue
            self._in_read = False
            self.last_ns = time.monotonic_ns()
            return self.last_ns, chunk


class Listener(Unrecorded):
    """A log that tells the fault engine what a bare pump has read."""

    def __init__(self, log: Unrecorded, taker: Taker) -> None:
        self._log = log
        self._taker = taker

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk."""
        self._log.append(stream, t_ns, chunk)
        self._taker.listen(stream, t_ns, chunk)

    def event(self, kind: int, fields: "dict[str, str | int | list[str]]", stream: int = 0) -> bool:
        """Logs an event."""
        return self._log.event(kind, fields, stream)
