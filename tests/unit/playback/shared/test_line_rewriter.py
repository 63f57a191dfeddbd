"""Playback replaces recorded ids and directories in frames by the live ones."""

from __future__ import annotations

import json

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.line_rewriter import LineRewriter, quoted, reply
from acp_proxy.recording.steps import Wire


def written(raw: bytes, kind: str, ids: dict[str, str], **roots: str) -> bytes:
    """Writes a frame for a client that has its own ids and directories."""
    bindings = Bindings(roots={f"/{old}": new for old, new in roots.items()})
    wire = Wire(raw, "\n", 0, kind, "session/update")
    return LineRewriter(bindings, rewrite_text=False).written(wire, ids)


def test_a_line_without_replacements_is_unchanged() -> None:
    """If a replay replaces nothing in a line, it sends the line byte for byte."""
    raw = b'\xff {"id" : 1 }'
    assert written(raw, "response", {"1": "1"}) is raw


@pytest.mark.parametrize("raw", [b"\xff\xfe", b'{"a":"\xe9"}', b"{", b"", b'{"id":1', b"[[[["])
def test_a_line_that_is_not_json_is_not_rewritten(raw: bytes) -> None:
    """A replay sends a recorded line that is not JSON without any change."""
    for kind in ("response", "notification", "batch", "invalid", "error"):
        assert written(raw, kind, {"1": "2"}, a="/b") == raw


def test_only_a_reply_gets_another_id() -> None:
    """A replay sends a response with the id of the live request, but requests with recorded ids."""
    answer, ask = b'{"id":1,"result":{"id":1}}', b'{"id":1,"method":"m"}'
    assert written(answer, "response", {"1": '"x"'}) == b'{"id":"x","result":{"id":1}}'
    assert written(ask, "request", {"1": '"x"'}) == ask
    batch = b"[ %b , %b,3]" % (answer, ask)
    assert written(batch, "batch", {"1": "9"}) == (
        b'[ {"id":9,"result":{"id":1}} , {"id":1,"method":"m"},3]'
    )


def test_a_batch_is_rewritten_member_by_member() -> None:
    """A replay replaces ids in each message of a JSON-RPC batch."""
    raw = b'[{"method":"terminal/create","params":{"cwd":"/a/b","x":"/a/b"},"id":0}]'
    assert written(raw, "batch", {}, a="/z") == raw.replace(b'"cwd":"/a/b"', b'"cwd":"/z/b"')


def test_a_session_is_renamed_at_its_typed_places_only() -> None:
    """A replay replaces a session id only where the protocol has a session id."""
    line = b'{"params":{"sessionId":"a","update":{"of":{"sessionId":"a"},"text":"\xff a"}}}\n'
    wire = Wire(line, "", 0, "notification", "session/update")
    rewriter = LineRewriter(Bindings(sessions={"a": "b"}), rewrite_text=False)
    assert rewriter.written(wire, {}) == line.replace(b'"a"', b'"b"', 1)


def test_quoted_strings_can_be_encoded() -> None:
    """If a replay writes a string with half a surrogate pair, the half becomes an escape."""
    assert quoted('é"\\') == '"é\\"\\\\"'
    assert quoted("\ud800é") == '"\\ud800\\u00e9"'


def test_ids_are_spelled_as_in_the_request() -> None:
    """A replay writes the id of a response exactly as the id stands in the request."""
    assert (
        reply("1.0", {"content": "é"}).data
        == '{"jsonrpc":"2.0","id":1.0,"result":{"content":"é"}}\n'.encode()
    )
    assert b'"id":null' in reply(None, {"content": ""}).data
    assert json.loads(reply("1", {"content": "\ud800"}).data)["result"]["content"] == "\ud800"
