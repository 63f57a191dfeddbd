"""Finds where any of many words may stand in a text, in one pass.

Python has no search for many words that is fast enough to be made for every frame: an alternation
of a hundred words takes about ten times the time that indexing has for a frame. So this does with
long integers what the matcher Teddy of Hyperscan does with vector registers. Each word has a
fingerprint, three characters of it, which is in one of eight buckets. Three tables map each byte to
the set of buckets, as eight bits, whose fingerprints have it as first, second or third byte. The
text is translated by each table, the second translation is shifted by one byte and the third by
two, and the bits that all three have in common are the places to look at. The cost does not depend
on the number of words; more words only mean more places where none stands.
"""

import re
from collections.abc import Iterable, Iterator

_LENGTH = 3
_BLOCK = 1 << 18
"""How many bytes are searched at once, since the integers take several times the memory."""
_NONZERO = re.compile(rb"[^\0]")
_BUCKETS = (
    (
        "A3- AIz AKC II- KU- gho glc glf isc k.c k.o ud- ul- us-",
        r":\/ nec",
    ),
    (
        "BIA OJA ey- eyJ hu_ io- nu_ p8e po_ sk- sk_ soa xe- xke xo- yu_",
        "bea hea oke ook",
    ),
    (
        "4b1 FLW GR1 KEY ZTK fel fm1 k_l l_l le_ o1_ o_l ub_",
        "key uth",
    ),
    (
        "AAA ASI CCA EAA EGI EZA aat api ca_ co- pa_ pat pp- xa- xai xox xp- xs-",
        "asi",
    ),
    (
        "0c0 KIA PI- PX- SG. TAI dp. fm2 fp_ fw_ hpa hps "
        "hx_ las lpa lx- pm_ pw_ rk_ sa. sa_ sm_ sp- ya2",
        "gna pas",
    ),
    (
        "BSK JS- ab_ af- as- at. bp_ bt- dt- gd_ gp_ hf_ hp_ hr_ hs_ kn_ kr_ mVm "
        "ms_ mt- r8_ rdm rg_ rt- sl. tn_ tp- tt- v1. v1_ vb. vs. xb- xd- xr- ys_",
        "dsn",
    ),
    (
        "56~ ec_ ecr",
        r':// :/\ ecr ede eds rl\ rl"',
    ),
    (
        "AK- AT- ATB ATT i-A lag v2_",
        r'nv" nv\ pwd u00',
    ),
)
"""Fingerprints by bucket: of words in one case only, then of words in any case.

A bucket finds any first, second and third byte of its fingerprints together, so those that share
bytes are together. They were chosen so that in messages of real agents they are found least. A
word that has none of them is found by its first three characters, which is right but slower.
"""


def fingerprint_of(word: str, *, exact: bool) -> str:
    """Chooses the three characters by which a word is found.

    Args:
        word: ASCII, three characters or more; in lower case if it is not exact.
        exact: it is looked for in this case only.
    """
    known = _KNOWN[exact]
    grams = (word[start : start + _LENGTH] for start in range(len(word) - _LENGTH + 1))
    return next((gram for gram in grams if gram in known), word[:_LENGTH])


_KNOWN = [
    {gram: number for number, bucket in enumerate(_BUCKETS) for gram in bucket[side].split()}
    for side in (1, 0)
]
"""The bucket of each fingerprint; of those in any case first."""


class Fingerprints:
    """Fingerprints of words, to be looked for."""

    def __init__(self, fingerprints: Iterable[str]) -> None:
        """Makes the tables.

        Args:
            fingerprints: what `fingerprint_of` chose, in every spelling that may occur.
        """
        tables = [bytearray(256) for _ in range(_LENGTH)]
        for gram in fingerprints:
            bucket = _KNOWN[True].get(gram, _KNOWN[False].get(gram.lower(), len(_BUCKETS) - 1))
            for table, byte in zip(tables, gram.encode(), strict=True):
                table[byte] |= 1 << bucket
        self._first, self._second, self._third = map(bytes, tables)

    def places(self, data: bytes) -> list[int]:
        """Returns where a word may have its fingerprint, in order; leaves out none that has it."""
        if len(data) > _BLOCK:
            return list(self._in_blocks(data))
        read = int.from_bytes
        common = (
            read(data.translate(self._first), "little")
            & read(data.translate(self._second), "little") >> 8
            & read(data.translate(self._third), "little") >> 16
        )
        if not common:
            return []
        bits = common.to_bytes(len(data), "little")
        return [place.start() for place in _NONZERO.finditer(bits)]

    def _in_blocks(self, data: bytes) -> Iterator[int]:
        for offset in range(0, len(data), _BLOCK):
            for place in self.places(data[offset : offset + _BLOCK]):
                yield offset + place
            border = offset + _BLOCK - _LENGTH + 1
            for place in self.places(data[border : border + 2 * _LENGTH - 2]):
                yield border + place
