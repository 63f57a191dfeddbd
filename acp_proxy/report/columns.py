"""Encodes columns of numbers as planes of bytes, which deflate well and are read at once.

A number v is stored as an unsigned u: 0 for null, else zigzag(v) + 1, so that small numbers have
few bytes, whatever their sign. A column is as wide as its largest u needs, and is stored as so many
planes: the lowest bytes of all rows, then the next ones. In a column of differences, v is the
difference to the number before that was not null. A text is stored as its place in a list, + 1.
"""

from array import array
from collections.abc import Iterator, Sequence
from sys import byteorder

_WORD = 8
"""Bytes of the items of an array, which hold any u but of numbers beyond 63 bits."""


def number_codes(values: Sequence[int | None]) -> list[int]:
    """Returns the u of each number, or of None."""
    return [0 if v is None else (v << 1) + 1 if v >= 0 else -v << 1 for v in values]


def differences(values: Sequence[int | None]) -> Iterator[int | None]:
    """Yields for each number what it is more than the one before; the first counts from 0."""
    before = 0
    for value in values:
        if value is None:
            yield None
        else:
            yield value - before
            before = value


def planes(codes: Sequence[int]) -> tuple[int, bytes]:
    """Returns how many planes a column has, and the planes, one after the other.

    Args:
        codes: the u of each row.
    """
    width = (max(codes, default=0).bit_length() + 7) // 8
    if width <= 1:
        return width, bytes(codes) if width else b""
    if width <= _WORD:
        items = array("Q", codes)
        if byteorder == "big":
            items.byteswap()
        data, size = items.tobytes(), _WORD
    else:
        data, size = b"".join(code.to_bytes(width, "little") for code in codes), width
    return width, b"".join(data[plane::size] for plane in range(width))


class Texts:
    """All texts that columns have, each once and in the order in which they came."""

    def __init__(self) -> None:
        self._codes: dict[str | None, int] = {None: 0}
        self._new: list[str] = []

    def __len__(self) -> int:
        return len(self._codes) - 1

    def codes(self, values: Sequence[str | None]) -> list[int]:
        """Returns the u of each text, or of None.

        Args:
            values: the texts.
        """
        known = self._codes
        for text in dict.fromkeys(values):
            if text not in known and text is not None:
                known[text] = len(known)
                self._new.append(text)
        return [*map(known.__getitem__, values)]

    def take_new(self) -> list[str]:
        """Returns the texts that came since the last call."""
        new, self._new = self._new, []
        return new
