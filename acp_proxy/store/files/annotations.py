"""Edits the note of a recording. A note may have parts about rows; see `recording.notes`.

A note can be written while the recorder runs: the recorder never overwrites notes, and the database
is locked only briefly. The modification time of the file is restored, since pruning uses it.
"""

import contextlib
import os
import shutil
import sqlite3
import tempfile
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from acp_proxy.base.errors import CannotAnnotate
from acp_proxy.base.plain_files import reason
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.notes import changed_note
from acp_proxy.recording.text_form.text_header import write_header
from acp_proxy.recording.text_form.text_reader import is_remark
from acp_proxy.store.copies.text_import import header_of, is_text_form
from acp_proxy.store.files import database
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.schema import check_tables

_PATIENCE_S = 2.0


def set_note(path: Path, note: str | None) -> None:
    """Writes notes into a recording. Adds the column for notes if the database lacks the column.

    Args:
        path: the recording.
        note: a text that may contain notes for several rows (see `changed_note`). Each note
            replaces the old note of its row. None removes all notes.

    Raises:
        CannotAnnotate: the note cannot be written now; a later attempt may succeed.
        UnreadableRecording: the recording cannot be read.
    """
    with _times_kept(path), _errors_named(path):
        if is_text_form(path):
            _edit_header(path, note)
        else:
            _edit_row(path, note)


def _edit_row(path: Path, note: str | None) -> None:
    with RecordingReader(path, unredacted=True) as reader:  # finishes the work of a dead recorder
        known = reader.recording.id
    if not path.exists() or not path.stat().st_size:
        raise CannotAnnotate(path, "its recorder has only just started; try again")
    with contextlib.closing(database.open_for_writing(path, timeout=_PATIENCE_S)) as connection:
        database.allow_interrupts(connection)
        check_tables(connection)
        database.migrate(connection)
        with connection:
            connection.execute("BEGIN IMMEDIATE")  # two notes at the same time are both kept
            row = connection.execute("SELECT note FROM recording WHERE id = ?", (known,)).fetchone()
            if row is None:
                raise CannotAnnotate(path, "its recorder has only just started; try again")
            update = "UPDATE recording SET note = ? WHERE id = ?"
            connection.execute(update, (changed_note(row[0], note), known))


def _edit_header(path: Path, note: str | None) -> None:
    """Writes a text form with a new header to a new file, which then replaces the old file."""
    old = header_of(path)
    header = write_header(evolve(old, note=changed_note(old.note, note)))
    fd, made = tempfile.mkstemp(prefix=f".{path.name[:40]}.", dir=path.parent)
    try:
        with open(fd, "wb") as target, path.open("rb") as source:  # noqa: PTH123  a descriptor
            line = source.readline()
            if line.startswith(BOM_UTF8):
                target.write(BOM_UTF8)
                line = line.removeprefix(BOM_UTF8)
            while is_remark(line):
                target.write(line)
                line = source.readline()
            target.write(header)
            shutil.copyfileobj(source, target)
        shutil.copymode(path, made)
        Path(made).replace(path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _times_kept(path: Path) -> Iterator[None]:
    """Restores a file's modification time after the block, unless a recorder writes to the file."""
    before = path.stat() if path.exists() else None
    yield
    if before is not None and not Path(f"{path}{LOG_SUFFIX}").exists():
        with contextlib.suppress(OSError):
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@contextlib.contextmanager
def _errors_named(path: Path) -> Iterator[None]:
    """Converts errors of SQLite and the system to errors that name the recording."""
    try:
        yield
    except OSError as e:
        raise CannotAnnotate(path, reason(e)) from None
    except sqlite3.OperationalError as e:
        database.raise_if_interrupted(e)
        if "locked" in str(e) or "busy" in str(e):
            raise CannotAnnotate(path, "another program has locked it; try again") from None
        raise CannotAnnotate(path, str(e)) from None
    except (sqlite3.Error, UnicodeError) as e:
        raise database.unreadable(path, e) from None
