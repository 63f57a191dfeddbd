"""Finds recordings, by path, name, start of id or as the latest; and prunes old ones."""

import contextlib
import os
import time
from pathlib import Path

from attrs import frozen

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.errors import NoSuchRecording, UnreadableRecording
from acp_proxy.recording import Recording
from acp_proxy.store.reader import RecordingReader, is_finished_or_dead

_SIDE_FILES = ("", LOG_SUFFIX, "-wal", "-shm", "-journal")


@frozen
class Entry:
    """One recording of a directory, as a list shows it."""

    path: Path
    recording: Recording | None
    """None if the file cannot be read."""
    live: bool = False
    problem: str | None = None
    """Why it cannot be read, or what is wrong with it."""
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
    """Returns the databases of a directory, those included that are only a log so far."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            name = entry.name.removesuffix(LOG_SUFFIX)
            if name.endswith(".db") and entry.is_file():
                found.add(directory / name)
    return sorted(found)


def read_entry(path: Path) -> Entry:
    """Reads what a list shows of one recording; a broken one is an entry with a problem."""
    try:
        with RecordingReader(path) as reader:
            recording = reader.recording
            turns = next(reader.query("SELECT count(*) AS n FROM turns"))
            frames = reader.count()
            prompts = reader.query(
                "SELECT substr(raw, 1, 4000) AS raw FROM frames WHERE seq ="
                " (SELECT min(prompt_seq) FROM turns)"
            )
            prompt = next((bytes(row["raw"]) for row in prompts), None)
            live, warning = reader.live, reader.warning
    except UnreadableRecording as e:
        return Entry(path, None, problem=str(e), size=disk_size(path))
    return Entry(path, recording, live, warning, frames, turns["n"], prompt, disk_size(path))


def entries(directory: Path) -> list[Entry]:
    """Reads a directory's recordings, newest first."""
    return sorted(map(read_entry, paths(directory)), key=lambda e: e.started_at, reverse=True)


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
        return _latest(directory, here)
    for path in (Path(word), Path(f"{word}.db"), directory / word, directory / f"{word}.db"):
        if (database := _database_of(path)) is not None:
            return database
    if word.endswith((".db", ".jsonl")) or "/" in word:
        raise NoSuchRecording(f"no recording at {word}; `acp-proxy inspect list` shows them")
    matches = [
        entry
        for entry in entries(directory)
        if entry.recording and (entry.recording.name == word or entry.recording.id.startswith(word))
    ]
    if len(matches) == 1:
        return matches[0].path
    if not matches:
        raise NoSuchRecording(
            f"no recording named {word!r} in {directory}: expected a path, a name, the start of an "
            "id, or latest; `acp-proxy inspect list` shows them"
        )
    names = ", ".join(f"{e.recording.id} ({e.path.name})" for e in matches[:5] if e.recording)
    raise NoSuchRecording(f"{word!r} fits {len(matches)} recordings: {names}; give more of the id")


def _latest(directory: Path, here: Path) -> Path:
    readable = [entry for entry in entries(directory) if entry.recording]
    if not readable:
        raise NoSuchRecording(
            f"no recording in {directory}; put `acp-proxy record --` before an agent's command"
        )
    own = [e for e in readable if e.recording and e.recording.cwd == str(here)]
    return (own or readable)[0].path


def _database_of(path: Path) -> Path | None:
    """Returns the database's path if ``path`` is a recording's file, its log included."""
    if path.name.endswith(LOG_SUFFIX) and path.is_file():
        return path.with_name(path.name.removesuffix(LOG_SUFFIX))
    if path.is_file() or Path(f"{path}{LOG_SUFFIX}").is_file():
        return path
    return None


def disk_size(path: Path) -> int:
    """Bytes that a recording takes, its log and side files included."""
    return sum(_size(Path(f"{path}{suffix}")) for suffix in _SIDE_FILES)


def prune(directory: Path, what: str, amount: float, *, spare: Path) -> list[Path]:
    """Deletes old recordings and returns them; running ones are never touched.

    Args:
        directory: the recordings directory.
        what: ``age``, to delete what is older than ``amount`` seconds; or ``size``, to delete the
            oldest until the rest takes no more than ``amount`` bytes.
        amount: see ``what``.
        spare: the recording that is being made.
    """
    aged = sorted((_last_written(path), path) for path in paths(directory) if path != spare)
    if what == "age":
        limit = time.time() - amount
        return [path for written, path in aged if written < limit and _delete(path)]
    total = sum(disk_size(path) for _, path in aged) + disk_size(spare)
    deleted = []
    for _, path in aged:
        size = disk_size(path)
        if total > amount and _delete(path):
            total -= size
            deleted.append(path)
    return deleted


def _delete(path: Path) -> bool:
    """Deletes a recording, unless it is running; what cannot be read is not ours to delete."""
    if not is_finished_or_dead(path):
        return False
    for suffix in _SIDE_FILES:
        with contextlib.suppress(OSError):
            Path(f"{path}{suffix}").unlink()
    return True


def _last_written(path: Path) -> float:
    times = []
    for suffix in _SIDE_FILES:
        with contextlib.suppress(OSError):
            times.append(Path(f"{path}{suffix}").stat().st_mtime)
    return max(times, default=0.0)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
