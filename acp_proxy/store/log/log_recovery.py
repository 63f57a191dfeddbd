"""Recovers frames that are only in a log: finishes a dead recorder's recording, or reads a tail.

The recorder holds an exclusive lock on its log, so a reader that gets the lock knows that the
recorder is dead.

- The reader that holds the lock finishes the recording. It first removes the permission to write to
  the log: this shows other readers that no recorder holds the lock.
- If the recorder runs, or the reader may not finish the recording, the reader indexes the *tail* of
  the log into temporary tables. The tail is the part that is not in the database yet.
"""

import contextlib
import errno
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

from acp_proxy.base import system
from acp_proxy.base.errors import LogMoved, NotARecording, UnreadableRecording
from acp_proxy.base.limits import LOG_HEAD, PIECE
from acp_proxy.base.plain_files import kind_at, reason
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.log_format import BASE_SIZE, HEADER_SIZE, START
from acp_proxy.store.files import database
from acp_proxy.store.files.side_files import check_plain, check_side_files
from acp_proxy.store.indexing.earlier_rows import mask_earlier
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.log import damaged_log
from acp_proxy.store.log.log_reader import LogReader
from acp_proxy.store.tables.checked_values import check_labels, limited

_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_STEP = 1 << 16
"""How many bytes of a tail are indexed between two checks whether to stop."""
_WORTH = 4
"""A reader starts a new tail if this saves at least `_WORTH` times the length of the new tail."""
_NO_LOCKS = (
    "it was not finished, and this system has no locks to tell whether its recorder still runs; "
    "open it on Linux or macOS, which finishes it"
)


def open_log(path: Path) -> int:
    """Opens a log, for writing if permitted.

    Raises:
        OSError: there is no log, the log is not a plain file or cannot be read, or the system has
            no locks.
    """
    if (kind := kind_at(path)) is not None:
        raise OSError(errno.EINVAL, f"it is {kind}")
    if not system.HAS_LOCKS and path.exists():
        raise OSError(errno.ENOTSUP, _NO_LOCKS)
    try:
        return os.open(path, os.O_RDWR | system.PLAIN)  # some systems lock only writable files
    except FileNotFoundError:
        raise
    except OSError:
        return os.open(path, os.O_RDONLY | system.PLAIN)


def has_recorder(path: Path) -> bool:
    """Whether the recorder of the recording at ``path`` is running."""
    try:
        fd = open_log(Path(f"{path}{LOG_SUFFIX}"))
    except OSError:
        return False
    try:
        return is_live(fd)
    finally:
        os.close(fd)


def is_live(fd: int) -> bool:
    """Whether the recorder of a log is running."""
    return not is_free(fd) and bool(os.fstat(fd).st_mode & _WRITABLE)


def is_free(fd: int) -> bool:
    """Whether the log's lock is free, which means that its recorder has ended."""
    if is_shared := system.share_lock(fd):
        system.unlock(fd)
    return is_shared


def is_finished_or_dead(path: Path) -> bool:
    """Whether ``path`` has a recording and no running recorder; indexes nothing."""
    try:
        ours = path.exists() and not _is_blank(path)
        fd = open_log(Path(f"{path}{LOG_SUFFIX}"))
    except FileNotFoundError:
        return ours
    except (OSError, sqlite3.Error, UnreadableRecording):
        return False
    try:
        return LogReader(fd).end > 0 and is_free(fd)
    except (OSError, ValueError):
        return False
    finally:
        os.close(fd)


def _is_blank(path: Path) -> bool:
    with contextlib.closing(database.open_readonly(path)) as connection:
        return database.is_empty(connection)


def read_log(path: Path, fd: int, log_path: Path) -> LogReader:
    """Returns a reader of a log, if the log can become a recording. Changes no file.

    Args:
        path: the database's path.
        fd: the open log.
        log_path: the log's path.

    Raises:
        UnreadableRecording: the file is not a log, or only a part of a log.
        LogMoved: the log is empty; its recorder may be about to write the first record.
    """
    try:
        log = LogReader(fd)
    except (ValueError, OSError) as e:
        raise NotARecording(log_path, str(e) + _import_hint(fd, log_path)) from None
    if path.exists() and path.stat().st_size:
        return log
    if log.end < log.base + HEADER_SIZE:
        raise LogMoved
    if log.base:
        raise UnreadableRecording(log_path, f"the log's beginning was in {path}, which is missing")
    if not any(record.kind == START for record in log.records(0, HEADER_SIZE)):
        why = "it does not say what was recorded"
        if log.is_damaged_from(0):
            why = f"it is damaged at byte {BASE_SIZE:,}, so {why}"
        raise UnreadableRecording(log_path, why)
    return log


def _import_hint(fd: int, path: Path) -> str:
    """Returns the end of an error message: what to do if the file is another tool's log."""
    from acp_proxy.imports.log_formats import import_hint

    try:
        return import_hint(os.pread(fd, LOG_HEAD, 0), str(path))
    except OSError:
        return ""


def check_unfinished(path: Path) -> bool:
    """Whether a reader has to finish a log. The check changes and creates no file.

    Args:
        path: the database's path.

    Returns:
        False if there is no log, if its recorder is running, or if another reader is finishing the
        log.

    Raises:
        UnreadableRecording: no reader can finish the log.
    """
    log_path = Path(f"{path}{LOG_SUFFIX}")
    try:
        fd = open_log(log_path)
    except FileNotFoundError:
        return False
    except OSError as e:
        raise NotARecording(log_path, reason(e)) from None
    try:
        if not is_free(fd):
            return False
        read_log(path, fd, log_path)
        check_plain(path)
        check_side_files(path.resolve(), to_write=True)
        if path.exists() and path.stat().st_size:
            database.open_readonly(path, immutable=True).close()
    except LogMoved:
        raise NotARecording(log_path, "it has no complete record") from None
    except OSError as e:
        raise UnreadableRecording(path, reason(e)) from None
    finally:
        os.close(fd)
    return True


def finish_dead(path: Path, fd: int, log_path: Path) -> bool:
    """Indexes and removes the log of a dead recorder; returns False if this process cannot.

    Args:
        path: the database's path.
        fd: the open log, not locked.
        log_path: the log's path.

    Raises:
        UnreadableRecording: the database is damaged, or belongs to another program. Nothing is
            changed.
    """
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    try:
        check_side_files(path.resolve(), to_write=True)
        if path.exists() and path.stat().st_size:
            database.open_readonly(path).close()
    except OSError:
        return False
    try:
        os.fchmod(fd, mode & ~_WRITABLE)
        is_ours = system.take_lock(fd)
    except OSError:
        is_ours = False
    if not is_ours:
        _give_back(fd, mode)
        return False
    try:
        if not is_at(log_path, fd):  # another reader has finished the log meanwhile
            return True
        finish(path, LogReader(fd))
        if is_at(log_path, fd):
            log_path.unlink()
    except database.BROKEN:
        _give_back(fd, mode)
        return False
    return True


def _give_back(fd: int, mode: int) -> None:
    """Restores the permissions of a log, unless another reader holds its lock and has changed them.

    The function takes a shared lock for a moment. A recorder never holds a shared lock.
    """
    if not system.share_lock(fd):
        return
    if mode & _WRITABLE:
        with contextlib.suppress(OSError):
            os.fchmod(fd, mode)
    system.unlock(fd)


def is_at(path: Path, fd: int) -> bool:
    """Whether a path still leads to the file that was opened at this path.

    Args:
        path: the path under which the file was opened.
        fd: the descriptor of the opened file.
    """
    try:
        return os.path.samestat(os.lstat(path), os.fstat(fd))
    except FileNotFoundError:
        return False


def finish(path: Path, log: LogReader) -> None:
    """Indexes the whole log of a dead recorder, and closes the database.

    Args:
        path: the database, whether or not it exists.
        log: the log.

    Raises:
        OSError, sqlite3.Error: the database cannot be created or written.
        ValueError: the stored state of the indexer cannot be read, or does not belong to the log.
    """
    connection = database.create(path)
    try:
        indexer = Indexer(connection, log)
        while indexer.step(PIECE):
            pass
        indexer.settle()
        mask_earlier(indexer)
        damaged_log.keep(path, connection, log)
        database.close(connection)
    finally:
        connection.close()


class LogTail:
    """The part of a log that is not in the database yet, as frames in temporary tables.

    A recorder, or a reader that finishes the recording, may move frames from the log to the
    database at any time. The tail is written in the transaction in which the rows are read, and
    this transaction does not see moved frames. So each frame is either in the rows or in the tail.

    Args:
        connection: the database with the rows, outside of any transaction; an empty database
            ``tail`` is attached.
        log: the log.
        present: another connection, outside of any transaction. If the database cannot change, it
            may be ``connection``.

    Attributes:
        indexer: indexes the log, and remembers the secrets that are recognized in the log.

    Raises:
        ValueError: the log begins after the end of the rows, so something between is missing.
    """

    def __init__(
        self, connection: sqlite3.Connection, log: LogReader, present: sqlite3.Connection
    ) -> None:
        self._connection, self._present = connection, present
        self._log = log
        self._version = self._data_version()
        connection.execute("BEGIN")
        self.indexer = Indexer(connection, log, schema="tail", waits=False)
        self._start = self._moved_to = self.indexer.state.offset

    @property
    def newest(self) -> int:
        """The number of the newest frame or event."""
        return self.indexer.state.next_seq - 1

    @property
    def has_recorder(self) -> bool:
        """Whether the recorder is running."""
        return is_live(self._log.fd)

    def read(self, must_stop: Callable[[], bool] = bool) -> None:
        """Indexes the new part of the log.

        Args:
            must_stop: returns whether to stop early; called before each `_STEP` bytes.

        Raises:
            LogMoved: the reader has to start a new tail, because the log was emptied, the rows of
                this tail are lost, a new tail is much shorter, or a user has changed the database.
        """
        end, indexer = self._log.end, self.indexer  # a fast conversation would be read without end
        self._check(end)
        with limited(self._connection):
            while indexer.state.offset < end and not must_stop() and indexer.step(_STEP):
                pass
        check_labels(self._connection, "tail.labels")
        self._log.check()

    def settle(self) -> None:
        """Ends the recording of a dead recorder: unfinished lines become frames."""
        with limited(self._connection):
            self.indexer.settle()

    def _check(self, end: int) -> None:
        """Raises `LogMoved` if the reader must read the log into a new tail; see `read`.

        Args:
            end: the end of the log.
        """
        self._log.check()
        if not self._connection.in_transaction:  # SQLite has rolled the tail back
            raise LogMoved
        version, before = self._data_version(), self._moved_to
        if version == self._version:
            return
        sql = "SELECT log_offset FROM main.indexing WHERE id = 1"
        rows = self._present.execute(sql).fetchall() or [(0,)]
        self._version, self._moved_to = version, rows[0][0]
        is_shorter = self._moved_to - self._start >= _WORTH * (end - self._moved_to)
        if is_shorter or self._moved_to == before:  # a user may have written a note
            raise LogMoved

    def _data_version(self) -> int:
        """Returns a number that changes whenever another process changes the database."""
        version: int = self._present.execute("PRAGMA data_version").fetchall()[0][0]
        return version
