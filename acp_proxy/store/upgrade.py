"""Copies an older recording as a recorder of today would have made it: its columns and its views.

The rows are copied page by page, so they are what they were. The copy appears when it is whole.
"""

import contextlib
import errno
import os
import sqlite3
import tempfile
from pathlib import Path

from attrs import frozen

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.errors import UnreadableRecording
from acp_proxy.store import database
from acp_proxy.store.reader import RecordingReader, is_text
from acp_proxy.store.schema import check_tables
from acp_proxy.store.side_files import SUFFIXES
from acp_proxy.store.stored_views import STORED_VIEWS

_PAGES = 4096
"""Pages that are copied at a time; between two of them Ctrl-C ends it."""


@frozen
class Upgrade:
    """What a copy has that the recording has not."""

    version: int
    """The format of the recording."""
    views: tuple[str, ...]
    """Views that are new, or not as they were."""


def upgrade(path: Path, output: Path) -> Upgrade:
    """Makes a copy of a recording with the tables and views of this version, for its owner alone.

    Args:
        path: the recording, a database.
        output: the copy, of which there is no file yet.

    Raises:
        UnreadableRecording: it cannot be read, has not ended, or is no database.
        OSError: no copy can be made there, or there is such a file. Nothing is left.
    """
    if is_text(path):
        raise UnreadableRecording(path, "it is the text form, of which `inspect import` makes a"
                                  " database")  # fmt: skip
    with RecordingReader(path, unredacted=True) as reader:  # which moves what is left in a log
        if reader.live:
            raise UnreadableRecording(path, "it is still being recorded")
    if Path(f"{path}{LOG_SUFFIX}").exists():
        raise UnreadableRecording(path, f"a part of it is still in {path.name}{LOG_SUFFIX}")
    if beside := [f"{output}{s}" for s in ("", *SUFFIXES) if os.path.lexists(f"{output}{s}")]:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), beside[0])
    fd, made = tempfile.mkstemp(prefix=".", suffix=".upgrade", dir=output.parent)
    os.close(fd)
    try:
        try:
            with (
                contextlib.closing(database.open_readonly(path)) as source,
                contextlib.closing(sqlite3.connect(made)) as target,
            ):
                source.backup(target, pages=_PAGES, progress=lambda *_: None)
            done = _renew(Path(made))
        except (sqlite3.Error, UnicodeDecodeError) as e:
            raise database.unreadable(path, e) from None
        output.touch(0o600, exist_ok=False)
        Path(made).replace(output)
    finally:
        Path(made).unlink(missing_ok=True)
    return done


def _renew(path: Path) -> Upgrade:
    connection = database.open_for_writing(path, timeout=0.1)
    try:
        check_tables(connection)
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        database.migrate(connection)
        before = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
        with connection:
            connection.execute("BEGIN")
            for name in before.keys() & STORED_VIEWS.keys():
                connection.execute(f"DROP VIEW {name}")
            for name, select in STORED_VIEWS.items():
                connection.execute(f"CREATE VIEW {name} AS {select}")
        after = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'view'"))
    except BaseException:
        connection.close()
        raise
    database.close(connection)
    changed = [name for name in STORED_VIEWS if _words(before.get(name)) != _words(after[name])]
    return Upgrade(version, tuple(changed))


def _words(sql: str | None) -> str:
    """A statement without what is only written differently."""
    return " ".join((sql or "").replace("[", "").replace("]", "").replace('"', "").split())
