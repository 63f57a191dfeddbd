"""The schema of the database: the codes in rows, the view of frames, and a check of foreign tables.

Users query `recording`, `frames`, `exchanges`, `turns`, `events` and `faults_fired`; `frames` is a
view. To save space, the table of frames, ``frame_rows``, contains numbers, and the texts are in
``labels``. A row costs about 57 bytes in addition to the frame, including indexes.
"""

import sqlite3
from collections.abc import Mapping
from typing import Any

from attrs import frozen

from acp_proxy.base.limits import LARGE_LINE, WHOLE_VALUE
from acp_proxy.protocol.jsonrpc import Kind, Stream

APPLICATION_ID = 0x61637031  # "acp1", at a fixed place in the file's header
VERSION = 4
"""``PRAGMA user_version``; equals the number of migrations, as a test checks."""

STREAM_CODES = {Stream.TO_AGENT: 1, Stream.TO_CLIENT: 2, Stream.STDERR: 3}
KIND_CODES = {
    Kind.NOTIFICATION: 1,
    Kind.REQUEST: 2,
    Kind.RESPONSE: 3,
    Kind.ERROR: 4,
    Kind.BATCH: 5,
    Kind.INVALID: 6,
    Kind.BLANK: 7,
    Kind.STDERR: 8,
}
STREAMS = {code: stream for stream, code in STREAM_CODES.items()}
KINDS = {code: kind for kind, code in KIND_CODES.items()}
STREAM_NAMES = {code: stream.value for code, stream in STREAMS.items()}
KIND_NAMES = {code: kind.value for code, kind in KINDS.items()}
NEWLINE_CODES = {b"": 0, b"\n": 1, b"\r\n": 2}
NEWLINES = {code: newline for newline, code in NEWLINE_CODES.items()}
DELIVERED_CODES = {"full": 0, "partial": 1, "none": 2}
LINE_START = "line_start(f.seq)"
"""SQL for an excerpt of the line of a row ``f``; needs `checked_values.limit`."""
MASKED = 1 << 6
# Bits of `flags`: stream 0-1, newline 2-3, delivered 4-5, masked 6.


_TRUE = "1"


@frozen
class Where:
    """A condition in SQL over coded rows."""

    sql: str
    parameters: tuple[Any, ...] = ()
    exact: bool = True
    """Whether the condition selects only requested rows. If not, it may select more rows."""
    tests: int = 1
    """The number of comparisons in the condition."""
    levels: int = 1
    """How deep the condition is nested."""

    @property
    def is_open(self) -> bool:
        """Whether the condition matches every row."""
        return self.sql == _TRUE

    @property
    def needs_exchange(self) -> bool:
        """Whether the condition uses a column of ``exchanges``."""
        return "e." in self.sql


EVERY_ROW = Where(_TRUE)


def _case(column: str, codes: Mapping[Any, int]) -> str:
    whens = " ".join(f"WHEN {code} THEN '{text}'" for text, code in codes.items())
    return f"CASE {column} {whens} END"


_NEWLINE = "CASE (f.flags >> 2) & 3 WHEN 1 THEN char(10) WHEN 2 THEN char(13, 10) ELSE '' END"


@frozen
class LineColumns:
    """SQL for a row ``f``: the line, the line's size, and whether the line is masked."""

    line: str = "f.raw"
    """The line, whatever its size."""
    size: str = "length(f.raw)"
    masked: str = "(f.flags >> 6) & 1"
    """Whether something in the line is masked."""

    @property
    def whole(self) -> str:
        """SQL for the line; NULL if the line is too large."""
        fits = f"{self.size} <= {WHOLE_VALUE} OR typeof(f.raw) != 'blob'"
        return f"CASE WHEN {fits} THEN {self.line} END"

    @property
    def raw(self) -> str:
        """SQL for the line, or for an excerpt if the line is too large; see `LINE_START`."""
        return f"{self.whole.removesuffix(' END')} ELSE {LINE_START} END"


AS_STORED = LineColumns()
"""Lines as stored in the file."""


def json_of(raw: str) -> str:
    """Returns SQL for the line ``raw`` of a row ``f`` as JSON; NULL for stderr and invalid JSON.

    JSON that is not UTF-8 counts as invalid, since Python reads only UTF-8. A large line counts as
    JSON only if it is ASCII.
    """
    text = f"CAST({raw} AS TEXT)"
    return (
        f"CASE WHEN f.kind != {KIND_CODES[Kind.STDERR]}"
        f" AND coalesce(f.parse_error, '') NOT LIKE 'not UTF-8%'"
        f" AND (length({raw}) < {LARGE_LINE} OR {text} NOT GLOB '*[^ -~]*')"
        f" AND json_valid({text}) THEN {text} END"
    )


def frame_columns(raw: str, size: str, masked: str, json: str = "") -> str:
    """Returns SQL for the columns of the view ``frames``; the SQL uses names of `frames_from`.

    Args:
        raw: SQL for the line.
        size: SQL for the size of the line.
        masked: SQL for whether something in the line is masked.
        json: SQL for the column ``json``, with a comma; empty to omit this column, since SQLite
            parses each line to compute it.
    """
    return f"""
  f.seq, 'acp' AS channel,
  {_case("f.flags & 3", STREAM_CODES)} AS stream,
  f.t_ns, f.t_ns - f.lag_ns AS t_first_ns,
  {_case("f.kind", KIND_CODES)} AS kind,
  m.text AS method, f.rpc_id, f.exchange, s.text AS session, f.turn, c.text AS tool_call,
  t.text AS terminal, {size} AS size, {raw} AS raw, {_NEWLINE} AS newline, f.parse_error,
  {_case("(f.flags >> 4) & 3", DELIVERED_CODES)} AS delivered, f.fault,
  {masked} AS masked,{json} f.seq AS rowid
""".strip()


def frames_from(rows: str, labels: str) -> str:
    """Returns a FROM clause of coded rows, joined with their labels.

    Args:
        rows: the table of rows, or a SELECT in parentheses.
        labels: the table of labels, or a SELECT in parentheses.
    """
    return f"""
{rows} AS f
  LEFT JOIN {labels} AS m ON m.id = f.method
  LEFT JOIN {labels} AS s ON s.id = f.session
  LEFT JOIN {labels} AS c ON c.id = f.tool_call
  LEFT JOIN {labels} AS t ON t.id = f.terminal
""".strip()


def frames_select(rows: str, labels: str, raw: str, size: str, masked: str) -> str:
    """Returns the SELECT of the view ``frames``.

    Args:
        rows: see `frames_from`.
        labels: see `frames_from`.
        raw: see `frame_columns`.
        size: see `frame_columns`.
        masked: see `frame_columns`.
    """
    columns = frame_columns(raw, size, masked, f" {json_of(raw)} AS json,")
    return f"SELECT {columns}\nFROM {frames_from(rows, labels)}"


TABLES = ("recording", "labels", "frame_rows", "exchanges", "turns", "events", "faults_fired",
          "indexing")  # fmt: skip
_TABLE_NAMES = ", ".join(f"'{name}'" for name in (*TABLES, "_sqlite_migrations"))
# A foreign file may have a view instead of a table, and SQLite might compute the view for ever. Or
# the file may have a trigger, which would run when a note is written.
_ODD = f"""
SELECT name, type FROM main.sqlite_master WHERE type = 'trigger'
UNION ALL
SELECT name, CASE WHEN type = 'table' THEN 'virtual table' ELSE type END FROM main.sqlite_master
  WHERE lower(name) IN ({_TABLE_NAMES}) AND (type != 'table' OR rootpage = 0)
UNION ALL
SELECT t.name, 'table with computed columns'
  FROM main.sqlite_master AS t, pragma_table_xinfo(t.name)
  WHERE t.type = 'table' AND t.rootpage > 0 AND lower(t.name) IN ({_TABLE_NAMES}) AND hidden != 0
LIMIT 1
"""


class ForeignTables(sqlite3.DatabaseError):
    """Raised when a database has a table or trigger that no recorder makes."""


def check_tables(connection: sqlite3.Connection) -> None:
    """Raises `ForeignTables` if one of our tables is not plain, or if the file has a trigger.

    Raises:
        sqlite3.Error: the database is damaged.
    """
    odd = connection.execute(_ODD).fetchone()
    if odd is not None:
        raise ForeignTables(f"{odd[0]} is a {odd[1]}, not a plain table")
