"""Rows to write, and the statements that write them; a batch is one transaction."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from attrs import asdict, define, field, frozen

from acp_proxy.protocol.connection_state import Exchange, Transition, Turn
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.recording import Recording, origin_values
from acp_proxy.store.tables.schema import DELIVERED_CODES, NEWLINES, STREAM_CODES

_KEPT = {"id", "name", "started_at", "note"}
"""Columns of `recording` that are written only once. All other columns may be updated later."""
_LATER = ("note", "origin")
"""Columns of `recording` that were added after version 1."""
_EXCHANGE_COLUMNS = (
    "id", "direction", "method", "rpc_id", "session",
    "request_seq", "response_seq", "latency_ns", "outcome",
)  # fmt: skip
_TURN_COLUMNS = (
    "id", "session", "prompt_seq", "end_seq", "stop_reason", "updates", "tool_calls", "duration_ns"
)  # fmt: skip
_FRAME_COLUMNS = 15
_RAW = 14  # the column of the BLOB

Row = tuple[Any, ...]
_Undelivered = tuple[Stream, int, int, dict[int, int]]
FiredRow = tuple[
    int, str | None, str | None, "bytes | Same | None", "bytes | Same | None", int | None
]


class Same(Enum):
    """Stands, in a row of ``faults_fired``, for bytes that are copied from the frame."""

    LINE = "the line that was received"


@frozen
class LargeLine:
    """A line that is too large for memory."""

    size: int
    """The size of the line in bytes, without the newline."""
    pieces: Callable[[], Iterable[bytes]]
    """Returns the pieces of the line; each call starts at the beginning of the line."""


@define
class RowBatch:
    """The rows of one batch; if writing fails, the rows are kept and can be written again."""

    frames: list[Row] = field(factory=list)
    """Rows of ``frame_rows``."""
    large: list[tuple[Row, LargeLine]] = field(factory=list)
    """Rows of ``frame_rows`` for large lines, as pairs: a row without its line, and the line."""
    events: list[Row] = field(factory=list)
    labels: list[tuple[int, str]] = field(factory=list)
    fired: list[FiredRow] = field(factory=list)
    """Rows of ``faults_fired``."""
    late: list[tuple[int, int]] = field(factory=list)
    """For each frame that a fault held back: the delay, and the frame's number."""
    touched: list[tuple[str, int, int]] = field(factory=list)
    """For each frame on which a fault fired: the rule, the code of `delivered`, and the frame's
    number."""
    undelivered: list[_Undelivered] = field(factory=list)
    """The streams with undelivered bytes. An entry has the stream, the number of undelivered bytes,
    the number of the next frame, and the received size of each frame that masking changed."""
    exchanges: dict[int, Exchange] = field(factory=dict)
    turns: dict[int, Turn] = field(factory=dict)
    recording: Recording | None = None
    """The recording's row, if it has to be written."""
    state: tuple[int, str] | None = None
    """The log's offset and the indexer's state after this batch, if more batches follow."""

    def keep(self, transition: Transition) -> None:
        """Adds to the batch the exchanges and turns that a message changed."""
        if transition.updated is not None:  # true for most frames
            self.turns[transition.updated.id] = transition.updated
        elif (exchange := transition.opened or transition.answered) is not None:
            self.exchanges[exchange.id] = exchange
            if transition.begun is not None:
                self.turns[transition.begun.id] = transition.begun
        for turn in transition.ended:
            self.turns[turn.id] = turn
        for member in transition.members:
            self.keep(member)

    def write(self, connection: sqlite3.Connection, schema: str) -> None:
        """Writes the rows without a commit.

        Args:
            connection: a database with our tables.
            schema: the database to write to.

        Raises:
            sqlite3.Error: the rows could not be written; the caller has to roll back.
        """
        many = connection.executemany
        many(f"INSERT INTO {schema}.labels VALUES (?, ?)", self.labels)
        many(f"INSERT INTO {schema}.frame_rows VALUES ({_marks(_FRAME_COLUMNS)})", self.frames)
        for row, line in self.large:
            _write_large(connection, schema, row, line)
        touch = f"UPDATE {schema}.frame_rows SET fault = ?, flags = flags & ~48 | ? WHERE seq = ?"
        many(touch, self.touched)
        for undelivered in self.undelivered:
            _mark_undelivered(connection, schema, undelivered)
        many(f"INSERT INTO {schema}.events VALUES (?, ?, ?, ?)", self.events)
        replace = f"INSERT OR REPLACE INTO {schema}.{{}} VALUES ({{}})"
        for table, columns, values in (
            ("exchanges", _EXCHANGE_COLUMNS, self.exchanges.values()),
            ("turns", _TURN_COLUMNS, self.turns.values()),
        ):
            rows = [tuple(getattr(value, name) for name in columns) for value in values]
            many(replace.format(table, _marks(len(columns))), rows)
        for fired in self.fired:
            _write_fired(connection, schema, fired)
        if self.late:  # older databases do not have this column
            many(f"UPDATE {schema}.faults_fired SET late_ns = ? WHERE seq = ?", self.late)
        if self.recording is not None:
            write_recording(connection, schema, self.recording)
        if self.state is not None:
            connection.execute(replace.format("indexing", "1, ?, ?"), self.state)


def _marks(count: int) -> str:
    return ",".join("?" * count)


def _write_large(connection: sqlite3.Connection, schema: str, row: Row, line: LargeLine) -> None:
    """Writes a row with a BLOB of zeros as large as a line, and copies the line into the BLOB."""
    marks = ",".join("zeroblob(?)" if n == _RAW else "?" for n in range(_FRAME_COLUMNS))
    values = [line.size if n == _RAW else value for n, value in enumerate(row)]
    connection.execute(f"INSERT INTO {schema}.frame_rows VALUES ({marks})", values)
    with connection.blobopen("frame_rows", "raw", row[0], name=schema) as blob:
        for piece in line.pieces():
            blob.write(piece)


def _mark_undelivered(
    connection: sqlite3.Connection, schema: str, undelivered: _Undelivered
) -> None:
    stream, lost, before, sizes = undelivered
    marks = []
    latest = connection.execute(
        f"SELECT seq, flags, length(raw) FROM {schema}.frame_rows"
        " WHERE seq < ? AND flags & 3 = ?"
        " AND NOT (fault IS NOT NULL AND (flags >> 4) & 3 = 2) ORDER BY seq DESC",
        (before, STREAM_CODES[stream]),
    )
    for seq, flags, size in latest:
        size = sizes.get(seq, size) + ((flags >> 2) & 3)  # a newline's code equals its length
        marks.append((DELIVERED_CODES["none" if lost >= size else "partial"] << 4, seq))
        lost -= size
        if lost <= 0:
            break
    latest.close()
    connection.executemany(
        f"UPDATE {schema}.frame_rows SET flags = flags & ~48 | ? WHERE seq = ?", marks
    )


def _write_fired(connection: sqlite3.Connection, schema: str, fired: FiredRow) -> None:
    seq, rule, action, received, delivered, late_ns = fired
    if received is Same.LINE:
        received = _line(connection, schema, seq, whole=False)
    if delivered is Same.LINE:
        delivered = _line(connection, schema, seq, whole=True)
    row = {"seq": seq, "rule": rule, "action": action, "received": received}
    row |= {"delivered": delivered, "late_ns": late_ns}
    if late_ns is None:  # older databases do not have this column
        del row["late_ns"]
    connection.execute(
        f"INSERT INTO {schema}.faults_fired ({', '.join(row)}) VALUES ({_marks(len(row))})",
        (*row.values(),),
    )


def _line(connection: sqlite3.Connection, schema: str, seq: int, *, whole: bool) -> bytes:
    """Returns a frame's line from ``schema``, else from ``main``; with the newline if ``whole``."""
    for place in dict.fromkeys((schema, "main")):
        sql = f"SELECT raw, flags FROM {place}.frame_rows WHERE seq = ?"
        for raw, flags in connection.execute(sql, (seq,)):
            return bytes(raw) + (NEWLINES[(flags >> 2) & 3] if whole else b"")
    return b""


def write_recording(connection: sqlite3.Connection, schema: str, recording: Recording) -> None:
    """Writes the row of the recording without a commit.

    An existing row keeps its id, name, start and note. A user may have edited the name and note.

    Args:
        connection: a database with our tables.
        schema: the database to write to.
        recording: the row of the recording.
    """
    row = asdict(recording)
    row["origin"] = recording.origin and json.dumps(origin_values(recording.origin))
    # An older database that may not be written to does not have these columns.
    for name in _LATER:
        if row[name] is None:
            del row[name]
    columns, names = ", ".join(row), ", ".join(f":{name}" for name in row)
    follow = ", ".join(f"{name} = excluded.{name}" for name in row if name not in _KEPT)
    connection.execute(
        f"INSERT INTO {schema}.recording ({columns}) VALUES ({names})"
        f" ON CONFLICT (id) DO UPDATE SET {follow}",
        row,
    )
