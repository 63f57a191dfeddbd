"""The reader of messages accepts any line."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from acp_proxy.protocol.jsonrpc import Kind, read
from tests.support.strategies import json_values, messages


@given(messages)
def test_the_envelope_makes_the_kind(message: dict[str, Any]) -> None:
    """The members `method`, `id` and `error` of a JSON-RPC message determine its kind."""
    parsed = read(json.dumps(message).encode())
    if "method" in message:
        kind = Kind.REQUEST if "id" in message else Kind.NOTIFICATION
        assert parsed.method == message["method"]
    else:
        kind = Kind.RESPONSE if message.get("error") is None else Kind.ERROR
    assert parsed.kind is kind
    assert parsed.rpc_id == (json.dumps(message["id"]) if "id" in message else None)


@given(json_values)
def test_any_json_is_a_message_or_has_a_reason(value: Any) -> None:
    """A recorder stores JSON that is not a JSON-RPC message as invalid, with the reason."""
    message = read(json.dumps(value).encode())
    for label in (message.method, message.session, message.update, message.tool_call):
        assert label is None or label.encode().decode() == label
