"""A chunk is a piece of streamed text, from either peer and in any dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.protocol.chunks import Chunk, chunk_of, mended
from acp_proxy.protocol.updates import CHUNKS
from tests.support.cases import each_case
from tests.tools.previews import cases


def line(update: Any = None, **members: Any) -> bytes:
    """Returns a session update of an agent; ``members`` are added to the message."""
    message = {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": "s", "update": update},
        **members,
    }
    return json.dumps(message).encode()


def text(kind: str, words: str, **fields: Any) -> dict[str, Any]:
    """Returns an update of v1 or v2 with text."""
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}, **fields}


@pytest.mark.parametrize("kind", sorted(CHUNKS))
def test_each_kind_is_read(kind: str) -> None:
    """acp-proxy reads the text of each kind of text chunk, such as thoughts and messages."""
    assert chunk_of(line(text(kind, "Hé\n"))) == Chunk(kind, None, "Hé\n")


def test_pieces_of_one_message_have_its_id() -> None:
    """acp-proxy reads in a chunk the id of the message or summary to which the chunk belongs."""
    first = chunk_of(line(text("agent_message_chunk", "a", messageId="m1")))
    assert first == Chunk("agent_message_chunk", "m1", "a")
    summary = chunk_of(line(text("compaction_summary_chunk", "a", compactionId="c1")))
    assert summary == Chunk("compaction_summary_chunk", "c1", "a")


def test_the_draft_has_its_text_bare() -> None:
    """In the 1.0 draft, acp-proxy reads the text of a chunk in the member `data`."""
    params = {
        "sessionId": "s",
        "type": "thought_message_chunk",
        "data": {"content": "Hm", "index": 0},
    }
    chunk = chunk_of(line(params=params))
    assert chunk == Chunk("thought_message_chunk", None, "Hm")


def test_half_an_emoji_is_kept() -> None:
    """If a chunk ends with half a surrogate pair, the half is part of the text that is read."""
    raw = line(text("agent_message_chunk", "MARK")).replace(b"MARK", b"hi \\ud83d")
    assert chunk_of(raw) == Chunk("agent_message_chunk", None, "hi \ud83d")


@each_case(
    "raw",
    [
        b"",
        b"agent_message_chunk",
        b'{"agent_message_chunk":',
        b"\xff agent_message_chunk",
        b"[" * 100_000 + b"agent_message_chunk",
        json.dumps([json.loads(line(text("agent_message_chunk", "in a batch")))]).encode(),
        line(text("agent_message_chunk", "a request"), id=1),
        line(text("agent_message_chunk", "elsewhere"), method="_proxy/successor"),
        line(text("tool_call_content_chunk", "a tool's")),
        line(text("agent_message_chunks", "an unknown kind")),
        line(text("agent_message", "whole")),
        line({"sessionUpdate": "agent_message_chunk"}),
        line({"sessionUpdate": "agent_message_chunk", "content": {"type": "image", "data": "AA"}}),
        line({"sessionUpdate": "agent_message_chunk", "content": [{"type": "text", "text": "a"}]}),
        line({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": 5}}),
        line({"sessionUpdate": ["agent_message_chunk"], "content": "a"}),
        line("agent_message_chunk"),
        line(params=["agent_message_chunk"]),
    ],
)
def test_other_lines_are_not_chunks(raw: bytes) -> None:
    """acp-proxy reads no text chunk in other lines, such as a request, an image or broken JSON."""
    assert chunk_of(raw) is None


def test_the_examples_of_chunks_are_read() -> None:
    """acp-proxy reads the text in each example of a text chunk in ACP's documents."""
    for case in cases():
        params = case.message.get("params") or {}
        update = params.get("update") or {"sessionUpdate": params.get("type"), **params}
        is_piece = case.method == "session/update" and update.get("sessionUpdate") in CHUNKS
        content = update.get("content")
        if is_piece and isinstance(content, dict):
            is_piece = content["type"] == "text"
        assert (chunk_of(case.raw) is not None) == is_piece, case


@pytest.mark.parametrize(
    ("cut", "whole"),
    [
        ("", ""),
        ("é你😀", "é你😀"),
        ("a\ud83d\ude00b", "a😀b"),
        ("\ude00\ud83d", "\ude00\ud83d"),
        ("😀\ud83d", "😀\ud83d"),
    ],
)
def test_halves_that_belong_together_are_joined(cut: str, whole: str) -> None:
    """If halves of a character are in two chunks, acp-proxy joins them to the character."""
    assert mended(cut) == whole
