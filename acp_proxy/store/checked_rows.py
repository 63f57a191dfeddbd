"""Reads rows by name, and checks that their columns hold what the schema promises.

SQLite itself keeps to no type, and recordings come from anybody, so a file may hold anything.
"""

import json
import sqlite3
from collections.abc import Iterator
from types import NoneType
from typing import Any

Row = dict[str, Any]

_TEXT, _NUMBER = (str, NoneType), (int, NoneType)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("seq", "t_ns", "t_first_ns", "prompt_seq", "updates"), (int,)),
    **dict.fromkeys(
        ("exchange", "turn", "end_seq", "request_seq", "response_seq", "latency_ns"), _NUMBER
    ),
    **dict.fromkeys(("size", "duration_ns"), _NUMBER),
    **dict.fromkeys(("kind", "data"), (str,)),
    **dict.fromkeys(("stream", "method", "rpc_id", "session", "terminal", "parse_error"), _TEXT),
    **dict.fromkeys(("newline", "fault", "direction", "outcome", "stop_reason"), _TEXT),
    "raw": (bytes,),
}
"""What columns of these names hold, in whatever table."""


class Mistyped(Exception):
    """A value that no recorder has written."""


def select(connection: sqlite3.Connection, sql: str, parameters: Any = ()) -> Iterator[Row]:
    """Runs a SELECT and streams its rows by the names of their columns.

    Args:
        connection: an open recording.
        sql: the statement.
        parameters: its values.

    Raises:
        sqlite3.Error: the file is damaged, or locked.
        UnicodeDecodeError, Mistyped: the file is damaged.
    """
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description]
    for values in cursor:
        row = dict(zip(names, values, strict=True))
        check_types(row)
        yield row


def check_types(row: Row) -> None:
    """Makes sure that a row's values are of the types that its columns promise.

    Raises:
        Mistyped: one is not.
    """
    for name, value in row.items():
        if name in _TYPES and not isinstance(value, _TYPES[name]):
            raise Mistyped(f"{name} is {type(value).__name__}")
    if "data" in row:
        try:
            data = json.loads(row["data"])
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise Mistyped("an event is no JSON object")
