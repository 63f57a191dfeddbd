"""Finds any of many words in a text, in one pass.

Python's own searches are too slow for every frame: an alternation of a hundred words takes about
ten times as long as indexing a frame may take, and so do a hundred searches. An Aho-Corasick
automaton reads each byte once, however many words there are.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from ahocorasick_rs import BytesAhoCorasick, Implementation

from acp_proxy.redaction.key_formats import key_formats

NAMES = (
    "auth", "cookie", "key", "token", "secret", "pass", "pwd", "credential", "creds", "signature",
    "webhook", "dsn", "connection",
)  # fmt: skip
"""Each name of a secret in `names` contains one of these."""
FORMS = ("eyJ", "BEGIN ", "bearer", "basic", "://", "--user", " -u")
"""Each secret that is recognized by neither its name nor its provider contains one of these."""
PLACES = (
    'env"', "env\\", "headers", "credential", 'url"', "url\\",
    "\\u00",  # an escape of an ASCII character, which may hide any needle
    ":\\/", ":/\\",
)  # fmt: skip
"""Words that are looked for in JSON before it is decoded."""


class Needles:
    """Searches for words, without regard to the case of ASCII letters.

    Args:
        words: at least one, none empty.
        small: whether to save memory at the cost of time, for many thousands of words.
    """

    def __init__(self, words: Sequence[bytes], *, small: bool = False) -> None:
        lowered = [word.lower() for word in words]
        implementation = Implementation.ContiguousNFA if small else Implementation.DFA
        self._find = BytesAhoCorasick(lowered, implementation=implementation)

    def are_in(self, data: bytes) -> bool:
        """Whether some bytes contain one of the words."""
        return bool(self._find.find_matches_as_indexes(data.lower()))

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yields the number and the start of each word in some bytes."""
        for number, start, _ in self._find.find_matches_as_indexes(data.lower(), overlapping=True):
            yield number, start


@cache
def beginnings() -> tuple[str, ...]:
    """Returns the prefixes of the keys of providers, each up to its first slash."""
    return tuple(dict.fromkeys(row.prefix.partition("/")[0] for row in key_formats()))


@cache
def all_words() -> tuple[bytes, ...]:
    """Returns words in a fixed order; a text without any of them has nothing to mask."""
    return tuple(word.encode() for word in (*beginnings(), *NAMES, *FORMS, *PLACES))


@cache
def of_all_words() -> Needles:
    """Returns the needles of `all_words`, which are made at the first call."""
    return Needles(all_words())
