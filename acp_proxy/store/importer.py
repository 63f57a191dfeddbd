"""Makes databases from the text form, whole or not at all."""

import atexit
import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterable
from contextlib import closing
from functools import cache
from pathlib import Path

from acp_proxy.capture.files import LOG_SUFFIX, SQLITE_SUFFIXES, candidates
from acp_proxy.store import database
from acp_proxy.store.transcript import read_transcript


def new_rows(where: str | Path = "") -> sqlite3.Connection:
    """Opens an empty database to fill at one go; without a path a temporary one of our own.

    What goes wrong leaves it unusable, so only what nobody else can see yet is made this way.

    Raises:
        sqlite3.Error: it cannot be made.
    """
    connection = sqlite3.connect(where, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode=MEMORY")
        connection.execute("PRAGMA synchronous=OFF")
        _empty().backup(connection)
    except BaseException:
        connection.close()
        raise
    return connection


@cache
def _empty() -> sqlite3.Connection:
    """An empty database; a copy of it takes a fortieth of the time that a new one takes."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    atexit.register(connection.close)
    database.migrate(connection)
    return connection


def import_transcript(
    source: Iterable[bytes],
    path: Path,
    directory: Path,
    *,
    stem: str | None = None,
    name: str | None = None,
) -> Path:
    """Makes a database from the text form of a recording, for its owner alone.

    Args:
        source: the lines of the text.
        path: where it comes from, for complaints.
        directory: where the database goes.
        stem: its name there, without ``.db``; by default the recording's own name. What is there
            is never touched: the database is then ``STEM-2.db``.
        name: a name for the recording in place of the one it has.

    Returns:
        Where the database is.

    Raises:
        UnreadableRecording: the text is wrong somewhere. Nothing is left.
        OSError: it cannot be read, or nothing can be made there. Nothing is left.
    """
    fd, made = tempfile.mkstemp(prefix=".", suffix=".import", dir=directory)
    os.close(fd)
    try:
        with closing(new_rows(made)) as connection:
            recording = read_transcript(source, path, connection, name=name)
        return _place(Path(made), directory / f"{stem or _plain(recording.name)}.db")
    except sqlite3.Error as e:
        Path(made).unlink(missing_ok=True)
        raise OSError(errno.EIO, str(e)) from None
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def _plain(name: str) -> str:
    """A name that anybody may have chosen, as one that a file may have."""
    plain = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return plain.strip("-.")[:60] or "recording"


def _place(made: Path, target: Path) -> Path:
    """Moves a database to where nothing is."""
    for candidate in map(Path, candidates(str(target))):
        if any(os.path.lexists(f"{candidate}{s}") for s in (LOG_SUFFIX, *SQLITE_SUFFIXES)):
            continue
        try:
            candidate.touch(0o600, exist_ok=False)
        except FileExistsError:
            continue
        return made.replace(candidate)
    raise FileExistsError(errno.EEXIST, "no free name is left")
