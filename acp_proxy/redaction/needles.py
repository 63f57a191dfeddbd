"""Finds any of many words (the needles) in a text, in one pass.

To search for a hundred words with Python's own functions takes about ten times as long as all work
on a frame is allowed to take. An Aho-Corasick automaton reads each byte once for any number of
words.
"""

from collections.abc import Sequence
from functools import cache

from ahocorasick_rs import BytesAhoCorasick, Implementation

from acp_proxy.redaction.key_formats import key_formats

NAMES = (
    "auth", "cookie", "key", "token", "secret", "pass", "pwd", "credential", "creds", "signature",
    "webhook", "dsn", "connection", "mfacode", "_pat=", '_pat"', "_pat'", "_pat:", "salt=", 'salt"',
    "pin=", 'pin"', "otp=", 'otp"', "pw=", 'pw"',
)  # fmt: skip
"""Every name that `secret_names` recognizes contains one of these words."""
COMMANDS = (
    "mysql", "mariadb", "sshpass", "docker login", "podman login", "redis-cli", "sqlcmd",
    "identified ", "setx ", "machine ",
)  # fmt: skip
"""Words in commands that show that a password may follow."""
FORMS = (
    "eyJ", "BEGIN ", "bearer", "basic", "://", "--user", " -u", "?sig=", "&sig=", ":AA", *COMMANDS,
)  # fmt: skip
"""The needles of secrets without a listed name and without a listed prefix. Each of these secrets
contains one of these words, or is next to such a word."""
PLACES = (
    'env"', "env\\", "headers", "credential", 'url"', "url\\",
    "\\u00",  # an escape of an ASCII character, may hide any needle
    ":\\/", ":/\\",
)  # fmt: skip
"""A line of JSON with one of these words must be decoded to find its secrets."""


Places = list[tuple[int, int]]
"""The matches in a text: the number of each matched word, and the index where the match begins."""


def one_byte_each(text: str) -> bytes:
    """Encodes a text with one byte per character, so that indexes of bytes and characters agree."""
    return text.encode("latin-1", "replace")


class Needles:
    """Searches for words, ignoring the case of ASCII letters.

    Args:
        words: at least one word; no word is empty.
        small: whether to save memory at the cost of time; for many thousands of words.

    Attributes:
        words: the words in lower case, in the given order.
    """

    def __init__(self, words: Sequence[bytes], *, small: bool = False) -> None:
        self.words = [word.lower() for word in words]
        implementation = Implementation.ContiguousNFA if small else Implementation.DFA
        automaton = BytesAhoCorasick(self.words, implementation=implementation)
        self._find = automaton.find_matches_as_indexes

    def are_in(self, data: bytes) -> bool:
        """Whether the data contains one of the words."""
        return bool(self._find(data.lower()))

    def places(self, data: bytes) -> Places:
        """Returns all matches in the data, sorted by their ends."""
        matches = self._find(data.lower(), overlapping=True)
        return [(number, start) for number, start, _ in matches] if matches else []


class GrowingNeedles:
    """Searches for a growing set of words.

    An automaton cannot be extended, so the words are divided among several automata: a small one
    for the latest words, and larger ones for earlier words. Adding n words takes O(n log n).

    Each automaton costs one more pass over the data. So if no word is added for a while, all
    automata are merged.

    Args:
        first: the automaton of the initial words; these words keep their numbers.
        small: see `Needles`.

    Attributes:
        count: the number of words.
    """

    def __init__(self, first: Needles | None = None, *, small: bool = False) -> None:
        self._small = small
        self._words = [*first.words] if first is not None else []
        self._numbers = {word: number for number, word in enumerate(self._words)}
        self._parts = [(0, first)] if first is not None else []
        """Pairs: the number of an automaton's first word, and the automaton."""
        self._all = first
        """The automaton of all words; None if words were added after it was made."""
        self._searches = 0
        """The number of searches with `_parts` since the latest word was added."""
        self.count = len(self._words)

    def add(self, word: bytes) -> int:
        """Adds a word if it is new, and returns its number.

        Args:
            word: the word; not empty.
        """
        word = word.lower()
        number = self._numbers.setdefault(word, len(self._words))
        if number == len(self._words):
            self._words.append(word)
            self.count += 1
            self._all = None
        return number

    def are_in(self, data: bytes) -> bool:
        """Whether the data contains one of the words."""
        if self._all is None:
            self._settle()
            return any(part.are_in(data) for _, part in self._parts)
        return self._all.are_in(data)

    def places(self, data: bytes) -> Places:
        """Returns all matches in the data.

        The matches of the first automaton, which has the initial words, come first. The matches of
        one automaton are sorted by their ends.
        """
        if self._all is not None:
            return self._all.places(data)
        self._settle()
        matches: Places = []
        for first, part in self._parts:
            places = part.places(data)
            matches += [(first + number, start) for number, start in places] if first else places
        return matches

    def _settle(self) -> None:
        """Prepares the automata for a search.

        If words were added, makes an automaton of them, which also replaces small earlier automata.
        If not, counts the search. When more searches than words were counted, merges all automata.
        """
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
    """Returns the prefixes in the table of provider keys, each up to its first slash."""
    return tuple(dict.fromkeys(row.prefix.partition("/")[0] for row in key_formats()))


@cache
def all_words() -> tuple[bytes, ...]:
    """Returns all words to search for, in a fixed order. A text without them needs no masking."""
    return tuple(word.encode() for word in (*beginnings(), *NAMES, *FORMS, *PLACES))


@cache
def of_all_words() -> Needles:
    """Returns the automaton of `all_words`; the first call makes the automaton."""
    return Needles(all_words())
