"""Fuzzes the reader of capture logs and the indexer: a log is refused or gives readable rows."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.recording.log_format import BASE_SIZE, HEADER, LAST_KIND, MAGIC
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.log.log_reader import LogReader, LogRecord, event_data
from tests.fuzz import scratch, seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target
from tests.fuzz.text_form import reader_of
from tests.support.indexed_rows import dump, new_database
from tests.support.log_writer import LogWriter, base_record, write_conversation

if TYPE_CHECKING:
    import sqlite3

_WHOLE = 1 << 30


def check(data: bytes) -> None:
    """Checks how the reader of logs reads bytes: as a whole log, or as the contents of records."""
    source = ByteSource(data)
    match source.number(2):
        case 0:
            log = source.rest()
        case 1:
            log = base_record(0) + source.rest()
        case _:
            log = _records(source)
    fd = os.open(scratch.directory("log_reader") / "x.log", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(fd, log)
        _check_log(fd)
    finally:
        os.close(fd)


def _records(source: ByteSource) -> bytes:
    """Returns a log of records with random kinds, streams, times and payloads."""
    parts = [base_record(0)]
    while source:
        kind, stream = 1 + source.number(LAST_KIND - 1), source.number(3)
        t_ns = int.from_bytes(source.short(9), "little")
        payload = source.short(1 << 10)
        parts.append(HEADER.pack(MAGIC, kind, stream, len(payload), t_ns % (1 << 64)) + payload)
    return b"".join(parts)


def _check_log(fd: int) -> None:
    try:
        log = LogReader(fd)
    except ValueError:
        return
    records = _read(log, _WHOLE)
    assert _read(log, 1) == records, "the records do not depend on how many are read at a time"
    size = os.fstat(fd).st_size - BASE_SIZE
    place = log.base
    for record in records:
        assert place <= record.offset <= record.end <= log.base + size
        place = record.end
        event_data(record)
    _check_rows(log)


def _read(log: LogReader, limit: int) -> list[LogRecord]:
    records: list[LogRecord] = []
    while more := list(log.records(records[-1].end if records else log.base, limit)):
        records += more
    return records


def _check_rows(log: LogReader) -> None:
    """Checks that rows do not depend on the size of batches, and can be exported."""
    with new_database() as whole, new_database() as piecewise:
        if not _index(log, whole, _WHOLE):
            assert not _index(log, piecewise, 1)
            return
        _index(log, piecewise, 1)
        assert dump(piecewise) == dump(whole)
        try:
            for line in write_text_form(reader_of(whole)):
                assert line.endswith(b"\n")
        except UnreadableRecording as e:
            assert "\n" not in str(e)


def _index(log: LogReader, connection: sqlite3.Connection, limit: int) -> bool:
    """Indexes a log, each batch by a new indexer; False if the log does not fit the rows."""
    try:
        while Indexer(connection, log).step(limit):
            pass
        indexer = Indexer(connection, log)
    except ValueError as e:
        if "its log begins at byte" not in str(e):
            raise
        return False
    indexer.settle()
    return True


def _seeds() -> list[bytes]:
    with LogWriter(scratch.directory("log_reader_seeds") / "x.db") as recorder:
        write_conversation(recorder)
        recorder.close()
    log = recorder.log_path.read_bytes()
    recorder.log_path.unlink()
    records = [log[start : start + 900] for start in range(0, len(log), 300)]
    short = [line for line in seeds.lines() if len(line) < 200]
    made = [
        b"".join(
            bytes([0, stream, 1, place]) + (len(line) + 1).to_bytes(2, "little") + line + b"\n"
            for place, line in enumerate(short[start : start + 5])
        )
        for start in range(0, len(short), 5)
        for stream in (1, 2, 3)
    ]
    return [b"\0" + log, *(b"\1" + part for part in records), *(b"\2" + log for log in made)]


_FIELDS = ("bytes", "since", "wall", "origin", "code", "signal", "seed", "at", "size", "to-agent",
           "arg", "file", "id", "name", "dialect", "rule", "action", "reason", "pid", "cwd",
           "fault_plan", "redaction", "tool_version")  # fmt: skip
WORDS: tuple[bytes, ...] = (
    *(f"\0{name}=".encode() for name in _FIELDS),
    *(MAGIC + bytes([kind, stream]) for kind in range(1, LAST_KIND + 1) for stream in (0, 1, 2)),
    b"9" * 19,
    b"-9223372036854775808",
    b"\xff\xff\xff\xff",
)
TARGET = Target("log_reader", check, _seeds, WORDS, steps=200_000, steps_per_byte=1500, examples=50)
