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
        NotARecording: it cannot be read; so does the method.
    """

    def __init__(self, source: BinaryIO, size: int, path: Path) -> None:
        self._source = source
        self._path = path
        try:
            self.head = source.read(size)
        except OSError as e:
            raise NotARecording(path, reason(e)) from None
        self._has_ended = len(self.head) < size

    def lines(self, longest: int = -1) -> Iterator[bytes]:
        """Yields the lines of the whole input, each with its newline.

        Args:
            longest: bytes from which on a line is yielded in several parts; -1 for no limit.
        """
        for line in io.BytesIO(self.head):
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
