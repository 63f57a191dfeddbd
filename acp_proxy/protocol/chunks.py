"""Recognizes the pieces of streamed messages and thoughts, a million in a row.

Folding a run of them and searching across them both need the text of each. There are two readers of
one answer, as in `protocol.jsonrpc`: a msgspec decoder that takes the fields it needs (about 1 us),
and a tolerant one for what that refuses, half of an emoji for instance: some agents cut between the
two escapes of one character.
"""

import json
import re
from typing import Any

import msgspec
from attrs import frozen
from msgspec import UNSET, Raw, Struct, UnsetType

KINDS = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "thought_message_chunk",
        "compaction_summary_chunk",
    }
)
"""The session updates that are a piece of a message, a thought or a summary."""
_METHOD = "session/update"
_HALF = re.compile("[\ud800-\udfff]")


@frozen
class Chunk:
    """A piece of text in a stream of them."""

    update: str
    """The kind of the session update."""
    message_id: str | None
    """What the pieces of one message have in common, if the agent says so; for a piece of a
    compaction's summary the id of the compaction."""
    text: str
    """As it was sent: may be empty, and may end in half of a surrogate pair."""


class _Block(Struct, gc=False):
    type: str | None = None
    text: str | None = None


class _Update(Struct, gc=False):
    sessionUpdate: str | None = None  # noqa: N815  the names are the protocol's
    messageId: str | None = None  # noqa: N815
    compactionId: str | None = None  # noqa: N815
    content: _Block | str | None = None


class _Params(Struct, gc=False):
    update: _Update | None = None
    type: str | None = None
    data: _Update | None = None


class _Envelope(Struct, gc=False):
    method: str | None = None
    id: Raw | UnsetType = UNSET
    params: _Params | None = None


_decode = msgspec.json.Decoder(_Envelope).decode


def chunk_of(raw: bytes) -> Chunk | None:
    """Reads a line as a chunk of text; None if it is anything else, never raises.

    Kinds are recognized where they are written without escapes, as all peers write them.
    """
    if b"_chunk" not in raw:
        return None
    try:
        envelope = _decode(raw)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return _read_tolerantly(raw)
    params = envelope.params
    if params is None or envelope.method != _METHOD or envelope.id is not UNSET:
        return None
    update = params.update
    if update is not None:
        kind = update.sessionUpdate
    else:  # draft-1.0
        update, kind = params.data, params.type
    if update is None or kind not in KINDS:
        return None
    content = update.content
    if isinstance(content, _Block):
        content = content.text if content.type == "text" else None
    if content is None:
        return None
    return Chunk(kind, update.messageId or update.compactionId, content)


def mended(text: str) -> str:
    """Joins characters of which one half ended a piece and the other began the next."""
    if _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _read_tolerantly(raw: bytes) -> Chunk | None:
    try:
        message = json.loads(raw.decode())
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") != _METHOD or "id" in message:
        return None
    params = _object(message, "params")
    update, kind = params.get("update"), None
    if update is None:
        update, kind = params.get("data"), params.get("type")
    if not isinstance(update, dict):
        return None
    kind = kind or update.get("sessionUpdate")
    content = update.get("content")
    if isinstance(content, dict):
        content = content.get("text") if content.get("type") == "text" else None
    if not isinstance(kind, str) or kind not in KINDS or not isinstance(content, str):
        return None
    ids = (update.get("messageId"), update.get("compactionId"))
    return Chunk(kind, next((i for i in ids if isinstance(i, str) and i), None), content)


def _object(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}
