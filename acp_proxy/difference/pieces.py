"""Splits a chunk of streamed text into the text and everything else, a million in a row.

Everything else is the same for all chunks of a message, byte for byte; so it is worked on once. A
frame in which the text cannot be told from the rest without doubt is none of this, and is compared
by itself.
"""

import re
from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_proxy.inspection.chunks import KINDS

TEXT = ("params", "update", "content", "text")
"""Where the text of a chunk stands."""

_KEY = re.compile(rb'"text"\s*:\s*')


class Piece(NamedTuple):
    """A frame without its text, as it was written, and the text."""

    update: str
    rest: bytes
    text: str


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
        rest = raw[:start] + b'""' + raw[start + len(written) :]
        return Piece(update.sessionUpdate, rest, _decode_text(written))
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
