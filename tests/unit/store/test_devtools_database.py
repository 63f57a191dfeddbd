"""Unit tests of the reading of the database of acp-devtools, which may be anybody's."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from acp_proxy.foreign_logs.values import Facts, LoggedLine, UnreadLines
from acp_proxy.store.devtools_database import (
    CapturedSession,
    entries_of,
    is_devtools,
    sessions_of,
)
from tests.foreign_entries import ANSWER, INITIALIZE
from tests.foreign_logs import TO_AGENT, TO_CLIENT

if TYPE_CHECKING:
    from collections.abc import Iterator

_TO_AGENT, _TO_CLIENT = "editor-to-agent", "agent-to-editor"


@pytest.fixture(params=["UTF-8", "UTF-16"])
def database(request: pytest.FixtureRequest) -> Iterator[sqlite3.Connection]:
    """A database with the tables of acp-devtools, and no rows."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"PRAGMA encoding = '{request.param}'")
        connection.execute("CREATE TABLE sessions (id, agent_command, started_at)")
        connection.execute("CREATE TABLE messages (id, session_id, seq, timestamp, direction, raw)")
        yield connection


def test_messages_are_read_in_order(database: sqlite3.Connection) -> None:
    """In either encoding; what is no line of text is named, and the command comes last."""
    rows = [
        (1, 7, 2, 2, _TO_CLIENT, ANSWER.decode()),
        (2, 7, 1, 1, _TO_AGENT, INITIALIZE.decode()),
        (3, 8, 1, 1, _TO_AGENT, "of another session"),
        (4, 7, 3, None, _TO_CLIENT, "Grüße"),
        (5, 7, 4, "x", _TO_CLIENT, "two\nlines"),
        (6, 7, 5, 1, b"x", None),
    ]
    database.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)", rows)
    *found, facts = entries_of(database, CapturedSession(7, "npx 'an agent'", 5))
    read = [(one.first, one.stream, one.raw, one.time_ns) for one in found
            if isinstance(one, LoggedLine)]  # fmt: skip
    assert read == [
        (1, TO_AGENT, INITIALIZE, 10**6),
        (2, TO_CLIENT, ANSWER, 2 * 10**6),
        (3, TO_CLIENT, "Grüße".encode(), None),
    ]
    assert [one.first for one in found if isinstance(one, UnreadLines)] == [4, 5]
    assert facts == Facts(5, 5, ("npx", "an agent"))


@pytest.mark.parametrize("database", ["UTF-8"], indirect=True)
def test_what_was_not_utf_8_is_kept(database: sqlite3.Connection) -> None:
    """A text of SQLite may hold any bytes."""
    database.execute(
        "INSERT INTO messages VALUES (1, 7, 1, 1, ?, CAST(x'41ff' AS TEXT))", (_TO_AGENT,)
    )
    first, _ = entries_of(database, CapturedSession(7, None, 1))
    assert isinstance(first, LoggedLine)
    assert first.raw == b"A\xff"


def test_sessions_are_counted_in_one_pass(database: sqlite3.Connection) -> None:
    """A database may have thousands of them, and no index."""
    database.executemany("INSERT INTO sessions VALUES (?, 1, 0)", [(n,) for n in range(300)])
    database.execute("INSERT INTO sessions VALUES ('x', 'y', 0)")
    rows = [(n % 299,) for n in range(3000)]
    database.executemany("INSERT INTO messages (session_id) VALUES (?)", rows)
    steps = 0

    def step() -> int:
        nonlocal steps
        steps += 1
        return 0

    database.set_progress_handler(step, 1000)
    assert is_devtools(database)
    found = sessions_of(database)
    assert [one.messages for one in found] == [rows.count((n,)) for n in range(300)]
    assert {one.command for one in found} == {None}
    assert steps < 200
