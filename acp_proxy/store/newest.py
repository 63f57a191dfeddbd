"""Finds the newest recordings of a directory without reading all of them.

A file is changed last when its recording has begun already, so the time of its last change is a
bound: the newest recording that was read is the newest of all once it began later than any other
file was changed. Clocks are set and files are copied, so the bound is a day late; and a file that
seems older than any recording can be has lost its time, and is read first.
"""

import contextlib
import heapq
from collections.abc import Iterator
from datetime import datetime
from math import inf
from pathlib import Path

from acp_proxy.capture.files import LOG_SUFFIX
from acp_proxy.errors import UnreadableRecording
from acp_proxy.recording import Recording
from acp_proxy.store.library import paths, read_recording

_SLACK_S = 86400.0
_FIRST_S = 1_577_836_800.0
"""The year 2020, before which nothing was recorded."""


def newest_first(directory: Path) -> Iterator[tuple[Path, Recording | None]]:
    """Yields the recordings of a directory, newest first; unreadable ones are last, without rows.

    As few are read as are needed to know the next one.
    """
    known: list[tuple[float, Path, Recording]] = []
    unreadable = []
    for negated_bound, path in sorted((-_bound(path), path) for path in paths(directory)):
        while known and known[0][0] <= negated_bound:
            yield heapq.heappop(known)[1:]
        try:
            recording = read_recording(path)
        except UnreadableRecording:
            unreadable.append(path)
        else:
            began = datetime.fromisoformat(recording.started_at).timestamp()
            heapq.heappush(known, (-began, path, recording))
    while known:
        yield heapq.heappop(known)[1:]
    yield from ((path, None) for path in unreadable)


def _bound(path: Path) -> float:
    """Seconds from 1970 to a time before which a recording has begun."""
    changed = 0.0
    for file in (path, Path(f"{path}{LOG_SUFFIX}")):
        with contextlib.suppress(OSError):
            changed = max(changed, file.stat().st_mtime)
    return changed + _SLACK_S if changed >= _FIRST_S else inf
