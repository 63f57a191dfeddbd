"""Reads, from one table of coded rows, the frames that a filter matches.

A reader has one such table, or two while there is a log: the rows and the tail. The database
selects candidates by the filter's condition, and the filter tests each candidate. A query selects
only numbers first, then fetches a few frames at a time, since frames may be large.

If only labels and lines are needed, rows are decoded without a dict or a function call per row.
SQLite itself joins runs of updates that an agent streams without a pause.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from attrs import frozen

from acp_proxy.base.limits import LARGE_LINE, LAST_NUMBER, PIECE, WHOLE_LINE
from acp_proxy.protocol.jsonrpc import Kind, Stream
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import FrameRun, StoredFrame
from acp_proxy.store.queries.batch_members import members_of
from acp_proxy.store.tables.checked_values import LineTooLarge, Mistyped, Row, is_excerpt, select
from acp_proxy.store.tables.schema import (
    AS_STORED,
    EVERY_ROW,
    KIND_CODES,
    KIND_NAMES,
    STREAM_CODES,
    STREAM_NAMES,
    LineColumns,
    Where,
    frame_columns,
    frames_from,
)

if TYPE_CHECKING:
    from acp_proxy.recording.filters import Filter

# The filter grammar is imported only if there is a filter, so that a summary starts sooner.

_FIRST, _LATER = 64, 1024
"""How many numbers are fetched at a time: few at first, so that the first frame comes soon."""
_EXCHANGE = "LEFT JOIN exchanges AS e ON e.id = f.exchange AND f.kind IN (2, 3, 4)"
_OF_EXCHANGE = (
    "e.request_seq, e.response_seq, e.latency_ns,"
    " CASE f.kind WHEN 2 THEN e.session END AS answer_session,"
    " CASE WHEN f.kind = 2 AND m.text = 'terminal/create'"
    " THEN (SELECT terminal FROM frames WHERE seq = e.response_seq) END AS answer_terminal"
)
_HEAD = (
    "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.exchange, f.session, f.turn, f.tool_call,"
    " f.terminal"
)
_BATCH = KIND_CODES[Kind.BATCH]
_NOTIFICATION, _STDERR = KIND_CODES[Kind.NOTIFICATION], KIND_CODES[Kind.STDERR]
_CONTINUES = (
    f"f.kind = {_NOTIFICATION} AND f.tool_call IS NULL AND f.terminal IS NULL"
    " AND f.turn = p.turn"
    f" AND p.kind = {_NOTIFICATION} AND p.tool_call IS NULL AND p.terminal IS NULL"
    " AND f.flags = p.flags"
    " AND f.method = ?3 AND p.method = ?3 AND f.t_ns - p.t_ns <= ?4"
)
"""An SQL condition: a frame ``f`` continues the run of the frame ``p`` before it. Both must be
updates of one turn and one stream that concern neither a tool call nor a terminal."""


@frozen
class FrameTable:
    """One table of frames as coded rows, which contain numbers instead of words.

    Methods that read raise `sqlite3.Error` or `Mistyped` if the file is damaged, and `LineTooLarge`
    if a filter needs the text of a line that can only be read in pieces.
    """

    connection: sqlite3.Connection
    """The database that contains the table."""
    rows: str
    """The table's name."""
    labels: str
    """SQL for the labels of the rows: the name of a table, or a SELECT in parentheses."""
    every: str
    """SQL for the labels of the whole recording: the name of a table, or a SELECT in
    parentheses."""
    lines: LineColumns = AS_STORED
    masked: str | None = None
    """The database with masked lines, which replace lines of this table; None without masking."""

    def frames(self, chosen: "Filter | None", after: int = 0) -> Iterator[Row]:
        """Streams the frames that a filter matches, in order; see `Rows.frames`.

        Args:
            chosen: the filter; None for all frames.
            after: only frames with a higher number.
        """
        where = self._where(chosen)
        is_exact = where.exact
        for row in self._candidates(where, after):
            if row["stream"] is None:
                raise Mistyped(f"frame {row['seq']} has an unknown stream")
            if row["kind"] == "batch":
                row["members"] = members_of(row, partial(select, self.connection))
            if not is_exact and is_excerpt(row):
                raise LineTooLarge(row["seq"], row["size"])
            if chosen is None or chosen.finds(row):
                yield row

    def heads(
        self, chosen: "Filter | None", span: tuple[int, int] | None, *, with_lines: bool
    ) -> Iterable[StoredFrame]:
        """Streams frames without their fired faults and exchanges; see `Rows.heads`.

        A million frames take a few seconds, unless the filter needs the text of messages.

        Args:
            chosen: the filter; None for all frames.
            span: the first and the last number to read, instead of a filter.
            with_lines: whether to read each line.
        """
        where = self._where(chosen) if span is None else Where("f.seq BETWEEN ? AND ?", span)
        if not where.exact:
            return (_head_of(row, with_lines=with_lines) for row in self.frames(chosen))
        lines = self.lines
        line = f"CASE WHEN {lines.size} <= {WHOLE_LINE} THEN {lines.line} END"
        columns = f"{_HEAD}, {lines.size}, {line if with_lines else 'NULL'}"
        heads = _heads(self._select(columns, where), _Texts(self.connection, self.labels))
        if chosen is None or where.is_open:
            return heads
        return (h for h in heads if h.kind != "batch" or self._matches_batch(h.seq, chosen))

    def lines_between(self, first: int, last: int) -> Iterator[tuple[int, int, bytes]]:
        """Streams number, time and line of the frames in a range; see `Rows.lines_of`.

        Args:
            first: the number of the first frame.
            last: the number of the last frame.
        """
        sql = (
            f"SELECT f.seq, f.t_ns, {self.lines.line} FROM {self.rows} AS f"
            f" WHERE f.seq BETWEEN ? AND ? AND {self.lines.size} <= {WHOLE_LINE} ORDER BY f.seq"
        )
        for seq, t_ns, raw in self.connection.execute(sql, (first, last)):
            if type(t_ns) is not int or type(raw) is not bytes:
                raise Mistyped(f"frame {seq} has no time or no bytes")
            yield seq, t_ns, raw

    def runs(self, pause_ns: int, first: int, single_upto: int) -> Iterator[FrameRun]:
        """Streams frames in order, and joins the updates of a run; see `Rows.runs`.

        Args:
            pause_ns: the longest time between two frames of a run, in nanoseconds. If negative,
                each frame is a run by itself.
            first: the number of the first frame to read.
            single_upto: each frame with a number up to this number is a run by itself.
        """
        execute, lines = self.connection.execute, self.lines
        last_before = f"SELECT seq, t_ns FROM {self.rows} WHERE seq < ? ORDER BY seq DESC LIMIT 1"
        is_held = f"f.kind != {_STDERR} AND {lines.size} <= {LARGE_LINE}"
        # Few recordings have updates that end a turn.
        ends = (
            f"SELECT e.seq FROM turns AS t CROSS JOIN {self.rows} AS e ON e.seq = t.end_seq"
            f" WHERE e.kind = {_NOTIFICATION}"
        )
        is_apart = f"OR f.seq IN ({ends})" if execute(f"{ends} LIMIT 1").fetchone() else ""
        sql = (
            "SELECT f.seq, f.t_ns, f.flags & 3, f.kind,"
            f" CASE WHEN {is_held} THEN {lines.line} END, p.seq, p.t_ns"
            f" FROM {self.rows} AS f LEFT JOIN {self.rows} AS p ON p.seq = f.seq - 1"
            f" WHERE f.seq > ?1 AND f.seq <= ?2 AND (({_CONTINUES}) IS NOT TRUE {is_apart})"
            " ORDER BY f.seq"
        )
        label = execute(f"SELECT id FROM {self.labels} WHERE text = ?", (UPDATE,)).fetchone()
        update = label[0] if label is not None and pause_ns >= 0 else None
        upto = max(first, single_upto)
        single = execute(sql, (first - 1, upto, None, pause_ns))
        joined = execute(sql, (upto, LAST_NUMBER, update, pause_ns))
        begun: tuple[int, int, str, str, bytes | None] | None = None
        beyond = LAST_NUMBER, 0, STREAM_CODES[Stream.STDERR], _STDERR, None, None, None
        rows = chain(single, joined, [beyond])
        for seq, t_ns, stream, kind, line, end, end_ns in rows:
            if begun is not None:  # the frame directly before a run is the end of the previous run
                if end is None:
                    end, end_ns = execute(last_before, (seq,)).fetchone()
                if type(end_ns) is not int:
                    raise Mistyped(f"frame {end} has no time")
                # The same as calling the NamedTuple, in half the time.
                yield tuple.__new__(FrameRun, (*begun, end, end_ns))
            if type(t_ns) is not int or (type(line) is not bytes and line is not None):
                raise Mistyped(f"frame {seq} has no time or no bytes")
            try:
                begun = seq, t_ns, STREAM_NAMES[stream], KIND_NAMES[kind], line
            except (KeyError, TypeError):
                raise Mistyped(f"frame {seq} has an unknown code") from None

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads one line piece by piece."""
        schema, _, table = self.rows.partition(".")
        if self.masked is not None and self._has(f"{self.masked}.frame_rows", seq):
            schema = self.masked
        with self.connection.blobopen(table, "raw", seq, readonly=True, name=schema) as blob:
            while piece := blob.read(PIECE):
                yield piece

    def has(self, seq: int) -> bool:
        """Whether a frame is in this table."""
        return self._has(self.rows, seq)

    def _has(self, rows: str, seq: int) -> bool:
        sql = f"SELECT 1 FROM {rows} WHERE seq = ?"
        return self.connection.execute(sql, (seq,)).fetchone() is not None

    def count(self) -> int:
        """Counts the frames."""
        return int(self.connection.execute(f"SELECT count(*) FROM {self.rows}").fetchone()[0])

    def first_of_kind(self, kind: str, without: Collection[int]) -> dict[str, tuple[int, int]]:
        """Finds the frames of a rare kind. Returns their first number and their count, by stream.

        Args:
            kind: any kind except ``notification``.
            without: numbers of frames to ignore.
        """
        # SQLite uses the index only if the query repeats its condition "kind > 1".
        sql = (
            f"SELECT flags & 3, min(seq), count(*) FROM {self.rows} WHERE kind > 1 AND kind = ?"
            " AND seq NOT IN (SELECT value FROM json_each(?)) GROUP BY 1"
        )
        code = KIND_CODES[Kind(kind)]
        rows = self.connection.execute(sql, (code, json.dumps([*without])))
        return {
            STREAM_NAMES[code]: (seq, count) for code, seq, count in rows if code in STREAM_NAMES
        }

    def _where(self, chosen: "Filter | None") -> Where:
        """Translates a filter to SQL. If the table has batches, the SQL selects all batches too."""
        if chosen is None:
            return EVERY_ROW
        from acp_proxy.store.queries.sql_conditions import translate, with_batches

        where = translate(chosen.condition, self.labels, self.every, self.lines.size)
        if where.is_open:
            return where
        batch = f"SELECT 1 FROM {self.rows} WHERE kind > 1 AND kind = {_BATCH} LIMIT 1"
        has_batches = self.connection.execute(batch).fetchone() is not None
        return with_batches(where) if has_batches else where

    def _matches_batch(self, seq: int, chosen: "Filter") -> bool:
        """Whether a filter matches a message of a batch. Reads the messages of the batch."""
        from acp_proxy.recording.filters import all_of, parse

        return next(self.frames(all_of([chosen, parse(f"seq:{seq}")])), None) is not None

    def _candidates(self, where: Where, after: int) -> Iterator[Row]:
        """Yields the frames beyond ``after`` that may match a filter; the caller tests each."""
        lines = self.lines
        line = frame_columns(lines.raw, lines.size, lines.masked)
        columns = f"{line}, {_OF_EXCHANGE}"
        select_from = f"SELECT {columns} FROM {frames_from(self.rows, self.labels)} {_EXCHANGE}"
        if where.is_open:
            every = f"{select_from} WHERE f.seq > ? ORDER BY f.seq"
            yield from select(self.connection, every, (after,))
            return
        some = f"{select_from} WHERE f.seq IN (SELECT value FROM json_each(?)) ORDER BY f.seq"
        numbers = self._select("f.seq", where, after)
        size = _FIRST
        while chunk := numbers.fetchmany(size):
            size = _LATER
            numbered = json.dumps([seq for (seq,) in chunk])
            yield from select(self.connection, some, (numbered,))

    def _select(self, columns: str, where: Where, after: int | None = None) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        beyond = "" if after is None else f"f.seq > {after:d} AND "
        return self.connection.execute(
            f"SELECT {columns} FROM {joined} WHERE {beyond}({where.sql}) ORDER BY f.seq",
            where.parameters,
        )


class _Texts(dict[int | None, str | None]):
    """The text of each label, by the label's number. Texts are read on demand."""

    def __init__(self, connection: sqlite3.Connection, labels: str) -> None:
        super().__init__({None: None})
        self._find = partial(connection.execute, f"SELECT text FROM {labels} WHERE id = ?")

    def __missing__(self, label: int | None) -> str:
        for (text,) in self._find((label,)):
            if not isinstance(text, str):
                raise Mistyped(f"a label is {type(text).__name__}")
            self[label] = text
            return text
        raise KeyError(label)


def _heads(rows: Iterable[tuple[Any, ...]], texts: _Texts) -> Iterator[StoredFrame]:
    """Decodes rows that have the columns `_HEAD`, the size, and either the line or NULL."""
    for seq, t_ns, stream, kind, method, exchange, session, turn, call, terminal, size, raw in rows:
        if type(t_ns) is not int or type(size) is not int:
            raise Mistyped(f"frame {seq} has no time or no size")
        if type(raw) is not bytes and raw is not None:
            raise Mistyped(f"frame {seq} has no bytes")
        try:
            values = (
                seq, t_ns, STREAM_NAMES[stream], KIND_NAMES[kind], texts[method], exchange,
                texts[session], turn, texts[call], texts[terminal], size, raw,
            )  # fmt: skip
            # The same as calling the NamedTuple, in half the time.
            yield tuple.__new__(StoredFrame, values)
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has an unknown code") from None


def _head_of(row: Row, *, with_lines: bool) -> StoredFrame:
    head = StoredFrame._make(row[name] for name in StoredFrame._fields)
    return head if with_lines and head.size <= WHOLE_LINE else head._replace(raw=None)
