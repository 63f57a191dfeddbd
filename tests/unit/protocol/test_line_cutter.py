"""A stream is cut into lines, whatever the chunks, and can be joined again byte for byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.protocol.framing import Cut, LineCutter

_bytes = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"\xff", b"{}"])).map(b"".join)


def test_lines_of_a_chunk() -> None:
    """Each line comes without its newline, and with the place where it ends."""
    cutter = LineCutter()
    assert list(cutter.feed(b"one\ntwo\r\n\nrest")) == [
        Cut(b"one", b"\n", 4),
        Cut(b"two", b"\r\n", 9),
        Cut(b"", b"\n", 10),
    ]
    assert list(cutter.feed(b" of it\n")) == [Cut(b"rest of it", b"\n", 7)]
    assert cutter.finish() is None


def test_a_newline_that_comes_in_two_parts() -> None:
    """A carriage return at the end of a chunk belongs to the newline that follows it."""
    cutter = LineCutter()
    assert list(cutter.feed(b"a\r")) == []
    assert list(cutter.feed(b"\n")) == [Cut(b"a", b"\r\n", 1)]


@given(st.lists(_bytes))
def test_all_bytes_come_back(chunks: list[bytes]) -> None:
    """Lines and newlines, joined, are the stream; only the last may lack its newline."""
    cutter = LineCutter()
    cuts: list[Cut] = []
    for chunk in chunks:
        cuts += cutter.feed(chunk)
    assert all(cut.newline for cut in cuts)
    last = cutter.finish()
    cuts += [] if last is None else [last]
    assert b"".join(cut.raw + cut.newline for cut in cuts) == b"".join(chunks)
    assert all(b"\n" not in cut.raw for cut in cuts)
