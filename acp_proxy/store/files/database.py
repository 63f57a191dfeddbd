"""Opens recordings: for their one writer, and safely for every reader; makes those of imports.

Every connection to a file is made here, after a check of the files beside it.
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
    has_files_beside,
    has_journal,
    may_be_rolled_back,
    needs_no_side_file,
    real_path,
)
from acp_proxy.store.tables.checked_values import LineTooLarge, is_too_large
from acp_proxy.store.tables.schema import APPLICATION_ID, VERSION, ForeignTables, check_tables

SQLITE_VERSION = sqlite3.sqlite_version
"""Of the library that reads recordings."""
BROKEN = (sqlite3.Error, ValueError, ArithmeticError, MemoryError, OSError)
"""What reading a foreign or damaged file raises."""
MAGIC = b"SQLite format 3\0"
"""The beginning of a database file."""
_STEPS = 100_000
"""Instructions of SQLite's virtual machine between two looks for Ctrl-C; about 2 ms."""


def create(path: Path) -> sqlite3.Connection:
    """Opens a database for writing; makes and migrates it as needed.

    Args:
        path: the database.

    Raises:
        sqlite3.Error: it cannot be made, is locked, or the disk is full.
        OSError: it is no plain file, or SQLite must not find a file beside it.
    """
    check_plain(path)
    if not path.exists():
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | system.PLAIN
        os.close(os.open(path, flags, 0o600))
    connection = open_for_writing(path, timeout=0.1)
    with _closed_on_failure(connection):
        connection.execute("PRAGMA secure_delete=ON")  # what is masked later must leave no trace
        connection.execute("PRAGMA synchronous=OFF")  # what a crash loses is in the log
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA cache_size=-1024")
        # The write-ahead log counts towards --max-size; a small one costs no time.
        connection.execute("PRAGMA wal_autocheckpoint=64")
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
    """Opens an existing database for writing; SQLite recovers what a killed writer left.

    Args:
        path: the database, a plain file.
        timeout: seconds to wait for a lock.

    Raises:
        sqlite3.Error, OSError: as `create`.
    """
    real = real_path(path)
    check_plain(real)
    check_side_files(real, to_write=True)
    uri = f"{real.as_uri()}?mode=rw"
    connection = sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False)
    with _closed_on_failure(connection):
        connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def allow_interrupts(connection: sqlite3.Connection) -> None:
    """Lets Ctrl-C end a running statement, which then fails; see `unreadable`.

    Python handles a signal only while it runs code of its own, such as this handler.
    """
    connection.set_progress_handler(lambda: 0, _STEPS)


def raise_if_interrupted(error: Exception) -> None:
    """Raises `KeyboardInterrupt` if that is why a statement has failed."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
        raise KeyboardInterrupt


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
    if is_empty(connection):
        # This comes first: to a reader that comes now, or after a crash, it is ours and empty.
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        _empty().backup(connection)  # at once: no reader sees a part of it
    else:
        _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    from sqlite_utils import Database

    from acp_proxy.store.tables.migrations import migrations

    migrations.apply(Database(connection, execute_plugins=False))
    connection.execute(f"PRAGMA user_version={VERSION}")


def close(connection: sqlite3.Connection) -> None:
    """Closes a whole database: one plain file, without write-ahead log.

    The write-ahead log stays if a reader has the database open; the next one folds it in. It also
    stays beside a foreign journal, which SQLite would take for its own.
    """
    with contextlib.suppress(sqlite3.OperationalError, OSError):
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        file = connection.execute("PRAGMA database_list").fetchone()[2]
        check_side_files(Path(file), to_write=True)
        connection.execute("PRAGMA journal_mode=DELETE")
    connection.close()


def fold(path: Path) -> None:
    """Makes one plain file of a whole recording whose write-ahead log stayed, if possible."""
    with contextlib.suppress(sqlite3.Error, OSError):
        close(open_for_writing(path, timeout=0.1))


def open_readonly(
    path: Path, *, immutable: bool = False, in_use: bool = False
) -> sqlite3.Connection:
    """Opens a recording's database to read it; nothing in the file can write or call anything.

    It is opened read-only, its schema is not trusted, and values have a limit. Foreign files beside
    it are not opened.

    Args:
        path: the database.
        immutable: whether to open no file beside it; used by itself where none can be made.
        in_use: whether its recorder, or a reader that finishes it, may be writing to it.

    Raises:
        NotARecording: it is no SQLite file, or not one of ours.
        NewerRecording: a newer acp-proxy made it.
        UnreadableRecording: it is damaged or locked, or a file beside it is in the way.
    """
    _check_header(path)
    real = real_path(path)
    try:
        check_side_files(real, to_write=False)
        immutable = immutable or (not in_use and needs_no_side_file(real))
    except OSError as e:
        raise unreadable(path, e) from None
    uri = f"{real.as_uri()}?mode=ro&immutable={int(immutable)}"
    connection = sqlite3.connect(uri, uri=True, timeout=2.0, check_same_thread=False)
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
            raise NotARecording(path, "it is a SQLite database of something else")
        if version > VERSION:
            raise NewerRecording(path, version, VERSION)
        try:
            check_tables(connection)
        except (sqlite3.Error, UnicodeDecodeError) as e:
            raise unreadable(path, e) from None
    return connection


def is_sqlite(path: Path) -> bool:
    """Whether a file begins as those of SQLite do; False if it cannot be read."""
    try:
        with open_plain(path) as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _is_refused(path: Path, error: Exception) -> bool:
    """Whether a whole file could not be opened, because nothing can be made beside it."""
    if not isinstance(error, sqlite3.OperationalError) or "locked" in str(error):
        return False
    wal = Path(f"{path}{WAL}")
    return not wal.exists() or not wal.stat().st_size


def _is_interrupted_write(error: Exception) -> bool:
    """Whether a transaction has to be rolled back before anything can be read."""
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK


def _roll_back(path: Path) -> bool:
    """Lets SQLite undo what a killed writer of ours has begun; False if it may not."""
    try:
        if not may_be_rolled_back(path, APPLICATION_ID):
            return False
        with contextlib.closing(open_for_writing(path, timeout=2.0)) as connection:
            connection.execute("PRAGMA application_id").fetchone()
    except (sqlite3.Error, OSError):
        return False
    return not Path(f"{path}{JOURNAL}").exists()


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether its recorder died before it had made the tables, which appear all at once."""
    return not connection.execute(
        "SELECT 1 FROM main.sqlite_master WHERE tbl_name != '_sqlite_migrations'"
    ).fetchone()


def unreadable(path: Path, error: Exception) -> UnreadableRecording:
    """Returns the error to raise for one that reading a recording has raised.

    Args:
        path: the recording.
        error: what was raised.

    Raises:
        KeyboardInterrupt: Ctrl-C has ended the statement.
    """
    raise_if_interrupted(error)
    if is_too_large(error):
        most = f"{WHOLE_VALUE >> 20} MiB, or a name or label than {LABEL >> 20} MiB"
        return UnreadableRecording(path, f"a value in it is larger than {most}")
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return UnreadableRecording(path, "another program has locked it; try again")
    if _is_interrupted_write(error):
        return UnreadableRecording(path, "a program that was killed has left a change of it half "
                                   f"done, in {path.name}{JOURNAL}")  # fmt: skip
    if isinstance(error, OSError):
        return UnreadableRecording(path, reason(error))
    if isinstance(error, LineTooLarge):
        return UnreadableRecording(path, str(error))
    return DamagedRecording(path, str(error), is_foreign=isinstance(error, ForeignTables))


def _check_header(path: Path) -> None:
    try:
        with open_plain(path) as file:
            start = file.read(len(MAGIC))
            is_other = bool(start) and start != MAGIC
            head = start + file.read(LOG_HEAD) if is_other else b""
    except OSError as e:
        raise NotARecording(path, reason(e)) from None
    if is_other:
        from acp_proxy.imports.log_formats import import_hint

        raise NotARecording(path, "it is not a SQLite database" + import_hint(head))


def new_rows(where: str | Path = "") -> sqlite3.Connection:
    """Opens an empty database to fill at one go; without a path a temporary one of our own.

    A failure leaves it unusable, so only a file that no other program can see yet is made this way.
    """
    connection = sqlite3.connect(where, check_same_thread=False)
    with _closed_on_failure(connection):
        for pragma in ("journal_mode=MEMORY", "secure_delete=ON", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        _empty().backup(connection)
    return connection


@cache
def _empty() -> sqlite3.Connection:
    """An empty database; a copy of it takes a fortieth of the time of a new one."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    atexit.register(connection.close)
    _migrate(connection)
    return connection


@contextmanager
def new_file(directory: Path) -> Iterator[Path]:
    """Returns an empty file, for its owner alone, which the block fills and `place` moves.

    Args:
        directory: where it is.

    Raises:
        OSError: nothing can be made there, or what was raised by SQLite. The file is removed.
    """
    import tempfile  # which a reader does without

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
    """Turns any name into one that a file may have."""
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return plain.strip("-.")[:60] or "recording"


def place(made: Path, target: Path) -> Path:
    """Moves a database to a free name, such as ``NAME-2.db``, and returns its path.

    Args:
        made: the database.
        target: where it goes if that is free.
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
