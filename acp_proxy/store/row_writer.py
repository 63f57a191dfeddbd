"""Numbers and correlates frames and events in the order in which they come, and writes their rows.

Two use it: the indexer, for which they come out of a log, and the import of the text form. So both
give the same rows for the same frames. What is not told of a frame, its exchange, turn and so on,
is found out here.

What it refuses to know: where frames come from, and how a line becomes a message.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from attrs import asdict

from acp_proxy.forms import converter
from acp_proxy.protocol.correlation import Correlator, Labels
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction, Stream
from acp_proxy.store.indexer_state import Memory
from acp_proxy.store.schema import (
    DELIVERED_CODES,
    KIND_CODES,
    MASKED,
    NEWLINE_CODES,
    STREAM_CODES,
)

if TYPE_CHECKING:
    from acp_proxy.recording import Exchange, Recording, Turn

_KEPT = {"id", "name", "started_at", "note"}
"""Columns of `recording` that are written once; the rest follows the conversation."""

_EXCHANGE_COLUMNS = (
    "id", "direction", "method", "rpc_id", "session",
    "request_seq", "response_seq", "latency_ns", "outcome",
)  # fmt: skip
_TURN_COLUMNS = (
    "id", "session", "prompt_seq", "end_seq", "stop_reason", "updates", "tool_calls", "duration_ns"
)  # fmt: skip
SAME = b"the very bytes that were received"
"""Stands, as the object that it is, for the bytes of a frame."""
_FRAME_COLUMNS = 15
_RAW = 14  # the column of the BLOB

_NEWLINES = {code: newline for newline, code in NEWLINE_CODES.items()}

Row = tuple[Any, ...]
Parts = Callable[[], Iterable[bytes]]
"""Gives the pieces of a line that is too large to hold, anew whenever it is called."""


class RowWriter:
    """Collects rows and writes them, a batch in one transaction.

    Args:
        connection: a database with our tables, writable at least in ``schema``.
        memory: what is remembered between two batches. The writer counts and correlates in it; its
            user sets ``recording``, and ``next_seq`` where the numbers jump.
        schema: ``main``, or ``temp`` for a reader that adds what is not indexed yet.
        resumable: whether the rows go on from those that are there, as ``memory`` has them, and
            each batch stores it for whoever comes next. Else they are all there will be.

    Attributes:
        correlator: the machine that labels the frames.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        memory: Memory,
        *,
        schema: str = "main",
        resumable: bool = True,
    ) -> None:
        self.connection = connection
        self.memory = memory
        self.correlator = Correlator(memory.correlation)
        self._schema = schema
        self._resumable = resumable
        self._labels: dict[str, int] = dict(connection.execute("SELECT text, id FROM main.labels"))
        self._frames: list[Row] = []
        self._large: list[tuple[Row, int, Parts]] = []
        self._events: list[Row] = []
        self._new_labels: list[tuple[int, str]] = []
        self._marks: list[tuple[Stream, int, int]] = []
        self._fired: list[Row] = []
        self._touched: list[Row] = []
        self._exchanges: dict[int, Exchange] = {}
        self._turns: dict[int, Turn] = {}
        self._written: Recording | None = memory.recording if resumable else None

    def speak(self, dialect: str) -> None:
        """Says in which dialect the frames from here on are; ``auto`` leaves it to them."""
        self.correlator = Correlator(self.memory.correlation, dialect)

    def add_frame(
        self,
        stream: Stream,
        message: Message,
        newline: bytes,
        t_ns: int,
        lag_ns: int,
        raw: bytes | None,
        delivered: str = "full",
        fault: str | None = None,
        masked: bool = False,
    ) -> None:
        """Adds the next frame.

        Args:
            stream: where it was read.
            message: what it says; of kind stderr on that stream.
            newline: what ended it, of the schema's ``NEWLINE_CODES``.
            t_ns: from the start of the recording until its last byte was read.
            lag_ns: from its first byte to its last.
            raw: its bytes, without the newline.
            delivered: ``full``, ``partial`` or ``none``.
            fault: what a fault did to it.
            masked: whether something in it is masked.
        """
        seq = self.memory.next_seq
        self.memory.next_seq = seq + 1
        if stream is Stream.STDERR:
            labels = Labels()
        else:
            labels = self.correlator.feed(seq, t_ns, Direction(stream), message)
        flags = STREAM_CODES[stream] | NEWLINE_CODES[newline] << 2 | DELIVERED_CODES[delivered] << 4
        if masked:
            flags |= MASKED
        label = self._label
        self._frames.append(
            (
                seq,
                flags,
                KIND_CODES[message.kind],
                t_ns,
                lag_ns,
                label(labels.method),
                message.rpc_id,
                labels.exchange,
                label(labels.session),
                labels.turn,
                label(labels.tool_call),
                label(labels.terminal),
                message.parse_error,
                fault,
                raw,
            )
        )

    def add_large(
        self,
        stream: Stream,
        message: Message,
        newline: bytes,
        t_ns: int,
        lag_ns: int,
        size: int,
        parts: Parts,
        delivered: str = "full",
    ) -> None:
        """Adds the next frame, ``size`` bytes that are too many to hold; copied at the commit."""
        self.add_frame(stream, message, newline, t_ns, lag_ns, None, delivered)
        self._large.append((self._frames.pop(), size, parts))

    def add_event(self, kind: str, t_ns: int, data: str) -> None:
        """Adds the next event; ``data`` is a JSON object."""
        seq = self.memory.next_seq
        self.memory.next_seq = seq + 1
        self._events.append((seq, t_ns, kind, data))

    def add_fired(self, row: Row) -> None:
        """Adds a row of ``faults_fired``.

        What was received, and what was delivered, may be `SAME`, if the frame has been added.
        """
        self._fired.append(row)

    def mark_fault(self, seq: int, rule: str, delivered: str) -> None:
        """Marks a frame: which rule fired at it, and how much of it was delivered."""
        code = DELIVERED_CODES.get(delivered, 0) << 4
        self._touched.append((rule, code, seq))

    def lost(self, seqs: list[int]) -> set[int]:
        """Which of some frames that are written were not delivered, because of a fault."""
        if not seqs:
            return set()
        return {
            seq
            for (seq,) in self.connection.execute(
                f"SELECT seq FROM {self._schema}.frame_rows WHERE fault IS NOT NULL"
                " AND (flags >> 4) & 3 = 2 AND seq IN (SELECT value FROM json_each(?))",
                (json.dumps(seqs),),
            )
        }

    def mark_undelivered(self, stream: Stream, lost: int) -> None:
        """Marks the frames that the last ``lost`` bytes of a stream belong to."""
        self._marks.append((stream, lost, self.memory.next_seq))

    def commit(self) -> None:
        """Writes all that was collected in one transaction.

        Raises:
            sqlite3.Error: nothing is written. All is kept, and the next commit tries again.
        """
        exchanges, turns = self.correlator.drain()
        self._exchanges.update((exchange.id, exchange) for exchange in exchanges)
        self._turns.update((turn.id, turn) for turn in turns)
        try:
            self._write()
            self.connection.commit()
        except sqlite3.Error:
            self.connection.rollback()
            raise
        self._written = self.memory.recording
        for collected in (self._frames, self._large, self._events, self._new_labels, self._marks,
                          self._fired, self._touched, self._exchanges, self._turns):  # fmt: skip
            collected.clear()

    def _label(self, text: str | None) -> int | None:
        if text is None:
            return None
        found = self._labels.get(text)
        if found is None:
            found = self._labels[text] = len(self._labels) + 1
            self._new_labels.append((found, text))
        return found

    def _write(self) -> None:
        many, schema = self.connection.executemany, self._schema
        many(f"INSERT INTO {schema}.labels VALUES (?, ?)", self._new_labels)
        many(f"INSERT INTO {schema}.frame_rows VALUES ({_marks(_FRAME_COLUMNS)})", self._frames)
        for row, size, parts in self._large:
            self._write_large(row, size, parts)
        touch = "UPDATE {}.frame_rows SET fault = ?, flags = flags & ~48 | ? WHERE seq = ?"
        many(touch.format(schema), self._touched)
        for mark in self._marks:
            self._write_mark(*mark)
        many(f"INSERT INTO {schema}.events VALUES (?, ?, ?, ?)", self._events)
        self._replace("exchanges", _EXCHANGE_COLUMNS, self._exchanges.values())
        self._replace("turns", _TURN_COLUMNS, self._turns.values())
        for row in self._fired:
            self._write_fired(*row)
        self._write_recording()
        if self._resumable:
            self.connection.execute(
                f"INSERT OR REPLACE INTO {schema}.indexing VALUES (1, ?, ?)",
                (self.memory.offset, converter.dumps(self.memory)),
            )

    def _write_fired(
        self, seq: int, rule: str, action: str, received: bytes | None, delivered: bytes | None
    ) -> None:
        """Writes a row of ``faults_fired``; copies from the frame what is the same."""
        if received is SAME:
            received = self._line(seq, whole=False)
        if delivered is SAME:
            delivered = self._line(seq, whole=True)
        self.connection.execute(
            f"INSERT INTO {self._schema}.faults_fired VALUES (?, ?, ?, ?, ?)",
            (seq, rule, action, received, delivered),
        )

    def _line(self, seq: int, *, whole: bool) -> bytes:
        """The bytes of a frame, perhaps of an earlier batch; with its newline if ``whole``."""
        for schema in dict.fromkeys((self._schema, "main")):
            sql = f"SELECT raw, flags FROM {schema}.frame_rows WHERE seq = ?"
            for raw, flags in self.connection.execute(sql, (seq,)):
                return bytes(raw) + (_NEWLINES[(flags >> 2) & 3] if whole else b"")
        return b""

    def _replace(self, table: str, columns: tuple[str, ...], values: Iterable[Any]) -> None:
        self.connection.executemany(
            f"INSERT OR REPLACE INTO {self._schema}.{table} VALUES ({_marks(len(columns))})",
            [tuple(getattr(value, name) for name in columns) for value in values],
        )

    def _write_recording(self) -> None:
        """Writes what is known of the recording, and leaves what a person may edit."""
        recording = self.memory.recording
        if recording is None or recording == self._written:
            return
        row = asdict(recording)
        if (
            row["note"] is None
        ):  # a database of version 1 that may not be written has no such column
            del row["note"]
        columns, names = ", ".join(row), ", ".join(f":{name}" for name in row)
        follow = ", ".join(f"{name} = excluded.{name}" for name in row if name not in _KEPT)
        self.connection.execute(
            f"INSERT INTO {self._schema}.recording ({columns}) VALUES ({names})"
            f" ON CONFLICT (id) DO UPDATE SET {follow}",
            row,
        )

    def _write_large(self, row: Row, size: int, parts: Parts) -> None:
        marks = ",".join("zeroblob(?)" if n == _RAW else "?" for n in range(_FRAME_COLUMNS))
        values = [size if n == _RAW else value for n, value in enumerate(row)]
        self.connection.execute(f"INSERT INTO {self._schema}.frame_rows VALUES ({marks})", values)
        with self.connection.blobopen("frame_rows", "raw", row[0], name=self._schema) as blob:
            for part in parts():
                blob.write(part)

    def _write_mark(self, stream: Stream, lost: int, before: int) -> None:
        """Marks the frames that the last ``lost`` bytes of a stream before a number belong to."""
        marks = []
        latest = self.connection.execute(
            f"SELECT seq, flags, length(raw) FROM {self._schema}.frame_rows"
            " WHERE seq < ? AND flags & 3 = ?"
            " AND NOT (fault IS NOT NULL AND (flags >> 4) & 3 = 2) ORDER BY seq DESC",
            (before, STREAM_CODES[stream]),
        )
        for seq, flags, size in latest:
            size += (flags >> 2) & 3  # the code of a newline is its length
            marks.append((DELIVERED_CODES["none" if lost >= size else "partial"] << 4, seq))
            lost -= size
            if lost <= 0:
                break
        latest.close()
        self.connection.executemany(
            f"UPDATE {self._schema}.frame_rows SET flags = flags & ~48 | ? WHERE seq = ?", marks
        )


def _marks(count: int) -> str:
    return ",".join("?" * count)
