"""The list of recordings as a stream: each recording once, and again whenever it has changed."""

import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import trio

from acp_proxy.base.forms import converter
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.store.files.directory import paths, recording_files
from acp_proxy.store.files.side_files import SHARED_MEMORY

_LOOK_S = 1.0
"""The time between two looks at the directory, in seconds."""
_SHARE = 20
"""A recording that changes all the time is read again after this multiple of the time it took."""
_TOGETHER = 10
"""The largest number of recordings in one line."""


def name_of(path: Path) -> str:
    """Returns the name of a recording in URLs, which is valid Unicode.

    Args:
        path: the recording.
    """
    return os.fsencode(path.name).decode(errors="replace")


def named(directory: Path, other: Path | None) -> dict[str, Path]:
    """Returns the recordings of a window by their names.

    Args:
        directory: the directory.
        other: a recording outside of the directory; it hides a recording of the same name.
    """
    every = {name_of(path): path for path in paths(directory)}
    return every if other is None else {**every, name_of(other): other}


def state_of(path: Path) -> list[tuple[str, int, int, int]]:
    """Returns what changes with the files of a recording, but not if they are read; empty without
    files.

    Args:
        path: the recording.
    """
    state = []
    for file in recording_files(path):
        with suppress(OSError):
            status = file.stat()
            # Readers make an empty write-ahead log, and write the index of any such log.
            if status.st_size and file.name[-4:] != SHARED_MEMORY or file == path:
                state.append((file.name, status.st_ino, status.st_size, status.st_mtime_ns))
    return state


class RecordingsFeed:
    """Tells one page about the recordings of a directory.

    Args:
        directory: the directory.
        other: a recording outside of the directory; None if there is none.
        describe: returns what the list shows of a recording; called in a thread.
    """

    def __init__(
        self, directory: Path, other: Path | None, describe: Callable[[Path], dict[str, Any]]
    ) -> None:
        self._directory, self._other, self._describe = directory, other, describe
        self._known: dict[str, tuple[Any, float]] = {}
        """For each recording, by its name: the state of its files, and when it may be read again.
        """

    async def lines(self) -> AsyncIterator[bytes]:
        """Yields lines of JSON without end."""
        while True:
            present = await trio.to_thread.run_sync(self._changed, abandon_on_cancel=True)
            names, changed = present
            removed = [name for name in self._known if name not in names]
            for name in removed:
                del self._known[name]
            while changed:
                some, changed = changed[:_TOGETHER], changed[_TOGETHER:]
                entries = [await self._entry(path, state) for path, state in some]
                yield _line(entries, removed, complete=not changed)
                removed = []
            if removed:
                yield _line([], removed, complete=True)
            await trio.sleep(_LOOK_S)

    def _changed(self) -> tuple[set[str], list[tuple[Path, Any]]]:
        """Returns the names of all recordings, and those that have changed: running ones first."""
        every = named(self._directory, self._other)
        now, changed = time.monotonic(), []
        for name, path in every.items():
            state = state_of(path)
            known, next_time = self._known.get(name, (None, 0.0))
            if state != known and now >= next_time:
                changed.append((path, state))
        changed.sort(key=lambda pair: (_has_log(pair[0]), pair[0].name), reverse=True)
        return {*every}, changed

    async def _entry(self, path: Path, state: Any) -> dict[str, Any]:
        began = trio.current_time()
        entry = await trio.to_thread.run_sync(self._describe, path, abandon_on_cancel=True)
        took_s = trio.current_time() - began
        name = name_of(path)
        self._known[name] = state, time.monotonic() + _SHARE * took_s
        return {"name": name, **entry}


def _has_log(path: Path) -> bool:
    """Whether a recording has a log; then its recorder probably runs."""
    return Path(f"{path}{LOG_SUFFIX}").exists()


def _line(entries: list[dict[str, Any]], removed: list[str], *, complete: bool) -> bytes:
    value = {"recordings": entries, "removed": removed, "complete": complete}
    return encode_json(converter.unstructure(value)) + b"\n"
