"""Runs one command on many recordings, on one machine or a cluster, with a verdict on each.

Every command imports this module to call `names_several`, so it imports little.
"""

import os

SHARED = "file://"
"""The prefix of a path that leads to the same file or directory on every machine of a cluster."""
_MAGIC = frozenset("*?[")


def names_several(word: str) -> bool:
    """Whether a word may name many recordings: it is a directory, a pattern or a shared path."""
    if word == "-" or not os.path.lexists(word):
        return word.startswith(SHARED) or not _MAGIC.isdisjoint(word)
    return os.path.isdir(word)  # noqa: PTH112
