"""Checks the files that SQLite finds beside a database by their names, before SQLite gets its path.

They may come with the archive of a bug report. A pipe makes SQLite wait for ever. A rollback
journal may name a second file, the super-journal of a transaction over several databases: SQLite
deletes that file, wherever it is, once the journal is rolled back. No recorder writes such a
journal, since a recording is one database.
"""

import errno
import os
import struct
from pathlib import Path

from acp_proxy.base import system
from acp_proxy.base.plain_files import kind_at
from acp_proxy.recording.file_names import LOG_SUFFIX, SQLITE_SUFFIXES

WAL, SHARED_MEMORY, JOURNAL = SQLITE_SUFFIXES
SUFFIXES = (LOG_SUFFIX, *SQLITE_SUFFIXES)
"""What the names of files end with that are beside a database until it is complete and closed."""
_MAGIC = bytes.fromhex("d9d505f920a163d7")
"""Begins a rollback journal, and ends one that names a super-journal."""
_WAL_MAGICS = (bytes.fromhex("377f0682"), bytes.fromhex("377f0683"))
_SHARED_STARTS = (struct.pack("=I", 3007000), b"\0")
"""The version at its start, in the machine's byte order; or nothing yet."""
_APPLICATION_ID = 68
"""Its offset in a database's header."""
_WAL_MODE = b"\2\2"


class UnsafeSideFile(OSError):
    """Raised for a file beside a database that SQLite must not open; the message names it."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)


def has_files_beside(path: Path) -> bool:
    """Whether a log or a file of SQLite is beside a database, whatever kind of file it is."""
    return any(os.path.lexists(f"{path}{suffix}") for suffix in SUFFIXES)


def real_path(path: Path) -> Path:
    """The path beside which SQLite looks for a database's side files: it follows links."""
    return path.resolve()


def check_side_files(path: Path, *, to_write: bool) -> None:
    """Makes sure that SQLite may open a database, whether or not it exists.

    Args:
        path: the database, as `real_path` returns it.
        to_write: whether SQLite may change its files. It removes a write-ahead log and a journal
            even if they are something else of that name.

    Raises:
        UnsafeSideFile: SQLite would wait for ever, or touch another file than the recording's.
        OSError: a side file cannot be read.
    """
    for suffix in (WAL, SHARED_MEMORY, JOURNAL):
        if (kind := kind_at(_beside(path, suffix))) is not None:
            raise UnsafeSideFile(f"{path.name}{suffix} is {kind}: expected a plain file, or none")
    if _read(_beside(path, JOURNAL), -len(_MAGIC)) == _MAGIC:
        raise UnsafeSideFile(
            f"{path.name}{JOURNAL} names another file, which SQLite would delete; no recorder has"
            " written it, so remove it"
        )
    if to_write or _has_wal(path):
        _check_begins(path, SHARED_MEMORY, _SHARED_STARTS, "index of a write-ahead log")
    if to_write:
        _check_begins(path, WAL, _WAL_MAGICS, "write-ahead log")
        _check_begins(path, JOURNAL, (_MAGIC, b"\0"), "journal")


def check_plain(path: Path) -> None:
    """Makes sure that a database that is to be written is a plain file, or not there yet.

    Raises:
        UnsafeSideFile: it is something else; a symbolic link may lead to any file.
    """
    if (kind := kind_at(path)) is not None:
        raise UnsafeSideFile(f"{path.name} is {kind}: expected a plain file, or none")


def may_be_rolled_back(path: Path, application_id: int) -> bool:
    """Whether a killed writer of ours may have left a database's rollback journal.

    Args:
        path: the database, as `real_path` returns it; its side files have been checked.
        application_id: of our databases.
    """
    header = _read(path, 100)
    is_begun = path.stat().st_size > int.from_bytes(header[16:18], "big")
    found = int.from_bytes(header[_APPLICATION_ID : _APPLICATION_ID + 4], "big")
    return (found == application_id or (found == 0 and not is_begun)) and has_journal(path)


def has_journal(path: Path) -> bool:
    """Whether a rollback journal is beside a database, and not another file of that name."""
    return _read(_beside(path, JOURNAL), len(_MAGIC)) == _MAGIC


def needs_no_side_file(path: Path) -> bool:
    """Whether SQLite would make or change files beside a database although they are empty.

    That is so if its header asks for a write-ahead log and there is none, or a foreign file.
    """
    if _has_wal(path):
        return False
    return os.path.lexists(_beside(path, WAL)) or _read(path, 20)[18:] == _WAL_MODE


def _has_wal(path: Path) -> bool:
    return _read(_beside(path, WAL), len(_WAL_MAGICS[0])) in _WAL_MAGICS


def _check_begins(path: Path, suffix: str, starts: tuple[bytes, ...], what: str) -> None:
    start = _read(_beside(path, suffix), max(map(len, starts)))
    # SQLite cuts the index to three bytes before it makes a new one.
    if start and not any(one.startswith(start[: len(one)]) for one in starts):
        raise UnsafeSideFile(
            f"{path.name}{suffix} is no {what}, and SQLite would change or remove it"
        )


def _beside(path: Path, suffix: str) -> str:
    return f"{path}{suffix}"  # a list of a thousand recordings looks for thousands of them


def _read(path: Path | str, size: int) -> bytes:
    """Reads the start of a file, or with a negative size its end; nothing if it does not exist.

    Nothing is read from a file that is too short for such an end: while a journal is being made, it
    gets its start.
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
