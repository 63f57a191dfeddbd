"""Runs one command on many recordings, on one machine or a cluster, with a verdict for each.

This module imports little: every command asks it whether words name several recordings.
"""

import os

SHARED = "file://"
"""Begins the path of what every machine of a cluster finds at the same place."""
_MAGIC = frozenset("*?[")


def names_several(word: str) -> bool:
    """Whether a word is a directory, a pattern or a shared path: any number of recordings."""
    if word == "-" or not os.path.lexists(word):
        return word.startswith(SHARED) or not _MAGIC.isdisjoint(word)
    return os.path.isdir(word)  # noqa: PTH112
