"""The lines of a stream do not depend on its chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.framed_chunks import framed

chunks = st.lists(
    st.binary(max_size=6) | st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\0"])).map(b"".join)
)


@given(chunks)
def test_any_chunking_gives_the_same_lines(parts: list[bytes]) -> None:
    """Lines are the bytes between newlines, wherever the chunks end."""
    whole = b"".join(parts)
    found, _ = framed(parts)
    assert found == whole.splitlines(keepends=True) or b"\r" in whole
    one_by_one, _ = framed([bytes([byte]) for byte in whole])
    assert found == one_by_one == framed([whole])[0]


@given(chunks)
def test_segments_joined_give_the_bytes(parts: list[bytes]) -> None:
    """No byte is lost, repeated or moved, and each line knows its size and its end."""
    found, lines = framed(parts)
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
    _, lines = framed(parts)
    for line in lines:
        assert line.t_first_ns == starts[place]
        place += line.size
        assert line.t_ns == (starts[place - 1] if line.terminated else len(parts))


@given(chunks)
def test_a_framer_can_be_stored_between_chunks(parts: list[bytes]) -> None:
    """A framer that is stored and loaded continues with the same result."""
    assert framed(parts, stored=True) == framed(parts)
