"""The list of recordings as a stream: each recording once, and again whenever it has changed."""

import hashlib
import math
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import trio
from attrs import define, field

from acp_proxy.base.forms import converter
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.store.files.directory import paths
from acp_proxy.store.files.side_files import SHARED_MEMORY, SUFFIXES

_LOOK_S = 1.0
"""The time between two looks at the directory, in seconds."""
_SHARE = 20
"""A changed recording is read again only after a pause: this many times the duration of its latest
reading."""
_REST_S, _REST_SHARE, _LONGEST_REST_S = 2.0, 200, 10.0
"""A running recording that does not change is also read again, since waits grow and recorders die:
after `_REST_S` seconds, or after `_REST_SHARE` times the duration of its latest reading if this is
longer, but at the latest after `_LONGEST_REST_S` seconds."""
_TOGETHER = 10
"""The largest number of recordings in one line."""


def name_of(path: Path) -> str:
    """Returns the name of a recording in URLs; the name is valid Unicode.

    Args:
        path: the recording.
    """
    return os.fsencode(path.name).decode(errors="replace")


def named(directory: Path) -> dict[str, Path]:
    """Returns the paths of a directory's recordings, by the names of the recordings in URLs.

    Args:
        directory: the directory.
    """
    return {name_of(path): path for path in paths(directory)}


def state_of(path: Path) -> list[tuple[str, int, int, int]]:
    """Returns a value that changes if somebody writes a recording, but not if it is read.

    The value is empty if the recording has no files.

    Args:
        path: the recording.
    """
    state = []
    for suffix in ("", *SUFFIXES):  # strings are made and checked faster than paths
        with suppress(OSError):
            status = os.stat(f"{path}{suffix}")  # noqa: PTH116
            # Readers make an empty write-ahead log, and write the index of any such log.
            if not suffix or (status.st_size and suffix != SHARED_MEMORY):
                state.append((suffix, status.st_ino, status.st_size, status.st_mtime_ns))
    return state


class _Reading(NamedTuple):
    """The latest reading of a recording."""

    state: Any
    """The state of the recording's files; see `state_of`."""
    at: float
    """When the recording may be read again if its files change, on the monotonic clock."""
    rest_until: float
    """When the recording is read again if its files do not change, on the monotonic clock."""
    digest: bytes
    """A digest of the recording's entry in the list."""


@define
class RecordingsFeed:
    """Tells one page about the recordings of a directory."""

    _directory: Path
    _describe: Callable[[Path], dict[str, Any]]
    """Returns what the list shows of a recording; called in a thread."""
    _unredacted: bool = field(kw_only=True)
    """Whether secrets are shown."""
    _known: dict[str, _Reading] = field(init=False, factory=dict)
    """The latest reading of each recording, by the name of the recording."""

    async def lines(self) -> AsyncIterator[bytes]:
        """Yields lines of JSON about the recordings, for as long as the caller wants them."""
        is_first = True
        while True:
            names, changed = await trio.to_thread.run_sync(self._changed, abandon_on_cancel=True)
            removed = [name for name in self._known if name not in names]
            for name in removed:
                del self._known[name]
            while changed:
                some, changed = changed[:_TOGETHER], changed[_TOGETHER:]
                read = [await self._entry(path, state) for path, state in some]
                entries = [entry for entry in read if entry is not None]
                if entries or removed:
                    yield self._line(entries, removed, complete=not changed)
                    is_first = False
                removed = []
            if removed or is_first:
                yield self._line([], removed, complete=True)
                is_first = False
            await trio.sleep(_LOOK_S)

    def _changed(self) -> tuple[set[str], list[tuple[Path, Any]]]:
        """Returns the names of all recordings, and which to read now: running recordings first."""
        every = named(self._directory)
        now, changed = time.monotonic(), []
        for name, path in every.items():
            state = state_of(path)
            known = self._known.get(name)
            if known is None or now >= (known.at if state != known.state else known.rest_until):
                changed.append((path, state))
        changed.sort(key=lambda p: (any(s[0] == LOG_SUFFIX for s in p[1]), p[0].name), reverse=True)
        return {*every}, changed

    async def _entry(self, path: Path, state: Any) -> dict[str, Any] | None:
        """Reads a recording, and returns its entry in the list if the entry has changed."""
        name, began = name_of(path), trio.current_time()
        entry = await trio.to_thread.run_sync(self._describe, path, abandon_on_cancel=True)
        took_s, now = trio.current_time() - began, time.monotonic()
        rest_s = min(max(_REST_S, _REST_SHARE * took_s), _LONGEST_REST_S)
        rest_until = now + rest_s if entry["live"] else math.inf
        digest = hashlib.sha256(encode_json(converter.unstructure(entry))).digest()
        before = self._known.get(name)
        self._known[name] = _Reading(state, now + _SHARE * took_s, rest_until, digest)
        is_same = before is not None and before.digest == digest
        return None if is_same else {"name": name, **entry}

    def _line(self, entries: list[dict[str, Any]], removed: list[str], *, complete: bool) -> bytes:
        value = {"recordings": entries, "removed": removed, "complete": complete}
        value["unredacted"] = self._unredacted
        return encode_json(converter.unstructure(value)) + b"\n"
