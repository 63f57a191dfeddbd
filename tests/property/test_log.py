"""A capture log returns all records that were appended, even if its end is cut off."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.recording.log_format import (
    BASE_SIZE,
    DATA,
    HEADER_SIZE,
    MAGIC,
    SIGNAL,
    pack_fields,
    unpack_fields,
)
from tests.support.capture_logs import new_log, read_all, reader, records

if TYPE_CHECKING:
    from acp_proxy.record.capture.log_writer import CaptureLog
    from acp_proxy.store.log.log_reader import LogRecord

payloads = st.binary(max_size=40) | st.just(MAGIC + b"\x01\x01" + b"\0" * 14)
chunks = st.lists(st.tuples(st.integers(1, 3), payloads), min_size=1, max_size=8)
limits = st.sampled_from([1, 25, 60, 1 << 30])
values = st.text(
    st.characters(codec="utf-8", exclude_characters="\0") | st.characters(min_codepoint=0xDC80,
    max_codepoint=0xDCFF)
)  # fmt: skip
"""Texts decoded from the system's bytes, including bytes in unknown encodings."""


def write(log: CaptureLog, appended: list[tuple[int, bytes]]) -> None:
    """Appends chunks to a log, one nanosecond apart."""
    for t_ns, (stream, chunk) in enumerate(appended):
        log.append(stream, t_ns, chunk)


def told(records: list[LogRecord]) -> list[tuple[int, bytes]]:
    """Returns stream and bytes of each record, and asserts that the times are in order."""
    assert [record.t_ns for record in records] == sorted(record.t_ns for record in records)
    return [(record.stream, record.payload) for record in records]


@given(chunks, limits)
def test_appended_chunks_are_read(appended: list[tuple[int, bytes]], limit: int) -> None:
    """A reader of a capture log returns the recorded chunks in their order."""
    with new_log() as log:
        write(log, appended)
        records = read_all(log.path, limit)
        assert told(records) == appended
        assert records[-1].end == log.size == os.fstat(log.fd).st_size - BASE_SIZE
        with reader(log.path) as other:
            assert [other.read(r.offset, len(r.payload)) for r in records] == [
                chunk for _, chunk in appended
            ]


@given(chunks, st.data())
def test_a_torn_log_is_a_prefix(appended: list[tuple[int, bytes]], data: st.DataObject) -> None:
    """Wherever a capture log is cut off, its reader returns all complete records."""
    with new_log() as log:
        write(log, appended)
        cut = data.draw(st.integers(0, log.physical_size))
        ends = [record.end + BASE_SIZE for record in read_all(log.path)]
        os.truncate(log.path, cut)
        assert told(read_all(log.path)) == appended[: sum(end <= cut for end in ends)]


@given(chunks, st.binary(min_size=1, max_size=60), limits, st.data())
def test_junk_between_records_is_skipped(
    appended: list[tuple[int, bytes]], junk: bytes, limit: int, data: st.DataObject
) -> None:
    """Foreign bytes between two records of a capture log do not hide any record."""
    with new_log() as log:
        write(log, appended)
        place = BASE_SIZE + data.draw(
            st.sampled_from([0, *(record.end for record in read_all(log.path)[:-1])])
        )
        whole = Path(log.path).read_bytes()
        Path(log.path).write_bytes(whole[:place] + junk + whole[place:])
        with reader(log.path) as other:
            assert told(records(other, 0, limit)) == appended


@given(chunks, st.sets(st.integers(0, 8)))
def test_offsets_outlive_trimming(appended: list[tuple[int, bytes]], trims: set[int]) -> None:
    """If a recorder empties its capture log, later offsets continue from the last record."""
    records: list[LogRecord] = []
    with new_log() as log:
        for n, (stream, chunk) in enumerate(appended):
            log.append(stream, n, chunk)
            if n in trims:
                records += read_all(log.path)
                assert log.trim(log.size)
        records += read_all(log.path)
        assert told(records) == appended
        assert records[-1].end == log.size
    starts = [HEADER_SIZE, *(record.end + HEADER_SIZE for record in records)]
    assert [record.offset for record in records] == starts[:-1]


@given(st.dictionaries(st.text("abcdef_", min_size=1), values | st.lists(values, min_size=1)))
def test_the_data_of_an_event_comes_back(packed: dict[str, str | int | list[str]]) -> None:
    """A reader of a capture log returns the data of an event unchanged."""
    lists = {key: v if isinstance(v, list) else [v] for key, v in packed.items()}
    assert unpack_fields(pack_fields(packed)) == lists
    with new_log() as log:
        log.event(SIGNAL, packed)
        (record,) = read_all(log.path)
        assert unpack_fields(record.payload) == lists
        assert record.kind == SIGNAL != DATA
