"""Reads the frames that a filter matches from one table of coded rows.

A reader has one such table, or two while a log is left: the rows and the tail. The database chooses
candidates by the filter's condition, and the filter decides. Memory stays flat and the first frame
comes at once: a condition first gives numbers, and the frames themselves, which may be large, are
fetched for a few numbers at a time. Where lines are not needed, rows are decoded without a dict or
a call for each, since there may be a million.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import frozen

from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.recording import FrameHead, Payload
from acp_proxy.store.batch_members import members_of
from acp_proxy.store.checked_values import (
    AS_STORED,
    LineColumns,
    LineTooLarge,
    Mistyped,
    Row,
    is_excerpt,
    select,
)
from acp_proxy.store.schema import KIND_CODES, KIND_NAMES, STREAM_NAMES, frame_columns, frames_from
from acp_proxy.store.where import EVERY_ROW, Where

if TYPE_CHECKING:
    from acp_proxy.filters import Filter

# Without a filter nothing of the grammar is imported: a summary starts sooner.

_FIRST, _LATER = 64, 1024
"""How many numbers are fetched at a time: few at first, so that the first frame comes at once."""
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
_PAYLOAD = "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.session, f.turn, f.tool_call"
_PIECE = 1 << 20
_BATCH = KIND_CODES[Kind.BATCH]

_Texts = dict[int | None, str | None]
"""The text of each label, and None for none."""


@frozen
class FrameTable:
    """One table of coded rows.

    All that reads raises `sqlite3.Error` or `Mistyped` if the file is damaged, and `LineTooLarge`
    if a filter asks for the text of a line that is only read in pieces.
    """

    connection: sqlite3.Connection
    """The database that has it."""
    rows: str
    """The table's name."""
    labels: str
    """The table of texts, or a SELECT in parentheses."""
    every: str
    """The texts of the whole recording, likewise."""
    lines: LineColumns = AS_STORED
    masked: str | None = None
    """A database that has lines in place of some of these, masked."""

    def frames(self, chosen: "Filter | None", after: int = 0) -> Iterator[Row]:
        """Streams the frames that a filter matches, in order; see `Rows.frames`.

        Args:
            chosen: the filter; None for all frames.
            after: only frames beyond this number.
        """
        where = self._where(chosen)
        is_exact = where.exact
        for row in self._candidates(where, after):
            if row["stream"] is None:
                raise Mistyped(f"frame {row['seq']} is of no stream")
            if row["kind"] == "batch":
                row["members"] = members_of(row, partial(select, self.connection))
            if not is_exact and is_excerpt(row):
                raise LineTooLarge(row["seq"], row["size"])
            if chosen is None or chosen.finds(row):
                yield row

    def heads(self, chosen: "Filter | None") -> Iterable[FrameHead]:
        """Streams the frames that a filter matches without their payloads.

        A million take a few seconds, unless the filter asks for payloads itself.
        """
        where = self._where(chosen)
        if not where.exact:
            names = FrameHead._fields
            return (FrameHead._make(row[n] for n in names) for row in self.frames(chosen))
        heads = _heads(self._select(f"{_HEAD}, {self.lines.size}", where), self.texts())
        if chosen is None or where.is_open:
            return heads
        return (h for h in heads if h.kind != "batch" or self._matches_batch(h.seq, chosen))

    def payloads(self, chosen: "Filter | None", largest: int) -> Iterable[Payload]:
        """Streams the lines that a filter matches with little else.

        Args:
            chosen: the filter; None for all frames.
            largest: bytes; lines that are longer come without their text.
        """
        where = self._where(chosen)
        if not where.exact:
            return (_payload_of(row, largest) for row in self.frames(chosen))
        columns = self._payload_columns(largest)
        payloads = _payloads(self._select(columns, where), self.texts())
        if chosen is None or where.is_open:
            return payloads
        return (p for p in payloads if p.kind != "batch" or self._matches_batch(p.seq, chosen))

    def payloads_between(self, first: int, last: int, largest: int) -> Iterator[Payload]:
        """Streams the lines of a few frames, without reading the labels of all others.

        Args:
            first: the number of the first frame.
            last: the number of the last frame.
            largest: see `payloads`.
        """
        columns = self._payload_columns(largest)
        sql = f"SELECT {columns} FROM {self.rows} AS f WHERE f.seq BETWEEN ? AND ? ORDER BY f.seq"
        texts = _TextsOnDemand(self.connection, self.labels)
        return _payloads(self.connection.execute(sql, (first, last)), texts)

    def lines_between(
        self, first: int, last: int, largest: int
    ) -> Iterator[tuple[int, int, bytes]]:
        """Streams the number, the time and the line of some frames, with nothing else.

        Args:
            first: the number of the first frame.
            last: the number of the last frame.
            largest: bytes; lines that are longer are left out.
        """
        sql = (
            f"SELECT f.seq, f.t_ns, {self.lines.line} FROM {self.rows} AS f"
            f" WHERE f.seq BETWEEN ? AND ? AND {self.lines.size} <= {largest:d} ORDER BY f.seq"
        )
        for seq, t_ns, raw in self.connection.execute(sql, (first, last)):
            if type(t_ns) is not int or type(raw) is not bytes:
                raise Mistyped(f"frame {seq} has no time or no bytes")
            yield seq, t_ns, raw

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads one line piece by piece."""
        schema, _, table = self.rows.partition(".")
        if self.masked is not None and self._is_masked(seq):
            schema = self.masked
        with self.connection.blobopen(table, "raw", seq, readonly=True, name=schema) as blob:
            while piece := blob.read(_PIECE):
                yield piece

    def has(self, seq: int) -> bool:
        """Whether a frame is in this table."""
        sql = f"SELECT 1 FROM {self.rows} WHERE seq = ?"
        return self.connection.execute(sql, (seq,)).fetchone() is not None

    def _is_masked(self, seq: int) -> bool:
        sql = f"SELECT 1 FROM {self.masked}.frame_rows WHERE seq = ?"
        return self.connection.execute(sql, (seq,)).fetchone() is not None

    def count(self) -> int:
        """Counts the frames."""
        return int(self.connection.execute(f"SELECT count(*) FROM {self.rows}").fetchone()[0])

    def first_of_kind(self, kind: str, without: Collection[int]) -> dict[str, tuple[int, int]]:
        """Finds the frames of a rare kind by an index; see `Rows.first_of_kind`.

        Args:
            kind: any but ``notification``.
            without: numbers of frames that do not count.
        """
        # The index has the condition "kind > 1": SQLite uses it only if the query repeats that.
        sql = (
            f"SELECT flags & 3, min(seq), count(*) FROM {self.rows} WHERE kind > 1 AND kind = ?"
            " AND seq NOT IN (SELECT value FROM json_each(?)) GROUP BY 1"
        )
        code = KIND_CODES[Kind(kind)]
        rows = self.connection.execute(sql, (code, json.dumps([*without])))
        return {
            STREAM_NAMES[code]: (seq, count) for code, seq, count in rows if code in STREAM_NAMES
        }

    def _payload_columns(self, largest: int) -> str:
        lines = self.lines
        return f"{_PAYLOAD}, CASE WHEN {lines.size} <= {largest:d} THEN {lines.line} END"

    def _where(self, chosen: "Filter | None") -> Where:
        """A filter in SQL; with batches, if there are any, since that takes no index."""
        if chosen is None:
            return EVERY_ROW
        from acp_proxy.store.conditions import translate, with_batches

        where = translate(chosen.condition, self.labels, self.every, self.lines.size)
        batch = f"SELECT 1 FROM {self.rows} WHERE kind > 1 AND kind = {_BATCH} LIMIT 1"
        has_batches = self.connection.execute(batch).fetchone() is not None
        return with_batches(where) if has_batches else where

    def _matches_batch(self, seq: int, chosen: "Filter") -> bool:
        """Whether a filter matches a message of a batch; its columns alone do not show it."""
        from acp_proxy.filters import all_of, parse

        return next(self.frames(all_of([chosen, parse(f"seq:{seq}")])), None) is not None

    def _candidates(self, where: Where, after: int) -> Iterator[Row]:
        """Streams at least the frames beyond a number for which a condition holds."""
        lines = self.lines
        line = frame_columns(lines.raw, lines.size, lines.masked, with_json=False)
        columns = f"{line}, {_OF_EXCHANGE}"
        select_from = f"SELECT {columns} FROM {frames_from(self.rows, self.labels)} {_EXCHANGE}"
        if where.is_open:
            every = f"{select_from} WHERE f.seq > ? ORDER BY f.seq"
            yield from select(self.connection, every, (after,))
            return
        some = f"{select_from} WHERE f.seq IN (SELECT value FROM json_each(?)) ORDER BY f.seq"
        numbers = self._select("f.seq", where, after)
        size = _FIRST
        while found := numbers.fetchmany(size):
            size = _LATER
            numbered = json.dumps([seq for (seq,) in found])
            yield from select(self.connection, some, (numbered,))

    def _select(self, columns: str, where: Where, after: int | None = None) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        beyond = "" if after is None else f"f.seq > {after:d} AND "
        return self.connection.execute(
            f"SELECT {columns} FROM {joined} WHERE {beyond}({where.sql}) ORDER BY f.seq",
            where.parameters,
        )

    def texts(self) -> _Texts:
        """Returns the text of each label; of None it is None."""
        labels = dict(self.connection.execute(f"SELECT id, text FROM {self.labels}"))
        for label in labels.values():
            _check_label(label)
        return {**labels, None: None}


class _TextsOnDemand(_Texts):
    """The text of each label that is asked for."""

    def __init__(self, connection: sqlite3.Connection, labels: str) -> None:
        super().__init__({None: None})
        self._find = partial(connection.execute, f"SELECT text FROM {labels} WHERE id = ?")

    def __missing__(self, label: int | None) -> str:
        for (text,) in self._find((label,)):
            found = self[label] = _check_label(text)
            return found
        raise KeyError(label)


def _check_label(label: Any) -> str:
    if not isinstance(label, str):
        raise Mistyped(f"a label is {type(label).__name__}")
    return label


def _heads(rows: Iterable[tuple[Any, ...]], texts: _Texts) -> Iterator[FrameHead]:
    """Decodes rows of `_HEAD`."""
    for seq, t_ns, stream, kind, method, exchange, session, turn, call, terminal, size in rows:
        if type(t_ns) is not int or type(size) is not int:
            raise Mistyped(f"frame {seq} has no time or no size")
        try:
            values = (
                seq, t_ns, STREAM_NAMES[stream], KIND_NAMES[kind], texts[method], exchange,
                texts[session], turn, texts[call], texts[terminal], size,
            )  # fmt: skip
            # What a NamedTuple does itself, in half the time.
            yield tuple.__new__(FrameHead, values)
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has an unknown code") from None


def _payloads(rows: Iterable[tuple[Any, ...]], texts: _Texts) -> Iterator[Payload]:
    """Decodes rows of `_PAYLOAD` and the line, or NULL for one that is too large."""
    for seq, t_ns, stream, kind, method, session, turn, call, raw in rows:
        if type(t_ns) is not int or (type(raw) is not bytes and raw is not None):
            raise Mistyped(f"frame {seq} has no time or no bytes")
        try:
            words = (STREAM_NAMES[stream], KIND_NAMES[kind], texts[method], texts[session])
            # What a NamedTuple does itself, in half the time.
            yield tuple.__new__(Payload, (seq, t_ns, *words, turn, texts[call], raw))
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has an unknown code") from None


def _payload_of(row: Row, largest: int) -> Payload:
    payload = Payload._make(row[name] for name in Payload._fields)
    return payload if row["size"] <= largest else payload._replace(raw=None)
