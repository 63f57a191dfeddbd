"""Finds recordings, by path, name, start of id or as the latest; and prunes old ones.

A recording is a database, or a log that will be one, or its text form.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from attrs import frozen

from acp_proxy.capture.files import LOG_SUFFIX, SQLITE_SUFFIXES
from acp_proxy.errors import NoSuchRecording, UnreadableRecording
from acp_proxy.plain_files import is_plain
from acp_proxy.recording import Recording
from acp_proxy.store.path_kind import something_else
from acp_proxy.store.queries import first_prompt, has_fired_faults, turn_count
from acp_proxy.store.reader import RecordingReader, is_text

TEXT_SUFFIX = ".jsonl"
"""Of the text form; a file that is named so and does not begin so is something else."""

DivergenceLog = Callable[[RecordingReader], bool]
"""Tells whether anything went wrong in a conversation."""

_MOST_OF_PROMPT = 4000
"""Bytes of a prompt that are read for a list."""
_LAST_DAY = 253402214400.0
"""Seconds from 1970 to the last day of the calendar; a file may say that it is younger."""
_SIDE_FILES = ("", LOG_SUFFIX, *SQLITE_SUFFIXES)


@frozen
class Entry:
    """One recording of a directory, as a list shows it."""

    path: Path
    recording: Recording | None
    """None if the file cannot be read."""
    live: bool = False
    problem: str | None = None
    """Why it cannot be read, or what is wrong with it."""
    has_problem: bool | None = None
    """What was judged of the conversation; None if nobody was asked, or it could not be read."""
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


def read_entry(path: Path, judge: DivergenceLog | None = None) -> Entry:
    """Reads what a list shows of one recording; a broken one is an entry with a problem.

    Args:
        path: of the recording.
        judge: asked whether anything went wrong in the conversation.
    """
    try:
        with RecordingReader(path) as reader:
            recording = reader.recording
            turns = turn_count(reader)
            frames = reader.count()
            prompt = first_prompt(reader, _MOST_OF_PROMPT)
            live, warning = reader.live, reader.warning
            has_faults = has_fired_faults(reader)
            has_problem, unjudged = _judged(reader, judge)
    except UnreadableRecording as e:
        return Entry(path, None, problem=str(e), size=disk_size(path))
    return Entry(
        path, recording, live, warning or unjudged, has_problem, has_faults, frames, turns,
        prompt, disk_size(path),
    )  # fmt: skip


def _judged(reader: RecordingReader, judge: DivergenceLog | None) -> tuple[bool | None, str | None]:
    """What is judged of a conversation, or why nothing could be."""
    if judge is None:
        return None, None
    try:
        return judge(reader), None
    except UnreadableRecording as e:
        return None, str(e)


def entries(directory: Path, judge: DivergenceLog | None = None) -> list[Entry]:
    """Reads a directory's recordings, newest first; see `read_entry`."""
    found = (read_entry(path, judge) for path in paths(directory))
    return sorted(found, key=lambda e: e.started_at, reverse=True)


def started_at(path: Path) -> str:
    """Returns when a recording began, for sorting; what cannot be read sorts last."""
    with contextlib.suppress(UnreadableRecording):
        return _recording_of(path).started_at
    return ""


def resolve(word: str, directory: Path, here: Path) -> Path:
    """Finds the recording that a user means.

    Args:
        word: a path, a name, the start of an id, or ``latest``.
        directory: the recordings directory.
        here: the current directory, whose own recordings ``latest`` prefers.

    Raises:
        NoSuchRecording: none goes by that name, or several do.
    """
    if word == "latest":
        return latest(directory, here).path
    for place in (Path(word), directory / word):
        for suffix in ("", ".db", TEXT_SUFFIX):
            if (found := _recording_at(Path(f"{place}{suffix}"))) is not None:
                return found
    if word.endswith((".db", TEXT_SUFFIX)) or "/" in word:
        raise NoSuchRecording(
            _other(word, directory)
            or f"no recording at {word}; `acp-proxy inspect list` shows them"
        )
    matches = _without_texts_of_databases(
        (path, recording)
        for path, recording in _recordings(directory)
        if recording.name == word or recording.id.startswith(word)
    )
    if len(matches) == 1:
        return matches[0][0]
    if not matches:
        raise NoSuchRecording(
            _other(word, directory)
            or f"no recording named {word!r} in {directory}: expected a path, a name, the start of "
            "an id, or latest; `acp-proxy inspect list` shows them"
        )
    names = ", ".join(f"{recording.id} ({path.name})" for path, recording in matches[:5])
    raise NoSuchRecording(f"{word!r} fits {len(matches)} recordings: {names}; give more of the id")


def _other(word: str, directory: Path) -> str | None:
    """What there is in place of a recording, in words."""
    return something_else((Path(word), directory / word), paths) if word else None


@frozen
class Latest:
    """Which recording ``latest`` means."""

    path: Path
    passed_over: tuple[Path, Recording] | None = None
    """The newest of all, if it is newer and another one was preferred."""


def latest(directory: Path, here: Path) -> Latest:
    """Finds the newest recording that was made in a directory, or else the newest of all.

    Args:
        directory: the recordings directory.
        here: the current directory.

    Raises:
        NoSuchRecording: there is none.
    """
    readable = _recordings(directory)
    if not readable:
        raise NoSuchRecording(
            f"no recording in {directory}; put `acp-proxy record --` before an agent's command"
        )
    return _preferred(readable, here, readable[0])


def latest_running(directory: Path, here: Path) -> Latest | None:
    """Finds the recording that `latest` would mean if there were only those that are running."""
    from acp_proxy.store.log_recovery import has_recorder

    running = _readable(path for path in _logs(directory) if has_recorder(path))
    return _preferred(running, here, _recordings(directory)[0]) if running else None


def _preferred(
    known: list[tuple[Path, Recording]], here: Path, newest: tuple[Path, Recording]
) -> Latest:
    own = [one for one in known if one[1].cwd == str(here)]
    path, recording = (own or known)[0]
    is_newest = newest[1].started_at <= recording.started_at
    return Latest(path, None if is_newest else newest)


def _recordings(directory: Path) -> list[tuple[Path, Recording]]:
    """What can be read of a directory, newest first; of a text only the header is read."""
    return _readable(paths(directory))


def _readable(every: Iterable[Path]) -> list[tuple[Path, Recording]]:
    """What can be read of some recordings, newest first."""
    found = []
    for path in every:
        with contextlib.suppress(UnreadableRecording):
            found.append((path, _recording_of(path)))
    return sorted(found, key=lambda known: known[1].started_at, reverse=True)


def _logs(directory: Path) -> list[Path]:
    """The recordings of a directory that have a log, as each running one has."""
    with contextlib.suppress(OSError):
        logs = sorted(entry.name for entry in os.scandir(directory))
        return [
            directory / name.removesuffix(LOG_SUFFIX)
            for name in logs
            if name.endswith(f".db{LOG_SUFFIX}")
        ]
    return []


def _recording_of(path: Path) -> Recording:
    if is_text(path):
        from acp_proxy.store.transcript import header_of

        return header_of(path)
    with RecordingReader(path) as reader:
        return reader.recording


def _without_texts_of_databases(
    found: Iterable[tuple[Path, Recording]],
) -> list[tuple[Path, Recording]]:
    """Leaves out the texts of recordings whose database is there as well."""
    every = list(found)
    databases = {recording.id for path, recording in every if path.suffix != TEXT_SUFFIX}
    return [
        (path, recording)
        for path, recording in every
        if path.suffix != TEXT_SUFFIX or recording.id not in databases
    ]


def _recording_at(path: Path) -> Path | None:
    """Returns a recording's path if ``path`` is its file; that of its log leads to its database."""
    if path.name.endswith(LOG_SUFFIX) and is_plain(path):
        return path.with_name(path.name.removesuffix(LOG_SUFFIX))
    has_log = path.suffix != TEXT_SUFFIX and is_plain(Path(f"{path}{LOG_SUFFIX}"))
    return path if has_log or is_plain(path) else None


def disk_size(path: Path) -> int:
    """Bytes that a recording takes, its log and side files included."""
    return sum(map(_size, _files(path)))


@frozen
class Old:
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
) -> list[Old]:
    """Returns the recordings that are too old, or too much, oldest first.

    Running ones, and files that cannot be read, are never among them.

    Args:
        directory: the recordings directory.
        older_than: seconds; what was last written longer ago.
        larger_than: bytes; the oldest, until the rest takes no more.
        spare: the recording that is being made.
        with_noted: whether those that have a note may be deleted as well.
    """
    known = [Old(path, disk_size(path), _last_written(path)) for path in paths(directory)]
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
    """Deletes a recording, unless it is running; what cannot be read is not ours to delete.

    Returns:
        Whether it is gone.
    """
    if not _is_over(path):
        return False
    for file in _files(path):
        with contextlib.suppress(OSError):
            file.unlink()
    return _recording_at(path) is None


def _is_over(path: Path) -> bool:
    from acp_proxy.store.log_recovery import is_finished_or_dead

    return is_text(path) or is_finished_or_dead(path)


def _has_note(path: Path) -> bool:
    from acp_proxy.store.annotations import quick_look

    known = quick_look(path)
    return known is not None and bool(known[1])


def _files(path: Path) -> list[Path]:
    """The files that make up a recording, whether or not they exist; a text is alone."""
    return [Path(f"{path}{s}") for s in (("",) if path.suffix == TEXT_SUFFIX else _SIDE_FILES)]


def _last_written(path: Path) -> float:
    times = []
    for file in _files(path):
        with contextlib.suppress(OSError):
            times.append(file.stat().st_mtime)
    return min(max([0.0, *times]), _LAST_DAY)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
