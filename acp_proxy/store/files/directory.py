"""Lists the recordings of a directory, with their files and rows, and deletes old recordings.

A recording is a database, a log that will become a database, or a text form.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from attrs import frozen

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import LARGE_LINE
from acp_proxy.base.plain_files import is_plain
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files import database
from acp_proxy.store.files.side_files import SUFFIXES, has_files_beside
from acp_proxy.store.log import damaged_log
from acp_proxy.store.reader import RecordingReader, is_text
from acp_proxy.store.rows import Rows
from acp_proxy.store.tables.views import LEVELS

TEXT_SUFFIX = ".jsonl"
"""The suffix of text forms; a file with this suffix may also be something else."""
Mapped = Callable[
    [Callable[[Path], "ListedRecording"], Iterable[Path]], Iterator["ListedRecording"]
]
"""A function like `map`, which applies a function to paths and yields listed recordings."""
FindingSearch = Callable[[RecordingReader], tuple[tuple[Any, ...], str, Any]]
"""A function that examines a conversation. It returns the problems, a text that names who has to
act, and numbers such as the tokens. It may raise `UnreadableRecording`."""

_MOST_OF_PROMPT = 4000
"""How many bytes of a prompt are read for a list."""
_LAST_DAY = 253402214400.0
"""The last day that Python can represent, in seconds since 1970. Files may have later times."""


def paths(directory: Path) -> list[Path]:
    """Returns the paths of a directory's recordings. A log has the path of its future database."""
    names = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            name = entry.name.removesuffix(LOG_SUFFIX)
            if (name.endswith(".db") and entry.is_file()) or (
                entry.name.endswith(TEXT_SUFFIX)
                and entry.is_file()
                and is_text(directory / entry.name)
            ):
                names.add(name)
    return [directory / name for name in sorted(names)]


def read_recording(path: Path) -> Recording:
    """Reads a recording's row, or a text form's header; may raise `UnreadableRecording`."""
    if is_text(path):
        from acp_proxy.store.copies.text_import import header_of

        return header_of(path)
    if has_files_beside(path):
        with RecordingReader(path, unredacted=True) as reader:
            return reader.recording
    rows = Rows()
    rows.path = path
    with contextlib.closing(database.open_readonly(path)) as rows.connection:
        return rows.recording


def was_indexed(path: Path) -> bool:
    """Whether a recorder made a recording. Also true for a text form; false for an import."""
    if has_files_beside(path) or not database.is_sqlite(path):
        return True
    with contextlib.closing(database.open_readonly(path)) as connection:
        try:
            return any(connection.execute("SELECT 1 FROM indexing LIMIT 1"))
        except sqlite3.Error as e:
            raise database.unreadable(path, e) from None


def started_at(path: Path) -> str:
    """Returns the start time of a recording, for sorting; "" if the recording is unreadable."""
    with contextlib.suppress(UnreadableRecording):
        return read_recording(path).started_at
    return ""


def recording_at(path: Path) -> Path | None:
    """Returns the path of the recording that a file belongs to; None if there is no recording."""
    if path.name.endswith(LOG_SUFFIX) and is_plain(path):
        return path.with_name(path.name.removesuffix(LOG_SUFFIX))
    has_log = path.suffix != TEXT_SUFFIX and is_plain(Path(f"{path}{LOG_SUFFIX}"))
    return path if has_log or is_plain(path) else None


def recording_files(path: Path) -> list[Path]:
    """Returns the paths of all files that a recording can consist of, even if they do not exist.

    A text form is a single file.
    """
    return [Path(name) for name in _names(path)]


def _names(path: Path) -> list[str]:
    """Returns the paths of `recording_files` as strings, which are checked faster than paths."""
    if path.suffix == TEXT_SUFFIX:
        return [str(path)]
    beside = (f"{path}{suffix}" for suffix in ("", *SUFFIXES))
    return [*beside, *map(str, damaged_log.files(path))]


def disk_size(path: Path) -> int:
    """Returns the size of a recording on disk, its log and side files included."""
    return sum(status.st_size for status in statuses(path))


def statuses(path: Path) -> Iterator[os.stat_result]:
    """Yields the `os.stat_result` of each existing file of a recording."""
    for name in _names(path):
        with contextlib.suppress(OSError):
            yield os.stat(name)  # noqa: PTH116


def read_id_and_note(path: Path) -> tuple[str, str | None] | None:
    """Reads the id and the note of a recording; returns None if the recording is unreadable.

    The log is not read, so the result is also None while the database has no rows yet.
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


@frozen
class ListedRecording:
    """One recording of a directory, as a list shows it."""

    path: Path
    recording: Recording | None
    """The row of the recording; None if the file cannot be read."""
    live: bool = False
    problem: str | None = None
    """Why the file cannot be read, or what is wrong with it."""
    findings: tuple[Any, ...] | None = None
    """The problems of the conversation; None if the conversation was not examined or not readable.
    """
    waiting: str = ""
    """Who has to act in a running conversation, in words; may be empty."""
    has_faults: bool = False
    """Whether a fault fired in the conversation."""
    frames: int = 0
    turns: int = 0
    first_prompt: bytes | None = None
    """The start of the first ``session/prompt`` request."""
    size: int = 0
    """The size on disk in bytes, including the log."""
    masked: int = 0
    """The number of secrets that were masked in the attributes of this object."""
    made_by: str | None = None
    """The command that recorded for its own use, such as ``verify``; None if a user recorded."""
    damaged: tuple[Path, ...] = ()
    """The files with the unreadable parts of the recording's log."""
    tokens: Any = None
    """Numbers, such as tokens, that the search for problems returned; None without numbers."""

    @property
    def started_at(self) -> str:
        """The start time of the recording, for sorting; unreadable recordings sort last."""
        return self.recording.started_at if self.recording else ""


def list_recordings(
    recordings: Iterable[Path],
    find: FindingSearch | None = None,
    *,
    unredacted: bool = False,
    mapped: Mapped = map,
) -> list[ListedRecording]:
    """Reads recordings and returns them: the newest first, unreadable recordings last.

    Args:
        recordings: the paths of the recordings.
        find: finds the problems of a conversation; None to examine no conversation.
        unredacted: whether to show the secrets in the files.
        mapped: applies a function to all paths: `map`, or a version that uses several processes.
    """
    entries = mapped(partial(read_listed, find=find, unredacted=unredacted), recordings)
    return sorted(entries, key=lambda listed: listed.started_at, reverse=True)


def read_listed(
    path: Path, find: FindingSearch | None = None, *, unredacted: bool = False
) -> ListedRecording:
    """Reads what a list shows about a recording; a broken recording has a problem and no row.

    Args:
        path: the recording.
        find: as for `list_recordings`.
        unredacted: as for `list_recordings`.
    """
    # Imported late: a replay uses this module to find its recording, and reads no list.
    from acp_proxy.store.queries.exchanges import turn_count
    from acp_proxy.store.queries.fired_faults import has_fired_faults
    from acp_proxy.store.queries.frames import first_prompt
    from acp_proxy.store.queries.recorded_events import made_by

    try:
        # Only the start of the conversation is searched for secrets, so that a list is fast.
        with RecordingReader(path, unredacted=True) as reader:
            (findings, waiting, tokens), why_unchecked = _find(reader, find)
            recording, prompt, masked = reader.recording, first_prompt(reader, _MOST_OF_PROMPT), 0
            if not (unredacted or recording.redaction in LEVELS):
                recording, prompt, masked = _mask_start(reader, _MOST_OF_PROMPT)
                if findings and find is not None:  # findings quote lines, so all lines are masked
                    with RecordingReader(path) as masking:
                        (findings, waiting, tokens), why_unchecked = _find(masking, find)
            return ListedRecording(
                path,
                recording,
                reader.live,
                reader.warning or why_unchecked,
                findings,
                waiting,
                has_fired_faults(reader),
                reader.count(),
                turn_count(reader),
                prompt,
                disk_size(path),
                masked,
                made_by(reader),
                tuple(damaged_log.files(path)),
                tokens,
            )
    except UnreadableRecording as e:
        return ListedRecording(path, None, problem=str(e), size=disk_size(path))


def _mask_start(rows: RecordingReader, most: int) -> tuple[Recording, bytes | None, int]:
    """Masks what a list shows about a recording; reads only the start of the recording.

    Args:
        rows: the recording, as it is stored.
        most: the largest size of the prompt, in bytes.

    Returns:
        The recording's row, the start of its first prompt, and how many values are masked in the
        row and the prompt.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    # Imported late: most recordings were masked when they were made.
    from acp_proxy.redaction.edits import apply
    from acp_proxy.redaction.redactor import Redactor, RedactorState
    from acp_proxy.store.queries.frames import conversation_start
    from acp_proxy.store.queries.masked_rows import masked_recording

    redactor = Redactor(RedactorState(os.urandom(16).hex()))
    recording = masked_recording(rows.recording, redactor)
    count, prompt = redactor.count, None
    for stream, raw in conversation_start(rows, LARGE_LINE):
        before = redactor.count
        prompt = apply(raw, redactor.line(Stream(stream), raw))
        in_prompt = redactor.count - before
    if prompt is None:
        return recording, None, count
    return recording, prompt[:most], count + in_prompt


def _find(
    reader: RecordingReader, find: FindingSearch | None
) -> tuple[tuple[tuple[Any, ...] | None, str, Any], str | None]:
    """Returns the results of a search for problems, or why the recording cannot be examined."""
    if find is None:
        return (None, "", None), None
    try:
        return find(reader), None
    except UnreadableRecording as e:
        return (None, "", None), str(e)


class OldRecording(NamedTuple):
    """A recording that is considered for deletion."""

    path: Path
    size: int
    """The size of the recording on disk, in bytes."""
    last_written: float
    """The time of the last change, in seconds since 1970."""


def prunable(
    directory: Path,
    *,
    older_than: float | None = None,
    larger_than: float | None = None,
    spare: Path | None = None,
    with_noted: bool = False,
) -> list[OldRecording]:
    """Returns the recordings to delete because of their age or the total size, oldest first.

    Running recordings and unreadable files are never returned.

    Args:
        directory: the recordings directory.
        older_than: a time in seconds; returns the recordings whose last change is longer ago.
        larger_than: the largest total size of the remaining recordings, in bytes.
        spare: a recording to keep.
        with_noted: whether recordings with a note may be deleted too.
    """
    known = [OldRecording(path, disk_size(path), _last_written(path)) for path in paths(directory)]
    total = sum(old.size for old in known)
    limit = None if older_than is None else time.time() - older_than
    chosen = []
    for old in sorted(known, key=lambda old: (old.last_written, old.path)):
        is_old = limit is not None and old.last_written < limit
        is_too_much = larger_than is not None and total > larger_than
        if not (is_old or is_too_much) or old.path == spare:
            continue
        if _is_over(old.path) and (with_noted or not _has_note(old.path)):
            chosen.append(old)
            total -= old.size
    return chosen


def delete(path: Path) -> bool:
    """Deletes a recording if it is readable and not running; returns whether it was deleted."""
    # A recorder may have started since `prunable` ran, so its lock is checked again.
    if not _is_over(path):
        return False
    for file in recording_files(path):
        with contextlib.suppress(OSError):
            file.unlink()
    return recording_at(path) is None


def _is_over(path: Path) -> bool:
    from acp_proxy.store.log.log_recovery import is_finished_or_dead

    return is_text(path) or is_finished_or_dead(path)


def _has_note(path: Path) -> bool:
    known = read_id_and_note(path)
    return known is not None and bool(known[1])


def _last_written(path: Path) -> float:
    times = (status.st_mtime for status in statuses(path))
    return min(max([0.0, *times]), _LAST_DAY)
