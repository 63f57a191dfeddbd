"""Finds the recordings that are old, or take too much room, and deletes recordings."""

import contextlib
import time
from pathlib import Path

from attrs import frozen

from acp_proxy.store.library import disk_size, paths, recording_at, recording_files
from acp_proxy.store.reader import is_text

_LAST_DAY = 253402214400.0
"""Seconds from 1970 to the last day of the calendar; a file's time of change may be later."""


@frozen
class OldRecording:
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
    """Returns the recordings that are too old, or too much, oldest first.

    Running ones, and files that cannot be read, are never among them.

    Args:
        directory: the recordings directory.
        older_than: seconds; what was last written longer ago.
        larger_than: bytes; the oldest, until the rest takes no more.
        spare: the recording that is being made.
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
    """Deletes a recording, unless it is running or is no recording of ours that can be read.

    Returns:
        Whether it is gone.
    """
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
    from acp_proxy.store.annotations import quick_look

    known = quick_look(path)
    return known is not None and bool(known[1])


def _last_written(path: Path) -> float:
    times = []
    for file in recording_files(path):
        with contextlib.suppress(OSError):
            times.append(file.stat().st_mtime)
    return min(max([0.0, *times]), _LAST_DAY)
