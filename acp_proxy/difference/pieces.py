"""Splits a chunk of streamed text into the text and everything else, a million in a row.

Everything else is the same for all chunks of a message, byte for byte; so it is worked on once, and
a chunk that only says something else than the one before is not parsed at all. A frame in which the
text cannot be told from the rest without doubt is none of this, and is compared by itself.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_proxy.protocol.chunks import KINDS, mended

Place = tuple[str, ...]
_OFFICIAL: Place = ("params", "update", "content", "text")
_DRAFT: Place = ("params", "data", "content")
TEXTS = (_OFFICIAL, _DRAFT)
"""Where the text of a chunk stands, by dialect."""

_LITERAL = re.compile(rb'"(?:[^"\\]|\\.)*"')
_HALVES = re.compile(rb"\\u[dD][89a-fA-F]")
_EMPTY = b'""'
_PLAIN = re.compile(rb'"[^"\\\x00-\x1f]*"')
"""A text that is spelled as it is."""
_KEYS = {place: re.compile(rb'"%s"\s*:\s*' % place[-1].encode()) for place in TEXTS}


class Piece(NamedTuple):
    """A frame with an empty text, else as it was written, and its text."""

    update: str
    place: Place
    """Where its text stands in the message."""
    rest: bytes
    at: int
    """Where its empty text stands in the line."""
    text: str


class Splitter:
    """Splits chunks that come one after the other."""

    def __init__(self) -> None:
        self._before = b"\0"
        self._after = b"\0"
        self._latest = Piece("", _OFFICIAL, b"", 0, "")

    def split(self, raw: bytes) -> Piece | None:
        """Splits a ``session/update`` that is a chunk of text; None if it is anything else."""
        if raw.startswith(self._before) and raw.endswith(self._after):
            literal = raw[len(self._before) : len(raw) - len(self._after)]
            if _PLAIN.fullmatch(literal):
                update, place, rest, at, _ = self._latest
                with suppress(UnicodeDecodeError):
                    return Piece(update, place, rest, at, literal[1:-1].decode())
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


class _Data(Struct, gc=False):
    content: Raw | UnsetType = UNSET


class _Params(Struct, gc=False):
    update: _Update | UnsetType = UNSET
    type: str | UnsetType = UNSET
    data: _Data | UnsetType = UNSET


class _Envelope(Struct, gc=False):
    params: _Params
    id: Raw | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Envelope).decode
_decode_text = msgspec.json.Decoder(str).decode


def split(raw: bytes) -> Piece | None:
    """Splits a ``session/update`` that is a chunk of text; None if it is anything else."""
    if b"_chunk" not in raw:
        return None
    try:
        envelope = _decode(raw)
        kind, literal, place = _text_in(envelope.params)
        if literal is UNSET or kind not in KINDS or envelope.id is not UNSET:
            return None
        keys = [*_KEYS[place].finditer(raw)]
        start, written = keys[0].end(), bytes(literal)
        if len(keys) > 1 or raw[start : start + len(written)] != written:
            return None
        rest = raw[:start] + _EMPTY + raw[start + len(written) :]
        return Piece(kind, place, rest, start, _decode_text(written))
    except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError):
        return _split_half(raw) if _HALVES.search(raw) else None


def _split_half(raw: bytes) -> Piece | None:
    """Splits a chunk with half of a character, which the decoder does not take."""
    for place, key in _KEYS.items():
        keys = [*key.finditer(raw)]
        literal = _LITERAL.match(raw, keys[0].end()) if len(keys) == 1 else None
        if literal is None or not _HALVES.search(literal[0]):
            continue
        piece = split(raw[: literal.start()] + _EMPTY + raw[literal.end() :])
        if piece is not None and piece.place == place and piece.at == literal.start():
            with suppress(ValueError):
                return piece._replace(text=json.loads(literal[0]))
    return None


def joined(pieces: Iterable[str]) -> str:
    """Puts a text together."""
    return mended("".join(pieces))


def _text_in(params: _Params) -> tuple[str, Raw | UnsetType, Place]:
    """What kind of chunk it may be, its text, and where that stands."""
    if params.update is not UNSET:
        return params.update.sessionUpdate, params.update.content.text, _OFFICIAL
    if params.type is UNSET or params.data is UNSET:
        return "", UNSET, _DRAFT
    return params.type, params.data.content, _DRAFT
