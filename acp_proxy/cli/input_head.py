"""Reads an input from its beginning again, after its beginning has shown what it is."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from acp_proxy.errors import NotARecording
from acp_proxy.plain_files import reason


class HeadedInput:
    """An input, and its beginning; it may be a pipe, which cannot be read twice.

    Nothing is read after its end, since a terminal would wait for more.

    Args:
        source: the input.
        size: bytes of the beginning.
        path: where it comes from, for error messages.

    Attributes:
        head: the beginning.

    Raises:
        NotARecording: it cannot be read; so do the methods.
    """

    def __init__(self, source: BinaryIO, size: int, path: Path) -> None:
        self._source = source
        self._path = path
        self._held = self.head = b""
        self._has_ended = False
        self.head = self.beginning(size)

    def beginning(self, size: int) -> bytes:
        """Returns so much of its beginning; all of it if it has no more."""
        if size > len(self._held) and not self._has_ended:
            try:
                self._held += self._source.read(size - len(self._held))
            except OSError as e:
                raise NotARecording(self._path, reason(e)) from None
            self._has_ended = len(self._held) < size
        return self._held[:size]

    def lines(self, longest: int = -1) -> Iterator[bytes]:
        """Yields the lines of the whole input, each with its newline.

        Args:
            longest: bytes from which on a line is yielded in several parts; -1 for no limit.
        """
        for line in io.BytesIO(self._held):
            if line.endswith(b"\n") or longest >= 0:
                yield line
            else:
                yield line + self._line(longest)
        while line := self._line(longest):
            yield line

    def _line(self, longest: int) -> bytes:
        if self._has_ended:
            return b""
        try:
            line = self._source.readline(longest)
        except OSError as e:
            raise NotARecording(self._path, reason(e)) from None
        self._has_ended = not line.endswith(b"\n") and len(line) != longest
        return line
