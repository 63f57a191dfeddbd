"""Pumps beside the fault engine: one whose lines pass through it, one that is only listened to."""

import os
import time
from typing import Protocol

from acp_proxy.capture.log import Unrecorded
from acp_proxy.capture.pumps import CHUNK, Pump, wait_until_ready
from acp_proxy.runtime.outlet import WriteQueue


class Taker(Protocol):
    """What becomes of the bytes that are read."""

    def passes_ahead(self, stream: int, t_ns: int, chunk: bytes) -> bool:
        """Whether what was read is logged and has nothing to wait for, and only to be written."""

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
            t_ns, chunk = self._relay_ahead()
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

    def _relay_ahead(self) -> tuple[int, bytes]:
        """Moves bytes as a bare pump does, as long as no fault can be; returns what came then.

        Returns:
            When it was read, and what; nothing at the end.
        """
        read, now, stream, source = os.read, time.monotonic_ns, self.stream, self._source
        passes_ahead, write_ahead = self._taker.passes_ahead, self._outlet.write_ahead
        while True:
            try:
                chunk = read(source, CHUNK)
            except BlockingIOError:
                wait_until_ready(source, writing=False)
                continue
            self._in_read = False
            self.last_ns = t_ns = now()
            if not chunk or not passes_ahead(stream, t_ns, chunk):
                return t_ns, chunk
            write_ahead(chunk)
            self._in_read = True


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
