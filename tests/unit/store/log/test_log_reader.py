"""A capture log can be read from any offset, even if it is damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import LogMoved
from acp_proxy.recording.log_format import (
    BASE,
    BASE_SIZE,
    DATA,
    HEADER,
    HEADER_SIZE,
    LAST_KIND,
    MAGIC,
    MAX_PAYLOAD,
    SIGNAL,
    TO_AGENT,
)
from acp_proxy.store.log.log_reader import LogReader
from tests.support.capture_logs import new_log, read_all, reader, records

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.record.capture.log_writer import CaptureLog


@pytest.fixture
def log() -> Iterator[CaptureLog]:
    """A capture log with three chunks."""
    with new_log() as three:
        for t_ns, chunk in enumerate((b"one", b"two", b"three"), 1):
            three.append(TO_AGENT, t_ns, chunk)
        yield three


def payloads(log: CaptureLog, limit: int = 1 << 30) -> list[bytes]:
    """Returns the payloads of all records that a reader finds."""
    return [record.payload for record in read_all(log.path, limit)]


def splice(log: CaptureLog, place: int, junk: bytes, *, instead: int = 0) -> None:
    """Inserts bytes into a log at an offset, in place of some of its bytes."""
    path, place = Path(log.path), place + BASE_SIZE
    whole = path.read_bytes()
    path.write_bytes(whole[:place] + junk + whole[place + instead :])


def test_a_reader_goes_on_from_any_record(log: CaptureLog) -> None:
    """A reader of a capture log can continue after any of the log's records."""
    first, second, third = read_all(log.path)
    with reader(log.path) as other:
        assert records(other, first.end) == [second, third]
        assert records(other, third.end) == []
        assert other.end == log.size


def test_a_limit_ends_a_call_and_never_a_record(log: CaptureLog) -> None:
    """If a capture log is read in pieces of limited size, no record is cut."""
    first, second, _ = read_all(log.path)
    with reader(log.path) as other:
        assert list(other.records(0, 1)) == [first]
        assert list(other.records(0, first.end)) == [first]
        assert list(other.records(0, first.end + 1)) == [first, second]


def test_records_that_are_written_meanwhile_are_read(log: CaptureLog) -> None:
    """If a capture log grows while it is read, the new records are read, too."""
    with reader(log.path) as other:
        assert records(other, log.size) == []
        end = log.size
        log.append(TO_AGENT, 4, b"four")
        assert [record.payload for record in records(other, end)] == [b"four"]


def test_segments_are_read_and_joined(log: CaptureLog) -> None:
    """The reader of a capture log can return several ranges of bytes, joined in their order."""
    first, second, third = read_all(log.path)
    with reader(log.path) as other:
        assert other.read(first.offset, 2) == b"on"
        assert other.read(third.offset, 99) == b"three"
        assert other.read_segments(((first.offset, 3), (second.offset + 1, 2))) == b"onewo"
        assert other.read_segments(()) == b""


def test_records_may_be_larger_than_a_block() -> None:
    """A reader of a capture log returns a record of the largest allowed size completely."""
    with new_log() as large:
        large.append(TO_AGENT, 1, b"x" * MAX_PAYLOAD)
        large.append(TO_AGENT, 2, b"y")
        assert [len(payload) for payload in payloads(large)] == [MAX_PAYLOAD, 1]


# Damage


def test_a_torn_record_at_the_end_is_not_there(log: CaptureLog) -> None:
    """A reader of a capture log does not return an incomplete record at the end."""
    whole = Path(log.path).read_bytes()
    os.truncate(log.path, len(whole) - 1)
    assert payloads(log) == [b"one", b"two"]
    Path(log.path).write_bytes(whole)
    assert payloads(log) == [b"one", b"two", b"three"]


@pytest.mark.parametrize("limit", [1, 30, 1 << 30])
@pytest.mark.parametrize(
    "junk", [b"\0", b"junk", MAGIC, MAGIC * 7, b"\0" * 600_000, HEADER.pack(MAGIC, 99, 1, 3, 1)]
)
def test_junk_between_records_is_skipped(log: CaptureLog, junk: bytes, limit: int) -> None:
    """A reader of a capture log skips foreign bytes between two records."""
    splice(log, read_all(log.path)[0].end, junk)
    with reader(log.path) as other:
        assert [r.payload for r in records(other, 0, limit)] == [b"one", b"two", b"three"]


def test_junk_at_the_end_hides_no_record(log: CaptureLog) -> None:
    """If a capture log ends with foreign bytes, all of its records are still read."""
    splice(log, log.size, b"junk" * 20)
    with reader(log.path) as other:
        for _ in range(2):
            assert len(records(other)) == 3


@pytest.mark.parametrize(
    "header",
    [
        HEADER.pack(b"nope", DATA, TO_AGENT, 3, 2),
        HEADER.pack(MAGIC, 0, TO_AGENT, 3, 2),
        HEADER.pack(MAGIC, LAST_KIND + 1, TO_AGENT, 3, 2),
        HEADER.pack(MAGIC, DATA, 4, 3, 2),
        HEADER.pack(MAGIC, DATA, TO_AGENT, MAX_PAYLOAD + 1, 2),
        HEADER.pack(MAGIC, DATA, TO_AGENT, 3, 1 << 63),
    ],
    ids=["magic", "no kind", "kind", "stream", "length", "time"],
)
def test_a_record_with_an_impossible_header_is_skipped(log: CaptureLog, header: bytes) -> None:
    """If the header of a record in a capture log is invalid, only this record is skipped."""
    splice(log, read_all(log.path)[0].end, header, instead=HEADER_SIZE)
    with reader(log.path) as other:
        assert [record.payload for record in records(other)] == [b"one", b"three"]


def test_a_header_in_a_payload_is_payload(log: CaptureLog) -> None:
    """Recorded bytes that look like the header of a log record are read as recorded bytes."""
    log.append(TO_AGENT, 4, HEADER.pack(MAGIC, SIGNAL, 0, 0, 1) * 2)
    assert len(read_all(log.path)) == 4
    os.truncate(log.path, log.physical_size - 1)
    assert len(read_all(log.path)) == 3


def test_a_file_of_something_else_is_an_error(tmp_path: Path) -> None:
    """A file that does not begin like a capture log is refused as a log."""
    path = tmp_path / "x.log"
    for junk in (
        b"SQLite format 3\0" + b"\0" * 100,
        HEADER.pack(MAGIC, DATA, 0, 8, 0) + b"\0" * 8,
        b"x",
        b"short and no log",
    ):
        path.write_bytes(junk)
        with pytest.raises(ValueError, match="has no header of a capture log"), reader(path):
            pass
    for size in (0, 5, BASE_SIZE - 1):
        path.write_bytes(HEADER.pack(MAGIC, BASE, 0, 8, 0).ljust(BASE_SIZE, b"\0")[:size])
        with reader(path) as log:
            assert (records(log), log.base, log.end) == ([], 0, 0)


# Trimming


def test_a_trimmed_log_is_read_by_the_same_offsets(log: CaptureLog) -> None:
    """After a capture log is emptied, the offset of a new record still counts the removed bytes."""
    with reader(log.path) as other:
        offset = records(other)[-1].end
        assert log.trim(offset)
        log.append(TO_AGENT, 4, b"four")
        other.rebase()
        other.check()
        assert (other.base, other.end) == (offset, log.size)
        (record,) = records(other, offset)
        assert record.payload == b"four"
        assert other.read(record.offset, 4) == b"four"


def test_a_reader_notices_that_the_log_moved(log: CaptureLog) -> None:
    """If a recorder empties its capture log while it is read, the reader gets an error."""
    with reader(log.path) as other:
        other.check()
        assert log.trim(log.size)
        with pytest.raises(LogMoved):
            other.check()


def test_a_reader_of_the_writers_descriptor_disturbs_nothing(log: CaptureLog) -> None:
    """A reader that shares the recorder's file descriptor does not move the recorder's position."""
    mine = LogReader(log.fd)
    assert len(records(mine)) == 3
    log.append(TO_AGENT, 4, b"four")
    assert len(records(mine)) == 4
