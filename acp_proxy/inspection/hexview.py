"""Shows bytes that are no text: where they are in a line, and what stands around them."""

from collections.abc import Iterator

_ROW = 16
_MOST = 32
"""Rows; for more there is ``--raw``."""


def hex_view(raw: bytes) -> Iterator[str]:
    """Yields the rows of sixteen bytes in which something is not UTF-8, and those around them."""
    before = -1
    for number, row in enumerate(_rows(raw)):
        if number == _MOST:
            yield "…"
            return
        if row != before + 1:
            yield "…"
        before = row
        yield _row(raw, row * _ROW)
    if 0 <= before < (len(raw) - 1) // _ROW:
        yield "…"


def _rows(raw: bytes) -> Iterator[int]:
    following = 0
    last = (len(raw) - 1) // _ROW
    for place in _not_text(raw):
        wanted = place // _ROW
        for row in range(max(following, wanted - 1), min(wanted + 1, last) + 1):
            yield row
            following = row + 1


def _not_text(raw: bytes) -> Iterator[int]:
    """The places where decoding fails; in pieces, lest a large line be read over and over."""
    start = 0
    while start < len(raw):
        piece = raw[start : start + 4096]
        try:
            piece.decode()
        except UnicodeDecodeError as e:
            cut_short = e.reason == "unexpected end of data" and start + len(piece) < len(raw)
            if cut_short and e.start:
                start += e.start
            else:
                yield from range(start + e.start, start + e.end)
                start += e.end
        else:
            start += len(piece)


def _row(raw: bytes, start: int) -> str:
    some = raw[start : start + _ROW]
    text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in some)
    return f"{start:08x}  {some.hex(' '):<{_ROW * 3 - 1}}  {text}"
