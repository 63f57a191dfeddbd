"""Which words name several recordings. Every command asks that first, so this imports little."""

import os

_MAGIC = frozenset("*?[")


def names_several(word: str) -> bool:
    """Whether a word is a directory, a pattern or a URL: it may name any number of recordings."""
    if is_url(word):
        return True
    return word != "-" and (os.path.isdir(word) or is_pattern(word))  # noqa: PTH112


def is_pattern(word: str) -> bool:
    """Whether a word has a wildcard, and is not the name of a file as it is."""
    return not _MAGIC.isdisjoint(word) and not os.path.lexists(word)


def is_url(word: str) -> bool:
    """Whether a word names recordings that are fetched by the machine that needs them."""
    return "://" in word
