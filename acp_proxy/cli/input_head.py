"""Reads an input from its beginning again, after its beginning has shown what it is."""

import io
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO


class HeadedInput:
    """An input, and its beginning; it may be a pipe, which cannot be read twice.

    Args:
        source: the input.
        size: bytes of the beginning.

    Attributes:
        head: the beginning.
    """

    def __init__(self, source: BinaryIO, size: int) -> None:
        self.head = source.read(size)
        self._source = source

    def lines(self, longest: int = -1) -> Iterator[bytes]:
        """Yields the lines of the whole input, each with its newline.

        Args:
            longest: bytes from which on a line is yielded in several parts; -1 for no limit.
        """
        for line in io.BytesIO(self.head):
            if line.endswith(b"\n") or longest >= 0:
                yield line
            else:
                yield line + self._source.readline()
        yield from iter(partial(self._source.readline, longest), b"")
