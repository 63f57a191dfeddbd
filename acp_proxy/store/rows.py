"""The queries of an open recording. The same queries read a database, a log and a text form."""

import contextlib
import heapq
import operator
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.base.errors import DamagedRecording
from acp_proxy.base.limits import LABEL, WHOLE_VALUE
from acp_proxy.recording.recording import FrameRun, Recording, StoredFrame
from acp_proxy.store.files import database
from acp_proxy.store.queries.frame_table import FrameTable
from acp_proxy.store.tables.checked_values import LineTooLarge, Mistyped, Row, limited, select

if TYPE_CHECKING:
    from acp_proxy.recording.filters import Filter
    from acp_proxy.store.queries.masked_rows import MaskedRows

_FIRED = (
    "SELECT seq, rule, action, received IS NULL AS made, length(delivered) AS size, late_ns,"
    f" CASE WHEN length(delivered) <= {WHOLE_VALUE} THEN delivered END AS delivered"
    " FROM faults_fired WHERE seq >= ? ORDER BY seq, rowid"
)


class FiredRows:
    """Rows of `faults_fired`, which are read together with frames, in the order of frame numbers.

    Args:
        rows: the rows, sorted by the numbers of the frames; they are read lazily.
    """

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows
        self._next: Row | None = None

    def upto(self, last: float) -> Iterator[Row]:
        """Yields the remaining rows up to a frame number."""
        while True:
            if self._next is None:
                self._next = next(self._rows, None)
            if (row := self._next) is None or row["seq"] > last:
                return
            self._next = None
            yield row


class Rows:
    """The rows of one recording.

    Every method that reads raises `UnreadableRecording` if the file is damaged or locked.

    Attributes:
        path: the recording's path, for error messages.
        connection: a database in which `frames` and the other tables cover the whole recording.
        tables: the tables of frames: one, or two while there is a log.
        masked_rows: the rows that are masked while they are read; None if nothing is masked.
    """

    path: Path
    connection: sqlite3.Connection
    tables: list[FrameTable]
    masked_rows: "MaskedRows | None" = None

    @property
    def recording(self) -> Recording:
        """The only row of the table ``recording``."""
        with self._damage_reported(), limited(self.connection, LABEL):
            row = next(select(self.connection, "SELECT * FROM recording LIMIT 1"), {})
        try:
            recording = Recording.of_row(row)
        except Exception:  # a foreign or damaged value can make it raise anything
            raise DamagedRecording(self.path, "it does not say what was recorded") from None
        return recording if self.masked_rows is None else self.masked_rows.recording(recording)

    def query(self, sql: str, parameters: Any = ()) -> Iterator[Row]:
        """Runs a SELECT over `frames` and the other tables, and streams the resulting rows.

        Args:
            sql: the statement.
            parameters: the values of its placeholders.
        """
        with self._damage_reported():
            yield from select(self.connection, sql, parameters)

    def frames(self, chosen: "Filter | None" = None, after: int = 0) -> Iterator[Row]:
        """Streams the frames that a filter matches, without keeping them in memory.

        Each frame has the documented columns except ``json``, and in addition:

        - a request and its response: ``request_seq``, ``response_seq`` and ``latency_ns`` of the
          exchange;
        - a request: ``answer_session`` and ``answer_terminal``, the session and the terminal that
          its answer named;
        - a batch: ``members``, all its messages; at least one of them matches the filter;
        - a frame on which a fault fired: ``fired``, its rows of `faults_fired`.

        A line larger than `WHOLE_VALUE` is an excerpt (see `is_excerpt` and `pieces`).

        Args:
            chosen: the filter; None for all frames.
            after: only frames with a higher number.
        """
        with self._damage_reported():
            yield from self._with_fired(t.frames(chosen, after) for t in self.tables)

    def rows(self, chosen: "Filter | None" = None, after: int = 0) -> Iterator[Row]:
        """Streams frames and events, sorted by number; an event has ``data`` and no ``raw``.

        Args:
            chosen: the filter; None for all frames and events.
            after: only rows with a higher number.
        """
        both = self.frames(chosen, after), self.events(chosen, after)
        return heapq.merge(*both, key=operator.itemgetter("seq"))

    def events(self, chosen: "Filter | None" = None, after: int = 0) -> Iterator[Row]:
        """Streams the events that a filter matches, sorted by number.

        Args:
            chosen: the filter; None for all events.
            after: only events with a higher number.
        """
        every = self.query("SELECT * FROM events WHERE seq > ? ORDER BY seq", (after,))
        return every if chosen is None else filter(chosen.matches, every)

    def heads(
        self,
        chosen: "Filter | None" = None,
        span: tuple[int, int] | None = None,
        *,
        with_lines: bool = False,
    ) -> Iterator[StoredFrame]:
        """Streams frames without their exchanges and fired faults, much faster than `frames`.

        Args:
            chosen: the filter; None for all frames.
            span: the first and the last number to read, instead of a filter.
            with_lines: whether to read each line, unless it is larger than 4 MiB.
        """
        with self._damage_reported():
            for table in self.tables:
                yield from table.heads(chosen, span, with_lines=with_lines)

    def runs(self, pause_ns: int, first: int = 0, single_upto: int = 0) -> Iterator[FrameRun]:
        """Streams frames; session updates without a pause between them are joined to one run.

        A run contains only updates of one turn that concern neither a tool call nor a terminal.

        Args:
            pause_ns: the longest time between two frames of a run, in nanoseconds. If negative,
                each frame is a run by itself.
            first: the number of the first frame to read.
            single_upto: each frame with a number up to this number is a run by itself.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        with self._damage_reported():
            for table in self.tables:
                yield from table.runs(pause_ns, first, single_upto)

    def lines_of(self, run: FrameRun) -> Iterator[tuple[int, int, bytes]]:
        """Yields number, time and line of the frames of a run, three times as fast as `heads`.

        Args:
            run: the run; frames with a large line are left out.
        """
        if run.last_seq == run.seq:
            yield from () if run.raw is None else [(run.seq, run.t_ns, run.raw)]
            return
        with self._damage_reported():
            for table in self.tables:
                yield from table.lines_between(run.seq, run.last_seq)

    def pieces(self, seq: int) -> Iterator[bytes]:
        """Reads the line of a frame piece by piece, however large it is."""
        with self._damage_reported():
            is_last = self.tables[-1].has(seq)
            yield from self.tables[-1 if is_last else 0].pieces(seq)

    def first_of_kind(self, kind: str, without: Collection[int] = ()) -> dict[str, tuple[int, int]]:
        """Returns, by stream, the first number and the count of the frames of a kind.

        Args:
            kind: any kind except ``notification``; fast if frames of this kind are rare.
            without: numbers of frames to ignore.
        """
        by_stream: dict[str, tuple[int, int]] = {}
        with self._damage_reported():
            for table in self.tables:
                for stream, (seq, count) in table.first_of_kind(kind, without).items():
                    first, known = by_stream.get(stream, (seq, 0))
                    by_stream[stream] = first, known + count
        return by_stream

    def has_label(self, text: str) -> bool:
        """Whether a method, session, tool call or terminal has exactly this name."""
        with self._damage_reported():
            every = self.tables[0].every
            sql = (
                f"SELECT 1 FROM {every} WHERE text = ? UNION SELECT 1 FROM exchanges"
                " WHERE session = ?"
            )
            return self.connection.execute(sql, (text, text)).fetchone() is not None

    def count(self) -> int:
        """Counts the frames, including the frames that are only in the log."""
        with self._damage_reported():
            return sum(table.count() for table in self.tables)

    def _with_fired(self, tables: Iterable[Iterable[Row]]) -> Iterator[Row]:
        """Yields the frames of the given tables, each with the faults that fired on it."""
        fired = None
        for frames in tables:
            for row in frames:
                if row["fault"] is not None:
                    seq = row["seq"]
                    fired = fired or FiredRows(self.query(_FIRED, (seq,)))
                    row["fired"] = [fault for fault in fired.upto(seq) if fault["seq"] == seq]
                yield row

    @contextlib.contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Converts errors about a damaged file to an error that names the file."""
        try:
            yield
        except (sqlite3.DatabaseError, UnicodeDecodeError, Mistyped, LineTooLarge) as e:
            raise database.unreadable(self.path, e) from None
