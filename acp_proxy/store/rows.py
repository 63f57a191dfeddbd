"""Everything that can be asked of an open recording, whatever it is made of."""

import contextlib
import heapq
import json
import operator
import sqlite3
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from attrs import fields

from acp_proxy.errors import DamagedRecording, UnreadableRecording
from acp_proxy.filters import EVERYTHING, Filter, all_of, parse
from acp_proxy.recording import FrameHead, Payload, Recording, read_time
from acp_proxy.store import database
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.held_values import HELD, LONGEST_TEXT, is_excerpt, limited
from acp_proxy.store.members import members_of
from acp_proxy.store.row_types import Mistyped, check_types

LARGEST = 4 << 20
"""Bytes of a line from which on a search does not hold it."""
_COLUMNS = [field.name for field in fields(Recording)]


class Rows:
    """The rows of one recording.

    Attributes:
        path: where the recording is, for complaints.
        connection: a database in which the contract's names, as views, name all there is.
        tables: the frames, in one table or, while a log is left, in two.
    """

    path: Path
    connection: sqlite3.Connection
    tables: list[FrameTable]

    @property
    def recording(self) -> Recording:
        """The recording's one row.

        Raises:
            DamagedRecording: there is none.
        """
        with self._damage_told(), limited(self.connection, LONGEST_TEXT):
            rows = list(_by_name(self.connection.execute("SELECT * FROM recording LIMIT 1")))
        for row in rows:
            try:
                check_types(row)
                recording = Recording(**{name: row[name] for name in _COLUMNS if name in row})
                read_time(recording.started_at)
                read_time(recording.ended_at or recording.started_at)
                " ".join(json.loads(recording.command))
            except Exception:  # whatever a foreign or damaged value makes them raise
                break
            return recording
        raise DamagedRecording(self.path, "it does not say what was recorded")

    def query(self, sql: str, parameters: Any = ()) -> Iterator[dict[str, Any]]:
        """Runs a SELECT over the contract's names and streams its rows.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for row in _by_name(self.connection.execute(sql, parameters)):
                check_types(row)
                yield row

    def frames(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams the frames that a filter means, beyond number ``after``, without holding them.

        A request and its response also have the numbers and the latency of their exchange
        (``request_seq``, ``response_seq``, ``latency_ns``), a request what its answer named
        (``answer_session``, ``answer_terminal``), and a batch its ``members``, of which one at
        least is meant. One that is larger than `HELD` has an excerpt in place of its line (see
        `is_excerpt` and `pieces`). One that a fault has touched has what fired (``fired``, rows of
        `faults_fired`). Rows come first and then the tail, which is later.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        fired = _Fired(self, after)
        with self._damage_told():
            for table in self.tables:
                for row in self._found(table, chosen, after):
                    if row["fault"] is not None:
                        row["fired"] = fired.at(row["seq"])
                    yield row

    def rows(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams frames and events in one order; an event has ``data`` and no ``raw``.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        both = self.frames(chosen, after), self.events(chosen, after)
        return heapq.merge(*both, key=operator.itemgetter("seq"))

    def events(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams the events that a filter matches, beyond number ``after``, as `rows` does.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        every = self.query("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        return filter(chosen.matches, every)

    def heads(self, chosen: Filter = EVERYTHING) -> Iterator[FrameHead]:
        """Streams the frames that a filter means without their payloads, far quicker than `frames`.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for table in self.tables:
                heads = table.heads(chosen.condition)
                if heads is None:
                    heads = map(_head, self._found(table, chosen))
                elif chosen is not EVERYTHING:
                    heads = (h for h in heads if h.kind != "batch" or self._is_meant(h.seq, chosen))
                yield from heads

    def payloads(self, chosen: Filter = EVERYTHING) -> Iterator[Payload]:
        """Streams the lines that a filter means with little else; those beyond `LARGEST` without.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            for table in self.tables:
                payloads = table.payloads(chosen.condition, LARGEST)
                if payloads is None:
                    payloads = map(_payload, self._found(table, chosen))
                elif chosen is not EVERYTHING:
                    payloads = (
                        p for p in payloads if p.kind != "batch" or self._is_meant(p.seq, chosen)
                    )
                yield from payloads

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads the line of a frame piece by piece, however large it is.

        Raises:
            UnreadableRecording: the file is damaged, or has no such frame.
        """
        with self._damage_told():
            held = f"SELECT 1 FROM {self.tables[-1].rows} WHERE seq = ?"
            last = self.connection.execute(held, (seq,)).fetchone()
            yield from self.tables[-1 if last else 0].pieces(seq)

    def members(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """The messages of a batch, each as a row like one of `frames`; see `members_of`.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        return members_of(batch, self.query)

    def made_up(self) -> set[int]:
        """The numbers of the frames that nobody has said: faults have put them in.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        sql = "SELECT DISTINCT seq FROM faults_fired WHERE received IS NULL"
        return {row["seq"] for row in self.query(sql)}

    def first_of_kind(self, kind: str, without: Collection[int] = ()) -> dict[str, tuple[int, int]]:
        """Finds the frames of a rare kind, by stream: the number of the first, and how many.

        Args:
            kind: any but ``notification``; quick where there are few of it.
            without: numbers of frames that do not count.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        found: dict[str, tuple[int, int]] = {}
        with self._damage_told():
            for table in self.tables:
                for stream, (seq, count) in table.first_of_kind(kind, without).items():
                    first, known = found.get(stream, (seq, 0))
                    found[stream] = first, known + count
        return found

    def count(self) -> int:
        """How many frames there are, the tail included.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_told():
            return sum(table.count() for table in self.tables)

    def _found(self, table: FrameTable, chosen: Filter, after: int = 0) -> Iterator[dict[str, Any]]:
        """The frames of a table that a filter means; a batch is asked for its messages, too."""
        is_exact = table.is_exact(chosen.condition)
        for row in table.frames(after, chosen.condition):
            if not is_exact and is_excerpt(row):
                raise UnreadableRecording(
                    self.path,
                    f"frame {row['seq']} has {row['size']} bytes, too many for a filter to look"
                    " into; size:<16M leaves it out",
                )
            if row["kind"] == "batch":
                row["members"] = self.members(row)
            if chosen.finds(row):
                yield row

    def _is_meant(self, batch: int, chosen: Filter) -> bool:
        return next(self.frames(all_of([chosen, parse(f"seq:{batch}")])), None) is not None

    @contextlib.contextmanager
    def _damage_told(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, Mistyped) as e:
            raise database.unreadable(self.path, e) from None


class _Fired:
    """The faults that fired, asked for by the numbers of frames that only grow."""

    def __init__(self, rows: Rows, after: int) -> None:
        self._rows = rows
        self._after = after
        self._all: Iterator[dict[str, Any]] | None = None
        self._next: dict[str, Any] | None = None

    def at(self, seq: int) -> list[dict[str, Any]]:
        """Those of a frame, in the order of the rules."""
        if self._all is None:
            columns = (
                "seq, rule, action, received IS NULL AS made, length(delivered) AS size,"
                f" CASE WHEN length(delivered) <= {HELD} THEN delivered END AS delivered"
            )
            sql = f"SELECT {columns} FROM faults_fired WHERE seq > ? ORDER BY seq, rowid"
            self._all = self._rows.query(sql, (max(self._after, seq - 1),))
            self._next = next(self._all, None)
        found = []
        while self._next is not None and self._next["seq"] <= seq:
            if self._next["seq"] == seq:
                found.append(self._next)
            self._next = next(self._all, None)
        return found


def _by_name(cursor: sqlite3.Cursor) -> Iterator[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    return (dict(zip(names, values, strict=True)) for values in cursor)


def _head(row: dict[str, Any]) -> FrameHead:
    return FrameHead._make(row[name] for name in FrameHead._fields)


def _payload(row: dict[str, Any]) -> Payload:
    payload = Payload._make(row[name] for name in Payload._fields)
    return payload if row["size"] <= LARGEST else payload._replace(raw=None)
