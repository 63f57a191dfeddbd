"""Limits how much of a value is ever held, however large it is in a file.

A line of a conversation may have any size, and a file may have anything anywhere. So what is read
as rows has a limit that SQLite itself keeps to: beyond it a statement fails. A line that is larger
is an excerpt there, its first bytes, and is read piece by piece where all of it is wanted.
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

HELD = 16 << 20
"""Bytes of the largest value that is read as a whole."""
EXCERPT = 64 << 10
"""Bytes that stand for a line that is larger."""
LONGEST_TEXT = 4 << 20
"""Bytes of a label, or of what is known of a recording. A recorder reads no more than 2 MB of a
line as JSON, so none that it writes is longer."""
_UNLIMITED = 2_000_000_000
LINE_START = "line_start(f.seq)"
"""The excerpt of the line of a row ``f``; needs `limit`."""

SIZE = "length(f.raw)"
RAW = f"CASE WHEN {SIZE} <= {HELD} OR typeof(f.raw) != 'blob' THEN f.raw ELSE {LINE_START} END"
"""The line of a row ``f``, or an excerpt of it; needs `limit`."""
RAW_OR_NULL = f"CASE WHEN {SIZE} <= {HELD} OR typeof(f.raw) != 'blob' THEN f.raw END"
"""The line of a row ``f``, or nothing if it is too large."""


class LineTooLarge(Exception):
    """A line that a filter would have to look into, and that is only read in pieces."""

    def __init__(self, seq: int, size: int) -> None:
        super().__init__(
            f"frame {seq} has {size} bytes, too many for a filter to look into; size:<16M leaves it"
            " out"
        )


def limit(connection: sqlite3.Connection, *schemas: str) -> None:
    """Limits what statements of a connection read, and lets them read excerpts.

    Args:
        connection: an open recording.
        schemas: where frames are; each is in one of them.
    """

    def line_start(seq: int) -> bytes:
        for schema in schemas[:-1]:
            with contextlib.suppress(sqlite3.OperationalError):
                return _start(connection, schema, seq)
        return _start(connection, schemas[-1], seq)

    connection.create_function("line_start", 1, line_start)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, HELD + 1)


@contextlib.contextmanager
def limited(connection: sqlite3.Connection, size: int = _UNLIMITED) -> Iterator[None]:
    """Sets another limit for a while.

    Args:
        connection: an open recording.
        size: bytes of the largest value; by default none to speak of.
    """
    before = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, size)
    try:
        yield
    finally:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, before)


def is_too_large(error: Exception) -> bool:
    """Whether a statement has failed because of the limit."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_TOOBIG


def is_excerpt(row: Mapping[str, Any]) -> bool:
    """Whether a row of `frames` has an excerpt in place of its line."""
    return bool(row["size"] > len(row["raw"]))


def check_labels(connection: sqlite3.Connection, labels: str) -> None:
    """Makes sure that no label is longer than one can be; each frame may name four.

    Args:
        connection: an open recording.
        labels: the table.

    Raises:
        sqlite3.DataError: one is.
        sqlite3.Error: they cannot be read.
    """
    with limited(connection, LONGEST_TEXT):
        connection.execute(f"SELECT count(*) FROM {labels} WHERE +text < ''").fetchone()


def _start(connection: sqlite3.Connection, schema: str, seq: int) -> bytes:
    with connection.blobopen("frame_rows", "raw", seq, readonly=True, name=schema) as blob:
        return blob.read(EXCERPT)
