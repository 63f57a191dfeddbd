"""Indexes the log of a running recording when no bytes flow, or when the backlog is too large.

The indexer waits for a quarter of a second without a byte, since it shares the interpreter with the
pumps. It works in batches of a few milliseconds, and stops as soon as bytes flow again. If 16 MB
are not indexed, the indexer works even while bytes flow.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import trio

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.store.files import database
from acp_proxy.store.indexing.earlier_rows import mask_earlier
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.log import damaged_log
from acp_proxy.store.log.log_reader import LogReader

QUIET = 0.25
"""Seconds without a byte that count as quiet."""
BACKLOG = 16 << 20
"""If more bytes of the log than this are not indexed, the indexer works even while bytes flow."""
TRIM = 1 << 20
"""A log with fewer bytes than this is not emptied, even if all of its bytes are indexed."""
LAST = 2.0
"""The seconds after the conversation within which the last indexing and the check have to end."""
_RETRY = 2.0


class Indexing:
    """Keeps the database of a running recording up to date with its log."""

    def __init__(self, log: CaptureLog) -> None:
        self.path = Path(log.path.removesuffix(LOG_SUFFIX))
        self._log = log
        self._indexer: Indexer | None = None
        self._has_complained = False
        self._retry_at = 0.0

    async def run(self) -> None:
        """Indexes until cancelled."""
        last_size = -1
        while True:
            await trio.sleep(QUIET)
            size = self._log.size
            if (size == last_size and self._behind()) or self._behind() >= BACKLOG:
                await trio.to_thread.run_sync(self._work)
            last_size = size

    def is_open_request(self, direction: Direction) -> bool | None:
        """Whether any request in a direction waits for its answer; None if unknown."""
        if self._indexer is not None and self._behind():
            return None
        if self._indexer is not None:
            return bool(self._indexer.open_requests(direction))
        return self._look_through_log(direction)

    def finish(self) -> None:
        """Indexes the log to its end, as far as time allows, and closes the recording.

        The next command that reads the recording indexes the bytes that remain.
        """
        deadline = time.monotonic() + LAST
        while True:
            try:
                indexer = self._open()
                while self._behind() and time.monotonic() < deadline and indexer.step():
                    pass
                if self._behind():
                    self._leave_log(indexer)
                elif indexer.state.closed:
                    indexer.settle()  # a client may have left half a line and kept its output open
                    mask_earlier(indexer, partial(_until, deadline))
                    self._keep_damage(indexer)
                    database.close(indexer.connection)
                    if not self.path.exists():
                        self._complain("it was removed")
                        return
                    with contextlib.suppress(FileNotFoundError):  # another process removed it first
                        self._log.remove()
                else:
                    database.close(indexer.connection)
                return
            except TimeoutError:
                self._leave_log(indexer)
                return
            except (sqlite3.Error, OSError) as e:
                is_locked = isinstance(e, sqlite3.OperationalError) and "locked" in str(e)
                if time.monotonic() > deadline or not is_locked:
                    self._complain(e)
                    return
                time.sleep(0.05)

    def _work(self) -> None:
        """Indexes in batches until the whole log is indexed, or until the log grows again."""
        if time.monotonic() < self._retry_at:
            return
        try:
            indexer = self._open()
            while True:
                trio.from_thread.check_cancelled()  # the conversation is over: `finish` is next
                size = self._log.size
                if not indexer.step():
                    self._trim(indexer)
                    return
                self._log.allow(self._database_size())
                if self._log.size != size and self._behind() < BACKLOG:
                    return
        except (sqlite3.Error, OSError) as e:
            self._retry_at = time.monotonic() + _RETRY
            self._complain(e)

    def _open(self) -> Indexer:
        if self._indexer is None:
            connection = database.create(self.path)
            self._indexer = Indexer(connection, LogReader(self._log.fd))
        return self._indexer

    def _behind(self) -> int:
        return self._log.size - (self._indexer.state.offset if self._indexer else 0)

    def _trim(self, indexer: Indexer) -> None:
        """Empties a large log when every byte of it is stored in rows.

        The rows are committed, so a crash at any point loses no frame. The log is not emptied if a
        chunk has arrived meanwhile (`CaptureLog.trim`).
        """
        if self._log.physical_size >= TRIM and indexer.is_whole:
            self._keep_damage(indexer)
            if self._log.trim(indexer.state.offset, indexer.masking_record()):
                indexer.log.rebase()
            self._log.allow(self._database_size())

    def _keep_damage(self, indexer: Indexer) -> None:
        """Copies the unreadable parts of the log before the log is removed.

        Raises:
            OSError: the parts cannot be written, so the log has to stay.
        """
        if indexer.has_damage:
            damaged_log.keep(self.path, indexer.connection, indexer.log)

    def _database_size(self) -> int:
        total = 0
        for name in (self.path, Path(f"{self.path}-wal")):
            with contextlib.suppress(OSError):
                total += name.stat().st_size
        return total

    def _leave_log(self, indexer: Indexer) -> None:
        """Closes the database and leaves the log for the next reader."""
        with contextlib.suppress(sqlite3.Error):
            indexer.mark_unindexed()
        indexer.connection.close()

    def _look_through_log(self, direction: Direction) -> bool | None:
        """Indexes the log in memory; returns whether a request is open, or None if this fails."""
        try:
            with contextlib.closing(sqlite3.connect("")) as connection:
                database.migrate(connection)
                indexer = Indexer(connection, LogReader(self._log.fd))
                while indexer.step():
                    trio.from_thread.check_cancelled()
                return bool(indexer.open_requests(direction))
        except (sqlite3.Error, OSError, ValueError):
            return None

    def _complain(self, error: object) -> None:
        if self._has_complained:
            return
        self._has_complained = True
        kept = f"the recording is kept in {self._log.path}, and a later command indexes it"
        if not Path(self._log.path).exists():
            kept = f"{self._log.path} was removed, so only the frames in {self.path.name} are kept"
        warn(f"cannot index into {self.path}: {error}; {kept}")


def _until(deadline: float, rows: Iterable[Any], _: int) -> Iterator[Any]:
    """Yields rows, and raises `TimeoutError` after the deadline."""
    for row in rows:
        if time.monotonic() > deadline:
            raise TimeoutError
        yield row
