"""Reads a capture log, even while it is being written or with an incomplete last record.

A log may come from anybody, so each field is decoded to a value that a database can store.
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
from acp_proxy.protocol.jsonrpc import Stream
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
"""The documented name of each kind of event. All other kinds are notes."""

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
    """The time by the recorder's monotonic clock, in nanoseconds."""
    offset: int
    """The logical offset of the record's payload."""
    payload: bytes

    @property
    def end(self) -> int:
        """The logical offset after the record."""
        return self.offset + len(self.payload)


def is_log(path: Path) -> bool:
    """Whether a file has the header of a log; False if it cannot be read."""
    with suppress(OSError, struct.error), open_plain(path) as file:
        magic, kind, *_ = HEADER.unpack(file.read(HEADER_SIZE))
        return bool(magic == MAGIC and kind == BASE)
    return False


class LogReader:
    """Random access to one log by logical offsets, which count from the recording's start."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.base = self._read_base()

    @property
    def end(self) -> int:
        """The logical offset of the end of the file, including an incomplete last record."""
        return self.base + max(0, os.fstat(self.fd).st_size - BASE_SIZE)

    def check(self) -> None:
        """Raises `LogMoved` if the file was emptied since it was opened."""
        if self._read_base() != self.base:
            raise LogMoved

    def rebase(self) -> None:
        """Reads the logical offset of the file's first record again, after the file was emptied."""
        self.base = self._read_base()

    def read(self, offset: int, size: int) -> bytes:
        """Reads bytes of the log; returns fewer bytes at the end of the file.

        Args:
            offset: the logical offset of the first byte.
            size: the number of bytes.
        """
        return os.pread(self.fd, size, offset - self.base + BASE_SIZE)

    def read_segments(self, segments: tuple[Segment, ...]) -> bytes:
        """Reads and joins segments."""
        return b"".join(self.read(offset, size) for offset, size in segments)

    def read_range(self, segments: tuple[Segment, ...], start: int, size: int) -> bytes:
        """Reads only a part of the bytes in some segments.

        Args:
            segments: the segments in order.
            start: the number of bytes to skip.
            size: the largest number of bytes to read.
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
        """Yields the bytes of each segment, up to a total size.

        Args:
            segments: the segments in order.
            size: the largest number of bytes to read in all.
        """
        for offset, length in segments:
            if piece := self.read(offset, length)[:size]:
                size -= len(piece)
                yield piece

    def records(self, offset: int, limit: int) -> Iterator[LogRecord]:
        """Yields complete records.

        An incomplete record at the end is left out, since its writer may still be at work. A broken
        record in the middle is skipped, up to the next valid header.

        Args:
            offset: the logical offset to begin at.
            limit: about how many bytes of the log to read.
        """
        stop = offset + limit
        block, place = b"", 0  # the bytes read at `offset`, and how many of them were used
        while offset + place < stop:
            need = HEADER_SIZE
            if len(block) - place >= HEADER_SIZE:
                magic, kind, stream, length, t_ns = HEADER.unpack_from(block, place)
                if not _plausible(magic, kind, stream, length, t_ns):
                    next_header = self._next_header(offset + place + 1)
                    if next_header is None:
                        return
                    offset, block, place = next_header, b"", 0
                    stop = max(stop, next_header + 1)  # or the next call would begin here again
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
        """Whether the end of a log is damaged. An unfinished last record does not count as damage.

        Args:
            offset: the logical offset after the last readable record.
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
                raise ValueError("it has no header of a capture log at byte 0")
            return 0
        magic, kind, _stream, length, _t_ns = HEADER.unpack_from(first)
        if magic != MAGIC or kind != BASE or length != 8:
            raise ValueError("it has no header of a capture log at byte 0")
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
"""Fields that are lists, each with its name in events."""


def event_data(record: LogRecord) -> dict[str, Any]:
    """Decodes the fields of an event to texts, numbers and lists, such as lists of arguments."""
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
    """Returns a field that should be a number.

    Args:
        data: the fields, as `event_data` returns them.
        key: the field's name.
        default: returned if the field is missing or not a number.
    """
    value = data.get(key)
    return value if isinstance(value, int) else default


def _storable(text: str) -> str:
    """Returns a text that a database can store; bytes that are not UTF-8 become escapes."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")
