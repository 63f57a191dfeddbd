"""Makes the database of a recording that is imported: whole, under a free name, or not at all."""

import atexit
import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from acp_proxy.capture.files import candidates
from acp_proxy.store import database
from acp_proxy.store.side_files import has_files_beside


def new_rows(where: str | Path = "") -> sqlite3.Connection:
    """Opens an empty database to fill at one go; without a path a temporary one of our own.

    A failure leaves it unusable, so only a file that no other program can see yet is made this way.
    """
    connection = sqlite3.connect(where, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("PRAGMA secure_delete=ON")
        connection.execute("PRAGMA synchronous=OFF")
        _empty().backup(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@cache
def _empty() -> sqlite3.Connection:
    """An empty database; a copy of it takes a fortieth of the time of a new one."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    atexit.register(connection.close)
    database.migrate(connection)
    return connection


@contextmanager
def new_file(directory: Path) -> Iterator[Path]:
    """Returns an empty file, for its owner alone, which the block fills and `place` moves.

    Args:
        directory: where it is.

    Raises:
        OSError: nothing can be made there, or what was raised by SQLite. The file is removed.
    """
    fd, name = tempfile.mkstemp(prefix=".", suffix=".import", dir=directory)
    os.close(fd)
    made = Path(name)
    try:
        yield made
    except sqlite3.Error as e:
        made.unlink(missing_ok=True)
        raise OSError(errno.EIO, str(e)) from None
    except BaseException:
        made.unlink(missing_ok=True)
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
