"""Lists the recordings of a directory, and deletes those that are old or take too much room."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from attrs import frozen

from acp_proxy.errors import UnreadableRecording
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording import Recording
from acp_proxy.store import damaged_log
from acp_proxy.store.directory import (
    disk_size,
    paths,
    read_id_and_note,
    recording_at,
    recording_files,
    statuses,
)
from acp_proxy.store.reader import RecordingReader, is_text
from acp_proxy.store.views import LEVELS

Mapped = Callable[
    [Callable[[Path], "ListedRecording"], Iterable[Path]], Iterator["ListedRecording"]
]
"""A function like `map`, from paths to listed recordings."""
FindingSearch = Callable[[RecordingReader], tuple[tuple[Any, ...], str]]
"""Returns what is wrong with a conversation, and for whom it waits, in words; may raise
`UnreadableRecording`."""

_MOST_OF_PROMPT = 4000
"""Bytes of a prompt that are read for a list."""
_LAST_DAY = 253402214400.0
"""Seconds from 1970 to the last day of the calendar; a file's time of change may be later."""


@frozen
class ListedRecording:
    """One recording of a directory, as a list shows it."""

    path: Path
    recording: Recording | None
    """None if the file cannot be read."""
    live: bool = False
    problem: str | None = None
    """Why it cannot be read, or what is wrong with the file."""
    findings: tuple[Any, ...] | None = None
    """What is wrong with the conversation; None if it was not looked for or could not be read."""
    waiting: str = ""
    """For whom a running conversation waits."""
    has_faults: bool = False
    """Whether a fault fired in the conversation."""
    frames: int = 0
    turns: int = 0
    first_prompt: bytes | None = None
    """The start of the first ``session/prompt`` request."""
    size: int = 0
    """Bytes on disk, its log included."""
    masked: int = 0
    """How many secrets that are in the file are masked in this value."""
    made_by: str | None = None
    """The command that made it for its own use: ``verify``; None if a person recorded it."""
    damaged: tuple[Path, ...] = ()
    """The files with what could not be read of its log."""

    @property
    def started_at(self) -> str:
        """The start of the recording, for sorting; unreadable recordings sort last."""
        return self.recording.started_at if self.recording else ""


def list_recordings(
    recordings: Iterable[Path],
    find: FindingSearch | None = None,
    *,
    unredacted: bool = False,
    mapped: Mapped = map,
) -> list[ListedRecording]:
    """Reads recordings, newest first; unreadable ones are last.

    Args:
        recordings: their paths.
        find: looks for what is wrong with each conversation; without it, none is looked at.
        unredacted: whether to show secrets that are in the files.
        mapped: reads each path; `map`, or a version of it that uses several processes.
    """
    work = partial(read_listed, find=find, unredacted=unredacted)
    found = mapped(work, recordings)
    return sorted(found, key=lambda listed: listed.started_at, reverse=True)


def read_listed(
    path: Path, find: FindingSearch | None = None, *, unredacted: bool = False
) -> ListedRecording:
    """Reads what a list shows of a recording; a broken one has a problem in place of its row.

    Args:
        path: the recording.
        find: as for `list_recordings`.
        unredacted: as for `list_recordings`.
    """
    # Imported late: a replay looks for its recording here, and reads no list.
    from acp_proxy.store.exchange_queries import turn_count
    from acp_proxy.store.fired_faults import has_fired_faults
    from acp_proxy.store.frame_queries import first_prompt
    from acp_proxy.store.recorded_events import made_by

    try:
        # Only the beginning of the conversation is looked through for secrets: a list is quick.
        with RecordingReader(path, unredacted=True) as reader:
            (findings, waiting), why_unchecked = _find(reader, find)
            recording, prompt, masked = reader.recording, first_prompt(reader, _MOST_OF_PROMPT), 0
            if not (unredacted or recording.redaction in LEVELS):
                recording, prompt, masked = _mask_start(reader, _MOST_OF_PROMPT)
                if findings and find is not None:  # they quote messages, so all lines are masked
                    with RecordingReader(path) as masking:
                        (findings, waiting), why_unchecked = _find(masking, find)
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
            )
    except UnreadableRecording as e:
        return ListedRecording(path, None, problem=str(e), size=disk_size(path))


def _mask_start(rows: RecordingReader, most: int) -> tuple[Recording, bytes | None, int]:
    """Returns what a list shows of a recording, masked; reads only the beginning of the recording.

    Args:
        rows: the recording, as it is stored.
        most: the largest size of the prompt, in bytes.

    Returns:
        The recording's row, the start of its first prompt, and how many values are masked there.

    Raises:
        UnreadableRecording: the file is damaged.
    """
    # Imported late: most recordings were masked when they were made.
    from acp_proxy.redaction.edits import apply
    from acp_proxy.redaction.redactor import Redactor, RedactorState
    from acp_proxy.store.frame_queries import conversation_start
    from acp_proxy.store.masked_rows import masked_recording
    from acp_proxy.store.schema import LARGE

    redactor = Redactor(RedactorState(os.urandom(16).hex()))
    recording = masked_recording(rows.recording, redactor)
    count, prompt = redactor.count, None
    for stream, raw in conversation_start(rows, LARGE):
        before = redactor.count
        prompt = apply(raw, redactor.line(Stream(stream), raw))
        in_prompt = redactor.count - before
    if prompt is None:
        return recording, None, count
    return recording, prompt[:most], count + in_prompt


def _find(
    reader: RecordingReader, find: FindingSearch | None
) -> tuple[tuple[tuple[Any, ...] | None, str], str | None]:
    """Returns what was found, and why nothing could be looked for."""
    if find is None:
        return (None, ""), None
    try:
        return find(reader), None
    except UnreadableRecording as e:
        return (None, ""), str(e)


class OldRecording(NamedTuple):
    """A recording that may be deleted."""

    path: Path
    size: int
    """Bytes on disk."""
    last_written: float
    """Seconds since 1970."""


def prunable(
    directory: Path,
    *,
    older_than: float | None = None,
    larger_than: float | None = None,
    spare: Path | None = None,
    with_noted: bool = False,
) -> list[OldRecording]:
    """Returns the recordings that are too old, or take too much room, oldest first.

    Running ones, and files that cannot be read, are never among them.

    Args:
        directory: the recordings directory.
        older_than: the age of the last change from which on they are too old, in seconds.
        larger_than: the bytes that all may take; the oldest are too many.
        spare: a recording that is left out.
        with_noted: whether those that have a note may be deleted as well.
    """
    known = [OldRecording(path, disk_size(path), _last_written(path)) for path in paths(directory)]
    total = sum(old.size for old in known)
    limit = None if older_than is None else time.time() - older_than
    found = []
    for old in sorted(known, key=lambda old: (old.last_written, old.path)):
        is_old = limit is not None and old.last_written < limit
        is_too_much = larger_than is not None and total > larger_than
        if not (is_old or is_too_much) or old.path == spare:
            continue
        if _is_over(old.path) and (with_noted or not _has_note(old.path)):
            found.append(old)
            total -= old.size
    return found


def delete(path: Path) -> bool:
    """Deletes a recording, unless it runs or cannot be read; returns whether it was deleted."""
    # A recorder may have started since `prunable` looked: its lock is asked for once more.
    if not _is_over(path):
        return False
    for file in recording_files(path):
        with contextlib.suppress(OSError):
            file.unlink()
    return recording_at(path) is None


def _is_over(path: Path) -> bool:
    from acp_proxy.store.log_recovery import is_finished_or_dead

    return is_text(path) or is_finished_or_dead(path)


def _has_note(path: Path) -> bool:
    known = read_id_and_note(path)
    return known is not None and bool(known[1])


def _last_written(path: Path) -> float:
    times = (status.st_mtime for status in statuses(path))
    return min(max([0.0, *times]), _LAST_DAY)
