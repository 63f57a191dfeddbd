"""Fuzzes the database reader: a damaged recording is read, or refused with a reason."""

from __future__ import annotations

import contextlib
import sqlite3
from functools import cache
from typing import TYPE_CHECKING

from click.testing import CliRunner

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.cli.main import cli
from acp_proxy.recording.log_format import EFFECT, FAULT, PART
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.files import directory
from acp_proxy.store.queries import exchanges, fired_faults, frames, recorded_events
from acp_proxy.store.queries.batch_members import members_of
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.fuzz import scratch, seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target
from tests.support.log_writer import LogWriter, write_conversation

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_COMMANDS = (("show",), ("log",), ("stats",), ("show", "--json"), ("log", "--json"),
             ("export", "--format", "jsonl", "-o", "-"), ("search", "e"))  # fmt: skip
_NUMBERS = (0, -1, 1, 2, 7, 1 << 31, (1 << 63) - 1, -(1 << 63), 1.5, float("inf"), -1e300)
"""A NaN is NULL to SQLite."""
_TEXTS = ("", "x", "null", "{}", "[]", '["\\ud800"]', "9" * 30, "9999-12-31T23:59:59-23:59", "a\0b",
          "\x1b[2J", "\u202e", "to-agent", "recording")  # fmt: skip


def check(data: bytes) -> None:
    """Damages a recording as the bytes say, and calls all readers of recordings."""
    source = ByteSource(data)
    recording = source.choice(_recordings())
    command = source.choice([*_COMMANDS, *[None] * 9])
    path = scratch.directory("database_reader") / "x.db"
    path.write_bytes(recording)
    if source.number(1):
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            _change_values(path, source)
    else:
        path.write_bytes(_changed_bytes(recording, source))
    if command is None:
        _read(path)
    else:
        _run(path, command)


def _changed_bytes(recording: bytes, source: ByteSource) -> bytes:
    """Overwrites bytes of the file at any place, or cuts the file off."""
    data = bytearray(recording)
    while source:
        page, place = source.number(len(data) // 4096), source.number(1 << 12)
        new = source.short(40)
        if new == b"cut":
            del data[page * 4096 + place :]
        at = min(page * 4096 + place, len(data))
        data[at : at + len(new)] = new
    return bytes(data)


def _change_values(path: Path, source: ByteSource) -> None:
    """Writes values of any type into any columns, and removes rows, as another program may."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA ignore_check_constraints=ON")
        columns = _columns()
        while source:
            table, column = source.choice(columns)
            row = source.number(63)
            chosen = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {row} % "
            chosen += f"max(1, (SELECT count(*) FROM {table})))"
            kind = source.number(5)
            with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
                if kind == 0:
                    connection.execute(f"DELETE FROM {table} WHERE {chosen}")
                    continue
                connection.execute(
                    f"UPDATE {table} SET {column} = ? WHERE {chosen}", (_value(kind, source),)
                )
        connection.commit()


def _value(kind: int, source: ByteSource) -> object:
    match kind:
        case 1:
            return None
        case 2:
            return source.choice(_NUMBERS)
        case 3:
            return source.choice(_TEXTS)
        case 4:
            return source.short(40).decode(errors="replace")
        case _:
            return source.short(40)


def _read(path: Path) -> None:
    """Calls all queries of the store; each returns, or raises an error that names the file."""
    for question in _QUESTIONS:
        try:
            with RecordingReader(path) as reader:
                question(reader)
        except UnreadableRecording as e:
            assert str(path) in str(e)
            assert "\n" not in str(e)
    directory.read_listed(path)
    directory.read_id_and_note(path)


def _frames(reader: RecordingReader) -> None:
    for row in reader.rows():
        if row.get("kind") == "batch":
            members_of(row, reader.query)
    for head in reader.heads():
        assert isinstance(head.seq, int)


def _queries(reader: RecordingReader) -> None:
    turns = exchanges.turns(reader)
    list(exchanges.exchanges(reader))
    list(exchanges.exchanges(reader, is_open=True, most=9))
    list(exchanges.exchanges(reader, span=(0, 9)))
    exchanges.initialization(reader)
    list(exchanges.exchanges_by_own_session(reader))
    exchanges.first_request_of_sessions(reader)
    exchanges.requested_sessions(reader)
    assert len(turns) == exchanges.turn_count(reader)


def _frame_queries(reader: RecordingReader) -> None:
    frames.last_number(reader)
    frames.last_ns(reader)
    frames.first_prompt(reader, 99)
    list(frames.frames_by_number(reader, [2, 3, 6, 7], 1 << 20, 2))
    frames.frame_times(reader, [2, 3])
    frames.last_stderr_lines(reader, 5, 99)
    frames.labels_of(reader, "session")


def _faults(reader: RecordingReader) -> None:
    fired_faults.has_fired_faults(reader)
    fired_faults.fired_counts(reader)
    fired_faults.injected_frames(reader)
    fired_faults.withheld_frames(reader, [2, 3, 6])
    fired_faults.lost_answers(reader, 9)


def _others(reader: RecordingReader) -> None:
    list(reader.runs(1000))
    list(reader.heads(with_lines=True))
    reader.first_of_kind("request")
    reader.count()
    recorded_events.clock_origin_ns(reader)
    list(recorded_events.events(reader, "exit", "eof"))
    for seq in (2, 7):
        list(reader.pieces(seq))


def _text(reader: RecordingReader) -> None:
    for line in write_text_form(reader):
        assert line.endswith(b"\n")


def _steps(reader: RecordingReader) -> None:
    steps = RecordedSteps(reader)
    while batch := steps.read():
        for step in batch:
            steps.wire(step.seq)


_QUESTIONS: tuple[Callable[[RecordingReader], None], ...] = (
    _frames, _queries, _frame_queries, _faults, _others, _text, _steps,
)  # fmt: skip


def _run(path: Path, command: tuple[str, ...]) -> None:
    """Runs a command, and checks that it exits with a documented code and prints no traceback."""
    words = ["inspect", command[0], str(path), *command[1:]]
    if command[0] == "search":
        words = ["inspect", "search", command[1], str(path)]
    result = CliRunner(
        env={"ACP_PROXY_RECORDINGS": str(scratch.directory("database_reader"))}
    ).invoke(cli, words, prog_name="acp-proxy")
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in (0, 1, 2), result.output[-500:]


@cache
def _recordings() -> list[bytes]:
    """Returns small recordings: one of all features, one with faults, one of a real agent."""
    path = scratch.directory("database_reader") / "seed.db"
    with LogWriter(path, fault_plan='[[fault]]\nkind = "drop"\n', seed=7) as recorder:
        write_conversation(recorder)
        recorder.chunk(2, b'[{"jsonrpc":"2.0","method":"a"},{"id":9,"method":"b"}]\n')
        recorder.event(PART, 2)
        recorder.event(FAULT, 2, rule="drop", action="dropped")
        recorder.event(EFFECT, 2, rule="drop", action="closed")
        recorder.close()
        recorder.finish()
    made = path.read_bytes()
    path.unlink()
    return [made, (seeds.ROOT / "recordings/hello.db").read_bytes()]


@cache
def _columns() -> list[tuple[str, str]]:
    """Returns all pairs of table and column."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(_recordings()[0])
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        tables = connection.execute(names).fetchall()
        return [
            (table, row[1])
            for (table,) in tables
            for row in connection.execute(f"PRAGMA table_info({table})")
        ]


def _seeds() -> list[bytes]:
    change = [bytes([0, way, 1, column, row, kind, value])
              for way in (0, 1, 2, 3, 4, 9) for column in range(0, 60, 7)
              for row, kind, value in ((0, 1, 0), (1, 2, 6), (2, 3, 7), (3, 5, 3))]  # fmt: skip
    flips = [bytes([0, way, 0, page, place, 1, 2, 0xFF, 0]) for way in (0, 9)
             for page in range(8) for place in (0, 8, 100, 255)]  # fmt: skip
    return change + flips


WORDS = (b"\0\0", b"\1\1", b"cut", b"\3cut")
TARGET = Target("database_reader", check, _seeds, WORDS, longest=256, steps=3_000_000, examples=30)
