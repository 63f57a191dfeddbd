"""Fuzzes framing: both framers cut a stream into the same lines, whatever its chunks are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.base.forms import converter
from acp_proxy.protocol.framing import Line, LineCutter, LineFramer
from tests.fuzz import seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target

if TYPE_CHECKING:
    from collections.abc import Sequence

_HEADER = b"\n\xf5\n"
"""Bytes of the log between two chunks, outside of the stream."""


def framed(chunks: Sequence[bytes], *, stored: bool = False) -> tuple[list[bytes], list[Line]]:
    """Returns the bytes of each line, and the lines of the framer.

    Args:
        chunks: the chunks of one stream, read at the times 0, 1, 2 and so on.
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


def _chunks(data: bytes) -> list[bytes]:
    """Cuts the data into chunks, whose sizes are its first bytes, used in turn."""
    source = ByteSource(data)
    sizes = [size for size in source.short(15) if size] or [255]
    stream, chunks = source.rest(), list[bytes]()
    while stream:
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(stream[:size])
        stream = stream[size:]
    return chunks


def _cut(chunks: list[bytes]) -> list[bytes]:
    """Returns the lines that `LineCutter` makes from chunks."""
    cutter, lines = LineCutter(), list[bytes]()
    for chunk in chunks:
        for cut in cutter.feed(chunk):
            assert chunk[cut.end - 1 : cut.end] == b"\n"
            lines.append(cut.raw + cut.newline)
    last = cutter.finish()
    return [*lines, last.raw] if last is not None else lines


def check(data: bytes) -> None:
    """Checks that lines do not depend on chunks, and have the right bytes, sizes and times."""
    chunks = _chunks(data)
    stream = b"".join(chunks)
    parts = stream.split(b"\n")
    expected = [part + b"\n" for part in parts[:-1]] + [part for part in parts[-1:] if part]
    cut_lines, lines = framed(chunks)
    assert cut_lines == expected
    assert framed([stream] if stream else [])[0] == expected
    assert framed(chunks[:40], stored=True) == framed(chunks[:40])
    assert _cut(chunks) == expected
    read_at, place = [t_ns for t_ns, chunk in enumerate(chunks) for _ in chunk], 0
    for line, raw in zip(lines, cut_lines, strict=True):
        assert (line.size, line.terminated) == (len(raw), raw.endswith(b"\n"))
        assert line.t_first_ns == read_at[place]
        place += line.size
        assert line.t_ns == (read_at[place - 1] if line.terminated else len(chunks))


def _seeds() -> list[bytes]:
    streams = [b"\n".join(seeds.lines()[start : start + 6]) for start in range(0, 120, 6)]
    return [sizes + stream for stream in streams for sizes in (b"\0", b"\3\1\7\x40", b"\1\1")]


TARGET = Target("framing", check, _seeds, (b"\n\n", b"\r\n\n", b"\r\r\n"), examples=50)
