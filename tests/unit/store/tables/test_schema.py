"""Tests the names, versions, views and indexes that the documents promise for the database."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from sqlite_utils import Database

from acp_proxy.store.files import database
from acp_proxy.store.tables.migrations import migrations
from acp_proxy.store.tables.schema import APPLICATION_ID, VERSION
from tests.support.log_writer import (
    MS,
    LogWriter,
    line,
    record_conversation,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTRACT = {
    "recording": """
        id name tool_version started_at ended_at state command cwd platform dialect dialect_reason
        client_name client_version agent_name agent_version protocol_version exit_code exit_signal
        end_reason fault_plan seed redaction connection_id parent note origin""",
    "frames": """
        seq channel stream t_ns t_first_ns kind method rpc_id exchange session turn tool_call
        terminal size raw newline parse_error delivered fault masked json rowid""",
    "exchanges": """
        id direction method rpc_id session request_seq response_seq latency_ns outcome""",
    "turns": "id session prompt_seq end_seq stop_reason updates tool_calls duration_ns",
    "events": "seq t_ns kind data",
    "faults_fired": "seq rule action received delivered late_ns",
    "messages": """
        first_seq last_seq session turn role message_id frames seconds duration_ns text""",
    "tool_calls": """
        id session turn title kind status first_seq last_seq frames bytes seconds duration_ns
        permission""",
    "sessions": "id cwd opened first_seq last_seq turns tool_calls frames bytes",
    "permissions": """
        request_seq response_seq session turn tool_call asked options chosen waited_ns""",
}
"""The documented tables and columns, word for word."""


@pytest.fixture
def story(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A recording of the conversation in `write_conversation`, opened with plain sqlite3."""
    with contextlib.closing(
        sqlite3.connect(record_conversation(tmp_path / "story.db"))
    ) as connection:
        yield connection


def rows(connection: sqlite3.Connection, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Returns the rows of a query."""
    return connection.execute(sql, parameters).fetchall()


def plan(connection: sqlite3.Connection, sql: str) -> str:
    """Returns SQLite's plan for a query."""
    return "; ".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}"))


@pytest.mark.parametrize("name", CONTRACT)
def test_the_contract_is_kept_word_for_word(story: sqlite3.Connection, name: str) -> None:
    """Each table of a recording's database has exactly the documented columns."""
    columns = [row[1] for row in rows(story, f"PRAGMA table_info({name})")]
    assert columns == CONTRACT[name].split()


def test_the_views_are_there(story: sqlite3.Connection) -> None:
    """The database of a recording has exactly the SQL views that the manual describes."""
    names = {name for (name,) in rows(story, "SELECT name FROM sqlite_master WHERE type = 'view'")}
    assert {name for name in names if not name.startswith("_")} == {
        "frames", "timeline", "unanswered", "latency",
        "messages", "tool_calls", "sessions", "permissions",
    }  # fmt: skip


def test_the_file_has_our_application_id(story: sqlite3.Connection) -> None:
    """The database of a recording has acp-proxy's application id."""
    assert rows(story, "PRAGMA user_version") == [(VERSION,)]
    assert rows(story, "PRAGMA application_id") == [(APPLICATION_ID,)]
    assert APPLICATION_ID.to_bytes(4, "big") == b"acp1"


def test_the_version_counts_the_migrations() -> None:
    """Each migration of a recording's database raises the database version by one."""
    empty = Database(memory=True)
    assert len(migrations.pending(empty)) == VERSION
    empty.close()


def test_migrating_twice_changes_nothing() -> None:
    """If a recording's database has the current version, migration changes nothing."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        database.migrate(connection)
        before = rows(connection, "SELECT name, sql FROM sqlite_master ORDER BY name")
        database.migrate(connection)
        assert rows(connection, "SELECT name, sql FROM sqlite_master ORDER BY name") == before


def test_a_death_in_the_middle_of_migrating_leaves_all_or_nothing(tmp_path: Path) -> None:
    """If a crash interrupts the creation of a database's tables, it has all of them or none."""
    path = tmp_path / "x.db"
    states = []
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:

        def look(_statement: str) -> None:
            states.append(path.read_bytes())

        connection.set_trace_callback(look)
        database.migrate(connection)
        look("the end")
    outcomes = set()
    for state in dict.fromkeys(states):
        path.write_bytes(state)
        with contextlib.closing(database.open_readonly(path)) as connection:
            tables = {name for (name,) in rows(connection, "SELECT name FROM sqlite_master")}
            outcomes.add(set(CONTRACT) <= tables)
            assert database.is_empty(connection) == (not set(CONTRACT) <= tables)
            version = rows(connection, "PRAGMA user_version")  # a reader looks for what it has
            assert version == [(0 if database.is_empty(connection) else VERSION,)]
        with contextlib.closing(database.create(path)) as connection:
            assert rows(connection, "PRAGMA user_version") == [(VERSION,)]
            assert rows(connection, "SELECT * FROM frame_rows") == []
    assert outcomes == {False, True}


def test_only_sqlite_looks_for_the_ends_of_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    """While tables and views are created, only SQLite looks for the ends of statements."""
    monkeypatch.delattr(sqlite3, "complete_statement")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        migrations.apply(Database(connection))
        names = {name for (name,) in rows(connection, "SELECT name FROM sqlite_master")}
        assert set(CONTRACT) <= names


def test_version_1_becomes_this_version(tmp_path: Path) -> None:
    """If a database of version 1 is migrated, all of its rows are kept."""
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as connection:
        migrations.apply(Database(connection), stop_before="0002_note")
        connection.execute("PRAGMA user_version = 1")
        old = CONTRACT["recording"].split()[:-2]
        assert [row[1] for row in rows(connection, "PRAGMA table_info(recording)")] == old
        marks = ", ".join("?" * len(old))
        connection.execute(f"INSERT INTO recording VALUES ({marks})", old)
        connection.commit()
        database.migrate(connection)
        assert rows(connection, "PRAGMA user_version") == [(VERSION,)]
        assert rows(connection, "SELECT * FROM recording") == [(*old, None, None)]


def test_the_timeline_is_frames_and_events_in_one_order(story: sqlite3.Connection) -> None:
    """The SQL view `timeline` has each frame and each event once, in one order."""
    timeline = rows(story, "SELECT seq, seconds, stream, kind, method, size, preview FROM timeline")
    assert [row[0] for row in timeline] == list(range(1, 24))
    assert timeline[5][1:6] == (0.005, "to-agent", "request", "session/prompt", 128)
    assert "你好" in timeline[5][6]
    assert timeline[12][1:] == (0.012, "stderr", "stderr", None, 14, "agent: careful")
    assert timeline[22][1:6] == (0.022, None, "exit", None, None)
    assert timeline[22][6] == '{"code": 3}'


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (b"\xff\xfe\xe4\xbd end", "\ufffd\ufffd"),
        ("né 你好 😀\t.".encode(), "né 你好 😀\t."),
        (b"x" * 300, "x" * 200),
        ("你".encode() * 300, "你" * 200),
    ],
)
def test_the_timeline_previews_any_bytes(tmp_path: Path, said: bytes, shown: str) -> None:
    """The SQL views show a readable preview of a line, whatever bytes the line has."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(3, said + b"\n")
        recorder.chunk(2, said + b"\n")
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        previews = rows(connection, "SELECT preview FROM timeline WHERE stream IS NOT NULL")
    for (preview,) in previews:
        assert preview.startswith(shown)
        assert len(preview) <= 200


def test_unanswered_shows_how_long_a_peer_waited(story: sqlite3.Connection) -> None:
    """The SQL view `unanswered` shows how long each open request has waited."""
    assert rows(story, "SELECT * FROM unanswered") == [
        (6, "to-agent", "session/set_mode", "3", "s-1", 16, 0.007)
    ]


def test_latency_counts_by_method_and_direction(tmp_path: Path) -> None:
    """The SQL view `latency` has the mean latency for each method and direction."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number, wait in enumerate((2, 5, 11)):
            recorder.to_agent(request(number, "a"))
            recorder.t_ns += (wait - 1) * MS
            recorder.to_client(result(number) if number else line(_error(number)))
        recorder.to_agent(request(9, "a"))
        recorder.to_client(request(1, "a"))
        recorder.to_agent(result(1))
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        latencies = rows(connection, "SELECT * FROM latency")
    assert latencies == [
        ("a", "to-agent", 4, 3, 1, 2.0, 6.0, 11.0),
        ("a", "to-client", 1, 1, 0, 1, 1, 1),
    ]


def _error(number: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": -32603, "message": "no"}}


@pytest.mark.parametrize(
    "condition",
    [
        "method = 'session/prompt'",
        "session = 's-1' AND method = 'session/prompt'",
        "tool_call = 'c-1'",
        "terminal = 't-1'",
        "seq BETWEEN 5 AND 9",
    ],
)
def test_columns_that_people_filter_by_have_an_index(
    story: sqlite3.Connection, condition: str
) -> None:
    """A query by method, session, call or terminal uses an index of the database."""
    query_plan = plan(story, f"SELECT * FROM frames WHERE {condition}")
    assert "SEARCH f USING" in query_plan
    assert "SCAN" not in query_plan


@pytest.mark.parametrize("condition", ["method = 'a'", "request_seq = 1", "response_seq = 2"])
def test_exchanges_have_indexes(story: sqlite3.Connection, condition: str) -> None:
    """A query for exchanges by method, request or answer uses an index of the database."""
    assert "SCAN" not in plan(story, f"SELECT * FROM exchanges WHERE {condition}")


@pytest.mark.parametrize("name", ["messages", "permissions", "tool_calls", "unanswered"])
def test_views_do_not_copy_all_messages(story: sqlite3.Connection, name: str) -> None:
    """SQLite needs no temporary index to read the SQL views."""
    assert "AUTOMATIC" not in plan(story, f"SELECT * FROM {name}")


def test_a_row_costs_no_more_than_64_bytes_beyond_its_frame(tmp_path: Path) -> None:
    """In the database, a frame takes at most 64 bytes more than its line."""
    count, sample = 20_000, line(update("s-1", "agent_message_chunk", content=text("")))
    frame = line(update("s-1", "agent_message_chunk", content=text("x" * (301 - len(sample)))))
    assert len(frame) == 301
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(count // 100):
            recorder.chunk(2, frame * 100)
        recorder.finish()
    size_without = record_conversation(tmp_path / "without.db").stat().st_size
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        assert rows(connection, "SELECT count(*) FROM frames WHERE size = 300") == [(count,)]
    assert (recorder.path.stat().st_size - size_without) / count <= 300 + 64
