"""Reads frames from one table of coded rows, by a filter's condition or by number.

A reader has one such table, or two while a log is left: the rows and the tail. Whatever is asked,
memory stays flat and the first frame comes at once: a condition first yields numbers, in order,
and the frames themselves, which may be large, are fetched for a few numbers at a time.
"""

import json
import sqlite3
from collections.abc import Collection, Iterator
from typing import Any

from attrs import frozen

from acp_proxy.filters.conditions import Condition
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.recording import FrameHead, Payload
from acp_proxy.store.conditions import Where, translate, with_batches
from acp_proxy.store.held_values import RAW
from acp_proxy.store.row_types import Mistyped, check_types
from acp_proxy.store.schema import KIND_CODES, STREAM_CODES, frame_columns, frames_from

_FIRST, _LATER = 64, 1024
"""How many numbers are fetched at a time: few at first, since somebody waits for them."""
_COLUMNS = frame_columns(RAW)
_EXCHANGE = "LEFT JOIN exchanges AS e ON e.id = f.exchange AND f.kind IN (2, 3, 4)"
_OF_EXCHANGE = (
    "e.request_seq, e.response_seq, e.latency_ns,"
    " CASE f.kind WHEN 2 THEN e.session END AS answer_session,"
    " CASE WHEN f.kind = 2 AND m.text = 'terminal/create'"
    " THEN (SELECT terminal FROM frames WHERE seq = e.response_seq) END AS answer_terminal"
)
_HEAD = (
    "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.exchange, f.session, f.turn, f.tool_call,"
    " f.terminal, length(f.raw)"
)
_PAYLOAD = "f.seq, f.t_ns, f.flags & 3, f.kind, f.method, f.session, f.turn, f.tool_call"
_PIECE = 1 << 20
_BATCH = KIND_CODES[Kind.BATCH]
_STREAMS = {code: stream.value for stream, code in STREAM_CODES.items()}
_KINDS = {code: kind.value for kind, code in KIND_CODES.items()}


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

    def frames(self, after: int, condition: Condition) -> Iterator[dict[str, Any]]:
        """Streams frames beyond number ``after``, in order; perhaps more than the condition asks.

        Each has the contract's columns, and a request or its response also the numbers and the
        latency of their exchange (``request_seq``, ``response_seq``, ``latency_ns``). A request has
        the session and the terminal that its answer named (``answer_session``,
        ``answer_terminal``).

        Raises:
            sqlite3.Error, Mistyped: the file is damaged.
        """
        select = f"SELECT {_COLUMNS}, {_OF_EXCHANGE} FROM {self._joined} {_EXCHANGE}"
        where = self._where(condition)
        if where.is_open:
            yield from self._read(f"{select} WHERE f.seq > ? ORDER BY f.seq", after)
            return
        chosen = f"{select} WHERE f.seq IN (SELECT value FROM json_each(?)) ORDER BY f.seq"
        numbers = self._numbers(after, where)
        while some := numbers.fetchmany(_LATER if numbers.arraysize > _FIRST else _FIRST):
            numbers.arraysize = _LATER
            yield from self._read(chosen, json.dumps([seq for (seq,) in some]))

    def is_exact(self, condition: Condition) -> bool:
        """Whether a condition can be told without a look into the lines."""
        return self._where(condition).exact

    def heads(self, condition: Condition) -> Iterator[FrameHead] | None:
        """Streams what is known of frames without their payloads; a million in a few seconds.

        All batches are among them, since only their messages tell whether they are meant. None if
        the condition asks for payloads.

        Raises:
            sqlite3.Error, Mistyped: the file is damaged.
        """
        where = self._where(condition)
        return self._heads(where) if where.exact else None

    def payloads(self, condition: Condition, largest: int) -> Iterator[Payload] | None:
        """Streams lines with little else, those of more than ``largest`` bytes without.

        All batches are among them. None if the condition asks for payloads itself.

        Raises:
            sqlite3.Error, Mistyped: the file is damaged.
        """
        where = self._where(condition)
        return self._payloads(where, largest) if where.exact else None

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads one line piece by piece.

        Raises:
            sqlite3.Error: the file is damaged, or has no such frame.
        """
        schema, _, table = self.rows.partition(".")
        with self.connection.blobopen(table, "raw", seq, readonly=True, name=schema) as blob:
            while piece := blob.read(_PIECE):
                yield piece

    def count(self) -> int:
        """Counts the frames.

        Raises:
            sqlite3.Error: the file is damaged.
        """
        return int(self.connection.execute(f"SELECT count(*) FROM {self.rows}").fetchone()[0])

    def first_of_kind(self, kind: str, without: Collection[int]) -> dict[str, tuple[int, int]]:
        """Finds the frames of a rare kind by the index of those, by stream: the first, how many.

        Args:
            kind: any but ``notification``.
            without: numbers of frames that do not count.

        Raises:
            sqlite3.Error: the file is damaged.
        """
        # The index has "kind > 1" as its condition, which has to be said to be seen.
        sql = (
            f"SELECT flags & 3, min(seq), count(*) FROM {self.rows} WHERE kind > 1 AND kind = ?"
            " AND seq NOT IN (SELECT value FROM json_each(?)) GROUP BY 1"
        )
        code = KIND_CODES[Kind(kind)]
        rows = self.connection.execute(sql, (code, json.dumps([*without])))
        return {_STREAMS[stream]: (seq, count) for stream, seq, count in rows if stream in _STREAMS}

    def _where(self, condition: Condition) -> Where:
        """A condition in SQL; with batches, if there are any, since that takes no index."""
        where = translate(condition, self.labels, self.every)
        batch = f"SELECT 1 FROM {self.rows} WHERE kind > 1 AND kind = {_BATCH} LIMIT 1"
        has_batches = self.connection.execute(batch).fetchone() is not None
        return with_batches(where) if has_batches else where

    @property
    def _joined(self) -> str:
        return frames_from(self.rows, self.labels)

    def _numbers(self, after: int, where: Where) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        return self.connection.execute(
            f"SELECT f.seq FROM {joined} WHERE f.seq > ? AND ({where.sql}) ORDER BY f.seq",
            (after, *where.parameters),
        )

    def _read(self, sql: str, parameter: Any) -> Iterator[dict[str, Any]]:
        cursor = self.connection.execute(sql, (parameter,))
        names = [column[0] for column in cursor.description]
        for values in cursor:
            row = dict(zip(names, values, strict=True))
            check_types(row)
            if row["stream"] is None:
                raise Mistyped(f"frame {row['seq']} is of no stream")
            yield row

    def _texts(self) -> dict[int | None, str | None]:
        texts = dict(self.connection.execute(f"SELECT id, text FROM {self.labels}"))
        return {**texts, None: None}

    def _select(self, columns: str, where: Where) -> sqlite3.Cursor:
        joined = f"{self.rows} AS f {_EXCHANGE if where.needs_exchange else ''}"
        return self.connection.execute(
            f"SELECT {columns} FROM {joined} WHERE {where.sql} ORDER BY f.seq", where.parameters
        )

    def _payloads(self, where: Where, largest: int) -> Iterator[Payload]:
        texts = self._texts()
        raw_column = f"CASE WHEN length(f.raw) <= {largest:d} THEN f.raw END"
        cursor = self._select(f"{_PAYLOAD}, {raw_column}", where)
        for seq, t_ns, stream, kind, method, session, turn, call, raw in cursor:
            if type(t_ns) is not int or (type(raw) is not bytes and raw is not None):
                raise Mistyped(f"frame {seq} has no time or no bytes")
            try:
                words = (_STREAMS[stream], _KINDS[kind], texts[method], texts[session])
                # What a NamedTuple does itself, in half the time.
                yield tuple.__new__(Payload, (seq, t_ns, *words, turn, texts[call], raw))
            except (KeyError, TypeError):
                raise Mistyped(f"frame {seq} has a code that stands for nothing") from None

    def _heads(self, where: Where) -> Iterator[FrameHead]:
        texts = self._texts()
        cursor = self._select(_HEAD, where)
        for (
            seq,
            t_ns,
            stream,
            kind,
            method,
            exchange,
            session,
            turn,
            call,
            terminal,
            size,
        ) in cursor:
            if type(t_ns) is not int or type(size) is not int:
                raise Mistyped(f"frame {seq} has no time or no size")
            try:
                yield FrameHead(
                    seq, t_ns, _STREAMS[stream], _KINDS[kind], texts[method], exchange,
                    texts[session], turn, texts[call], texts[terminal], size,
                )  # fmt: skip
            except (KeyError, TypeError):
                raise Mistyped(f"frame {seq} has a code that stands for nothing") from None
