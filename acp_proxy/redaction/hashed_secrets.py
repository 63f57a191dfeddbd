"""Recognizes secrets of which only a keyed hash is known, with their length and four characters.

The four characters are searched for together with all other words, so the hash is computed only
where they are.
"""

import re
from collections.abc import Iterator, Sequence

from acp_proxy.redaction.needles import GrowingNeedles, Places

_LINE = re.compile(r"([0-9a-f]{32}) ([0-9]{1,4}) ([0-9]{1,4}) (\S{4})", re.ASCII)
_MOST = 1000


class HashedSecrets:
    """Secrets of which only hashes are known.

    Args:
        lines: of each its hash, its length, and the index and the text of four characters of it.
        key: the key of the hashes.
        needles: the words that are searched for; the four characters of each secret are added.

    Attributes:
        longest: the length of the longest of them.
        markers: the markers of those that were recognized.
    """

    def __init__(self, lines: Sequence[str], key: bytes, needles: GrowingNeedles) -> None:
        self._key = key
        self._by_word: dict[int, list[tuple[int, int, str]]] = {}
        self.longest = 0
        self.markers: set[str] = set()
        for match in filter(None, map(_LINE.fullmatch, lines[:_MOST])):
            digest, length, start, word = match.groups()
            number = needles.add(word.encode())
            self._by_word.setdefault(number, []).append((int(length), int(start), digest))
            self.longest = max(self.longest, int(length))

    def recognized(self, text: str, places: Places) -> Iterator[str]:
        """Yields the secrets in a text.

        Args:
            text: any text.
            places: the matches of the needles in it.
        """
        for number, place in places:
            for length, start, digest in self._by_word.get(number, ()):
                begin, end = place - start, place - start + length
                if begin >= 0 and end <= len(text) and self._hash(text[begin:end]) == digest:
                    yield text[begin:end]

    def _hash(self, value: str) -> str:
        import hashlib  # late, as in `markers`

        data = value.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=16).hexdigest()
