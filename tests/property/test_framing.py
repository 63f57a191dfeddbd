"""The lines of a stream do not depend on its chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.forms import converter
from acp_proxy.protocol.framing import Line, LineFramer

chunks = st.lists(
    st.binary(max_size=6) | st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\0"])).map(b"".join)
)
HEADER = b"\n\xf5\n"
"""What stands in the log between two chunks, and is no part of the stream."""


def frame(parts: list[bytes], *, reload: bool = False) -> tuple[bytes, list[Line]]:
    """Writes chunks into a log and frames them as they are written."""
    log, lines, framer = bytearray(), list[Line](), LineFramer()
    for t_ns, part in enumerate(parts):
        log += HEADER
        lines += framer.feed(part, len(log), t_ns)
        log += part
        if reload:
            framer = converter.loads(converter.dumps(framer), LineFramer)
    last = framer.finish(len(parts))
    return bytes(log), [*lines, last] if last else lines


def texts(log: bytes, lines: list[Line]) -> list[bytes]:
    """What stands at the segments of each line."""
    return [b"".join(log[start : start + size] for start, size in line.segments) for line in lines]


@given(chunks)
def test_any_chunking_gives_the_same_lines(parts: list[bytes]) -> None:
    """Lines are the bytes between newlines, wherever the chunks end."""
    whole = b"".join(parts)
    log, lines = frame(parts)
    assert texts(log, lines) == whole.splitlines(keepends=True) or b"\r" in whole
    one_by_one = frame([bytes([byte]) for byte in whole])
    assert texts(log, lines) == texts(*one_by_one) == texts(*frame([whole]))


@given(chunks)
def test_segments_joined_give_the_bytes(parts: list[bytes]) -> None:
    """No byte is lost, repeated or moved, and each line knows its size and its end."""
    log, lines = frame(parts)
    found = texts(log, lines)
    assert b"".join(found) == b"".join(parts)
    for line, text in zip(lines, found, strict=True):
        assert (line.size, line.terminated) == (len(text), text.endswith(b"\n"))
        assert text.count(b"\n") == line.terminated
    assert all(line.terminated for line in lines[:-1])


@given(chunks)
def test_a_line_lasts_from_its_first_byte_to_its_last(parts: list[bytes]) -> None:
    """Its times are those of the chunks in which it begins and ends."""
    starts = [t for t, part in enumerate(parts) for _ in part]
    place = 0
    _, lines = frame(parts)
    for line in lines:
        assert line.t_first_ns == starts[place]
        place += line.size
        assert line.t_ns == (starts[place - 1] if line.terminated else len(parts))


@given(chunks)
def test_a_framer_can_be_stored_between_chunks(parts: list[bytes]) -> None:
    """A framer that is stored and loaded continues with the same result."""
    assert frame(parts, reload=True) == frame(parts)
