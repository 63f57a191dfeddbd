"""The capture log: an append-only file of all bytes, which are logged before they are forwarded.

A log is a sequence of records (`log_format`). One ``writev`` under one lock appends each record. So
appended data survives our own SIGKILL. The order of the records is the order of the recording.

Offsets are *logical*: they count from the start of the recording and never decrease. The first
record of a file, ``BASE``, contains the logical offset of the next record. So the indexer can
shrink the file (`CaptureLog.trim`) after everything was stored as rows.

A full disk raises no error. Bytes that cannot be logged are counted and reported once, and a
``GAP`` record notes them before the next record that fits. At --max-size, a ``NOTE`` tells readers
of the running recording that a gap begins.
"""

import errno
import fcntl
import os
import sys
import time
from _thread import allocate_lock

from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.log_format import (
    BASE,
    BASE_SIZE,
    DATA,
    EFFECT,
    GAP,
    HEADER,
    HEADER_SIZE,
    MAGIC,
    MASKING,
    MAX_PAYLOAD,
    NO_STREAM,
    NOTE,
    PART,
    START,
    STREAM_NAMES,
    Log,
    pack_fields,
)

GROWTH = 2.25
"""The largest measured ratio of a database's size to the size of its log; for ``--max-size``."""
RESERVE = 700_000
"""The most bytes that an empty database and its write-ahead log use, for ``--max-size``."""
_FULL = "the recording has reached --max-size"


class _Gap:
    """Counts, for each stream, the bytes that could not be logged since a write failed."""

    def __init__(self, reason: str, since_ns: int) -> None:
        self.reason = reason
        self.since_ns = since_ns
        self.lost = [0, 0, 0, 0]

    def payload(self) -> bytes:
        """Returns the fields of the ``GAP`` record."""
        counts = {STREAM_NAMES[s]: n for s, n in enumerate(self.lost) if n}
        return pack_fields({"reason": self.reason, "since": self.since_ns, **counts})


class CaptureLog(Log):
    """The one writer of a capture log, for all threads of a recorder.

    Create it with `create`. `append` and `event` report every loss, and never raise. The exclusive
    lock on the file shows readers that the writer is alive.
    """

    def __init__(self, path: str, fd: int, *, max_size: "int | None") -> None:
        self.path = path
        self.fd = fd
        self.size = 0  # logical end of the log
        self._base = 0  # logical offset of the first record after BASE
        self._max_size = max_size
        self._limit = sys.maxsize
        self._lock = allocate_lock()
        self._gap: _Gap | None = None
        self._is_reported = False
        self._torn = False  # a failed write has left bytes that could not be cut off
        self.allow(database_size=0)
        self._write_base()

    @classmethod
    def create(cls, path: str, *, max_size: "int | None" = None) -> "CaptureLog":
        """Creates a log that only its owner can read, and locks it.

        Args:
            path: the file, which must not exist.
            max_size: the most bytes for log and database together; None for no limit.

        Raises:
            OSError: the file exists or cannot be made.
        """
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        fd = os.open(path, flags, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)  # a reader that locked it first unlocks it at once
            return cls(path, fd, max_size=max_size)
        except OSError:
            os.close(fd)
            os.unlink(path)
            raise

    def append(self, stream: int, t_ns: int, chunk: bytes) -> None:
        """Logs a chunk that was read.

        Args:
            stream: the stream that the chunk was read from.
            t_ns: when the chunk was read, in nanoseconds of the monotonic clock.
            chunk: the bytes.
        """
        size = HEADER_SIZE + len(chunk)
        with self._lock:
            if self._gap is None and self.size + size <= self._limit:
                try:
                    header = HEADER.pack(MAGIC, DATA, stream, len(chunk), t_ns)
                    written = os.writev(self.fd, (header, chunk))
                    if written == size:
                        self.size += size
                        return
                    problem = os.strerror(errno.ENOSPC)
                except OSError as e:
                    problem = os.strerror(e.errno or errno.EIO)
            elif self._gap is None:
                problem = _FULL
            else:
                problem = self._gap.reason
            self._append_after_gap(stream, t_ns, chunk, problem)

    def append_all(self, records: "list[tuple[int, int, int, bytes]]") -> None:
        """Logs chunks and the notes on them in one write; if it fails, logs each record by itself.

        If a line cannot be logged, the notes on its faults are omitted too.

        Args:
            records: for each record, its kind, stream, monotonic nanoseconds and payload.
        """
        pieces: list[bytes] = []
        for kind, stream, t_ns, payload in records:
            pieces += (HEADER.pack(MAGIC, kind, stream, len(payload), t_ns), payload)
        if self._append_whole(b"".join(pieces), records[0][2]):
            return
        for kind, stream, t_ns, payload in records:
            if kind == DATA:
                self.append(stream, t_ns, payload)
                continue
            # Only bytes count against --max-size, so a note may be logged without its bytes.
            is_too_large = kind == PART and self.size + HEADER_SIZE + len(payload) > self._limit
            if kind == EFFECT or not (self.has_gap or is_too_large):
                self._append_event(kind, payload, stream)

    def _append_whole(self, data: bytes, t_ns: int) -> bool:
        with self._lock:
            if self._gap is not None or self.size + len(data) > self._limit:
                return False
            problem = self._write(data)
            if problem is not None:
                self._open_gap(problem, t_ns)
            return problem is None

    def event(self, kind: int, fields: "dict[str, str | int | list[str]]", stream: int = 0) -> bool:
        """Logs a record that is not a chunk, at the current time.

        Events are small and do not count against --max-size.

        Args:
            kind: the kind of record.
            fields: the fields of the record; `pack_fields` truncates them to the size of a record.
            stream: the stream that the record is about, if any.

        Returns:
            Whether the record was logged.
        """
        return self._append_event(kind, pack_fields(fields)[:MAX_PAYLOAD], stream)

    @property
    def has_gap(self) -> bool:
        """Whether the latest write failed, so that a gap in the log has begun."""
        return self._gap is not None

    def _append_event(self, kind: int, payload: bytes, stream: int) -> bool:
        with self._lock:
            t_ns = time.monotonic_ns()
            record = HEADER.pack(MAGIC, kind, stream, len(payload), t_ns) + payload
            if self._gap is not None:
                record = self._gap_record(t_ns) + record
            problem = self._write(record)
            if problem is None:
                self._gap = None
            elif self._gap is None and kind != START:  # without a start there is no recording
                self._open_gap(problem, t_ns)
            return problem is None

    def trim(self, upto: int, masking: bytes = b"") -> bool:
        """Empties the file if its records end at ``upto``; returns whether the file was emptied.

        Everything before ``upto`` must be committed, and no line may begin before ``upto`` and end
        after it.

        Args:
            upto: a logical offset.
            masking: the state of the masking, which later lines need; empty if nothing is masked.
        """
        with self._lock:
            # Under the lock no pump can append between this check and the truncation.
            if self.size != upto or self._gap is not None:
                return False
            try:
                os.ftruncate(self.fd, 0)
                self._base = upto
                self._write_base(masking)
            except OSError as e:  # without its first record the file is not a log
                self._limit = -1
                self._open_gap(os.strerror(e.errno or errno.EIO), time.monotonic_ns())
            return True

    def allow(self, database_size: int) -> None:
        """Sets the limit of the log so that log and database together stay below --max-size."""
        if self._max_size is not None and self._limit >= 0:
            room = max(0, self._max_size - database_size - RESERVE)
            self._limit = self._base + int(room / (1 + GROWTH))

    @property
    def physical_size(self) -> int:
        """The size of the file in bytes."""
        return self.size - self._base + BASE_SIZE

    def remove(self) -> None:
        """Deletes the file; the lock stays until exit, when the descriptor is closed."""
        os.unlink(self.path)

    def _append_after_gap(self, stream: int, t_ns: int, chunk: bytes, problem: str) -> None:
        """Logs the end of the gap and then a chunk; if this fails, adds the chunk to the gap."""
        if self._gap is None:
            self._cut_back()
            self._open_gap(problem, t_ns)
        if self.size + HEADER_SIZE + len(chunk) <= self._limit:
            header = HEADER.pack(MAGIC, DATA, stream, len(chunk), t_ns)
            if self._write(self._gap_record(t_ns) + header + chunk) is None:
                self._gap = None
                return
        assert self._gap is not None
        self._gap.lost[stream] += len(chunk)

    def _write(self, record: bytes) -> "str | None":
        """Appends a whole record or nothing; returns the problem, or None."""
        # Readers trust a record's length, so they could not read any record after an incomplete
        # record.
        if self._limit < 0 or (self._torn and not self._cut_back()):
            return os.strerror(errno.EIO)
        try:
            written = os.write(self.fd, record)
            if written == len(record):
                self.size += written
                return None
            problem = os.strerror(errno.ENOSPC)
        except OSError as e:
            problem = os.strerror(e.errno or errno.EIO)
        self._cut_back()
        return problem

    def _cut_back(self) -> bool:
        """Removes the bytes of a failed write; returns whether the log ends with a whole record."""
        try:
            os.ftruncate(self.fd, self.physical_size)
            self._torn = False
        except OSError:
            self._torn = True
        return not self._torn

    def _gap_record(self, t_ns: int) -> bytes:
        payload = self._gap.payload() if self._gap and any(self._gap.lost) else b""
        if not payload:
            return b""
        return HEADER.pack(MAGIC, GAP, NO_STREAM, len(payload), t_ns) + payload

    def _open_gap(self, problem: str, t_ns: int) -> None:
        self._gap = _Gap(problem, t_ns)
        if not self._is_reported:
            self._is_reported = True
            if problem == _FULL:
                payload = pack_fields({"action": "full", "reason": problem})
                self._write(HEADER.pack(MAGIC, NOTE, NO_STREAM, len(payload), t_ns) + payload)
            warn(f"cannot record into {self.path}: {problem}; the conversation goes on unrecorded")

    def _write_base(self, masking: bytes = b"") -> None:
        record = HEADER.pack(MAGIC, BASE, NO_STREAM, 8, 0) + self._base.to_bytes(8, "little")
        if masking:
            t_ns = time.monotonic_ns()
            record += HEADER.pack(MAGIC, MASKING, NO_STREAM, len(masking), t_ns) + masking
        if os.write(self.fd, record) != len(record):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.size += len(record) - BASE_SIZE
