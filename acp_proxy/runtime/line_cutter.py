"""Cuts the chunks of a stream into lines, and keeps the last one until it is whole."""

from typing import NamedTuple


class Cut(NamedTuple):
    """A line, without its newline, and where it ends in the chunk that brought its end."""

    raw: bytes
    newline: bytes
    end: int


class LineCutter:
    """The unfinished line of one stream; nothing else is held."""

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
        """Returns what the end of the stream leaves without a newline, if there is something."""
        rest, self._parts = b"".join(self._parts), []
        return Cut(rest, b"", 0) if rest else None
