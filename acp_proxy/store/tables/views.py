"""Creates the view `frames` and the other views that queries use, in an open connection.

The views in a file are not used, since anybody may have written them.

- While a recording has a log, the rows from the log are in an attached database, ``tail``. Each
  view contains the rows of the file and of the tail.
- Masked rows are in another attached database, ``masked``, and replace the rows of the file
  (`masked_rows`).
"""

import sqlite3

from acp_proxy.store.queries.frame_table import FrameTable
from acp_proxy.store.tables.checked_values import check_labels, limit
from acp_proxy.store.tables.schema import AS_STORED, LINE_START, TABLES, LineColumns, frames_select

LEVELS = ("secrets", "private")
"""The values that ``recording.redaction`` has if a recording was masked when it was made."""
MASKED = "masked"
"""The name of the database with masked rows."""
LATER = 1 << 40
"""The number that is added to the row numbers of fired faults in the tail. All row numbers in the
file are lower."""
_PLACE = f"FROM {MASKED}.frame_rows AS k WHERE k.seq = f.seq"
MASKED_LINES = LineColumns(
    line=f"coalesce((SELECT k.raw {_PLACE}), f.raw)",
    size=f"coalesce((SELECT length(k.raw) {_PLACE}), length(f.raw))",
    masked=f"max((f.flags >> 6) & 1, EXISTS (SELECT 1 {_PLACE}))",
)
"""SQL that reads lines of a masked recording: the masked line, or else the stored line."""

_LABELS = "(SELECT * FROM main.labels UNION ALL SELECT * FROM tail.labels)"
_ROW = (
    "seq, flags, kind, t_ns, lag_ns, method, rpc_id, exchange, session, turn, tool_call, terminal,"
    " parse_error, fault"
)
_LATE = "late_ns"
_OF_ROWS = f"coalesce(f.raw, {LINE_START})"


def attach_tail(connection: sqlite3.Connection) -> None:
    """Attaches an empty database ``tail`` with the recording's tables and the most useful indexes.

    Raises:
        sqlite3.Error: the recording cannot be read, or lacks a table.
    """
    check_labels(connection, "main.labels")
    connection.execute("ATTACH '' AS tail")  # a temporary file, in memory while small
    for table in TABLES:
        sql = connection.execute(
            "SELECT sql FROM main.sqlite_master WHERE type = 'table' AND name = ?", (table,)
        ).fetchone()
        if sql is None:
            raise sqlite3.DatabaseError(f"it has no table {table}")
        body = sql[0][sql[0].index("(") :]
        connection.execute(f"CREATE TABLE tail.{table} {body}")
    for column, some in ("kind", "kind > 1"), ("tool_call", "tool_call IS NOT NULL"):
        index = f"CREATE INDEX tail.rare_{column} ON frame_rows ({column}) WHERE {some}"
        connection.execute(index)
    connection.commit()


def is_masked(connection: sqlite3.Connection, schema: str = "main") -> bool:
    """Whether a recording was masked when it was made.

    Args:
        connection: an open recording.
        schema: the database with the table ``recording``.

    Raises:
        sqlite3.Error: the file is damaged.
    """
    row = connection.execute(f"SELECT redaction FROM {schema}.recording LIMIT 1").fetchone()
    return row is not None and row[0] in LEVELS


def make_views(
    connection: sqlite3.Connection, *, tail: bool, masked: bool = False
) -> list[FrameTable]:
    """Makes the views. Returns a `FrameTable` for the file and, if attached, one for the tail.

    Args:
        connection: an open recording.
        tail: whether the database ``tail`` is attached.
        masked: whether the database ``masked`` is attached.

    Raises:
        sqlite3.Error: the recording cannot be read.
    """
    lines = MASKED_LINES if masked else AS_STORED
    schemas = ("tail", "main") if tail else ("main",)
    limit(connection, *((MASKED, *schemas) if masked else schemas))
    if tail:
        views = _tailed(connection, lines)
    else:
        check_labels(connection, "main.labels")
        columns = lines.raw, lines.size, lines.masked
        views = {"frames": frames_select("main.frame_rows", "main.labels", *columns)}
    late = _late(connection)
    if masked:
        views |= _masked(schemas, late)
    elif late != _LATE:
        views["faults_fired"] = " UNION ALL ".join(
            f"SELECT rowid + {first_place(schema)} AS rowid, *, {late} FROM {schema}.faults_fired"
            for schema in reversed(schemas)
        )
    for name, select in views.items():
        connection.execute(f"CREATE TEMP VIEW {name} AS {select}")
    every = _LABELS if tail else "main.labels"
    labels = {"main": "main.labels", "tail": every}
    place = MASKED if masked else None
    return [
        FrameTable(connection, f"{name}.frame_rows", labels[name], every, lines, place)
        for name in reversed(schemas)
    ]


def _tailed(connection: sqlite3.Connection, lines: LineColumns) -> dict[str, str]:
    # Large lines are left out here, since SQLite would read them completely.
    rows = " UNION ALL ".join(
        f"SELECT {_ROW}, {lines.whole} AS raw, {lines.size} AS size FROM {schema}.frame_rows AS f"
        for schema in ("main", "tail")
    )
    views = {
        "frame_rows": rows,
        "frames": frames_select(f"({rows})", _LABELS, _OF_ROWS, "f.size", lines.masked),
        "faults_fired": "SELECT rowid, * FROM main.faults_fired UNION ALL"
        f" SELECT rowid + {LATER}, * FROM tail.faults_fired",
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
    """Returns SQL for the recording's row: name and note from the file, the rest from the tail."""
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


def _late(connection: sqlite3.Connection) -> str:
    """Returns SQL for the column ``late_ns``, which recordings of earlier versions lack."""
    sql = "SELECT 1 FROM pragma_table_info('faults_fired', 'main') WHERE name = ?"
    return _LATE if connection.execute(sql, (_LATE,)).fetchone() else f"NULL AS {_LATE}"


def _masked(schemas: tuple[str, ...], late: str) -> dict[str, str]:
    """Returns SQL for the views of events and of fired faults, with masked values."""
    events = " UNION ALL ".join(
        f"SELECT e.seq, e.t_ns, e.kind, coalesce((SELECT k.data FROM {MASKED}.events AS k"
        f" WHERE k.seq = e.seq), e.data) AS data FROM {schema}.events AS e"
        for schema in schemas
    )
    fired = " UNION ALL ".join(
        f"SELECT f.rowid + {first_place(schema)} AS rowid, f.seq, f.rule, f.action,"
        f" {_fired('received', schema)}, {_fired('delivered', schema)}, {late}"
        f" FROM {schema}.faults_fired AS f"
        for schema in schemas
    )
    return {"events": events, "faults_fired": fired}


def _fired(column: str, schema: str) -> str:
    place = f"k.place = f.rowid + {first_place(schema)}"
    masked = f"SELECT k.{column} FROM {MASKED}.faults_fired AS k WHERE {place}"
    return f"coalesce(({masked}), f.{column}) AS {column}"


def first_place(schema: str) -> int:
    """Returns what to add to row numbers of fired faults, so that rows of the tail come last."""
    return LATER if schema == "tail" else 0
