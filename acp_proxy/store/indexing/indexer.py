"""Turns a capture log into rows, in batches that neither lose nor repeat a frame.

Each batch is one transaction, which also stores the log offset and the state of the indexer
(`IndexerState`). So a later indexer continues exactly at this offset: in this process, in another
process after a crash, or in a reader.

`record.indexing` decides when the indexer runs, and `log_recovery` decides who may finish the
recording of a dead recorder. `record_handler` interprets records, and `row_writer` writes rows.
"""

import sqlite3
from typing import Any, cast

from acp_proxy.protocol.connection_state import Exchange
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording.log_format import BASE, HEADER_SIZE
from acp_proxy.redaction.text_streams import NotYet
from acp_proxy.store.indexing.indexer_state import IndexerState, load_state
from acp_proxy.store.indexing.line_masking import Masking
from acp_proxy.store.indexing.record_handler import RecordHandler
from acp_proxy.store.indexing.row_writer import RowWriter
from acp_proxy.store.log import damaged_log
from acp_proxy.store.log.log_reader import LogReader

BATCH = 1 << 18
"""How many bytes of log are indexed in one transaction, which takes a few milliseconds."""


class Indexer:
    """Indexes one log into one database.

    Args:
        connection: a database with our tables, writable at least in ``schema``.
        log: the log; it is read from the offset that is stored in the table ``indexing``.
        schema: the database to write to: ``main``, or ``tail`` if a reader indexes the tail of the
            log for itself.
        waits: whether to leave a line in the log while later lines, not written yet, may show that
            the line contains a secret. A reader does not wait.

    Raises:
        ValueError: the stored state cannot be read, or the log begins after the stored offset.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        log: LogReader,
        *,
        schema: str = "main",
        waits: bool = True,
    ) -> None:
        self.connection = connection
        self.log = log
        self.state = load_state(connection)
        if self.state.offset < log.base:
            raise ValueError(
                f"its log begins at byte {log.base}, but its rows end at byte {self.state.offset}"
            )
        self._rows = RowWriter(connection, self.state, schema=schema)
        self._handler = RecordHandler(self.state, log, self._rows, waits=waits)
        if self.state.offset > log.base:
            self._handler.masking = masking_at(log, self.state.offset, waits=waits)
        self.has_damage = False
        """Whether this indexer found a part of the log that it could not read."""
        self._is_uncommitted = False
        self._read_to = self.state.offset  # ahead of the state's offset until a batch is committed

    @property
    def is_whole(self) -> bool:
        """Whether the rows contain the whole log, unfinished lines included."""
        unfinished = any(framer.segments for framer in self.state.framers.values())
        return not (unfinished or self._is_uncommitted or any(self.state.parts.values()))

    def open_requests(self, direction: Direction) -> list[Exchange]:
        """Returns the requests that wait for an answer, as far as the log is indexed.

        A request that a fault kept from its receiver is left out.
        """
        waiting = self._rows.conversation.open_requests(direction)
        dropped = self._rows.dropped_by_faults([exchange.request_seq for exchange in waiting])
        return [exchange for exchange in waiting if exchange.request_seq not in dropped]

    def step(self, limit: int = BATCH) -> int:
        """Indexes a batch.

        Args:
            limit: about how many bytes of log to index.

        Returns:
            The number of bytes that were committed; 0 at the end of the log.

        Raises:
            sqlite3.Error: nothing was committed. The batch is kept for the next step.
        """
        start = self.state.offset
        if self._is_uncommitted:
            self._commit()
        try:
            for record in self.log.records(self._read_to, limit):
                start_of_record = record.offset - HEADER_SIZE
                if start_of_record > self._read_to:
                    self._note_damage(start_of_record, record.t_ns)
                self._handler.handle(record)
                self._read_to = record.end
                self._is_uncommitted = True
        except NotYet:  # the next step begins with this record
            pass
        if self._is_uncommitted:
            self._commit()
        return self.state.offset - start

    def settle(self) -> None:
        """Ends the recording of a dead recorder: unfinished lines become frames.

        Raises:
            sqlite3.Error: as for `step`.
        """
        if self._handler.masking is not None:
            self._handler.masking.waits = False  # no more lines follow
            while self.step():
                pass
        if self.log.is_damaged_from(self._read_to):
            self._note_damage(self.log.end, self.state.last_ns)
        self._handler.settle()
        self._commit()

    def _note_damage(self, end: int, t_ns: int) -> None:
        """Adds a note that the log could not be read from the current offset up to ``end``."""
        self._handler.note(damaged_log.note(self._read_to, end - self._read_to), t_ns)
        self._read_to = end
        self._is_uncommitted = True
        self.has_damage = True

    @property
    def masking(self) -> Masking | None:
        """The masking of the log's lines; None if the lines are not masked."""
        return self._handler.masking

    def masking_record(self) -> bytes:
        """Returns the state of masking, to be kept in an emptied log; no bytes without masking."""
        return self._handler.masking.dump() if self._handler.masking is not None else b""

    def mark_unindexed(self) -> None:
        """Notes in the recording's row that a part of the recording is only in its log.

        Raises:
            sqlite3.Error: the row cannot be written.
        """
        with self.connection:
            self.connection.execute("UPDATE recording SET state = 'unindexed'")

    def _commit(self) -> None:
        self._handler.note_handshake()
        committed, self.state.offset = self.state.offset, self._read_to
        try:
            self._rows.commit()
        except sqlite3.Error:
            # The rows are kept for another try, so the offset stays at the last commit.
            self.state.offset = committed
            self._is_uncommitted = True
            raise
        self._is_uncommitted = False


class _NoRows:
    """Accepts rows and discards them."""

    def add_frame(self, *_: Any, **__: Any) -> None: ...

    add_event = add_fired = mark_fault = mark_undelivered = set_dialect = add_frame


def masking_at(log: LogReader, offset: int, *, waits: bool) -> Masking | None:
    """Restores the state of masking from the indexed part of a log.

    Args:
        log: the log.
        offset: the logical offset up to which the log is indexed.
        waits: see `Indexer`; used for the part of the log after the offset.
    """
    rows = cast("RowWriter", _NoRows())
    handler = RecordHandler(IndexerState(), log, rows, waits=False)
    for record in log.records(log.base, offset - log.base):
        if record.offset >= offset:
            break
        handler.handle(record)
        if handler.masking is None and record.kind != BASE:
            return None
    if handler.masking is not None:
        handler.masking.waits = waits
    return handler.masking
