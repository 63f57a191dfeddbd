"""Splits a chunk of streamed text into the text and everything else, a million in a row.

Everything else is the same for all chunks of a message, byte for byte; so it is worked on once, and
a chunk that only says something else than the one before is not parsed at all. A frame in which the
text cannot be told from the rest without doubt is none of this, and is compared by itself.
"""

import re
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_proxy.inspection.chunks import KINDS

TEXT = ("params", "update", "content", "text")
"""Where the text of a chunk stands."""

_EMPTY = b'""'
_PLAIN = re.compile(rb'"[^"\\\x00-\x1f]*"')
"""A text that is spelled as it is."""
_KEY = re.compile(rb'"text"\s*:\s*')


class Piece(NamedTuple):
    """A frame with an empty text, else as it was written, and its text."""

    update: str
    rest: bytes
    at: int
    """Where its empty text stands."""
    text: str


class Splitter:
    """Splits chunks that come one after the other."""

    def __init__(self) -> None:
        self._before = b"\0"
        self._after = b"\0"
        self._latest = Piece("", b"", 0, "")

    def split(self, raw: bytes) -> Piece | None:
        """Splits a ``session/update`` that is a chunk of text; None if it is anything else."""
        if raw.startswith(self._before) and raw.endswith(self._after):
            literal = raw[len(self._before) : len(raw) - len(self._after)]
            if _PLAIN.fullmatch(literal):
                update, rest, at, _ = self._latest
                with suppress(UnicodeDecodeError):
                    return Piece(update, rest, at, literal[1:-1].decode())
        piece = split(raw)
        if piece is not None:
            self._latest = piece
            self._before, self._after = piece.rest[: piece.at], piece.rest[piece.at + len(_EMPTY) :]
        return piece


class _Block(Struct, gc=False):
    text: Raw | UnsetType = UNSET


class _Update(Struct, gc=False):
    content: _Block
    sessionUpdate: str  # noqa: N815  the names are the protocol's


class _Params(Struct, gc=False):
    update: _Update


class _Envelope(Struct, gc=False):
    params: _Params
    id: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_text = msgspec.json.Decoder(str).decode


def split(raw: bytes) -> Piece | None:
    """Splits a ``session/update`` that is a chunk of text; None if it is anything else."""
    if b"_chunk" not in raw:
        return None
    keys = list(_KEY.finditer(raw))
    if len(keys) != 1:
        return None
    try:
        envelope = _decode(raw)
        update = envelope.params.update
        literal = update.content.text
        if literal is UNSET or update.sessionUpdate not in KINDS or envelope.id is not UNSET:
            return None
        written = bytes(literal)
        start = keys[0].end()
        if raw[start : start + len(written)] != written:
            return None
        rest = raw[:start] + _EMPTY + raw[start + len(written) :]
        return Piece(update.sessionUpdate, rest, start, _decode_text(written))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
