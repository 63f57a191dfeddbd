"""A stream is split into lines, with their offsets in the log or with their newlines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.protocol.framing import Cut, Line, LineCutter, LineFramer


def test_a_chunk_may_hold_several_lines() -> None:
    """The indexer finds each line in the bytes of a chunk, with the line's offset in the log."""
    framer = LineFramer()
    assert list(framer.feed(b"a\nbc\r\n\n", 100, 7)) == [
        Line(((100, 2),), 2, 7, 7, True),
        Line(((102, 4),), 4, 7, 7, True),
        Line(((106, 1),), 1, 7, 7, True),
    ]
    assert framer == LineFramer()


def test_a_line_may_need_several_chunks() -> None:
    """If a line is spread over chunks, the indexer notes the offset of each piece in the log."""
    framer = LineFramer()
    assert list(framer.feed(b"x\nab", 0, 1)) == [Line(((0, 2),), 2, 1, 1, True)]
    assert list(framer.feed(b"cd", 50, 2)) == []
    assert framer.size == 4
    assert list(framer.feed(b"e\nf", 90, 3)) == [Line(((2, 2), (50, 2), (90, 2)), 6, 1, 3, True)]
    assert (framer.segments, framer.size, framer.t_first_ns) == ([(92, 1)], 1, 3)


def test_the_end_leaves_a_line_without_a_newline() -> None:
    """At the end of a stream, the indexer takes bytes without a newline for the last line."""
    framer = LineFramer()
    assert framer.finish(5) is None
    assert list(framer.feed(b"ab\r", 10, 1)) == []
    assert framer.finish(5) == Line(((10, 3),), 3, 1, 5, False)
    assert framer.finish(6) is None


def test_only_the_newline_byte_ends_a_line() -> None:
    """The indexer ends no line at a carriage return or a Unicode line separator."""
    text = "a\rb\x0b\x0c\x85\u2028\u2029".encode()
    framer = LineFramer()
    assert list(framer.feed(text, 0, 1)) == []
    assert framer.size == len(text)


_bytes = st.lists(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"\xff", b"{}"])).map(b"".join)


def test_lines_of_a_chunk() -> None:
    """A replay or `try` reads each line without its newline."""
    cutter = LineCutter()
    assert list(cutter.feed(b"one\ntwo\r\n\nrest")) == [
        Cut(b"one", b"\n", 4),
        Cut(b"two", b"\r\n", 9),
        Cut(b"", b"\n", 10),
    ]
    assert list(cutter.feed(b" of it\n")) == [Cut(b"rest of it", b"\n", 7)]
    assert cutter.finish() is None


def test_a_newline_that_comes_in_two_parts() -> None:
    r"""If `\r` and `\n` are read separately, a replay or `try` takes both for the end of a line."""
    cutter = LineCutter()
    assert list(cutter.feed(b"a\r")) == []
    assert list(cutter.feed(b"\n")) == [Cut(b"a", b"\r\n", 1)]


@given(st.lists(_bytes))
def test_all_bytes_come_back(chunks: list[bytes]) -> None:
    """A replay or `try` cuts a stream into lines and newlines, and loses no byte."""
    cutter = LineCutter()
    cuts: list[Cut] = []
    for chunk in chunks:
        cuts += cutter.feed(chunk)
    assert all(cut.newline for cut in cuts)
    last = cutter.finish()
    cuts += [] if last is None else [last]
    assert b"".join(cut.raw + cut.newline for cut in cuts) == b"".join(chunks)
    assert all(b"\n" not in cut.raw for cut in cuts)
