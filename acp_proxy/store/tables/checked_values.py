"""Limits the size of values that are read, and checks their types.

Recordings come from unknown people. A line may have any size, and SQLite does not check types. So
SQLite gets a size limit, and a statement that reads a larger value fails. A long line is read in
pieces; its row has only the first bytes, as an excerpt.
"""

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from types import NoneType
from typing import Any

from acp_proxy.base.limits import LABEL, LINE_EDGE, REMEMBERED, WHOLE_VALUE

Row = dict[str, Any]
"""A row: values by column name."""

_UNLIMITED = 2_000_000_000

FITS = "fits_pattern"
"""The name of an SQL function that matches a text with a pattern of ``*`` and ``?``. `limit` adds
the function to a connection."""


_TEXT, _NUMBER = (str, NoneType), (int, NoneType)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("seq", "t_ns", "t_first_ns"), (int,)),
    **dict.fromkeys(("prompt_seq", "updates", "tool_calls"), (int,)),
    **dict.fromkeys(
        ("exchange", "turn", "end_seq", "request_seq", "response_seq", "latency_ns"), _NUMBER
    ),
    **dict.fromkeys(("size", "duration_ns"), _NUMBER),
    **dict.fromkeys(("kind", "data"), (str,)),
    **dict.fromkeys(("stream", "method", "rpc_id", "session", "terminal", "parse_error"), _TEXT),
    **dict.fromkeys(("newline", "fault", "direction", "outcome", "stop_reason"), _TEXT),
    "raw": (bytes,),
}
"""The types of the columns with these names, in any table."""


class Mistyped(Exception):
    """Raised for a value of a type that no recorder writes."""


class LineTooLarge(Exception):
    """Raised when a filter needs the text of a line that is too large for memory."""

    def __init__(self, seq: int, size: int) -> None:
        super().__init__(
            f"frame {seq} has {size} bytes, too many for a filter to search; size:<16M leaves it"
            " out"
        )


def select(connection: sqlite3.Connection, sql: str, parameters: Any = ()) -> Iterator[Row]:
    """Runs a SELECT and streams its rows, each by column name.

    Args:
        connection: an open recording.
        sql: the statement.
        parameters: the values of its placeholders.

    Raises:
        sqlite3.Error, UnicodeDecodeError, Mistyped: the file is damaged or locked.
    """
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description]
    has_data = "data" in names
    checked: set[tuple[type, ...]] = set()
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        # Nearly all of a million rows have values of the same types.
        if (types := (*map(type, values),)) not in checked:
            _check_types(row)
            if len(checked) < REMEMBERED:
                checked.add(types)
        if has_data:
            _check_data(row["data"])
        yield row


def _check_types(row: Row) -> None:
    for name, value in row.items():
        if name in _TYPES and not isinstance(value, _TYPES[name]):
            raise Mistyped(f"{name} is {type(value).__name__}")


def _check_data(text: str) -> None:
    try:
        data = json.loads(text)
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Mistyped("an event is not a JSON object")


def limit(connection: sqlite3.Connection, *schemas: str) -> None:
    """Limits the size of the values that a connection can read, and adds our SQL functions.

    Args:
        connection: an open recording.
        schemas: the databases with frames; each frame is in one of them.
    """

    def line_start(seq: int) -> bytes:
        for schema in schemas[:-1]:
            with contextlib.suppress(sqlite3.OperationalError):
                return _start(connection, schema, seq)
        return _start(connection, schemas[-1], seq)

    connection.create_function("line_start", 1, line_start)
    connection.create_function(FITS, 2, fnmatchcase, deterministic=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, WHOLE_VALUE + 1)


@contextlib.contextmanager
def limited(connection: sqlite3.Connection, size: int = _UNLIMITED) -> Iterator[None]:
    """Sets the largest size of a value that SQLite returns, until the block ends.

    Args:
        connection: an open recording.
        size: the size of the largest value in bytes; practically unlimited by default.
    """
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def is_too_large(error: Exception) -> bool:
    """Whether a statement failed because of the size limit."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_TOOBIG


def is_excerpt(row: Mapping[str, Any]) -> bool:
    """Whether a row of `frames` contains only an excerpt of the line."""
    return bool(row["size"] > len(row["raw"]))


def check_labels(connection: sqlite3.Connection, labels: str) -> None:
    """Raises `sqlite3.Error` if a label is too long.

    Args:
        connection: an open recording.
        labels: the name of the table of labels.
    """
    with limited(connection, LABEL):
        connection.execute(f"SELECT count(*) FROM {labels} WHERE +text < ''").fetchone()


def _start(connection: sqlite3.Connection, schema: str, seq: int) -> bytes:
    with connection.blobopen("frame_rows", "raw", seq, readonly=True, name=schema) as blob:
        return blob.read(LINE_EDGE)
