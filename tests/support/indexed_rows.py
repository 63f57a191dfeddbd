"""Makes databases in memory, indexes logs into them, and reads their rows."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from acp_proxy.store.files import database
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.indexing.indexer_state import load_state
from tests.support.capture_logs import reader

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLES = ("recording", "labels", "frame_rows", "exchanges", "turns", "events")


@contextmanager
def new_database() -> Iterator[sqlite3.Connection]:
    """Yields a connection to a new, empty database with our tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(empty_database())
        yield connection


@functools.cache
def empty_database() -> bytes:
    """Returns the bytes of an empty database with our tables, which are made only once."""
    with closing(sqlite3.connect(":memory:")) as connection:
        database.migrate(connection)
        return connection.serialize()


def stored_views() -> set[str]:
    """Returns the names of the public views in the database of a recording."""
    with new_database() as connection:
        names = query(connection, "SELECT name FROM sqlite_master WHERE type = 'view'")
    return {name for name in names if not name.startswith("_")}


def settle(log_path: Path, connection: sqlite3.Connection) -> None:
    """Indexes a whole log into a database, and ends the recording."""
    with reader(log_path) as log:
        machine = Indexer(connection, log)
        while machine.step():
            pass
        machine.settle()


def dump(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    """Returns all rows that the indexer writes, its offset in the log, and its stored state."""
    rows = {table: query(connection, f"SELECT * FROM {table} ORDER BY rowid") for table in TABLES}
    offsets = query(connection, "SELECT log_offset FROM indexing")
    return {**rows, "indexing": [*offsets, load_state(connection)]}


def alter(path: Path, *statements: str) -> Path:
    """Executes statements on a recording as another program could, and returns its path."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    return path


def query(connection: sqlite3.Connection, sql: str, *parameters: Any) -> list[Any]:
    """Returns the rows of a SELECT; if there is only one column, its values."""
    rows = connection.execute(sql, parameters).fetchall()
    return [row[0] for row in rows] if rows and len(rows[0]) == 1 else rows


def stream_bytes(connection: sqlite3.Connection, stream: str) -> bytes:
    """Returns all recorded bytes of a stream."""
    sql = "SELECT raw, newline FROM frames WHERE stream = ? ORDER BY seq"
    return b"".join(raw + newline.encode() for raw, newline in query(connection, sql, stream))
