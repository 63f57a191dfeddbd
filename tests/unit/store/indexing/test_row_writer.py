"""Rows of frames and events are numbered in order, and are written all or none."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any, cast

import pytest

from acp_proxy.protocol.dialects import DRAFT, FORMER_REASON, V1, V2
from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.recording.recording import Recording
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.row_batch import LargeLine
from acp_proxy.store.indexing.row_writer import RowWriter, label_again
from acp_proxy.store.log import log_recovery
from acp_proxy.store.reader import RecordingReader
from tests.support.capture_logs import reader
from tests.support.indexed_rows import new_database, query
from tests.support.log_writer import (
    STARTED_AT,
    LogWriter,
    line,
    notification,
    request,
    result,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


RECORDING = Recording("c0ffee000001", "x", "0.1.0", STARTED_AT)


def add(write: RowWriter, stream: Stream, message: Any, t_ns: int = 0, **more: Any) -> None:
    """Adds a message as a frame whose bytes arrived at once."""
    raw = line(message).rstrip(b"\n")
    write.add_frame(stream, read(raw), b"\n", t_ns, 0, raw, **more)


def test_frames_and_events_share_a_numbering() -> None:
    """The indexer numbers the frames and events of a recording in one sequence."""
    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        add(write, Stream.TO_AGENT, request(1, "session/new"))
        write.add_event("note", 5, "{}")
        write.state.next_seq = 9
        add(write, Stream.TO_CLIENT, result(1, sessionId="s"), 7)
        write.commit()
        assert query(rows, "SELECT seq FROM frames UNION SELECT seq FROM events") == [1, 2, 9]
        exchanges = query(rows, "SELECT method, session, exchange, latency_ns FROM exchanges"
                            " JOIN (SELECT exchange FROM frames WHERE seq = 9)")  # fmt: skip
        assert exchanges == [("session/new", "s", 1, 7)]


def test_faults_and_masks_are_kept() -> None:
    """The indexer stores with a frame how it was delivered, its fault, and if it is masked."""
    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        add(write, Stream.TO_AGENT, notification("x"), delivered="partial", fault="cut",
            masked=True)  # fmt: skip
        add(write, Stream.TO_AGENT, notification("y"))
        write.add_fired(1, "rule", "cut", b"\xff", None)
        write.commit()
        stored = query(rows, "SELECT delivered, fault, masked FROM frames ORDER BY seq")
        assert stored == [("partial", "cut", 1), ("full", None, 0)]
        assert query(rows, "SELECT * FROM faults_fired") == [
            (1, "rule", "cut", b"\xff", None, None)
        ]


def test_a_large_line_is_copied_piece_by_piece() -> None:
    """The indexer copies a large line in pieces, and copies it again after a failed commit."""
    asked: list[int] = []

    def parts() -> list[bytes]:
        asked.append(1)
        return [b"ab", b"c"]

    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        large = LargeLine(3, parts)
        write.add_frame(Stream.STDERR, Message(Kind.STDERR), b"\n", 0, 0, large)
        assert asked == []
        write.connection = cast("sqlite3.Connection", Broken(rows))
        with pytest.raises(sqlite3.OperationalError):
            write.commit()
        write.connection = rows
        write.commit()
        assert query(rows, "SELECT raw FROM frames") == [b"abc"]
        assert len(asked) == 2


class Broken:
    """A connection to a full disk."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        """Fails like SQLite on a full disk."""
        raise sqlite3.OperationalError("database or disk is full")


def test_a_commit_that_fails_keeps_all_and_writes_nothing() -> None:
    """If a commit of the indexer fails, nothing is stored, and the next commit stores all."""
    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        add(write, Stream.TO_AGENT, request(1, "session/prompt", sessionId="s"))
        write.add_event("note", 0, "{}")
        write.add_fired(1, None, None, None, None)
        write.connection = cast("sqlite3.Connection", Broken(rows))
        with pytest.raises(sqlite3.OperationalError, match="full"):
            write.commit()
        tables = ("labels", "frame_rows", "exchanges", "turns", "events", "faults_fired")
        assert [query(rows, f"SELECT * FROM {table}") for table in tables] == [[]] * 6
        write.connection = rows
        write.commit()
        write.commit()
        counts = [query(rows, f"SELECT count(*) FROM {table}") for table in tables[1:]]
        assert counts == [[1]] * 5


def test_state_is_stored_only_for_a_next_indexer() -> None:
    """The indexer's state is stored only if another indexer may have to continue."""
    with new_database() as rows:
        RowWriter(rows, IndexerState(recording=RECORDING), resumable=False).commit()
        assert query(rows, "SELECT * FROM indexing") == []
        assert query(rows, "SELECT id FROM recording") == ["c0ffee000001"]
        RowWriter(rows, IndexerState(recording=RECORDING)).commit()
        assert query(rows, "SELECT id FROM indexing") == [1]


def test_a_dialect_can_be_forced() -> None:
    """If `v1` is forced, the indexer ends a turn at the prompt's answer; with `v2`, it does not."""
    ended = {}
    for dialect in ("v1", "v2"):
        with new_database() as rows:
            write = RowWriter(rows, IndexerState(recording=RECORDING))
            write.set_dialect(dialect)
            add(write, Stream.TO_AGENT, request(1, "session/prompt", sessionId="s"))
            add(write, Stream.TO_CLIENT, result(1))
            write.commit()
            ended[dialect] = query(rows, "SELECT end_seq FROM turns")
    assert ended == {"v1": [2], "v2": [None]}


LABELS = "SELECT seq, method, exchange, session, turn, tool_call, terminal FROM frames ORDER BY seq"
TABLES = (LABELS, "SELECT * FROM exchanges ORDER BY id", "SELECT * FROM turns ORDER BY id")


def begin_as_v1(recorder: LogWriter) -> None:
    """Writes the beginning of a draft conversation, which looks like v1."""
    recorder.to_agent(request(0, "initialize", protocolVersion=1, clientCapabilities={}))
    recorder.to_client(result(0, protocolVersion=1, agentCapabilities={}))
    recorder.to_agent(request(1, "authenticate", methodId="m"))
    recorder.to_client(result(1))
    recorder.to_agent(request(2, "session/new", workingDirectory="/p"))
    recorder.to_client(result(2, sessionId="s"))
    recorder.to_agent(request(3, "session/prompt", sessionId="s", content=[]))
    recorder.to_client(request(0, "fs/read_text_file", path="/p/a"))
    recorder.to_agent(result(0, content=""))


def go_on_as_draft(recorder: LogWriter) -> None:
    """Writes the end of the draft conversation, which shows that the dialect is the draft."""
    for kind in ("agent_message_chunk", "tool_call"):
        recorder.to_client(
            notification("session/update", sessionId="s", type=kind, data={"id": "c"})
        )
    recorder.to_client(request(1, "terminal/create", command="ls"))
    recorder.to_agent(result(1, terminalId="t"))
    recorder.to_client(result(3, stopReason="end_turn"))


def write_draft(recorder: LogWriter) -> None:
    """Writes the whole draft conversation."""
    begin_as_v1(recorder)
    go_on_as_draft(recorder)


def write_v2(recorder: LogWriter) -> None:
    """Writes an excerpt of v2 whose turn seems to end with the answer to the prompt."""
    recorder.to_agent(request(0, "session/load", sessionId="s", cwd="/p"))
    recorder.to_client(result(0))
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[]))
    recorder.to_client(
        result(1),
        update("s", "agent_message_chunk", content={"type": "text", "text": "a"}),
        update("s", "state_update", state="running"),
        update("s", "agent_message_chunk", content={"type": "text", "text": "b"}),
        update("s", "user_message", content=[]),
        update("s", "state_update", state="idle", stopReason="end_turn"),
    )


def rows_of(connection: sqlite3.Connection) -> list[list[Any]]:
    """Returns the columns of rows that depend on the dialect."""
    return [query(connection, sql) for sql in TABLES]


def fresh_rows(tmp_path: Path, write: Callable[[LogWriter], None], dialect: str) -> list[list[Any]]:
    """Returns the rows of an indexer that knew the dialect from the start."""
    with LogWriter(tmp_path / "forced.db", dialect=dialect) as recorder, new_database() as known:
        write(recorder)
        with reader(recorder.log_path) as log:
            Indexer(known, log).step(1 << 30)
        return rows_of(known)


@pytest.mark.parametrize("limit", [1, 400, 1 << 30])
@pytest.mark.parametrize(("write", "dialect"), [(write_draft, DRAFT), (write_v2, V2)])
def test_rows_are_those_of_an_index_that_knew_the_dialect(
    tmp_path: Path,
    rows: sqlite3.Connection,
    write: Callable[[LogWriter], None],
    dialect: str,
    limit: int,
) -> None:
    """If the dialect is detected late, the indexer corrects the labels of earlier rows."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write(recorder)
        with reader(recorder.log_path) as log:
            machine = Indexer(rows, log)
            while machine.step(limit):
                pass
    assert query(rows, "SELECT dialect FROM recording") == [dialect]
    assert rows_of(rows) == fresh_rows(tmp_path, write, dialect)
    as_v1 = tmp_path / "v1"
    as_v1.mkdir()
    assert rows_of(rows) != fresh_rows(as_v1, write, V1)


def test_another_indexer_goes_on_after_the_labels_were_written_again(
    tmp_path: Path, rows: sqlite3.Connection
) -> None:
    """If the dialect is detected late, a second indexer stores the same rows as a single one."""
    with LogWriter(tmp_path / "x.db") as recorder:
        write_draft(recorder)
        with reader(recorder.log_path) as log:
            while Indexer(rows, log).step(1):
                pass
    assert rows_of(rows) == fresh_rows(tmp_path, write_draft, DRAFT)


def test_a_commit_that_fails_labels_again_the_next_time(
    tmp_path: Path, rows: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the corrected labels of a late dialect cannot be stored, the next commit stores them."""
    used = "acp_proxy.store.indexing.row_writer.label_again"

    def fail(*arguments: Any) -> Any:
        label_again(*arguments)
        monkeypatch.undo()
        raise sqlite3.OperationalError("disk full")

    with LogWriter(tmp_path / "x.db") as recorder:
        write_draft(recorder)
        monkeypatch.setattr(used, fail)
        with reader(recorder.log_path) as log:
            machine = Indexer(rows, log)
            with pytest.raises(sqlite3.OperationalError):
                machine.step()
            assert query(rows, LABELS) == []
            machine.step()
    assert rows_of(rows) == fresh_rows(tmp_path, write_draft, DRAFT)


def test_the_tail_of_a_running_recording_has_the_same_labels(tmp_path: Path) -> None:
    """If a running recording's dialect is detected late, commands correct its earlier labels."""
    expected = fresh_rows(tmp_path, write_draft, DRAFT)
    with LogWriter(tmp_path / "x.db") as recorder:
        begin_as_v1(recorder)
        recorder.index()
        with RecordingReader(recorder.path) as live:
            assert live.recording.dialect == V1
            go_on_as_draft(recorder)
            live.refresh()
            assert (live.live, live.recording.dialect) == (True, DRAFT)
            assert rows_of(live.connection) == expected
        recorder.index()
        with RecordingReader(recorder.path) as live:
            assert rows_of(live.connection) == expected


def test_a_recording_that_was_killed_has_the_same_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recorder was killed, commands apply a dialect that was detected late to all frames."""
    with LogWriter(tmp_path / "x.db") as recorder:
        begin_as_v1(recorder)
        recorder.index()
        go_on_as_draft(recorder)
    expected = fresh_rows(tmp_path, write_draft, DRAFT)
    with monkeypatch.context() as patched:
        patched.setattr(log_recovery, "finish_dead", lambda *_: False)
        with RecordingReader(recorder.path) as unfinished:
            assert rows_of(unfinished.connection) == expected
    with RecordingReader(recorder.path) as finished:
        assert finished.in_one_place() is finished
        assert rows_of(finished.connection) == expected


def test_a_dialect_that_an_earlier_version_took_for_the_draft_is_detected_again(
    tmp_path: Path,
) -> None:
    """If only `initialize` looks like the 1.0 draft, commands read the recording as v1."""
    with LogWriter(tmp_path / "x.db") as recorder:
        initialize = request(0, "initialize", protocolVersion=1, capabilities={}, clientInfo={})
        recorder.to_agent(initialize)
        recorder.to_client(result(0, protocolVersion=1))
        recorder.to_agent(request(1, "session/new", cwd="/p", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        recorder.close()
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as stored, stored:
        (reason,) = query(stored, "SELECT dialect_reason FROM recording")
        stored.execute(
            "UPDATE recording SET dialect = ?, dialect_reason = ?", (DRAFT, FORMER_REASON)
        )
    with RecordingReader(recorder.path) as read:
        assert (read.recording.dialect, read.recording.dialect_reason) == (V1, reason)
    assert reason == "session/new with cwd; initialize is written as draft-1.0"
