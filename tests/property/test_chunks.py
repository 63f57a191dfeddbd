"""The fast and the simple parser of text chunks return the same."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.protocol.chunks import Chunk, chunk_of
from acp_proxy.protocol.updates import CHUNKS
from tests.support.strategies import json_values

kinds = st.sampled_from([*sorted(CHUNKS), "tool_call", "agent_message", "x_chunk"])
texts = st.text(st.characters(), max_size=20)
"""Texts that may contain half of a surrogate pair."""
odd = json_values | texts
contents = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, texts),
    st.fixed_dictionaries({}, optional={"type": st.just("text") | odd, "text": odd}),
    odd,
)
members = {"sessionUpdate": kinds | odd, "content": contents, "messageId": odd, "compactionId": odd}
updates = st.fixed_dictionaries({}, optional=members) | odd
params = (
    st.fixed_dictionaries(
        {}, optional={"update": updates, "type": kinds | odd, "data": updates, "sessionId": odd}
    )
    | odd
)
messages = st.fixed_dictionaries(
    {"method": st.just("session/update") | odd, "params": params}, optional={"id": odd}
)


def obvious(raw: bytes) -> Chunk | None:
    """Parses a text chunk in the simplest way, as the protocol defines it."""
    try:
        message = json.loads(raw.decode())
        if message["method"] != "session/update" or "id" in message:
            return None
        given = message["params"]
        official = given.get("update") is not None
        update = given["update"] if official else given["data"]
        kind = update.get("sessionUpdate") if official else given["type"]
        content = update["content"]
        text = content["text"] if isinstance(content, dict) else content
        if isinstance(content, dict) and content["type"] != "text":
            return None
        if kind not in CHUNKS or not isinstance(text, str):
            return None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
    ids = [update.get("messageId"), update.get("compactionId")]
    return Chunk(kind, next((i for i in ids if isinstance(i, str) and i), None), text)


@given(messages, st.booleans())
def test_both_readers_agree(message: Any, escaped: bool) -> None:
    """The fast and the simple parser of text chunks agree on any session update."""
    text = json.dumps(message, ensure_ascii=escaped)
    raw = text.encode(errors="replace")
    assert chunk_of(raw) == obvious(raw)


@given(kinds, texts, st.none() | texts)
def test_the_text_of_a_chunk_is_read(kind: str, text: str, message_id: str | None) -> None:
    """The parser of text chunks returns the text of a chunk unchanged."""
    update = {"sessionUpdate": kind, "messageId": message_id}
    update_params = {"update": {**update, "content": {"type": "text", "text": text}}}
    raw = json.dumps({"method": "session/update", "params": update_params}).encode()
    assert chunk_of(raw) == (Chunk(kind, message_id or None, text) if kind in CHUNKS else None)


@given(st.binary(), st.binary())
def test_any_bytes_are_read(before: bytes, after: bytes) -> None:
    """The fast parser of text chunks accepts any bytes without an exception."""
    assert chunk_of(before + b"agent_message_chunk" + after) is None
