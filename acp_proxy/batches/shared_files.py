"""Recordings that are named by a URL: ``file://``, ``s3://`` and whatever else fsspec can read.

Each machine fetches them itself, so they need not travel through the scheduler of a cluster.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec

from acp_proxy.batches.selection import SUFFIXES
from acp_proxy.errors import NoSuchRecording

_PATTERN = frozenset("*?[")


def expand_url(word: str) -> list[str]:
    """Returns the URLs of recordings that a word names: one, those in a directory, or a pattern's.

    Args:
        word: a URL, whose path may be a directory or a pattern.

    Raises:
        NoSuchRecording: there is none, or the place cannot be read.
    """
    try:
        found = sorted(_named_by(word))
    except Exception as e:  # each kind of storage has its own
        raise NoSuchRecording(f"cannot read {word}: {_line(e)}") from None
    if not found:
        raise NoSuchRecording(f"no recordings in {word}; expected .db or .jsonl files")
    return found


def fetch(url: str, place: Path) -> None:
    """Copies what is at a URL into a file.

    Args:
        url: where it is.
        place: the file.

    Raises:
        FileNotFoundError: there is nothing.
        OSError: it cannot be read, perhaps only now.
    """
    try:
        with fsspec.open(url, "rb") as source, place.open("wb") as target:
            shutil.copyfileobj(source, target)
    except OSError:
        raise
    except Exception as e:
        raise OSError(_line(e)) from e


def _named_by(word: str) -> Iterator[str]:
    storage: Any
    storage, path = fsspec.core.url_to_fs(word)
    if not _PATTERN.isdisjoint(path):
        start = path[: min(path.find(one) for one in _PATTERN if one in path)]
        names = [name for name in storage.glob(path) if not storage.isdir(name)]
        names = [name for name in names if not _is_hidden(name[len(start) :])]
    elif storage.isdir(path):
        below = [name for name in storage.find(path) if not _is_hidden(name[len(path) :])]
        names = [name for name in below if name.endswith(SUFFIXES)]
    else:
        names = [path] if storage.exists(path) else []
    for name in names:
        yield storage.unstrip_protocol(name)


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") for part in path.split("/"))


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
