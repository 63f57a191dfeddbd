"""Databases in memory for logs to be indexed into, and all the rows that they have then."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

from acp_proxy.store import database
from acp_proxy.store.indexer_state import load_state

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = ("recording", "labels", "frame_rows", "exchanges", "turns", "events")


@contextmanager
def new_database() -> Iterator[sqlite3.Connection]:
    """A fresh database with our tables."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(empty_database())
        yield connection


@functools.cache
def empty_database() -> bytes:
    """The file of a fresh database with our tables; to migrate one takes longer than to fill it."""
    with closing(sqlite3.connect(":memory:")) as connection:
        database.migrate(connection)
        return connection.serialize()


def dump(connection: sqlite3.Connection) -> dict[str, list[Any]]:
    """Every row of every table that the indexer writes, and what it remembers beside them."""
    rows = {table: query(connection, f"SELECT * FROM {table} ORDER BY rowid") for table in TABLES}
    offsets = query(connection, "SELECT log_offset FROM indexing")
    return {**rows, "indexing": [*offsets, load_state(connection)]}


def query(connection: sqlite3.Connection, sql: str, *parameters: Any) -> list[Any]:
    """The rows of a SELECT; of one column, its values."""
    rows = connection.execute(sql, parameters).fetchall()
    return [row[0] for row in rows] if rows and len(rows[0]) == 1 else rows


def stream_bytes(connection: sqlite3.Connection, stream: str) -> bytes:
    """What the frames of a stream give, joined."""
    sql = "SELECT raw, newline FROM frames WHERE stream = ? ORDER BY seq"
    return b"".join(raw + newline.encode() for raw, newline in query(connection, sql, stream))
