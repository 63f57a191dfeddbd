"""Finds the newest recordings of a directory without reading all of them.

No recording starts after the last change of its file, so the time of this change is an upper bound
for the start. Files are read in the order of their bounds, latest first. A recording is the newest
if it started after the bounds of all unread files.

A day is added to each bound, since clocks may be wrong and files may be copied. A file that is
dated before 2020 has a wrong time, and is read first.
"""

import contextlib
import heapq
import os
from collections.abc import Iterator
from datetime import datetime
from math import inf
from pathlib import Path

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.plain_files import open_plain
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.recording import Recording
from acp_proxy.store.files.database import MAGIC
from acp_proxy.store.files.directory import paths, read_recording, was_indexed
from acp_proxy.store.files.side_files import has_files_beside, is_open
from acp_proxy.store.queries.recorded_events import made_by
from acp_proxy.store.reader import RecordingReader

_SLACK_S = 86400.0
_SMALL = 4 << 20
"""The largest file, in bytes, whose contents are searched."""
_INDEXED = '"next_seq"'
"""A key in the indexer's state. Imported recordings have no such state."""
_UTF_8 = b"\0\0\0\1"
"""The code of the text encoding UTF-8 in the header of a database."""
_FIRST_S = 1_577_836_800.0
"""The start of 2020, in seconds since 1970. Every recording began later."""


def in_reading_order(directory: Path) -> list[tuple[float, Path]]:
    """Returns the recordings of a directory in the order in which their files are to be read.

    Each item is a pair: the latest possible start of the recording, as a negative number, and its
    path.
    """
    return sorted((-_bound(path), path) for path in paths(directory))


def newest_first(
    directory: Path, made_in: str = "", order: list[tuple[float, Path]] | None = None
) -> Iterator[tuple[Path, Recording | None]]:
    """Yields the recordings of a directory, newest first, and then the files that are unreadable.

    Each item is a path and the row of its recording; the row is None if the file is unreadable.
    Files are read only as far as needed to find the next recording. An imported recording is sorted
    by the time of its file, not by its start.

    Args:
        directory: the directory of the recordings.
        made_in: a directory. Recordings that were made in another directory are left out, except
            imported recordings.
        order: the result of `in_reading_order`, if it has already been called.
    """
    known: list[tuple[float, Path, Recording]] = []
    unreadable = []
    for negated_bound, path in in_reading_order(directory) if order is None else order:
        while known and known[0][0] <= negated_bound:
            yield heapq.heappop(known)[1:]
        if made_in and not may_have(path, made_in, is_directory=True) and may_have(path, _INDEXED):
            continue
        try:
            recording = read_recording(path)
            is_imported = recording.origin is not None or not was_indexed(path)
        except UnreadableRecording:
            unreadable.append(path)
            continue
        if made_in and not is_imported and recording.cwd not in ("", made_in):
            continue
        began = datetime.fromisoformat(recording.started_at).timestamp()
        began = max(began, path.stat().st_mtime) if is_imported else began
        heapq.heappush(known, (-began, path, recording))
    while known:
        yield heapq.heappop(known)[1:]
    yield from ((path, None) for path in unreadable)


def is_run(path: Path) -> bool:
    """Whether a command such as `verify` made a recording for its own use."""
    if not may_have(path, '"made_by"'):  # hardly any user's recording has this member
        return False
    with contextlib.suppress(UnreadableRecording), RecordingReader(path, unredacted=True) as reader:
        return made_by(reader) is not None
    return False


def may_have(path: Path, text: str, *, is_directory: bool = False) -> bool:
    """Whether a recording possibly contains a text; also True if the file cannot be searched.

    The bytes of the file are searched, which is ten times as fast as opening the database.

    Args:
        path: the recording.
        text: the text to search for.
        is_directory: whether the text is a whole directory, so that longer paths do not match.
    """
    if has_files_beside(path) or is_open(path):
        return True
    try:
        with open_plain(path) as file:
            # `read` allocates a buffer of the requested size; for 4 MiB this takes longer than
            # reading most files.
            limit = min(os.fstat(file.fileno()).st_size + 1, _SMALL)
            data = file.read(limit)
    except OSError:
        return True
    if not data.startswith(MAGIC) or data[56:60] != _UTF_8 or len(data) == limit:
        return True
    wanted = text.encode(errors="surrogatepass")
    if (count := data.count(wanted)) and is_directory:
        count -= data.count(wanted + b"/")
    return count > 0 or _is_divided(data, wanted)


def _is_divided(data: bytes, wanted: bytes) -> bool:
    """Whether a text may begin in one page of a database and continue in another page.

    If a row is too large for one page, it continues in other pages. Such a page begins with a page
    number of four bytes.
    """
    size = int.from_bytes(data[16:18], "big") or 1
    for start in range(max(size, 512) + 4, len(data), max(size, 512)):
        if data[start] in wanted:
            for rest in range(1, len(wanted)):
                if data.startswith(wanted[-rest:], start) and wanted[:-rest] in data:
                    return True
    return False


def _bound(path: Path) -> float:
    """Returns the latest possible start of a recording, in seconds since 1970."""
    changed = 0.0
    for file in (path, f"{path}{LOG_SUFFIX}"):  # a string, since a Path is slower
        with contextlib.suppress(OSError):
            changed = max(changed, os.stat(file).st_mtime)  # noqa: PTH116
    return changed + _SLACK_S if changed >= _FIRST_S else inf
