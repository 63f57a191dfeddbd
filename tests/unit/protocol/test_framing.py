"""Lines are found with their places in the log."""

from __future__ import annotations

from acp_proxy.protocol.framing import Line, LineFramer


def test_a_chunk_may_hold_several_lines() -> None:
    """Each newline ends a line, whose place follows from that of the chunk."""
    framer = LineFramer()
    assert list(framer.feed(b"a\nbc\r\n\n", 100, 7)) == [
        Line(((100, 2),), 2, 7, 7, True),
        Line(((102, 4),), 4, 7, 7, True),
        Line(((106, 1),), 1, 7, 7, True),
    ]
    assert framer == LineFramer()


def test_a_line_may_need_several_chunks() -> None:
    """A line is as many segments as chunks, from the time of its first byte to that of its last."""
    framer = LineFramer()
    assert list(framer.feed(b"x\nab", 0, 1)) == [Line(((0, 2),), 2, 1, 1, True)]
    assert list(framer.feed(b"cd", 50, 2)) == []
    assert framer.size == 4
    assert list(framer.feed(b"e\nf", 90, 3)) == [Line(((2, 2), (50, 2), (90, 2)), 6, 1, 3, True)]
    assert (framer.segments, framer.size, framer.t_first_ns) == ([(92, 1)], 1, 3)


def test_the_end_leaves_a_line_without_a_newline() -> None:
    """The rest after the last newline is a line too, once."""
    framer = LineFramer()
    assert framer.finish(5) is None
    assert list(framer.feed(b"ab\r", 10, 1)) == []
    assert framer.finish(5) == Line(((10, 3),), 3, 1, 5, False)
    assert framer.finish(6) is None


def test_only_the_newline_byte_ends_a_line() -> None:
    """Carriage returns and the line ends of Unicode are bytes like any other."""
    text = "a\rb\x0b\x0c\x85\u2028\u2029".encode()
    framer = LineFramer()
    assert list(framer.feed(text, 0, 1)) == []
    assert framer.size == len(text)


def test_an_empty_chunk_has_no_line() -> None:
    """An empty chunk begins nothing."""
    framer = LineFramer()
    assert list(framer.feed(b"", 3, 1)) == []
    assert framer == LineFramer()
