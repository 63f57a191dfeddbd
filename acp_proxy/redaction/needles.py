"""Finds any of many words in a text, in one pass.

Python has no search for many words that is fast enough to be made for every frame: an alternation
of a hundred words takes about ten times the time that indexing has for a frame, and so do a hundred
searches. An Aho-Corasick automaton reads each byte once, however many words there are.
"""

from collections.abc import Iterator, Sequence
from functools import cache

from ahocorasick_rs import BytesAhoCorasick, Implementation

from acp_proxy.redaction.key_formats import key_formats

NAMES = (
    "auth", "cookie", "key", "token", "secret", "pass", "pwd", "credential", "creds", "signature",
    "webhook", "dsn", "connection",
)  # fmt: skip
"""A part of each name that `names` knows."""
FORMS = ("eyJ", "BEGIN ", "bearer", "basic", "://", "--user", " -u")
"""What is in each secret that is known by neither its name nor its provider."""
PLACES = (
    'env"', "env\\", "headers", "credential", 'url"', "url\\",
    "\\u00",  # an escape of an ASCII character, which may hide any needle
    ":\\/", ":/\\",
)  # fmt: skip
"""Needles of JSON that is not decoded."""


class Needles:
    """Words to be looked for, in any case of their ASCII letters.

    Args:
        words: at least one, none empty.
        small: whether memory counts more than time, as for many thousands of words.
    """

    def __init__(self, words: Sequence[bytes], *, small: bool = False) -> None:
        lowered = [word.lower() for word in words]
        implementation = Implementation.ContiguousNFA if small else Implementation.DFA
        self._find = BytesAhoCorasick(lowered, implementation=implementation)

    def are_in(self, data: bytes) -> bool:
        """Whether one of the words stands in some bytes."""
        return bool(self._find.find_matches_as_indexes(data.lower()))

    def places(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Yields each word that stands in some bytes, by its number, and where, by its end."""
        for number, start, _ in self._find.find_matches_as_indexes(data.lower(), overlapping=True):
            yield number, start


@cache
def beginnings() -> tuple[str, ...]:
    """Returns how the keys of providers begin, up to the first slash."""
    return tuple(dict.fromkeys(row.prefix.partition("/")[0] for row in key_formats()))


@cache
def all_words() -> tuple[bytes, ...]:
    """Returns words of which one is in whatever may have anything to mask, in a fixed order."""
    return tuple(word.encode() for word in (*beginnings(), *NAMES, *FORMS, *PLACES))


@cache
def of_all_words() -> Needles:
    """Returns the needles of `all_words`; what nobody has asked for is not made."""
    return Needles(all_words())
