"""Opens the databases of recordings, either for their only writer or for safe reading.

The module makes every connection to a database file, after a check of the files beside the
database. Imports also create their databases here.
"""

import atexit
import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from acp_proxy.base import system
from acp_proxy.base.errors import (
    DamagedRecording,
    NewerRecording,
    NotARecording,
    UnreadableRecording,
)
from acp_proxy.base.limits import LABEL, LOG_HEAD, WHOLE_VALUE
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.recording.file_names import candidates
from acp_proxy.store.files.side_files import (
    JOURNAL,
    WAL,
    check_plain,
    check_side_files,
    connect,
    guarded,
    has_files_beside,
    has_journal,
    is_open,
    may_be_rolled_back,
    needs_no_side_file,
)
from acp_proxy.store.tables.checked_values import LineTooLarge, is_too_large
from acp_proxy.store.tables.schema import APPLICATION_ID, VERSION, ForeignTables, check_tables

SQLITE_VERSION = sqlite3.sqlite_version
"""The version of the SQLite library."""
BROKEN = (sqlite3.Error, ValueError, ArithmeticError, MemoryError, OSError)
"""The errors that reading a foreign or damaged file can raise."""
MAGIC = b"SQLite format 3\0"
"""The first bytes of a database file."""
_STEPS = 100_000
"""The number of instructions that SQLite's virtual machine runs, in about 2 ms, between two checks
for Ctrl-C."""


def create(path: Path) -> sqlite3.Connection:
    """Opens a database for writing; creates and migrates it if needed.

    Args:
        path: the database.

    Raises:
        sqlite3.Error: the database cannot be created or is locked, or the disk is full.
        OSError: the path is not a plain file, or there is an unsafe file beside it.
    """
    check_plain(path)
    if not path.exists():
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | system.PLAIN
        os.close(os.open(path, flags, 0o600))
    connection = open_for_writing(path, timeout=0.1)
    with _closed_on_failure(connection):
        connection.execute("PRAGMA secure_delete=ON")  # secrets masked later must leave no trace
        connection.execute("PRAGMA synchronous=OFF")  # rows that a crash loses are in the log
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA cache_size=-1024")
        # The write-ahead log counts towards --max-size; a small one costs no time.
        connection.execute("PRAGMA wal_autocheckpoint=64")
        connection.execute("PRAGMA journal_size_limit=1048576")  # after a reader has held it up
        check_tables(connection)
        migrate(connection)
    return connection


@contextmanager
def _closed_on_failure(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def open_for_writing(path: Path, *, timeout: float) -> sqlite3.Connection:
    """Opens an existing database for writing. If a writer was killed, SQLite recovers the file.

    Args:
        path: the database, a plain file.
        timeout: seconds to wait for a lock.

    Raises:
        sqlite3.Error, OSError: as for `create`.
    """
    real = path.resolve()
    check_plain(real)
    check_side_files(real, to_write=True)
    connection = connect(real, "mode=rw", timeout)
    with _closed_on_failure(connection):
        connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def allow_interrupts(connection: sqlite3.Connection) -> None:
    """Makes Ctrl-C interrupt a running statement; see `unreadable`.

    Python handles signals only while it runs Python code. So SQLite regularly calls a
    Python function that does nothing.
    """
    connection.set_progress_handler(lambda: 0, _STEPS)


def raise_if_interrupted(error: Exception) -> None:
    """Raises `KeyboardInterrupt` if a statement failed because of Ctrl-C."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        raise KeyboardInterrupt


def migrate(connection: sqlite3.Connection) -> None:
    """Upgrades a database to the schema of this version.

    Raises:
        sqlite3.Error: the file is not a database of acp-proxy, or the file cannot be written.
    """
    if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
        return
    ours = connection.execute("PRAGMA application_id").fetchone()[0]
    if ours != APPLICATION_ID and not is_empty(connection):
        raise sqlite3.DatabaseError("it is a SQLite database of another program")
    if is_empty(connection):
        # The id comes first: a reader that opens the file now, or after a crash, recognizes the
        # file.
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        _empty().backup(connection)  # atomic: no reader sees a part of the schema
    else:
        _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    from sqlite_utils import Database

    from acp_proxy.store.tables.migrations import migrations

    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA user_version={VERSION}")


def close(connection: sqlite3.Connection) -> None:
    """Closes a complete database, and leaves one plain file without a write-ahead log.

    The write-ahead log stays in two cases:

    - A reader has the database open. The next reader merges the log into the database.
    - There is a foreign journal, which SQLite would mistake for its own.
    """
    with contextlib.suppress(sqlite3.OperationalError, OSError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file = connection.execute("PRAGMA database_list").fetchone()[2]
        check_side_files(Path(file), to_write=True)
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def fold(path: Path) -> None:
    """Merges the write-ahead log of a complete recording into the database, if possible."""
    with contextlib.suppress(sqlite3.Error, OSError):
        close(open_for_writing(path, timeout=0.1))


def open_readonly(
    path: Path, *, immutable: bool = False, in_use: bool = False
) -> sqlite3.Connection:
    """Opens a recording's database for reading. The file cannot make SQLite write or call anything.

    The connection is read-only, the schema is not trusted, and values have a maximum size. Foreign
    files beside the database are not opened.

    Args:
        path: the database.
        immutable: whether to open the database without side files. Use this where SQLite cannot
            create side files.
        in_use: whether the recorder, or a reader that finishes the recording, may be writing to the
            database.

    Raises:
        NotARecording: the file is not a SQLite database, or not a database of acp-proxy.
        NewerRecording: a newer version of acp-proxy made the file.
        UnreadableRecording: the file is damaged or locked, or there is an unsafe file beside it.
    """
    _check_header(path)
    real = path.resolve()
    try:
        check_side_files(real, to_write=False)
        immutable = immutable or (not in_use and needs_no_side_file(real))
    except OSError as e:
        raise unreadable(path, e) from None
    connection = connect(real, f"mode=ro&immutable={int(immutable)}", 2.0)
    try:
        for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, WHOLE_VALUE + 1)
        allow_interrupts(connection)
        connection.execute("BEGIN")  # one snapshot, since its recorder may be writing
        ours = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        empty = version == 0 and ours in (0, APPLICATION_ID) and is_empty(connection)
        connection.commit()
    except (sqlite3.Error, UnicodeDecodeError) as e:
        connection.close()
        if _is_interrupted_write(e) and (in_use or has_journal(real)):
            if _roll_back(real):
                return open_readonly(path, immutable=immutable, in_use=in_use)
        elif not (immutable or in_use) and _is_refused(real, e):
            return open_readonly(path, immutable=True)
        raise unreadable(path, e) from None
    if empty:
        return connection
    with _closed_on_failure(connection):
        if ours != APPLICATION_ID:
            raise NotARecording(path, "it is a SQLite database of another program")
        if version > VERSION:
            raise NewerRecording(path, version, VERSION)
        try:
            check_tables(connection)
        except (sqlite3.Error, UnicodeDecodeError) as e:
            raise unreadable(path, e) from None
    return connection


@guarded()
def is_sqlite(path: Path) -> bool:
    """Whether a file has the header of a SQLite database; False if it cannot be read."""
    if is_open(path):
        return True
    try:
        with open_plain(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _is_refused(path: Path, error: Exception) -> bool:
    """Whether an error means that SQLite cannot create a file beside a complete database."""
    if not isinstance(error, sqlite3.OperationalError) or "locked" in str(error):
        return False
    wal = Path(f"{path}{WAL}")
    return not wal.exists() or not wal.stat().st_size


def _is_interrupted_write(error: Exception) -> bool:
    """Whether an error means that a transaction must be rolled back before any reading."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK


def _roll_back(path: Path) -> bool:
    """Makes SQLite undo the transaction of a killed writer. Returns False if this is not safe."""
    try:
        if is_open(path) or not may_be_rolled_back(path, APPLICATION_ID):
            return False
        with contextlib.closing(open_for_writing(path, timeout=2.0)) as connection:
            connection.execute("PRAGMA application_id").fetchone()
    except (sqlite3.Error, OSError):
        return False
    return not Path(f"{path}{JOURNAL}").exists()


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether a database has no tables: its recorder has not created tables yet, or has died."""
    return not connection.execute(
        "SELECT 1 FROM main.sqlite_master WHERE tbl_name != '_sqlite_migrations'"
    ).fetchone()


def unreadable(path: Path, error: Exception) -> UnreadableRecording:
    """Returns the error to show to the user after the reading of a recording failed.

    Args:
        path: the recording.
        error: the original error.

    Raises:
        KeyboardInterrupt: Ctrl-C has ended the statement.
    """
    raise_if_interrupted(error)
    if is_too_large(error):
        most = f"{WHOLE_VALUE >> 20} MiB, or a name or label is larger than {LABEL >> 20} MiB"
        return UnreadableRecording(path, f"a value in it is larger than {most}")
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return UnreadableRecording(path, "another program has locked it; try again")
    if _is_interrupted_write(error):
        return UnreadableRecording(path, "a program was killed while it changed the file; the "
                                   f"change is half done, in {path.name}{JOURNAL}")  # fmt: skip
    if isinstance(error, OSError):
        return UnreadableRecording(path, reason(error))
    if isinstance(error, LineTooLarge):
        return UnreadableRecording(path, str(error))
    return DamagedRecording(path, str(error), is_foreign=isinstance(error, ForeignTables))


@guarded()
def _check_header(path: Path) -> None:
    if is_open(path):
        return
    try:
        with open_plain(path) as file:
            start = file.read(len(MAGIC))
            is_other = bool(start) and start != MAGIC
            head = start + file.read(LOG_HEAD) if is_other else b""
    except OSError as e:
        raise NotARecording(path, reason(e)) from None
    if is_other:
        from acp_proxy.imports.log_formats import import_hint

        raise NotARecording(path, "it is not a SQLite database" + import_hint(head, str(path)))


def new_rows(where: str | Path = "") -> sqlite3.Connection:
    """Opens an empty database, which the caller fills. Without a path, the database is temporary.

    Other programs must not use the file before it is filled: if a write fails, the database is
    unusable.
    """
    connection = sqlite3.connect(where, check_same_thread=False)
    with _closed_on_failure(connection):
        for pragma in ("journal_mode=MEMORY", "secure_delete=ON", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        _empty(with_views=bool(where)).backup(connection)
    return connection


@cache
def _empty(*, with_views: bool = True) -> sqlite3.Connection:
    """Returns an empty database to copy; a copy is made 40 times as fast as a new database.

    Args:
        with_views: whether the database has the views for users. Without them, a short text form
            is opened in three quarters of the time, since SQLite parses no views.
    """
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    atexit.register(connection.close)
    _migrate(connection)
    views = "SELECT name FROM sqlite_master WHERE type = 'view'"
    for (view,) in () if with_views else connection.execute(views).fetchall():
        connection.execute(f"DROP VIEW {view}")
    return connection


@contextmanager
def new_file(directory: Path) -> Iterator[Path]:
    """Yields an empty file that only its owner can read. The caller fills it, and `place` moves it.

    Args:
        directory: where to create the file.

    Raises:
        OSError: the file cannot be created, or SQLite raised an error. The file is removed.
    """
    import tempfile  # readers do not need it

    fd, name = tempfile.mkstemp(prefix=".", suffix=".import", dir=directory)
    os.close(fd)
    made = Path(name)
    try:
        yield made
    except BaseException as e:
        made.unlink(missing_ok=True)
        if isinstance(e, sqlite3.Error):
            raise OSError(errno.EIO, str(e)) from None
        raise


def plain_name(name: str) -> str:
    """Turns any name into a valid file name."""
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return plain.strip("-.")[:60] or "recording"


def place(made: Path, target: Path) -> Path:
    """Moves a database to a path, or to a free path such as ``NAME-2.db``; returns the new path.

    Args:
        made: the database.
        target: the new path; if it is taken, a similar path is used.
    """
    for candidate in map(Path, candidates(str(target))):
        if has_files_beside(candidate):
            continue
        try:
            candidate.touch(0o600, exist_ok=False)
        except FileExistsError:
            continue
        return made.replace(candidate)
    raise FileExistsError(errno.EEXIST, "no free name is left")
