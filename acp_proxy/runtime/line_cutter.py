"""Cuts the chunks of a stream into lines, and holds an unfinished line until its end comes."""

from typing import NamedTuple


class Cut(NamedTuple):
    """A line of a stream."""

    raw: bytes
    """Without its newline."""
    newline: bytes
    end: int
    """Where the line ends in the chunk that has its end."""


class LineCutter:
    """Holds the unfinished line of one stream."""

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
        """Returns the line that the end of the stream leaves without a newline, if there is one."""
        rest, self._parts = b"".join(self._parts), []
        return Cut(rest, b"", 0) if rest else None
