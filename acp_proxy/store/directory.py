"""Lists the recordings of a directory, the files of each recording, and its row.

A recording is a database, or a log that will become one, or a text form.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.errors import UnreadableRecording
from acp_proxy.plain_files import is_plain
from acp_proxy.recording import Recording
from acp_proxy.store import damaged_log, database
from acp_proxy.store.reader import RecordingReader, is_text
from acp_proxy.store.rows import Rows
from acp_proxy.store.side_files import SUFFIXES, has_files_beside

TEXT_SUFFIX = ".jsonl"
"""The suffix of text forms; a file with this suffix and another beginning is something else."""


def paths(directory: Path) -> list[Path]:
    """Returns the recordings of a directory; for a log without database, the database's path."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            name = entry.name.removesuffix(LOG_SUFFIX)
            if (name.endswith(".db") and entry.is_file()) or (
                entry.name.endswith(TEXT_SUFFIX)
                and entry.is_file()
                and is_text(directory / entry.name)
            ):
                found.add(name)
    return [directory / name for name in sorted(found)]


def read_recording(path: Path) -> Recording:
    """Reads the row of a recording, of a text only the header; may raise `UnreadableRecording`."""
    if is_text(path):
        from acp_proxy.store.text_import import header_of

        return header_of(path)
    if has_files_beside(path):
        with RecordingReader(path, unredacted=True) as reader:
            return reader.recording
    rows = Rows()
    rows.path = path
    with contextlib.closing(database.open_readonly(path)) as rows.connection:
        return rows.recording


def was_indexed(path: Path) -> bool:
    """Whether a recording was made by a recorder, or is a text form, and was not imported."""
    if has_files_beside(path) or not database.is_sqlite(path):
        return True
    with contextlib.closing(database.open_readonly(path)) as connection:
        try:
            return any(connection.execute("SELECT 1 FROM indexing LIMIT 1"))
        except sqlite3.Error as e:
            raise database.unreadable(path, e) from None


def started_at(path: Path) -> str:
    """Returns the start of a recording, for sorting; an empty string if it is unreadable."""
    with contextlib.suppress(UnreadableRecording):
        return read_recording(path).started_at
    return ""


def recording_at(path: Path) -> Path | None:
    """Returns the file or the log of the recording at a path; None if there is none."""
    if path.name.endswith(LOG_SUFFIX) and is_plain(path):
        return path.with_name(path.name.removesuffix(LOG_SUFFIX))
    has_log = path.suffix != TEXT_SUFFIX and is_plain(Path(f"{path}{LOG_SUFFIX}"))
    return path if has_log or is_plain(path) else None


def recording_files(path: Path) -> list[Path]:
    """Returns the files that a recording may consist of; a text form is a single file."""
    return [Path(name) for name in _names(path)]


def _names(path: Path) -> list[str]:
    """The same as text: a list of a thousand recordings looks for thousands of them."""
    if path.suffix == TEXT_SUFFIX:
        return [str(path)]
    beside = (f"{path}{suffix}" for suffix in ("", *SUFFIXES))
    return [*beside, *map(str, damaged_log.files(path))]


def disk_size(path: Path) -> int:
    """Returns the bytes that a recording takes, its log and side files included."""
    return sum(status.st_size for status in statuses(path))


def statuses(path: Path) -> Iterator[os.stat_result]:
    """Yields the `os.stat_result` of each existing file of a recording."""
    for name in _names(path):
        with contextlib.suppress(OSError):
            yield os.stat(name)  # noqa: PTH116


def read_id_and_note(path: Path) -> tuple[str, str | None] | None:
    """Reads the id and the note of a recording; returns None if that would take long.

    The log is not read, so a recording without rows has neither.
    """
    try:
        if is_text(path):
            recording = read_recording(path)
            return recording.id, recording.note
        with contextlib.closing(database.open_readonly(path)) as connection:
            cursor = connection.execute("SELECT * FROM recording LIMIT 1")
            names = [column[0] for column in cursor.description]
            row = dict(zip(names, cursor.fetchone() or (), strict=False))
    except (sqlite3.Error, UnreadableRecording, UnicodeDecodeError) as e:
        database.raise_if_interrupted(e)
        return None
    known, note = row.get("id"), row.get("note")
    return (known, note if isinstance(note, str) else None) if isinstance(known, str) else None
