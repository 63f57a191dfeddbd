"""Finds the recordings that words name: files, directories and patterns."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from glob import glob
from pathlib import Path

from attrs import frozen

from acp_proxy.batches import SHARED, names_several
from acp_proxy.batches.results import is_results_file
from acp_proxy.errors import NoSuchRecording
from acp_proxy.plain_files import open_plain

SUFFIXES = (".db", ".jsonl")


@frozen
class SelectedRecording:
    """One recording of a batch.

    Attributes:
        name: its path as it was given, or below the directory that was.
        path: where it is.
        is_shared: whether every machine finds it there.
    """

    name: str
    path: str
    is_shared: bool = False


def selected(
    words: Iterable[str], find: Callable[[str], Path], without: Collection[Path] = ()
) -> list[SelectedRecording]:
    """Finds all recordings, each once, in one order on every machine.

    Args:
        words: files, directories, patterns, or any names of recordings.
        find: returns the path of a recording that a word names; it raises what it likes.
        without: files and directories in which nothing is looked for.

    Raises:
        NoSuchRecording: a directory or a pattern names no recording.
    """
    found: dict[str, SelectedRecording] = {}
    for word in words:
        if names_several(word):
            is_shared = word.startswith(SHARED)
            names = named_by(word, without)
            several = [SelectedRecording(name, name, is_shared) for name in names]
        else:
            path = str(find(word))
            several = [SelectedRecording(word if os.path.exists(word) else path, path)]  # noqa: PTH110
        for one in several:
            found.setdefault(os.path.abspath(one.path), one)  # noqa: PTH100  links are kept
    return [*found.values()]


def named_by(word: str, without: Collection[Path] = ()) -> list[str]:
    """Returns the paths of the recordings that a directory or a pattern names, sorted.

    Args:
        word: the directory or the pattern; or what follows ``file://``, which may be one file.
        without: files and directories in which nothing is looked for.

    Raises:
        NoSuchRecording: there are none.
    """
    word = word.removeprefix(SHARED)
    spared = {os.path.realpath(path) for path in without}
    names = sorted(_below(word, spared) if Path(word).is_dir() else _like(word, spared))
    if not names:
        raise NoSuchRecording(f"no recordings in {word}; expected .db or .jsonl files")
    return names


def _like(pattern: str, spared: Collection[str]) -> Iterator[str]:
    for name in glob(pattern, recursive=True):  # noqa: PTH207  as it was given
        if any(place in spared for place in _places(name)):
            continue
        if os.path.isdir(name):  # noqa: PTH112
            if not pattern.endswith("**"):  # which has named the files in it as well
                yield from _below(name, spared)
        elif not pattern.endswith("*") or _is_recording(name, spared):
            yield name


def _places(name: str) -> Iterator[str]:
    """Yields the real path of a file, and of all directories that it is in."""
    place = Path(os.path.realpath(name))
    return map(str, (place, *place.parents))


def _below(directory: str, spared: Collection[str]) -> Iterator[str]:
    for place, below, names in os.walk(directory):
        kept = (name for name in below if not name.startswith("."))
        below[:] = [name for name in kept if os.path.realpath(f"{place}/{name}") not in spared]
        yield from (
            path
            for name in names
            if not name.startswith(".") and _is_recording(path := os.path.join(place, name), spared)  # noqa: PTH118
        )


def _is_recording(name: str, spared: Collection[str]) -> bool:
    return (
        name.endswith(SUFFIXES)
        and os.path.realpath(name) not in spared
        and not (name.endswith(".jsonl") and is_results_file(Path(name)))
    )


def sha256_of(path: str) -> str:
    """Returns the SHA-256 of a file.

    Raises:
        OSError: it cannot be read, or is no plain file.
    """
    with open_plain(Path(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
