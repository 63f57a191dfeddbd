"""Finds the recordings that a user names on a command line, by files, directories and patterns."""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from glob import glob
from pathlib import Path

from attrs import frozen

from acp_proxy.base.errors import NoSuchRecording
from acp_proxy.base.plain_files import open_plain
from acp_proxy.batches import SHARED, names_several
from acp_proxy.batches.results import is_results_file

SUFFIXES = (".db", ".jsonl")


@frozen
class SelectedRecording:
    """One recording of a batch.

    Attributes:
        name: the path from the user, or the path of a file in a directory that the user named.
        path: the path of the file.
        is_shared: whether the recording has this path on every machine.
    """

    name: str
    path: str
    is_shared: bool = False


def selected(
    words: Iterable[str], find: Callable[[str], Path], without: Collection[Path] = ()
) -> list[SelectedRecording]:
    """Finds all recordings that are named by the given words.

    Each recording is listed once, and the order is the same on every machine.

    Args:
        words: files, directories, patterns, or any names of recordings.
        find: a function that returns the path of the recording that a word names. The function may
            raise any error.
        without: files and directories that are not searched.

    Raises:
        NoSuchRecording: a directory or a pattern names no recording.
    """
    by_path: dict[str, SelectedRecording] = {}
    for word in words:
        if names_several(word):
            is_shared = word.startswith(SHARED)
            names = named_by(word, without)
            several = [SelectedRecording(name, name, is_shared) for name in names]
        else:
            path = str(find(word))
            several = [SelectedRecording(word if os.path.exists(word) else path, path)]  # noqa: PTH110
        for recording in several:
            by_path.setdefault(os.path.abspath(recording.path), recording)  # noqa: PTH100  links are kept
    return [*by_path.values()]


def named_by(word: str, without: Collection[Path] = ()) -> list[str]:
    """Returns the paths of the recordings that a directory or a pattern names, sorted.

    Args:
        word: the directory or the pattern; after ``file://``, also the path of a file.
        without: files and directories that are not searched.

    Raises:
        NoSuchRecording: the word names no recording.
    """
    word = word.removeprefix(SHARED)
    spared = {os.path.realpath(path) for path in without}
    places = glob(word, recursive=True)  # noqa: PTH207
    if os.path.isdir(word):  # noqa: PTH112
        places = [word]
        spared.difference_update(_places(word))
    paths = (name for place in places for name in _in(place, word))
    names = sorted(name for name in paths if spared.isdisjoint(_places(name)))
    if not names:
        raise NoSuchRecording(f"no recordings in {word}; expected .db or .jsonl files")
    return names


def _in(place: str, word: str) -> Iterator[str]:
    """Yields the path of a file. For a directory, yields the recordings below it."""
    if not os.path.isdir(place):  # noqa: PTH112
        if not word.endswith("*") or _is_recording(place):
            yield place
    elif not word.endswith("**"):  # a pattern with ** also matches these files
        for directory, below, names in os.walk(place):
            below[:] = [name for name in below if not name.startswith(".")]
            paths = (os.path.join(directory, name) for name in names if not name.startswith("."))  # noqa: PTH118
            yield from filter(_is_recording, paths)


def _places(name: str) -> Iterator[str]:
    """Yields the real paths of a file and of all its parent directories."""
    place = Path(os.path.realpath(name))
    return map(str, (place, *place.parents))


def _is_recording(name: str) -> bool:
    is_named = name.endswith(SUFFIXES)
    return is_named and not (name.endswith(".jsonl") and is_results_file(Path(name)))


def sha256_of(path: str) -> str:
    """Returns the SHA-256 of a file.

    Raises:
        OSError: the file cannot be read, or is not a plain file.
    """
    with open_plain(Path(path)) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
