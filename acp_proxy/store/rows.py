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

from acp_proxy.errors import DamagedRecording
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.recording import FrameHead, Payload, Recording, read_time
from acp_proxy.store import database
from acp_proxy.store.checked_rows import Mistyped, select
from acp_proxy.store.fired_faults import FiredRows
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.held_values import HELD, LONGEST_TEXT, LineTooLarge, limited
from acp_proxy.store.members import members_of

LARGEST = 4 << 20
"""Bytes of a line from which on a search does not hold it."""
_FIRED = (
    "SELECT seq, rule, action, received IS NULL AS made, length(delivered) AS size,"
    f" CASE WHEN length(delivered) <= {HELD} THEN delivered END AS delivered"
    " FROM faults_fired WHERE seq >= ? ORDER BY seq, rowid"
)
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
        with self._damage_reported(), limited(self.connection, LONGEST_TEXT):
            rows = list(select(self.connection, "SELECT * FROM recording LIMIT 1"))
        for row in rows:
            try:
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

        Args:
            sql: the statement.
            parameters: its values.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_reported():
            yield from select(self.connection, sql, parameters)

    def frames(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams the frames that a filter matches, without holding them.

        A request and its response also have the numbers and the latency of their exchange
        (``request_seq``, ``response_seq``, ``latency_ns``), a request what its answer named
        (``answer_session``, ``answer_terminal``), and a batch its ``members``, of which one at
        least matches. One that is larger than `HELD` has an excerpt in place of its line (see
        `is_excerpt` and `pieces`). One that a fault has touched has what fired (``fired``, rows of
        `faults_fired`). Rows come first and then the tail, which is later.

        Args:
            chosen: the filter.
            after: only frames beyond this number.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        fired = None
        with self._damage_reported():
            for table in self.tables:
                for row in table.frames(chosen, after):
                    if row["fault"] is not None:
                        seq = row["seq"]
                        fired = fired or FiredRows(self.query(_FIRED, (seq,)))
                        for _ in fired.before(seq):
                            pass
                        row["fired"] = [*fired.at(seq)]
                    yield row

    def rows(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams frames and events in one order; an event has ``data`` and no ``raw``.

        Args:
            chosen: the filter.
            after: only what is beyond this number.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        both = self.frames(chosen, after), self.events(chosen, after)
        return heapq.merge(*both, key=operator.itemgetter("seq"))

    def events(self, chosen: Filter = EVERYTHING, after: int = 0) -> Iterator[dict[str, Any]]:
        """Streams the events that a filter matches, as `rows` does.

        Args:
            chosen: the filter.
            after: only events beyond this number.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        every = self.query("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        return filter(chosen.matches, every)

    def heads(self, chosen: Filter = EVERYTHING) -> Iterator[FrameHead]:
        """Streams the frames that a filter matches without their lines, much faster than `frames`.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_reported():
            for table in self.tables:
                yield from table.heads(chosen)

    def payloads(self, chosen: Filter = EVERYTHING) -> Iterator[Payload]:
        """Streams what a search needs of frames; a line larger than `LARGEST` is None.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_reported():
            for table in self.tables:
                yield from table.payloads(chosen, LARGEST)

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads the line of a frame piece by piece, however large it is.

        Raises:
            UnreadableRecording: the file is damaged, or has no such frame.
        """
        with self._damage_reported():
            is_last = self.tables[-1].has(seq)
            yield from self.tables[-1 if is_last else 0].pieces(seq)

    def members(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        """The messages of a batch, each as a row like one of `frames`; see `members_of`.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        return members_of(batch, self.query)

    def made_up(self) -> set[int]:
        """Returns the numbers of the frames that faults made up.

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
        with self._damage_reported():
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
        with self._damage_reported():
            return sum(table.count() for table in self.tables)

    @contextlib.contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Raises what reading a damaged file raises as an error that names the file."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, Mistyped, LineTooLarge) as e:
            raise database.unreadable(self.path, e) from None
