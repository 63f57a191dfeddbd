"""Finds any of many words in a text, in one pass.

Python's own searches are too slow for every frame: an alternation of a hundred words takes about
ten times as long as indexing a frame may take, and so do a hundred searches. An Aho-Corasick
automaton reads each byte once, however many words there are.
"""

from collections.abc import Sequence
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


Places = list[tuple[int, int]]
"""Words that were found, each by its number, and where they begin."""


def one_byte_each(text: str) -> bytes:
    """Returns a text with one byte for each character, so that places are the same in both."""
    return text.encode("latin-1", "replace")


class Needles:
    """Searches for words, without regard to the case of ASCII letters.

    Args:
        words: at least one, none empty.
        small: whether to save memory at the cost of time, for many thousands of words.

    Attributes:
        words: in lower case, in their order.
    """

    def __init__(self, words: Sequence[bytes], *, small: bool = False) -> None:
        self.words = [word.lower() for word in words]
        implementation = Implementation.ContiguousNFA if small else Implementation.DFA
        automaton = BytesAhoCorasick(self.words, implementation=implementation)
        self._find = automaton.find_matches_as_indexes

    def are_in(self, data: bytes) -> bool:
        """Whether some bytes contain one of the words."""
        return bool(self._find(data.lower()))

    def places(self, data: bytes) -> Places:
        """Returns the number and the start of each word in some bytes, by their ends."""
        found = self._find(data.lower(), overlapping=True)
        return [(number, start) for number, start, _ in found] if found else []


class GrowingNeedles:
    """Words to be looked for, to which others can be added at any time.

    An automaton takes no more words once it is made. So the words that came last have one of their
    own, and there are a few, each at least half as large again as the next, which are joined as
    more words come: n words take time O(n log n). Every automaton is one more pass over what is
    searched, so where no word has come for a while, one of all words is made.

    Args:
        first: words from the beginning, which keep their numbers.
        small: see `Needles`; of many thousands of words.

    Attributes:
        count: how many words there are.
    """

    def __init__(self, first: Needles | None = None, *, small: bool = False) -> None:
        self._small = small
        self._words = [*first.words] if first is not None else []
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._parts = [(0, first)] if first is not None else []
        """Automata, and the number of the first word of each."""
        self._all = first
        """The automaton of all words, if there is one."""
        self._searches = 0
        """How many there were without it since the last word came."""
        self.count = len(self._words)

    def add(self, word: bytes) -> int:
        """Adds a word; returns its number, which is the next one if it is new.

        Args:
            word: not empty.
        """
        word = word.lower()
        number = self._numbers.setdefault(word, len(self._words))
        if number == len(self._words):
            self._words.append(word)
            self.count += 1
            self._all = None
        return number

    def are_in(self, data: bytes) -> bool:
        """Whether one of the words stands in some bytes."""
        if self._all is None:
            self._settle()
            return any(part.are_in(data) for _, part in self._parts)
        return self._all.are_in(data)

    def places(self, data: bytes) -> Places:
        """Returns each word that stands in some bytes, by its number, and where.

        Those of the first automaton, and so the words from the beginning, come by their ends.
        """
        if self._all is not None:
            return self._all.places(data)
        self._settle()
        found: Places = []
        for first, part in self._parts:
            there = part.places(data)
            found += [(first + number, start) for number, start in there] if first else there
        return found

    def _settle(self) -> None:
        """Makes automata of the words that have come, or one of all if none has for a while."""
        parts = self._parts
        known = parts[-1][0] + len(parts[-1][1].words) if parts else 0
        if known < len(self._words):
            self._searches = 0
            first = known
            while parts and 2 * (len(self._words) - first) > len(parts[-1][1].words):
                first, _ = parts.pop()
            parts.append((first, Needles(self._words[first:], small=True)))
            return
        self._searches += 1
        if self._words and self._searches > len(self._words):
            self._all = Needles(self._words, small=self._small)
            parts[:] = [(0, self._all)]


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
