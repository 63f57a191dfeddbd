"""Reads the frames that a filter matches from one table of coded rows.

A reader has one such table, or two while a log is left: the rows and the tail. The database chooses
candidates by the filter's condition, which may let too much through; what a caller gets is what
the filter matches exactly. Memory stays flat and the first frame comes at once: a condition first
gives numbers, in order, and the frames themselves, which may be large, are fetched for a few
numbers at a time.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from functools import partial

from attrs import frozen

from acp_proxy.filters import EVERYTHING, Filter, all_of, parse
from acp_proxy.filters.conditions import Condition
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.recording import FrameHead, Payload
from acp_proxy.store import frame_decoding
from acp_proxy.store.checked_rows import Mistyped, Row, select
from acp_proxy.store.conditions import Where, translate, with_batches
from acp_proxy.store.frame_decoding import STREAMS, texts_by_code
from acp_proxy.store.held_values import RAW, LineTooLarge, is_excerpt
from acp_proxy.store.members import members_of
from acp_proxy.store.schema import KIND_CODES, frame_columns, frames_from

_FIRST, _LATER = 64, 1024
"""How many numbers are fetched at a time: few at first, so that the first frame
comes at once."""
_EXCHANGE = "LEFT JOIN exchanges AS e ON e.id = f.exchange AND f.kind IN (2, 3, 4)"
_OF_EXCHANGE = (
    "e.request_seq, e.response_seq, e.latency_ns,"
    " CASE f.kind WHEN 2 THEN e.session END AS answer_session,"
    " CASE WHEN f.kind = 2 AND m.text = 'terminal/create'"
    " THEN (SELECT terminal FROM frames WHERE seq = e.response_seq) END AS answer_terminal"
)
_COLUMNS = f"{frame_columns(RAW)}, {_OF_EXCHANGE}"
_PIECE = 1 << 20
_BATCH = KIND_CODES[Kind.BATCH]


@frozen
class FrameTable:
    """One table of coded rows.

    Attributes:
        connection: the database in which it is.
        rows: the table's name.
        labels: the table of texts, or a SELECT in parentheses.
        every: the texts of the whole recording, likewise.
    """

    connection: sqlite3.Connection
    rows: str
    labels: str
    every: str

    def frames(self, chosen: Filter, after: int = 0) -> Iterator[Row]:
        """Streams the frames that a filter matches, in order.

        Each has the contract's columns, and a request or its response also the numbers and the
        latency of their exchange (``request_seq``, ``response_seq``, ``latency_ns``). A request has
        the session and the terminal that its answer named (``answer_session``,
        ``answer_terminal``), and a batch its ``members``, of which at least one matches.

        Args:
            chosen: the filter.
            after: only frames beyond this number.

        Raises:
            LineTooLarge: the filter asks for the text of a line that is only read in pieces.
            sqlite3.Error, Mistyped: the file is damaged.
        """
        where = self._where(chosen.condition)
        is_exact = where.exact
        for row in self._candidates(where, after):
            if row["stream"] is None:
                raise Mistyped(f"frame {row['seq']} is of no stream")
            if not is_exact and is_excerpt(row):
                raise LineTooLarge(row["seq"], row["size"])
            if row["kind"] == "batch":
                row["members"] = members_of(row, partial(select, self.connection))
            if chosen.finds(row):
                yield row

    def heads(self, chosen: Filter) -> Iterable[FrameHead]:
        """Streams the frames that a filter matches without their payloads.

        A million take a few seconds, unless the filter asks for payloads itself.

        Raises:
            LineTooLarge, sqlite3.Error, Mistyped: as `frames`.
        """
        where = self._where(chosen.condition)
        if not where.exact:
            return map(frame_decoding.head_of, self.frames(chosen))
        heads = frame_decoding.heads(self._select(frame_decoding.HEAD, where), self._texts())
        if chosen is EVERYTHING:
            return heads
        return (h for h in heads if h.kind != "batch" or self._matches_batch(h.seq, chosen))

    def payloads(self, chosen: Filter, largest: int) -> Iterable[Payload]:
        """Streams the lines that a filter matches with little else.

        Args:
            chosen: the filter.
            largest: bytes; lines that are longer come without their text.

        Raises:
            LineTooLarge, sqlite3.Error, Mistyped: as `frames`.
        """
        where = self._where(chosen.condition)
        if not where.exact:
            return (frame_decoding.payload_of(row, largest) for row in self.frames(chosen))
        raw = f"CASE WHEN length(f.raw) <= {largest:d} THEN f.raw END"
        cursor = self._select(f"{frame_decoding.PAYLOAD}, {raw}", where)
        payloads = frame_decoding.payloads(cursor, self._texts())
        if chosen is EVERYTHING:
            return payloads
        return (p for p in payloads if p.kind != "batch" or self._matches_batch(p.seq, chosen))

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads one line piece by piece.

        Raises:
            sqlite3.Error: the file is damaged, or has no such frame.
        """
        schema, _, table = self.rows.partition(".")
        with self.connection.blobopen(table, "raw", seq, readonly=True, name=schema) as blob:
            while piece := blob.read(_PIECE):
                yield piece

    def has(self, seq: int) -> bool:
        """Whether a frame is in this table."""
        sql = f"SELECT 1 FROM {self.rows} WHERE seq = ?"
        return self.connection.execute(sql, (seq,)).fetchone() is not None

    def count(self) -> int:
        """Counts the frames.

        Raises:
            sqlite3.Error: the file is damaged.
        """
        return int(self.connection.execute(f"SELECT count(*) FROM {self.rows}").fetchone()[0])

    def first_of_kind(self, kind: str, without: Collection[int]) -> dict[str, tuple[int, int]]:
        """Finds the frames of a rare kind by the index of those.

        Args:
            kind: any but ``notification``.
            without: numbers of frames that do not count.

        Returns:
            By stream the number of the first, and how many there are.

        Raises:
            sqlite3.Error: the file is damaged.
        """
        # The index has the condition "kind > 1": SQLite uses it only if the query repeats that.
        sql = (
            f"SELECT flags & 3, min(seq), count(*) FROM {self.rows} WHERE kind > 1 AND kind = ?"
            " AND seq NOT IN (SELECT value FROM json_each(?)) GROUP BY 1"
        )
        code = KIND_CODES[Kind(kind)]
        rows = self.connection.execute(sql, (code, json.dumps([*without])))
        return {STREAMS[stream]: (seq, count) for stream, seq, count in rows if stream in STREAMS}

    def _where(self, condition: Condition) -> Where:
        """A condition in SQL; with batches, if there are any, since that takes no index."""
        where = translate(condition, self.labels, self.every)
        batch = f"SELECT 1 FROM {self.rows} WHERE kind > 1 AND kind = {_BATCH} LIMIT 1"
        has_batches = self.connection.execute(batch).fetchone() is not None
        return with_batches(where) if has_batches else where

    def _matches_batch(self, seq: int, chosen: Filter) -> bool:
        """Whether a filter matches a message of a batch; its columns alone do not show it."""
        return next(self.frames(all_of([chosen, parse(f"seq:{seq}")])), None) is not None

    def _candidates(self, where: Where, after: int) -> Iterator[Row]:
        """Streams at least the frames beyond a number for which a condition holds."""
        select_from = f"SELECT {_COLUMNS} FROM {frames_from(self.rows, self.labels)} {_EXCHANGE}"
        if where.is_open:
            every = f"{select_from} WHERE f.seq > ? ORDER BY f.seq"
            yield from select(self.connection, every, (after,))
            return
        some = f"{select_from} WHERE f.seq IN (SELECT value FROM json_each(?)) ORDER BY f.seq"
        numbers = self._numbers(after, where)
        size = _FIRST
        while found := numbers.fetchmany(size):
            size = _LATER
            numbered = json.dumps([seq for (seq,) in found])
            yield from select(self.connection, some, (numbered,))

    def _numbers(self, after: int, where: Where) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        return self.connection.execute(
            f"SELECT f.seq FROM {joined} WHERE f.seq > ? AND ({where.sql}) ORDER BY f.seq",
            (after, *where.parameters),
        )

    def _texts(self) -> dict[int | None, str | None]:
        return texts_by_code(self.connection.execute(f"SELECT id, text FROM {self.labels}"))

    def _select(self, columns: str, where: Where) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        return self.connection.execute(
            f"SELECT {columns} FROM {joined} WHERE {where.sql} ORDER BY f.seq", where.parameters
        )
