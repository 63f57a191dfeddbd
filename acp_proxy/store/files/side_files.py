"""Checks the side files of a database before SQLite opens it.

SQLite finds side files by their names, and the archive of a bug report may contain any side file. A
pipe would make SQLite wait for ever. A rollback journal may name another file, the super-journal,
which SQLite would delete. Recorders write no journals that name a super-journal.
"""

import errno
import os
import sqlite3
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from acp_proxy.base import system
from acp_proxy.base.plain_files import kind_at
from acp_proxy.recording.file_names import LOG_SUFFIX, SQLITE_SUFFIXES

WAL, SHARED_MEMORY, JOURNAL = SQLITE_SUFFIXES
SUFFIXES = (LOG_SUFFIX, *SQLITE_SUFFIXES)
"""The suffixes of files that stand beside a database until it is complete and closed."""
_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""The bytes at the start of a rollback journal. A journal that names a super-journal also ends with
these bytes."""
_WAL_MAGICS = (bytes.fromhex("377f0682"), bytes.fromhex("377f0683"))
_SHARED_STARTS = (struct.pack("=I", 3007000), b"\0")
"""The first bytes of the index of a write-ahead log: the version in native byte order, or zeros."""
_APPLICATION_ID = 68
"""The offset of the application id in the header of a database."""
_WAL_MODE = b"\2\2"
_OPEN: Counter[tuple[int, ...]] = Counter()
"""The number of this process's connections to each database, by its inode and device."""
_GUARD = threading.RLock()


class LockedConnection(sqlite3.Connection):
    """A connection to a database.

    A process that closes any descriptor of a file loses all its POSIX locks on this file. Another
    process could then remove the write-ahead log that SQLite still uses in the first process. So
    while a connection is open, its process opens the database and the index of the write-ahead log
    only with SQLite; see `is_open`. A connection to an immutable file has no locks.
    """

    file: tuple[int, ...] = ()

    def close(self) -> None:
        """Closes the connection."""
        super().close()
        with _GUARD:
            _OPEN[self.file] -= bool(self.file)
            self.file = ()


def connect(path: Path, query: str, timeout: float) -> LockedConnection:
    """Opens a connection that any thread may use.

    Args:
        path: the real path of the database.
        query: the end of the URI, such as ``mode=ro``.
        timeout: seconds to wait for a lock.
    """
    uri = f"{path.as_uri()}?{query}"
    with _GUARD:
        connection = LockedConnection(uri, uri=True, timeout=timeout, check_same_thread=False)
        connection.file = () if query.endswith("immutable=1") else _file_at(path)
        _OPEN[connection.file] += bool(connection.file)
    return connection


def is_open(path: Path) -> bool:
    """Whether this process has a connection to a database, and so perhaps locks on its files."""
    return _OPEN[_file_at(path)] > 0


def _file_at(path: Path) -> tuple[int, ...]:
    with suppress(OSError):
        return tuple(path.stat()[1:3])
    return ()


@contextmanager
def guarded() -> Iterator[None]:
    """Lets no other thread open a connection until the block ends; also a decorator."""
    with _GUARD:
        yield


class UnsafeSideFile(OSError):
    """Raised for a side file that SQLite must not open; the message names the file."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)


def has_files_beside(path: Path) -> bool:
    """Whether a log or any side file of SQLite is beside a database."""
    return any(os.path.lexists(f"{path}{suffix}") for suffix in SUFFIXES)


@guarded()
def check_side_files(path: Path, *, to_write: bool) -> None:
    """Makes sure that SQLite can safely open a database, even if the database does not exist yet.

    Args:
        path: the database, without links: SQLite derives the names of side files from this path.
        to_write: whether SQLite may change the files. SQLite then removes any file with the name of
            a write-ahead log or a journal, even a foreign file.

    Raises:
        UnsafeSideFile: SQLite would wait for ever, or touch a file of another program.
        OSError: a side file cannot be read.
    """
    for suffix in (WAL, SHARED_MEMORY, JOURNAL):
        if (kind := kind_at(f"{path}{suffix}")) is not None:
            raise UnsafeSideFile(f"{path.name}{suffix} is {kind}: expected a plain file, or none")
    if _read(f"{path}{JOURNAL}", -len(_MAGIC)) == _MAGIC:
        raise UnsafeSideFile(
            f"{path.name}{JOURNAL} names another file, which SQLite would delete; remove this"
            " journal, since no recorder has written it"
        )
    if not is_open(path) and (to_write or _has_wal(path)):
        _check_begins(path, SHARED_MEMORY, _SHARED_STARTS, "an index of a write-ahead log")
    if to_write:
        _check_begins(path, WAL, _WAL_MAGICS, "a write-ahead log")
        _check_begins(path, JOURNAL, (_MAGIC, b"\0"), "a journal")


def check_plain(path: Path) -> None:
    """Makes sure that a database to write is a plain file, or does not exist yet.

    Raises:
        UnsafeSideFile: the path is something else, for example a symbolic link, which could lead to
            any file.
    """
    if (kind := kind_at(path)) is not None:
        raise UnsafeSideFile(f"{path.name} is {kind}: expected a plain file, or none")


def may_be_rolled_back(path: Path, application_id: int) -> bool:
    """Whether a rollback journal beside a database may come from a killed acp-proxy process.

    Args:
        path: the database, without links; its side files have been checked.
        application_id: the id in the header of our databases.
    """
    header = _read(path, 100)
    is_begun = path.stat().st_size > int.from_bytes(header[16:18], "big")
    stored_id = int.from_bytes(header[_APPLICATION_ID : _APPLICATION_ID + 4], "big")
    return (stored_id == application_id or (stored_id == 0 and not is_begun)) and has_journal(path)


def has_journal(path: Path) -> bool:
    """Whether a rollback journal is beside a database. An empty or foreign file does not count."""
    return _read(f"{path}{JOURNAL}", len(_MAGIC)) == _MAGIC


@guarded()
def needs_no_side_file(path: Path) -> bool:
    """Whether SQLite can read a database without side files, and so changes no side file.

    True if a foreign file has the name of the write-ahead log. Also true if the database requires
    this log, but the log is missing.
    """
    if is_open(path) or _has_wal(path):
        return False
    return os.path.lexists(f"{path}{WAL}") or _read(path, 20)[18:] == _WAL_MODE


def _has_wal(path: Path) -> bool:
    return _read(f"{path}{WAL}", len(_WAL_MAGICS[0])) in _WAL_MAGICS


def _check_begins(path: Path, suffix: str, starts: tuple[bytes, ...], what: str) -> None:
    start = _read(f"{path}{suffix}", max(map(len, starts)))
    # SQLite cuts the index to three bytes before it makes a new index.
    if start and not any(known.startswith(start[: len(known)]) for known in starts):
        raise UnsafeSideFile(
            f"{path.name}{suffix} is not {what}, and SQLite would change or remove it"
        )


def _read(path: Path | str, size: int) -> bytes:
    """Reads the start of a file, or its end if ``size`` is negative.

    Returns no bytes if the file is missing, or if it is shorter than the requested end.
    """
    try:
        fd = os.open(path, os.O_RDONLY | system.PLAIN)
    except FileNotFoundError:
        return b""
    try:
        place = os.fstat(fd).st_size + size if size < 0 else 0
        if place < 0:
            return b""
        os.lseek(fd, place, os.SEEK_SET)
        return os.read(fd, abs(size))
    finally:
        os.close(fd)
