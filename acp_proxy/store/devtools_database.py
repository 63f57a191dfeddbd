"""Reads the database of acp-devtools, ``captures.db``, which has many sessions.

It is a foreign file: it is opened read-only, and only plain tables with the columns of acp-devtools
are read.
"""

import sqlite3
from collections.abc import Iterator

from attrs import frozen

from acp_proxy.foreign_logs import acp_devtools
from acp_proxy.foreign_logs.values import Entry, Facts

_COLUMNS = {
    "sessions": ("id", "agent_command", "started_at"),
    "messages": ("id", "session_id", "seq", "timestamp", "direction", "raw"),
}
_HINT = "; it looks like one of acp-devtools: `acp-proxy inspect import` makes a recording of it"


@frozen
class CapturedSession:
    """A session of acp-devtools: one connection."""

    id: int
    command: str | None
    messages: int


def is_devtools(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables of acp-devtools; raises `sqlite3.Error` on damage."""
    # A virtual table has no page of its own.
    tables = connection.execute(
        "SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"
    )
    if not _COLUMNS.keys() <= {name for (name,) in tables}:
        return False
    for table, columns in _COLUMNS.items():
        found = connection.execute(
            "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", (table,)
        )
        if not set(columns) <= {name for (name,) in found}:
            return False
    return True


def import_hint(connection: sqlite3.Connection) -> str:
    """Returns what to do with a foreign database, as the end of an error message."""
    try:
        is_known = is_devtools(connection)
    except (sqlite3.Error, UnicodeDecodeError):
        is_known = False
    if not is_known:
        return ""
    return _HINT


def sessions_of(connection: sqlite3.Connection) -> list[CapturedSession]:
    """Returns the sessions of a database of acp-devtools, the latest last."""
    rows = connection.execute(
        "SELECT s.id, s.agent_command, coalesce(m.messages, 0) FROM main.sessions AS s"
        " LEFT JOIN (SELECT session_id, count(*) AS messages FROM main.messages"
        " GROUP BY session_id) AS m ON m.session_id = s.id ORDER BY s.id"
    )
    return [
        CapturedSession(number, command if isinstance(command, str) else None, count)
        for number, command, count in rows
        if isinstance(number, int)
    ]


def entries_of(connection: sqlite3.Connection, session: CapturedSession) -> Iterator[Entry]:
    """Yields the messages of a session, each as a line of its own.

    Args:
        connection: a database of acp-devtools.
        session: which of its sessions.
    """
    (encoding,) = connection.execute("PRAGMA main.encoding").fetchone()
    # In UTF-8 it may be anything; SQLite itself makes UTF-8 of other encodings.
    raw = "CAST(raw AS BLOB)" if encoding == "UTF-8" else "raw"
    rows = connection.execute(
        f"SELECT timestamp, direction, {raw} FROM main.messages WHERE session_id = ?"
        " ORDER BY seq, id",
        (session.id,),
    )
    number = 0
    for number, (time, direction, raw) in enumerate(rows, 1):
        yield acp_devtools.captured(number, number, direction, raw, time)
    yield Facts(number, number, command=acp_devtools.words_of(session.command))
