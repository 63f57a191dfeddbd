"""Frames chunks in the way they stand in a capture log: each one after a header."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.forms import converter
from acp_proxy.protocol.framing import Line, LineFramer

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = b"\n\xf5\n"
"""Bytes of the log between two chunks, which are no part of the stream."""


def framed(chunks: Sequence[bytes], *, stored: bool = False) -> tuple[list[bytes], list[Line]]:
    """Returns the bytes of each line, and the lines.

    Args:
        chunks: of one stream, read at the times 0, 1, 2 and so on.
        stored: whether the framer is stored and loaded after each chunk.
    """
    log, lines, framer = bytearray(), list[Line](), LineFramer()
    for t_ns, chunk in enumerate(chunks):
        log += _HEADER
        lines += framer.feed(chunk, len(log), t_ns)
        log += chunk
        if stored:
            framer = converter.loads(converter.dumps(framer), LineFramer)
    if (last := framer.finish(len(chunks))) is not None:
        lines.append(last)
    return [b"".join(log[at : at + size] for at, size in line.segments) for line in lines], lines
