"""Runs one command on many recordings, on one machine or a cluster, with a verdict for each.

This module imports little, because every command asks it whether words name several recordings.
"""

import os

SHARED = "file://"
"""Begins a path under which every machine of a cluster finds the same file or directory."""
_MAGIC = frozenset("*?[")


def names_several(word: str) -> bool:
    """Whether a word may name several recordings: a directory, a pattern or a shared path."""
    if word == "-" or not os.path.lexists(word):
        return word.startswith(SHARED) or not _MAGIC.isdisjoint(word)
    return os.path.isdir(word)  # noqa: PTH112
