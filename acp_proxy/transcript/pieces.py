"""A line that is too large to be held, as a member of a JSON object, piece by piece."""

import base64
import codecs
from collections.abc import Callable, Iterable, Iterator

import msgspec

from acp_proxy.transcript.spelling import make_visible

Pieces = Callable[[], Iterable[bytes]]
"""Gives the pieces of a line, anew whenever it is called."""


def member(pieces: Pieces) -> Iterator[bytes]:
    """Yields ``"text":"…"`` if the line is UTF-8, else ``"base64":"…"``, safe to look at."""
    if _is_text(pieces()):
        yield b'"text":"'
        decode = codecs.getincrementaldecoder("utf-8")().decode
        for piece in pieces():
            yield make_visible(msgspec.json.encode(decode(piece)))[1:-1]
    else:
        yield b'"base64":"'
        rest = b""
        for piece in pieces():
            whole = rest + piece
            end = len(whole) - len(whole) % 3
            rest = whole[end:]
            yield base64.b64encode(whole[:end])
        yield base64.b64encode(rest)
    yield b'"'


def _is_text(pieces: Iterable[bytes]) -> bool:
    decode = codecs.getincrementaldecoder("utf-8")().decode
    try:
        for piece in pieces:
            decode(piece)
        decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
