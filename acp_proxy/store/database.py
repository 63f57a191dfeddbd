"""Opens recordings: for the one who writes, and safely for everyone who reads."""

import contextlib
import os
import sqlite3
from pathlib import Path

from acp_proxy.errors import (
    DamagedRecording,
    NewerRecording,
    NotARecording,
    UnreadableRecording,
)
from acp_proxy.store.plain_files import open_plain
from acp_proxy.store.schema import APPLICATION_ID, VERSION

_LARGEST_VALUE = 2_000_000_000
_MAGIC = b"SQLite format 3\0"


def create(path: Path, *, fsync: bool = False) -> sqlite3.Connection:
    """Opens the database at ``path`` for writing, making and migrating it as needed.

    A power cut is only feared with ``fsync``: what was handed to the system survives everything
    else, and the log is there until the database is whole.

    Raises:
        sqlite3.Error: it cannot be made, is locked, or the disk is full.
    """
    if not path.exists():
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, timeout=0.1, check_same_thread=False)
    try:
        connection.execute("PRAGMA secure_delete=OFF")
        connection.execute(f"PRAGMA synchronous={'FULL' if fsync else 'OFF'}")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA cache_size=-1024")
        # The write-ahead log counts towards --max-size; a small one costs no time.
        connection.execute("PRAGMA wal_autocheckpoint=64")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection) -> None:
    """Brings a database up to this version of the program.

    Raises:
        sqlite3.Error: it is not ours, or cannot be written.
    """
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    ours = connection.execute("PRAGMA application_id").fetchone()[0]
    if ours != APPLICATION_ID and not is_empty(connection):
        raise sqlite3.DatabaseError("it is a SQLite database of something else")
    # First of all, since a reader, or a crash, may come between: the file is ours and still empty.
    connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
    from sqlite_utils import Database

    from acp_proxy.store.migrations import migrations

    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA user_version={VERSION}")


def close(connection: sqlite3.Connection) -> None:
    """Closes a database that is whole: one plain file, without write-ahead log.

    A reader that has it open at this moment keeps the write-ahead log; the next one folds it in.
    """
    with contextlib.suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def fold(path: Path) -> None:
    """Makes one plain file of a whole recording whose write-ahead log stayed, if that can be."""
    with contextlib.suppress(sqlite3.Error):
        close(sqlite3.connect(path, timeout=0.1))


def open_readonly(path: Path, *, immutable: bool = False) -> sqlite3.Connection:
    """Opens a recording's database to read it, whoever made it.

    Nothing in the file can write, load or call anything: the file is opened read-only, its schema
    is not trusted, and what is decoded has a limit. ``immutable`` is for a place where nothing can
    be made beside the file; it is tried by itself.

    Raises:
        NotARecording: it is no SQLite file, or not one of ours.
        NewerRecording: a newer acp-proxy made it.
        UnreadableRecording: it is one of ours and damaged, or locked.
    """
    _check_header(path)
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable={int(immutable)}"
    connection = sqlite3.connect(uri, uri=True, timeout=2.0, check_same_thread=False)
    try:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        ours = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        empty = version == 0 and ours in (0, APPLICATION_ID) and is_empty(connection)
    except (sqlite3.Error, UnicodeDecodeError) as e:
        connection.close()
        if not immutable and _is_refused(path, e):
            return open_readonly(path, immutable=True)
        raise unreadable(path, e) from None
    if empty:
        return connection
    if ours != APPLICATION_ID:
        connection.close()
        raise NotARecording(path, "it is a SQLite database of something else")
    if version > VERSION:
        connection.close()
        raise NewerRecording(path, version, VERSION)
    return connection


def is_sqlite(path: Path) -> bool:
    """Whether there is a file that begins as SQLite's do; False if it cannot be read."""
    try:
        with open_plain(path) as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def _is_refused(path: Path, error: Exception) -> bool:
    """Whether a whole file could not be opened, because nothing can be made beside it."""
    if not isinstance(error, sqlite3.OperationalError) or "locked" in str(error):
        return False
    wal = Path(f"{path}-wal")
    return not wal.exists() or not wal.stat().st_size


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether its recorder died before it had made the tables, which appear all at once."""
    return not connection.execute(
        "SELECT 1 FROM main.sqlite_master WHERE tbl_name != '_sqlite_migrations'"
    ).fetchone()


def unreadable(path: Path, error: Exception) -> UnreadableRecording:
    """What an error that SQLite raised in reading means for the recording."""
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return UnreadableRecording(path, "another program has locked it; try again")
    if isinstance(error, OSError):
        return UnreadableRecording(path, (error.strerror or str(error)).lower())
    return DamagedRecording(path, str(error))


def _check_header(path: Path) -> None:
    try:
        with open_plain(path) as file:
            start = file.read(len(_MAGIC))
    except OSError as e:
        raise NotARecording(path, (e.strerror or str(e)).lower()) from None
    if start and start != _MAGIC:
        raise NotARecording(path, "it is not a SQLite database")
