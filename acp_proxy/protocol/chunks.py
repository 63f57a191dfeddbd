"""Recognizes the pieces of streamed messages and thoughts, a million in a row.

Folding a run of them and searching across them both need the text of each. Some agents cut between
the two escapes of one character; such a piece is read too, and ends in half of a surrogate pair.
"""

import re
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from acp_proxy.protocol.envelope import Block, Params, Update, decode, picked_params
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.updates import CHUNKS, UPDATE

_HALF = re.compile("[\ud800-\udfff]")


class Chunk(NamedTuple):
    """A piece of text in a stream of them; a tuple, since there may be a million."""

    update: str
    """The kind of the session update."""
    message_id: str | None
    """What the pieces of one message have in common, if the agent sends it; for a piece of a
    compaction's summary the id of the compaction."""
    text: str
    """As it was sent: may be empty, and may end in half of a surrogate pair."""


def chunk_of(raw: bytes) -> Chunk | None:
    """Reads a line as a chunk of text; None if it is anything else, never raises.

    Kinds are recognized where they are written without escapes, as all peers write them.
    """
    if b"_chunk" not in raw:
        return None
    try:
        envelope = decode(raw)
        is_update = envelope.method == UPDATE and envelope.id is UNSET
        params = envelope.params if is_update else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        params = _read_tolerantly(raw)
    if params is None:
        return None
    update = params.update
    if update is not None:
        kind = update.sessionUpdate
    elif isinstance(params.data, Update):  # draft-1.0
        update, kind = params.data, params.type
    if update is None or kind not in CHUNKS:
        return None
    content = update.content
    if isinstance(content, Block):
        content = content.text if content.type == "text" else None
    if not isinstance(content, str):
        return None
    return Chunk(kind, update.messageId or update.compactionId, content)


def _read_tolerantly(raw: bytes) -> Params | None:
    """Returns the params of a session update that `decode` refuses."""
    message = json_or_none(raw)
    if not isinstance(message, dict) or message.get("method") != UPDATE or "id" in message:
        return None
    params = message.get("params")
    return picked_params(params) if isinstance(params, dict) else None


def mended(text: str) -> str:
    """Joins characters of which one half ended a piece and the other began the next."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
