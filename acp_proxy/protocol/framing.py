"""Splits streams of bytes into lines.

`LineCutter` returns the bytes of each line. `LineFramer` returns the place of each line in the
capture log. The framer remembers an unfinished line as *segments*: the ranges of the log that
contain its bytes.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attrs import define, field, frozen

Segment = tuple[int, int]
"""A logical offset in the capture log, and a length in bytes."""


@frozen
class Line:
    """The place of a line in the log. A line is the bytes of a stream up to the next newline."""

    segments: tuple[Segment, ...]
    size: int
    """The length of the line in bytes, including the newline."""
    t_first_ns: int
    """When the first byte of the line was read, in nanoseconds."""
    t_ns: int
    """When the last byte of the line was read, in nanoseconds."""
    terminated: bool
    """Whether the line ends with a newline; only the last line of a stream may lack the newline."""


@define
class LineFramer:
    """Cuts one stream into lines, and remembers the place of the unfinished line."""

    segments: list[Segment] = field(factory=list)
    size: int = 0
    t_first_ns: int = 0

    def copy(self) -> "LineFramer":
        """Returns an independent framer with the same unfinished line."""
        return LineFramer([*self.segments], self.size, self.t_first_ns)

    def feed(self, chunk: bytes, offset: int, t_ns: int) -> Iterator[Line]:
        """Yields the lines that end in a chunk.

        Args:
            chunk: bytes that were read from the stream.
            offset: the logical offset of these bytes in the log.
            t_ns: when these bytes were read.
        """
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            end += 1
            if self.segments:
                self._extend(offset + start, end - start, t_ns)
                yield self._take(t_ns, terminated=True)
            else:
                segment = (offset + start, end - start)
                yield Line((segment,), end - start, t_ns, t_ns, True)
            start = end
        if start < len(chunk):
            self._extend(offset + start, len(chunk) - start, t_ns)

    def finish(self, t_ns: int) -> Line | None:
        """Returns the unfinished last line of a stream; None if every line was complete."""
        return self._take(t_ns, terminated=False) if self.segments else None

    def _extend(self, offset: int, size: int, t_ns: int) -> None:
        if not self.segments:
            self.t_first_ns = t_ns
        self.segments.append((offset, size))
        self.size += size

    def _take(self, t_ns: int, *, terminated: bool) -> Line:
        line = Line(tuple(self.segments), self.size, self.t_first_ns, t_ns, terminated)
        self.segments, self.size = [], 0
        return line


class Cut(NamedTuple):
    """A line of a stream, as bytes."""

    raw: bytes
    """The line without its newline."""
    newline: bytes
    end: int
    """The offset of the line's end (after the newline) in the chunk with the newline."""


class LineCutter:
    """Cuts one stream into lines, and keeps the bytes of the unfinished line."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[Cut]:
        """Returns the lines that end in a chunk."""
        cuts, start, parts = list[Cut](), 0, self._parts
        while (end := chunk.find(b"\n", start)) >= 0:
            line = chunk[start:end]
            if parts:
                line = b"".join((*parts, line))
                parts.clear()
            start = end + 1
            if line[-1:] == b"\r":
                cuts.append(Cut(line[:-1], b"\r\n", start))
            else:
                cuts.append(Cut(line, b"\n", start))
        if start < len(chunk):
            self._parts.append(chunk[start:])
        return cuts

    def finish(self) -> Cut | None:
        """Returns the unfinished last line of a stream; None if every line was complete."""
        rest, self._parts = b"".join(self._parts), []
        return Cut(rest, b"", 0) if rest else None
