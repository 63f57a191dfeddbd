"""Finds where any of many words may stand in a text, in one pass.

Python has no search for many words that is fast enough to be made for every frame: an alternation
of a hundred words takes about ten times the time that indexing has for a frame. So this does with
long integers what the matcher Teddy of Hyperscan does with vector registers. Each word has a
fingerprint of three bytes, and is put into one of eight buckets. Three tables map each byte to the
set of buckets, as eight bits, whose words have it as the first, second or third byte. The text is
translated by each table, the second translation is shifted by one byte and the third by two, and
the bits that all three have in common are the places to look at. The cost does not depend on the
number of words; more words only mean more places where none stands.
"""

import re
from collections.abc import Iterable, Iterator

_LENGTH = 3
_BUCKETS = 8
_BLOCK = 1 << 18
"""How many bytes are searched at once, since the integers take several times the memory."""
_NONZERO = re.compile(rb"[^\0]")


class Fingerprints:
    """A set of sequences of three ASCII characters, to be looked for in any case."""

    def __init__(self, sequences: Iterable[str]) -> None:
        # Neighbours share a bucket: the fewer different bytes a bucket has, the fewer false places.
        ordered = sorted(set(sequences), key=lambda sequence: sequence[::-1])
        tables = [bytearray(256) for _ in range(_LENGTH)]
        for number, sequence in enumerate(ordered):
            for table, character in zip(tables, sequence, strict=True):
                for byte in (character.lower() + character.upper()).encode():
                    table[byte] |= 1 << number * _BUCKETS // len(ordered)
        self._first, self._second, self._third = map(bytes, tables)

    def places(self, data: bytes) -> Iterator[int]:
        """Yields where a sequence may begin, in order; never leaves out where one does."""
        for offset in range(0, len(data), _BLOCK):
            block = data
            if len(data) > _BLOCK:
                block = data[offset : offset + _BLOCK + _LENGTH - 1]
            read = int.from_bytes
            common = (
                read(block.translate(self._first), "little")
                & read(block.translate(self._second), "little") >> 8
                & read(block.translate(self._third), "little") >> 16
            )
            if common:
                for place in _NONZERO.finditer(common.to_bytes(len(block), "little")):
                    yield offset + place.start()
