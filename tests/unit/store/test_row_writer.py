"""Frames and events are numbered and correlated as they come, and written all or none."""

from __future__ import annotations

import sqlite3
from typing import Any, cast

import pytest

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording import Recording
from acp_proxy.store.indexer_state import IndexerState
from acp_proxy.store.row_batch import LargeLine
from acp_proxy.store.row_writer import RowWriter
from tests.log_writer import STARTED_AT, line, notification, request, result
from tests.rows import new_database, query

RECORDING = Recording("c0ffee000001", "x", "0.1.0", STARTED_AT)


def add(write: RowWriter, stream: Stream, message: Any, t_ns: int = 0, **more: Any) -> None:
    """Adds a message as a frame that arrived at once."""
    raw = line(message).rstrip(b"\n")
    write.add_frame(stream, read(raw), b"\n", t_ns, 0, raw, **more)


def test_frames_and_events_share_a_numbering() -> None:
    """What comes next has the next number, whichever it is, and its user may jump."""
    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        add(write, Stream.TO_AGENT, request(1, "session/new"))
        write.add_event("note", 5, "{}")
        write.state.next_seq = 9
        add(write, Stream.TO_CLIENT, result(1, sessionId="s"), 7)
        write.commit()
        assert query(rows, "SELECT seq FROM frames UNION SELECT seq FROM events") == [1, 2, 9]
        found = query(rows, "SELECT method, session, exchange, latency_ns FROM exchanges"
                            " JOIN (SELECT exchange FROM frames WHERE seq = 9)")  # fmt: skip
        assert found == [("session/new", "s", 1, 7)]


def test_faults_and_masks_are_kept() -> None:
    """A frame names the rule that touched it, and a fault that fired has its row."""
    with new_database() as rows:
        write = RowWriter(rows, IndexerState(recording=RECORDING))
        add(write, Stream.TO_AGENT, notification("x"), delivered="partial", fault="cut",
            masked=True)  # fmt: skip
        add(write, Stream.TO_AGENT, notification("y"))
        write.add_fired(1, "rule", "cut", b"\xff", None)
        write.commit()
        found = query(rows, "SELECT delivered, fault, masked FROM frames ORDER BY seq")
        assert found == [("partial", "cut", 1), ("full", None, 0)]
        assert query(rows, "SELECT * FROM faults_fired") == [
            (1, "rule", "cut", b"\xff", None, None)
        ]


def test_a_large_line_is_copied_piece_by_piece() -> None:
    """The pieces are asked for at the commit, and asked for again after one that failed."""
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
    """A connection to a disk that is full."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        """Fails as SQLite does."""
        raise sqlite3.OperationalError("database or disk is full")


def test_a_commit_that_fails_keeps_all_and_writes_nothing() -> None:
    """The next commit has what the failed one had, and nothing twice."""
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
    """An indexer's batches say where they end; rows that are all there will be do not."""
    with new_database() as rows:
        RowWriter(rows, IndexerState(recording=RECORDING), resumable=False).commit()
        assert query(rows, "SELECT * FROM indexing") == []
        assert query(rows, "SELECT id FROM recording") == ["c0ffee000001"]
        RowWriter(rows, IndexerState(recording=RECORDING)).commit()
        assert query(rows, "SELECT id FROM indexing") == [1]


def test_a_dialect_can_be_forced() -> None:
    """In v1 an answer ends the turn of its prompt, in v2 it only accepts it."""
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
