"""Which words name several recordings. Every command asks that first, so this imports little."""

import os

SHARED = "file://"
"""Begins the path of what every machine of a cluster finds at the same place."""
_MAGIC = frozenset("*?[")


def names_several(word: str) -> bool:
    """Whether a word is a directory, a pattern or a shared path: any number of recordings."""
    if word == "-":
        return False
    return word.startswith(SHARED) or os.path.isdir(word) or is_pattern(word)  # noqa: PTH112


def is_pattern(word: str) -> bool:
    """Whether a word has a wildcard, and is not the name of a file as it is."""
    return not _MAGIC.isdisjoint(word) and not os.path.lexists(word)
