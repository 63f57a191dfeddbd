"""Keeps the unreadable parts of a log when the log is removed.

For example, a disk may have damaged bytes in the middle of a log. Indexing leaves the bytes out,
and notes in the recording which bytes of the log these are.

The bytes are written to ``NAME.db.damaged``, or ``NAME.db.damaged-2`` and so on. Only the owner can
read this file, since unreadable bytes cannot be masked.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_proxy.base import system
from acp_proxy.base.limits import PIECE
from acp_proxy.recording.file_names import DAMAGED_SUFFIX

if TYPE_CHECKING:
    from acp_proxy.store.log.log_reader import LogReader

ACTION = "damaged"
"""The action of the note about bytes that could not be read."""
_NOTES = "SELECT data FROM {} WHERE kind = 'note' AND data LIKE '%\"damaged\"%' ORDER BY seq"


def note(at: int, size: int) -> dict[str, Any]:
    """Returns the fields of the note about bytes that could not be read.

    Args:
        at: the offset of the first byte, from the start of the recording's log.
        size: the number of bytes.
    """
    reason = f"{size:,} bytes of its log could not be read, from byte {at:,} on"
    return {"action": ACTION, "reason": reason, "at": at, "bytes": size}


def places(connection: sqlite3.Connection, table: str = "events") -> list[tuple[int, int]]:
    """Returns the offset and size of each unreadable part, from the recording's notes.

    Args:
        connection: the recording.
        table: the name of the table of events.
    """
    spans = []
    for (text,) in connection.execute(_NOTES.format(table)):
        data = None
        with suppress(ValueError, RecursionError):  # a foreign file may have anything
            data = json.loads(text)
        if isinstance(data, dict) and data.get("action") == ACTION:
            at, size = data.get("at"), data.get("bytes")
            if isinstance(at, int) and isinstance(size, int) and size > 0:
                spans.append((at, size))
    return spans


def keep(path: Path, connection: sqlite3.Connection, log: "LogReader") -> Path | None:
    """Writes the unreadable parts of a log beside its database, before the log is removed.

    Args:
        path: the database.
        connection: the database, after all of the log was indexed.
        log: the log.

    Returns:
        The file; None if the whole log could be read.

    Raises:
        OSError: the file cannot be written, so the log has to stay.
    """
    spans, end = [], log.base
    for at, size in sorted(places(connection)):
        at, stop = max(at, end), min(at + size, log.end)
        if at < stop:
            spans.append((at, stop - at))
            end = stop
    if not spans:
        return None
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.flags("O_NOFOLLOW")
    for file in map(Path, _names(path)):
        try:
            fd = os.open(file, flags, 0o600)
        except FileExistsError:
            if _holds(file, log, spans):  # its writer was killed before the log was removed
                return file
            continue
        try:
            with open(fd, "wb") as target:  # noqa: PTH123  a descriptor
                target.writelines(_pieces(log, spans))
        except OSError:
            file.unlink()
            raise
        return file
    return None


def files(path: Path) -> list[Path]:
    """Returns the files with the unreadable parts of a recording's log.

    Args:
        path: the database.
    """
    kept = []
    for name in _names(path):
        if not os.path.lexists(name):
            break
        kept.append(Path(name))
    return kept


def warning(path: Path, spans: list[tuple[int, int]], where: Path) -> str:
    """Returns the warning about a recording whose log was damaged.

    Args:
        path: the recording.
        spans: offset and size of the unreadable parts, at least one.
        where: the file that contains the unreadable parts.
    """
    at, size = spans[0]
    more = f", and {len(spans) - 1:,} more places" if len(spans) > 1 else ""
    return (
        f"{path} lacks the unreadable parts of its log: {size:,} bytes from byte {at:,} on{more};"
        f" they are in {where}"
    )


def _names(path: Path) -> Iterator[str]:
    yield f"{path}{DAMAGED_SUFFIX}"
    for number in count(2):
        yield f"{path}{DAMAGED_SUFFIX}-{number}"


def _pieces(log: "LogReader", spans: list[tuple[int, int]]) -> Iterator[bytes]:
    for at, size in spans:
        for start in range(at, at + size, PIECE):
            yield log.read(start, min(PIECE, at + size - start))


def _holds(file: Path, log: "LogReader", spans: list[tuple[int, int]]) -> bool:
    """Whether a file contains exactly the given parts of a log."""
    try:
        fd = os.open(file, os.O_RDONLY | system.PLAIN)
    except OSError:
        return False
    try:
        at = 0
        for piece in _pieces(log, spans):
            if os.pread(fd, len(piece), at) != piece:
                return False
            at += len(piece)
        return os.fstat(fd).st_size == at
    except OSError:  # a directory
        return False
    finally:
        os.close(fd)
