"""Derives random choices from bytes, so that mutated bytes give other choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")


class ByteSource:
    """Bytes that are consumed from the front; after the last byte, all numbers are zero."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def __bool__(self) -> bool:
        return self._at < len(self._data)

    def take(self, size: int) -> bytes:
        """Returns the next bytes; fewer at the end."""
        self._at += size
        return self._data[self._at - size : self._at]

    def rest(self) -> bytes:
        """Returns all remaining bytes."""
        return self.take(max(0, len(self._data) - self._at))

    def number(self, most: int) -> int:
        """Returns a number from 0 to ``most``."""
        size = (most.bit_length() + 7) // 8
        return int.from_bytes(self.take(size), "little") % (most + 1)

    def choice(self, options: Sequence[T]) -> T:
        """Returns one of several values."""
        return options[self.number(len(options) - 1)]

    def short(self, most: int = 255) -> bytes:
        """Reads a length, and returns that many bytes."""
        return self.take(self.number(most))
