"""The indexer turns a log into rows, and neither loses nor repeats a frame."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import HEADER, MAGIC, STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.store.files import database
from acp_proxy.store.indexing import indexer, line_masking, record_handler
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.indexing.indexer_state import load_state
from tests.support.capture_logs import reader
from tests.support.indexed_rows import dump, new_database, query, settle, stream_bytes
from tests.support.log_writer import (
    MS,
    STARTED_AT,
    LogWriter,
    behind,
    error,
    handshake,
    line,
    notification,
    request,
    result,
    text,
    update,
    write_conversation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[LogWriter]:
    """A recorder's log with its first records."""
    with LogWriter(tmp_path / "x.db") as writing:
        yield writing


def index(recorder: LogWriter, rows: sqlite3.Connection, limit: int = 1 << 30) -> Indexer:
    """Indexes all records of a log, and returns the indexer."""
    with reader(recorder.log_path) as log:
        machine = Indexer(rows, log)
        while machine.step(limit):
            pass
        assert behind(machine) == 0
    return machine


def frames(rows: sqlite3.Connection, columns: str) -> list[Any]:
    """Returns the given columns of every frame, in order."""
    return query(rows, f"SELECT {columns} FROM frames ORDER BY seq")


def recording(rows: sqlite3.Connection) -> dict[str, Any]:
    """Returns the row of the table `recording`."""
    cursor = rows.execute("SELECT * FROM recording")
    names = [column[0] for column in cursor.description]
    (row,) = cursor.fetchall()
    return dict(zip(names, row, strict=True))


# Frames


def test_frames_have_the_columns_of_the_contract(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """The indexer stores each frame with its number, time, kind and session."""
    write_conversation(recorder)
    index(recorder, rows)
    columns = "seq, stream, kind, method, rpc_id, exchange, session, turn, tool_call"
    assert frames(rows, columns) == [
        (2, "to-agent", "request", "initialize", "0", 1, None, None, None),
        (3, "to-client", "response", "initialize", "0", 1, None, None, None),
        (4, "to-agent", "request", "session/new", "1", 2, None, None, None),
        (5, "to-client", "response", "session/new", "1", 2, "s-1", None, None),
        (6, "to-agent", "request", "session/prompt", "2", 3, "s-1", 1, None),
        (7, "to-client", "notification", "session/update", None, None, "s-1", 1, None),
        (8, "to-client", "notification", "session/update", None, None, "s-1", 1, "c-1"),
        (9, "to-client", "request", "session/request_permission", "0", 4, "s-1", 1, "c-1"),
        (10, "to-agent", "response", "session/request_permission", "0", 4, "s-1", 1, "c-1"),
        (11, "to-client", "request", "fs/read_text_file", "1", 5, "s-1", 1, None),
        (12, "to-agent", "error", "fs/read_text_file", "1", 5, "s-1", 1, None),
        (13, "stderr", "stderr", None, None, None, None, None, None),
        (14, "to-client", "notification", "session/update", None, None, "s-1", 1, "c-1"),
        (15, "to-client", "response", "session/prompt", "2", 3, "s-1", 1, None),
        (16, "to-agent", "request", "session/set_mode", "3", 6, "s-1", None, None),
        (17, "to-client", "invalid", None, None, None, None, None, None),
        (18, "to-client", "blank", None, None, None, None, None, None),
        (20, "to-client", "invalid", None, None, None, None, None, None),
    ]
    assert frames(rows, "seq, t_ns, t_first_ns, newline, size, raw")[-3:] == [
        (17, 16 * MS, 16 * MS, "\r\n", 8, b"not json"),
        (18, 17 * MS, 17 * MS, "\n", 0, b""),
        (20, 20 * MS, 18 * MS, "", 10, b"unfinished"),
    ]
    assert set(frames(rows, "delivered")) == {"full"}
    assert frames(rows, "parse_error")[-1] == "not JSON at character 0: expecting value"


def test_exchanges_turns_and_events(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """The indexer stores a row for each exchange, each turn and each event."""
    write_conversation(recorder)
    index(recorder, rows)
    columns = "id, direction, method, outcome, request_seq, response_seq"
    assert query(rows, f"SELECT {columns} FROM exchanges WHERE id > 2 ORDER BY id") == [
        (3, "to-agent", "session/prompt", "result", 6, 15),
        (4, "to-client", "session/request_permission", "result", 9, 10),
        (5, "to-client", "fs/read_text_file", "error", 11, 12),
        (6, "to-agent", "session/set_mode", "unanswered", 16, None),
    ]
    assert query(rows, "SELECT latency_ns FROM exchanges WHERE id = 3") == [9 * MS]
    assert query(rows, "SELECT * FROM turns") == [(1, "s-1", 6, 15, "end_turn", 3, 1, 9 * MS)]
    assert query(rows, "SELECT seq, kind FROM events ORDER BY seq") == [
        (1, "start"),
        (19, "eof"),
        (21, "eof"),
        (22, "eof"),
        (23, "exit"),
    ]
    (data,) = query(rows, "SELECT data FROM events WHERE seq = 19")
    assert json.loads(data) == {"stream": "to-agent", "reason": "end of file"}


def test_the_recording_follows_the_conversation(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """The indexer stores both peers' names, the exit and the end in the row of the recording."""
    index(recorder, rows)
    begun = recording(rows)
    assert begun["command"] == '["agent", "--acp"]'
    assert (begun["name"], begun["state"], begun["started_at"]) == ("x", "recording", STARTED_AT)
    assert (begun["client_name"], begun["dialect"], begun["ended_at"]) == (None, None, None)
    handshake(recorder)
    index(recorder, rows)
    known = recording(rows)
    assert (known["client_name"], known["client_version"]) == ("ed", "1.2")
    assert (known["agent_name"], known["agent_version"]) == ("ag", "3.4")
    assert (known["dialect"], known["protocol_version"]) == ("v1", "1")
    recorder.end(code=3)
    recorder.close("told to stop")
    index(recorder, rows)
    ended = recording(rows)
    assert (ended["exit_code"], ended["exit_signal"]) == (3, None)
    assert (ended["state"], ended["end_reason"]) == ("complete", "told to stop")
    assert ended["ended_at"] == "2025-06-15T15:06:40.007000+00:00"


def test_edits_by_a_person_stay(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If a user renames a running recording, the recorder keeps the new name."""
    index(recorder, rows)
    with rows:
        rows.execute("UPDATE recording SET name = 'mine'")
    handshake(recorder)
    recorder.close()
    index(recorder, rows)
    assert (recording(rows)["name"], recording(rows)["state"]) == ("mine", "complete")


def test_a_dialect_can_be_forced(tmp_path: Path, rows: sqlite3.Connection) -> None:
    """If a recording was started with `--dialect`, the indexer stores this dialect."""
    with LogWriter(tmp_path / "x.db", dialect="draft-1.0") as recorder:
        handshake(recorder)
        index(recorder, rows, limit=1)
    assert recording(rows)["dialect"] == "draft-1.0"
    assert recording(rows)["dialect_reason"] == "forced by --dialect"


def test_labels_are_stored_once(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If many frames share a session id, the indexer stores the id only once."""
    for _ in range(3):
        recorder.to_client(update("s", "plan"), update("t", "plan"))
        index(recorder, rows, limit=1)
    assert query(rows, "SELECT id, text FROM labels ORDER BY 1") == [
        (1, "session/update"),
        (2, "s"),
        (3, "t"),
    ]


def test_any_text_can_be_stored(tmp_path: Path, rows: sqlite3.Connection) -> None:
    """The indexer stores any text, even with half a surrogate pair."""
    odd = {"name": "/\udcff", "arg": ["\udcfe"], "cwd": "/\udcff"}
    with LogWriter(tmp_path / "x.db", **odd) as recorder:
        info = '{"name": "\\ud800", "version": "\\u0000"}'
        recorder.chunk(
            TO_AGENT,
            b'{"id":"\\udc00","method":"initialize","params":{"protocolVersion":1,"clientInfo":'
            + info.encode()
            + b"}}\n",
        )
        recorder.chunk(TO_CLIENT, b'{"method":"\\ud800\\u0000","params":{"sessionId":"\\udfff"}}\n')
        recorder.chunk(STDERR, b"\xff\xfe\0\n")
        recorder.chunk(TO_CLIENT, b"\xff\xfe\0\n")
        index(recorder, rows)
    row = recording(rows)
    assert (row["name"], row["command"], row["cwd"]) == ("/\\xff", '["\\\\xfe"]', "/\\xff")
    assert (row["client_name"], row["client_version"]) == ("\\ud800", "\0")
    assert frames(rows, "seq, method, rpc_id, session") == [
        (2, "initialize", '"\\udc00"', None),
        (3, "\\ud800\0", None, "\\udfff"),
        (4, None, None, None),
        (5, None, None, None),
    ]


# Lines


def test_unfinished_lines_wait(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """While a line in a capture log has no newline, the indexer waits for the rest of the line."""
    recorder.chunk(TO_CLIENT, b'{"method":')
    recorder.chunk(TO_AGENT, b"first\n")
    machine = index(recorder, rows)
    assert not machine.is_whole
    assert frames(rows, "seq, raw") == [(2, b"first")]
    recorder.chunk(TO_CLIENT, b'"x"}\nrest')
    index(recorder, rows)
    assert frames(rows, "seq, t_ns, t_first_ns, raw")[1:] == [
        (3, 3 * MS, 1 * MS, b'{"method":"x"}')
    ]
    recorder.event(capture_log.END, TO_CLIENT, reason="end of file")
    machine = index(recorder, rows)
    assert machine.is_whole
    assert frames(rows, "seq, raw, newline")[2:] == [(4, b"rest", "")]


def test_settling_ends_the_unfinished_lines(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If a recorder was killed, an unfinished line of its capture log becomes a frame."""
    for stream in (STDERR, TO_CLIENT, TO_AGENT):
        recorder.chunk(stream, b"unfinished")
    settle(recorder.log_path, rows)
    assert frames(rows, "seq, stream, raw") == [
        (2, "to-agent", b"unfinished"),
        (3, "to-client", b"unfinished"),
        (4, "stderr", b"unfinished"),
    ]
    row = recording(rows)
    assert (row["state"], row["end_reason"]) == ("incomplete", record_handler._CUT_OFF)
    assert row["ended_at"] == "2025-06-15T15:06:40.003000+00:00"
    before = dump(rows)
    settle(recorder.log_path, rows)
    assert dump(rows) == before


def test_settling_a_whole_recording_changes_nothing(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """If a command finishes a recording that is complete already, nothing changes."""
    write_conversation(recorder)
    recorder.close()
    index(recorder, rows)
    before = dump(rows)
    settle(recorder.log_path, rows)
    assert dump(rows) == before
    assert recording(rows)["state"] == "complete"


def test_a_gap_cuts_the_lines_that_it_tore(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If bytes in a line were not recorded, the indexer stores the parts as two frames."""
    recorder.chunk(TO_CLIENT, b"before")
    recorder.chunk(TO_AGENT, b"whole ")
    recorder.event(capture_log.GAP, reason="no space", since=3, **{"to-client": 70})
    recorder.chunk(TO_CLIENT, b"after\n")
    recorder.chunk(TO_AGENT, b"line\n")
    index(recorder, rows)
    assert frames(rows, "seq, raw, newline") == [
        (2, b"before", ""),
        (4, b"after", "\n"),
        (5, b"whole line", "\n"),
    ]
    (data,) = query(rows, "SELECT data FROM events WHERE kind = 'gap' ORDER BY 1")
    assert json.loads(data) == {"reason": "no space", "since": 3, "to-client": 70}


def test_junk_in_the_log_costs_only_itself(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """The indexer skips foreign bytes between the records of a capture log."""
    recorder.to_agent(request(1, "a"))
    with recorder.log_path.open("ab") as file:
        file.write(b"\0" * (indexer.BATCH + 100))
    recorder.to_client(result(1))
    index(recorder, rows, indexer.BATCH)
    assert frames(rows, "kind") == ["request", "response"]


# Delivery


@pytest.mark.parametrize(
    ("lost", "delivered"),
    [
        (0, ["full", "full", "full"]),
        (1, ["full", "full", "partial"]),
        (3, ["full", "full", "partial"]),
        (4, ["full", "full", "none"]),
        (5, ["full", "partial", "none"]),
        (8, ["full", "none", "none"]),
        (9, ["partial", "none", "none"]),
        (10, ["none", "none", "none"]),
        (99, ["none", "none", "none"]),
    ],
)
@pytest.mark.parametrize("limit", [1, 1 << 30])
@pytest.mark.parametrize("last", [b"last", b"las\n", b"la\r\n"])
def test_undelivered_frames_are_marked(
    recorder: LogWriter,
    rows: sqlite3.Connection,
    lost: int,
    delivered: list[str],
    limit: int,
    last: Any,
) -> None:
    """If bytes of a frame were not delivered, the indexer marks the frame as undelivered."""
    recorder.chunk(TO_CLIENT, b"1\n")
    recorder.chunk(TO_AGENT, b"the other direction\n")
    recorder.chunk(TO_CLIENT, b"22\r\n" + last)
    recorder.event(capture_log.UNDELIVERED, TO_CLIENT, bytes=lost)
    recorder.event(capture_log.END, TO_CLIENT, reason="the reader is gone")
    recorder.end()
    index(recorder, rows, limit)
    sql = "SELECT delivered FROM frames WHERE stream = ? ORDER BY seq"
    assert query(rows, sql, "to-client") == delivered
    assert query(rows, sql, "to-agent") == ["full"]
    (data,) = query(rows, "SELECT data FROM events WHERE kind = 'undelivered' ORDER BY 1")
    assert json.loads(data) == {"stream": "to-client", "bytes": lost}


def test_a_killed_writers_last_line_may_be_undelivered(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """If a killed recorder had delivered only a part of the last line, it is marked as partial."""
    recorder.chunk(TO_AGENT, b"unfinished")
    recorder.event(capture_log.UNDELIVERED, TO_AGENT, bytes=4)
    index(recorder, rows)
    settle(recorder.log_path, rows)
    assert frames(rows, "delivered") == ["partial"]


# Large lines


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes lines of more than 200 bytes large."""
    monkeypatch.setattr(line_masking, "LARGE_LINE", 200)
    monkeypatch.setattr(line_masking, "LINE_EDGE", 100)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b""])
def test_large_lines_are_never_held(
    recorder: LogWriter, rows: sqlite3.Connection, newline: bytes
) -> None:
    """If a line is too large for memory, the indexer still stores all of its bytes."""
    raw = line(request(7, "fs/read", sessionId="s", x=["y" * 200, "\\n" * 50]))[:-1] + newline
    for start in range(0, len(raw), 30):
        recorder.chunk(TO_CLIENT, raw[start : start + 30])
        recorder.chunk(STDERR, b"z" * 40)
    recorder.chunk(STDERR, b"\n")
    recorder.event(capture_log.END, TO_CLIENT, reason="end of file")
    index(recorder, rows, limit=70)
    assert stream_bytes(rows, "to-client") == raw
    assert set(stream_bytes(rows, "stderr")) == set(b"z\n")
    stored = query(rows, "SELECT kind, method, rpc_id, session, newline, size FROM frames")
    assert ("request", "fs/read", "7", "s", newline.decode(), len(raw.strip())) in stored


@pytest.mark.usefixtures("small_limits")
def test_a_large_line_may_be_undelivered(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If a large line was not delivered, the indexer marks it as undelivered."""
    for _ in range(3):
        recorder.chunk(TO_CLIENT, b"x" * 100)
    recorder.chunk(TO_CLIENT, b"\n" + b"y" * 150)
    recorder.chunk(TO_CLIENT, b"y" * 150)
    recorder.event(capture_log.UNDELIVERED, TO_CLIENT, bytes=301)
    settle(recorder.log_path, rows)
    assert frames(rows, "seq, delivered, size") == [(2, "partial", 300), (4, "none", 300)]


# Batches of rows


def test_a_commit_that_fails_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """If another program locks the database, the indexer later writes each frame once."""
    with LogWriter(tmp_path / "x.db") as recorder, reader(recorder.log_path) as log:
        handshake(recorder)
        with (
            closing(database.create(recorder.path)) as connection,
            closing(sqlite3.connect(recorder.path)) as other,
        ):
            connection.execute("PRAGMA busy_timeout=0")
            machine = Indexer(connection, log)
            machine.step()
            write_conversation(recorder)
            size = behind(machine)
            other.execute("BEGIN IMMEDIATE")
            for _ in range(2):
                with pytest.raises(sqlite3.OperationalError, match="locked"):
                    machine.step()
                assert (behind(machine), machine.state.offset) == (size, log.end - size)
                assert not machine.is_whole
            other.rollback()
            recorder.to_agent(request(9, "later"))
            start = machine.state.offset
            assert machine.step() == log.end - start
            assert behind(machine) == 0
            machine.settle()
            with new_database() as rows:
                settle(recorder.log_path, rows)
                assert dump(connection) == dump(rows)


def test_the_last_batch_counts_as_behind_until_it_is_committed(tmp_path: Path) -> None:
    """While the database is locked, records that are not stored yet do not count as indexed."""
    with LogWriter(tmp_path / "x.db") as recorder, reader(recorder.log_path) as log:
        write_conversation(recorder)
        recorder.close()
        with (
            closing(database.create(recorder.path)) as connection,
            closing(sqlite3.connect(recorder.path)) as other,
        ):
            connection.execute("PRAGMA busy_timeout=0")
            machine = Indexer(connection, log)
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                machine.step()
            assert behind(machine) == log.end
            other.rollback()
            assert machine.step() == log.end
            assert (behind(machine), machine.step()) == (0, 0)


def test_a_fresh_indexer_goes_on_from_the_last_commit(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """A new indexer continues from the state that the earlier indexer left in the database."""
    recorder.to_agent(request(5, "session/prompt", sessionId="s", prompt=[text("hi")]))
    index(recorder, rows)
    recorder.to_client(update("s", "tool_call", toolCallId="c"), result(5, stopReason="end_turn"))
    with reader(recorder.log_path) as log:
        again = Indexer(rows, log)
        assert [e.method for e in again.open_requests(Direction.TO_AGENT)] == ["session/prompt"]
        again.step()
        assert again.open_requests(Direction.TO_AGENT) == []
    turns = query(rows, "SELECT updates, tool_calls, stop_reason FROM turns")
    assert turns == [(1, 1, "end_turn")]


def test_a_memory_that_cannot_be_read_is_an_error(rows: sqlite3.Connection) -> None:
    """If the stored state of an indexer is invalid, indexing ends with an error."""
    assert load_state(rows).offset == 0
    for state in ("", "null", '{"offset": "x"}', '{"framers": {"to-agent": 1}}', "nonsense"):
        with rows:
            rows.execute("INSERT OR REPLACE INTO indexing VALUES (1, 0, ?)", (state,))
        with pytest.raises(ValueError, match="its indexing state cannot be read"):
            load_state(rows)


# Logs that somebody else wrote


@pytest.mark.parametrize(
    "number", ["9" * 19, "9" * 40, "-1", "x", "", "\u00b2", "\u0663", "18446744073709551616", "1.5"]
)
def test_any_number_in_an_event_is_indexed(
    tmp_path: Path, rows: sqlite3.Connection, number: str
) -> None:
    """The indexer stores events even if their numbers are huge or are not numbers at all."""
    with LogWriter(tmp_path / "x.db", wall=number, origin=number, pid=number) as recorder:
        recorder.to_agent(notification("x"))
        recorder.event(capture_log.SIGNAL, signal=number, action="sent")
        recorder.event(capture_log.UNDELIVERED, TO_AGENT, bytes=number)
        lost: dict[str, Any] = {"to-agent": number}
        recorder.event(capture_log.GAP, since=number, **lost)
        recorder.event(capture_log.EXIT, code=number, signal=number)
        recorder.close()
        index(recorder, rows)
    assert recording(rows)["state"] == "complete"
    assert frames(rows, "method") == ["x"]


def test_events_of_any_bytes_are_indexed(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """The indexer stores events of any kind with any bytes."""
    kinds = range(capture_log.END, capture_log.LAST_KIND + 1)
    for kind in kinds:
        for payload in (b"", b"\0\xff=\xfe\0=", b"bytes=\0reason"):
            with recorder.log_path.open("ab") as file:
                file.write(HEADER.pack(MAGIC, kind, 0, len(payload), 1) + payload)
    recorder.chunk(0, b"a chunk of no stream\n")
    index(recorder, rows)
    assert frames(rows, "raw") == []
    assert dict(query(rows, "SELECT kind, count(*) FROM events GROUP BY kind")) == {
        "start": 4, "eof": 3, "undelivered": 3, "signal": 3, "exit": 3, "gap": 3, "note": 3,
        "fault": 3,
    }  # fmt: skip


def test_errors_of_messages_are_data(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """The indexer stores an invalid message as a frame, with the reason why it is invalid."""
    for bad in (b"\xff\n", b"[]\n", b"[[1]]\n", b"{}\n", b"[" * 5000 + b"\n", b"\xef\xbb\xbf{}\n"):
        recorder.chunk(TO_CLIENT, bad)
    recorder.to_client(error(None, -32700, "Parse error"))
    index(recorder, rows)
    assert frames(rows, "seq, kind, parse_error") == [
        (2, "invalid", "not UTF-8 at byte 0"),
        (3, "batch", "an empty batch"),
        (4, "batch", None),
        (5, "invalid", "neither method, result nor error"),
        (6, "invalid", "nested too deeply"),
        (7, "invalid", "begins with a byte order mark"),
        (8, "error", None),
    ]


@pytest.mark.parametrize("limit", [1, 1 << 30])
def test_only_the_first_start_counts(tmp_path: Path, limit: int) -> None:
    """If a capture log has two start records, the indexer ignores the second one."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        recorder.chunk(TO_AGENT, b"x\n")
        recorder.event(capture_log.START, wall=1, origin=2, id="other", arg=["other"])
        index(recorder, connection, limit)
        assert recording(connection)["id"] == "c0ffee000001"
        assert recording(connection)["started_at"] == STARTED_AT
