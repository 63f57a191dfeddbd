"""Reads a capture log, even while it is written or when its end is torn.

A log may come from anybody, so its fields are decoded into what a database can hold, whatever they
are.
"""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen

from acp_proxy.base.errors import LogMoved
from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.base.plain_files import open_plain
from acp_proxy.base.system import signal_name
from acp_proxy.protocol.framing import Segment
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording.log_format import (
    BASE,
    BASE_SIZE,
    EFFECT,
    END,
    EXIT,
    GAP,
    HASHES_KEY,
    HEADER,
    HEADER_SIZE,
    LAST_KIND,
    MAGIC,
    MAX_PAYLOAD,
    NOTE,
    SECRETS_KEY,
    SIGNAL,
    START,
    STDERR,
    STREAM_NAMES,
    TO_AGENT,
    TO_CLIENT,
    UNDELIVERED,
    unpack_fields,
)

_BLOCK = 1 << 18
EVENT_KINDS = {
    END: "eof",
    UNDELIVERED: "undelivered",
    START: "start",
    SIGNAL: "signal",
    EXIT: "exit",
    GAP: "gap",
    NOTE: "note",
    EFFECT: "fault",
}
"""The contract's name of each kind; one that has none is a note."""

LOG_STREAMS = {TO_AGENT: Stream.TO_AGENT, TO_CLIENT: Stream.TO_CLIENT, STDERR: Stream.STDERR}
_NUMBERS = (
    "pid",
    "signal",
    "code",
    "bytes",
    "since",
    "wall",
    "origin",
    "seed",
    "at",
    "late",
    "held",
    "size",
    *Stream,
)

_Default = TypeVar("_Default", int, None)


@frozen
class LogRecord:
    """One record of the log."""

    kind: int
    stream: int
    t_ns: int
    """Nanoseconds of the recorder's monotonic clock."""
    offset: int
    """Logical, of the payload."""
    payload: bytes

    @property
    def end(self) -> int:
        """The logical offset after it."""
        return self.offset + len(self.payload)


def is_log(path: Path) -> bool:
    """Whether a file begins as a log does; False if it cannot be read."""
    with suppress(OSError, struct.error), open_plain(path) as file:
        magic, kind, *_ = HEADER.unpack(file.read(HEADER_SIZE))
        return bool(magic == MAGIC and kind == BASE)
    return False


class LogReader:
    """Random access to one log by logical offsets."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.base = self._read_base()

    @property
    def end(self) -> int:
        """The logical offset of the end of the file, a torn record included."""
        return self.base + max(0, os.fstat(self.fd).st_size - BASE_SIZE)

    def check(self) -> None:
        """Raises `LogMoved` if the file was emptied since it was opened."""
        if self._read_base() != self.base:
            raise LogMoved

    def rebase(self) -> None:
        """Reads where the file begins, after its own recorder has emptied it."""
        self.base = self._read_base()

    def read(self, offset: int, size: int) -> bytes:
        """Reads bytes of the log; fewer at the end of the file.

        Args:
            offset: logical, of the first.
            size: how many.
        """
        return os.pread(self.fd, size, offset - self.base + BASE_SIZE)

    def read_segments(self, segments: tuple[Segment, ...]) -> bytes:
        """Reads and joins segments."""
        return b"".join(self.read(offset, size) for offset, size in segments)

    def read_range(self, segments: tuple[Segment, ...], start: int, size: int) -> bytes:
        """Reads a part of some segments, without reading the rest.

        Args:
            segments: in order.
            start: how many of their bytes are left out.
            size: the largest number of bytes that are read.
        """
        parts = []
        for offset, length in segments:
            if start < length and size > 0:
                part = self.read(offset + start, min(length - start, size))
                parts.append(part)
                size -= len(part)
                start = 0
            else:
                start -= min(start, length)
        return b"".join(parts)

    def pieces(self, segments: tuple[Segment, ...], size: int) -> Iterator[bytes]:
        """Reads segments one after the other.

        Args:
            segments: in order.
            size: the largest number of bytes that are read in all.
        """
        for offset, length in segments:
            if piece := self.read(offset, length)[:size]:
                size -= len(piece)
                yield piece

    def records(self, offset: int, limit: int) -> Iterator[LogRecord]:
        """Yields whole records.

        A record that is not whole at the end of the file is not yielded: it may still be written,
        or never.
        One that is broken in the middle is skipped, up to the next that is not.

        Args:
            offset: logical, where to begin.
            limit: about how many bytes of log are read.
        """
        stop = offset + limit
        block, place = b"", 0  # what was read at `offset`, and how far it has been used
        while offset + place < stop:
            need = HEADER_SIZE
            if len(block) - place >= HEADER_SIZE:
                magic, kind, stream, length, t_ns = HEADER.unpack_from(block, place)
                if not _plausible(magic, kind, stream, length, t_ns):
                    found = self._next_header(offset + place + 1)
                    if found is None:
                        return
                    offset, block, place = found, b"", 0
                    stop = max(stop, found + 1)  # or the next call would begin here once more
                    continue
                need += length
            if len(block) - place < need or not block:
                offset += place
                block, place = self.read(offset, max(need, _BLOCK)), 0
                if len(block) < need:
                    return
                continue
            start = place + HEADER_SIZE
            place += need
            yield LogRecord(kind, stream, t_ns, offset + start, block[start:place])

    def is_damaged_from(self, offset: int) -> bool:
        """Whether the end of a log is more than a record that its writer did not finish.

        Args:
            offset: logical, after the last record that could be read.
        """
        header = self.read(offset, HEADER_SIZE)
        if len(header) < HEADER_SIZE:
            return header[: len(MAGIC)] != MAGIC[: len(header)]
        return not _plausible(*HEADER.unpack(header)) or self._next_header(offset + 1) is not None

    def _next_header(self, offset: int) -> int | None:
        while block := self.read(offset, _BLOCK):
            place = block.find(MAGIC)
            while 0 <= place <= len(block) - HEADER_SIZE:
                if _plausible(*HEADER.unpack_from(block, place)):
                    return offset + place
                place = block.find(MAGIC, place + 1)
            if len(block) < _BLOCK:
                return None
            offset += len(block) - HEADER_SIZE
        return None

    def _read_base(self) -> int:
        first = os.pread(self.fd, BASE_SIZE, 0)
        if len(first) < BASE_SIZE:
            if not MAGIC.startswith(first[: len(MAGIC)]):
                raise ValueError("it does not begin as a capture log does, at byte 0")
            return 0
        magic, kind, _stream, length, _t_ns = HEADER.unpack_from(first)
        if magic != MAGIC or kind != BASE or length != 8:
            raise ValueError("it does not begin as a capture log does, at byte 0")
        return int.from_bytes(first[HEADER_SIZE:], "little")


def _plausible(magic: bytes, kind: int, stream: int, length: int, t_ns: int) -> bool:
    return (
        magic == MAGIC
        and 1 <= kind <= LAST_KIND
        and stream <= 3
        and length <= MAX_PAYLOAD
        and t_ns < 1 << 63
    )


_LISTS = {
    "arg": "command", "file": "files", "program": "programs",
    SECRETS_KEY: SECRETS_KEY, HASHES_KEY: HASHES_KEY,
}  # fmt: skip
"""Fields that are lists, and what they are called in events."""


def event_data(record: LogRecord) -> dict[str, Any]:
    """Decodes an event's fields: numbers as numbers, lists (arguments, files) as lists."""
    data: dict[str, Any] = {}
    if name := STREAM_NAMES[record.stream]:
        data["stream"] = name
    for key, values in unpack_fields(record.payload).items():
        if key in _LISTS:
            data[_LISTS[key]] = [_storable(value) for value in values]
        elif key in _NUMBERS and values[0].isdecimal() and len(values[0]) < 20:
            data[key] = min(int(values[0]), LAST_NUMBER)
        elif key == "seed" and values[0][1:].isdecimal() and len(values[0]) < 21:
            data[key] = max(int(values[0]), -LAST_NUMBER - 1)
        else:
            data[key] = _storable(values[0])
    if isinstance(number := data.get("signal"), int):
        data["name"] = signal_name(number)
    return data


def number(data: dict[str, Any], key: str, default: _Default) -> int | _Default:
    """Returns a field that has to be a number.

    Args:
        data: the fields, as `event_data` returns them.
        key: the field's name.
        default: used if it is missing or no number.
    """
    found = data.get(key)
    return found if isinstance(found, int) else default


def _storable(text: str) -> str:
    """Text that a database can hold: bytes that are not UTF-8 are written as escapes."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")
