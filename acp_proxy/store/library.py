"""Lists the recordings of a directory, those that cannot be read among them.

A recording is a database, or a log that will be one, or its text form. `lookup` finds the one that
a user means, and `old_recordings` those that may be deleted.
"""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from acp_proxy.capture.files import LOG_SUFFIX, SQLITE_SUFFIXES
from acp_proxy.errors import UnreadableRecording
from acp_proxy.plain_files import is_plain
from acp_proxy.recording import Recording
from acp_proxy.store.exchange_queries import turn_count
from acp_proxy.store.fired_faults import has_fired_faults
from acp_proxy.store.frame_queries import first_prompt
from acp_proxy.store.reader import RecordingReader, is_text

TEXT_SUFFIX = ".jsonl"
"""Of the text form; a file that is named so and does not begin so is something else."""

ProblemCheck = Callable[[RecordingReader], bool]
"""Returns whether anything went wrong in a conversation; may raise `UnreadableRecording`."""

_MOST_OF_PROMPT = 4000
"""Bytes of a prompt that are read for a list."""
_SIDE_FILES = ("", LOG_SUFFIX, *SQLITE_SUFFIXES)


@frozen
class ListedRecording:
    """One recording of a directory, as a list shows it."""

    path: Path
    recording: Recording | None
    """None if the file cannot be read."""
    live: bool = False
    problem: str | None = None
    """Why it cannot be read, or what is wrong with the file."""
    has_problem: bool | None = None
    """Whether the conversation has a problem; None if it was not checked or could not be read."""
    has_faults: bool = False
    """Whether a fault has done anything in it."""
    frames: int = 0
    turns: int = 0
    first_prompt: bytes | None = None
    """The first ``session/prompt`` request, as it was sent."""
    size: int = 0
    """Bytes on disk, its log included."""

    @property
    def started_at(self) -> str:
        """When it began, for sorting; unreadable ones sort last."""
        return self.recording.started_at if self.recording else ""


def paths(directory: Path) -> list[Path]:
    """Returns the recordings of a directory: databases, mere logs by their database, and texts."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            name = entry.name.removesuffix(LOG_SUFFIX)
            if (name.endswith(".db") and entry.is_file()) or (
                entry.name.endswith(TEXT_SUFFIX)
                and entry.is_file()
                and is_text(directory / entry.name)
            ):
                found.add(directory / name)
    return sorted(found)


def list_recordings(
    directory: Path, has_problem: ProblemCheck | None = None
) -> list[ListedRecording]:
    """Reads a directory's recordings, newest first; unreadable ones are last.

    Args:
        directory: where to look; one that is not there has no recordings.
        has_problem: checks each conversation; without it that is left open.
    """
    found = (read_listed(path, has_problem) for path in paths(directory))
    return sorted(found, key=lambda listed: listed.started_at, reverse=True)


def read_listed(path: Path, has_problem: ProblemCheck | None = None) -> ListedRecording:
    """Reads what a list shows of one recording; a broken one has no `Recording` and a problem.

    Args:
        path: the recording.
        has_problem: see `list_recordings`.
    """
    try:
        with RecordingReader(path) as reader:
            checked, why_unchecked = _check(reader, has_problem)
            return ListedRecording(
                path,
                reader.recording,
                reader.live,
                reader.warning or why_unchecked,
                checked,
                has_fired_faults(reader),
                reader.count(),
                turn_count(reader),
                first_prompt(reader, _MOST_OF_PROMPT),
                disk_size(path),
            )
    except UnreadableRecording as e:
        return ListedRecording(path, None, problem=str(e), size=disk_size(path))


def _check(
    reader: RecordingReader, has_problem: ProblemCheck | None
) -> tuple[bool | None, str | None]:
    """Returns whether a conversation has a problem, or None and why that cannot be decided."""
    if has_problem is None:
        return None, None
    try:
        return has_problem(reader), None
    except UnreadableRecording as e:
        return None, str(e)


def read_recording(path: Path) -> Recording:
    """Reads a recording's one row; of a text only the header is read.

    Raises:
        UnreadableRecording: it cannot be read.
    """
    if is_text(path):
        from acp_proxy.store.text_import import header_of

        return header_of(path)
    with RecordingReader(path) as reader:
        return reader.recording


def started_at(path: Path) -> str:
    """Returns when a recording began, for sorting; what cannot be read sorts last."""
    with contextlib.suppress(UnreadableRecording):
        return read_recording(path).started_at
    return ""


def recording_at(path: Path) -> Path | None:
    """Returns a recording's path if ``path`` is its file; that of its log leads to its database."""
    if path.name.endswith(LOG_SUFFIX) and is_plain(path):
        return path.with_name(path.name.removesuffix(LOG_SUFFIX))
    has_log = path.suffix != TEXT_SUFFIX and is_plain(Path(f"{path}{LOG_SUFFIX}"))
    return path if has_log or is_plain(path) else None


def recording_files(path: Path) -> list[Path]:
    """Returns the files that make up a recording, whether or not they exist; a text is alone."""
    return [Path(f"{path}{s}") for s in (("",) if path.suffix == TEXT_SUFFIX else _SIDE_FILES)]


def disk_size(path: Path) -> int:
    """Returns the bytes that a recording takes, its log and side files included."""
    total = 0
    for file in recording_files(path):
        with contextlib.suppress(OSError):
            total += file.stat().st_size
    return total
