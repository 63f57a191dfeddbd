"""Makes the contract's names in an open connection: views in a file may be anybody's code.

While a log is left, the rows have a tail in an attached database, ``tail``, with the same tables;
then each name is rows and tail together.
"""

import sqlite3

from acp_proxy.store.checked_values import LINE_START, RAW, RAW_OR_NULL, SIZE, check_labels, limit
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.schema import TABLES, VIEWS, frames_select

_LATER = 1 << 40
_LABELS = "(SELECT * FROM main.labels UNION ALL SELECT * FROM tail.labels)"
_ROW = (
    "seq, flags, kind, t_ns, lag_ns, method, rpc_id, exchange, session, turn, tool_call, terminal,"
    f" parse_error, fault, {RAW_OR_NULL} AS raw, {SIZE} AS size"
)
# A line that is too large is left out here already: what is put together would be held whole.
_ROWS = " UNION ALL ".join(
    f"SELECT {_ROW} FROM {schema}.frame_rows AS f" for schema in ("main", "tail")
)
_OF_ROWS = f"coalesce(f.raw, {LINE_START})"


class MissingTable(Exception):
    """A recording without one of its tables; the argument is its name."""


def attach_tail(connection: sqlite3.Connection) -> None:
    """Attaches an empty tail with the tables that the recording has.

    Raises:
        MissingTable: the recording lacks one.
        sqlite3.Error: it cannot be read.
    """
    check_labels(connection, "main.labels")
    connection.execute("ATTACH '' AS tail")  # a temporary file, in memory while small
    for table in TABLES:
        sql = connection.execute(
            "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        if sql is None:
            raise MissingTable(table)
        body = sql[0][sql[0].index("(") :]
        connection.execute(f"CREATE TABLE tail.{table} {body}")
    connection.commit()


def make_views(connection: sqlite3.Connection, *, tail: bool) -> list[FrameTable]:
    """Makes the contract's names; returns the tables of frames.

    Args:
        connection: an open recording.
        tail: whether a tail is attached.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    if tail:
        limit(connection, "tail", "main")
        views = _tailed(connection)
    else:
        limit(connection, "main")
        check_labels(connection, "main.labels")
        views = {"frames": frames_select("main.frame_rows", "main.labels", RAW)}
    for name in ("timeline", "unanswered", "latency"):
        views[name] = VIEWS[name]
    for name, select in views.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
    connection.commit()
    every = _LABELS if tail else "main.labels"
    tables = [FrameTable(connection, "main.frame_rows", "main.labels", every)]
    return [*tables, FrameTable(connection, "tail.frame_rows", every, every)] if tail else tables


def _tailed(connection: sqlite3.Connection) -> dict[str, str]:
    views = {
        "frame_rows": _ROWS,
        "frames": frames_select(f"({_ROWS})", _LABELS, _OF_ROWS, "f.size"),
        "faults_fired": "SELECT rowid, * FROM main.faults_fired UNION ALL"
        f" SELECT rowid + {_LATER}, * FROM tail.faults_fired",
        "events": "SELECT * FROM main.events UNION ALL SELECT * FROM tail.events",
        "recording": _merged_recording(connection),
    }
    for table in ("exchanges", "turns"):
        views[table] = (
            f"SELECT * FROM tail.{table} UNION ALL SELECT * FROM main.{table}"
            f" WHERE id NOT IN (SELECT id FROM tail.{table})"
        )
    return views


def _merged_recording(connection: sqlite3.Connection) -> str:
    """The recording's row of the tail, but for the columns that a person may edit."""
    columns = connection.execute("SELECT name FROM pragma_table_info('recording', 'main')")
    edited = {name: f"coalesce(m.{name}, t.{name}) AS {name}" for name in ("name", "note")}
    quoted = [
        edited.get(name) or f't."{name.replace(chr(34), 2 * chr(34))}"' for (name,) in columns
    ]
    return (
        f"SELECT {', '.join(quoted)} FROM tail.recording AS t"
        " LEFT JOIN main.recording AS m ON m.id = t.id UNION ALL SELECT * FROM main.recording"
        " WHERE id NOT IN (SELECT id FROM tail.recording)"
    )
