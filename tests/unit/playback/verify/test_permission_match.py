"""`verify` keeps what an agent announced about a tool call until the call ends."""

from __future__ import annotations

import json
from typing import Any

import pytest
from attrs import evolve

from acp_proxy.playback.verify import permission_match
from acp_proxy.playback.verify.permission_match import ToolCalls, call_named
from acp_proxy.protocol.jsonrpc import read


def announce(calls: ToolCalls, call: str = "c", **members: Any) -> None:
    """Feeds an update of a tool call."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call, **members}
    value = {"method": "session/update", "params": {"sessionId": "s", "update": update}}
    calls.take(read(json.dumps(value).encode()))


def naming(call: str | None, session: str | None = "s") -> dict[str, Any]:
    """A permission request that names a tool call."""
    return {"params": {"sessionId": session, "toolCall": {"toolCallId": call}}}


def test_updates_change_only_the_members_that_they_have() -> None:
    """`verify` merges updates of a tool call: a member's new value replaces the earlier value."""
    for null_clears in (False, True):
        calls = ToolCalls(null_clears=null_clears)
        announce(calls, kind="read", title="t")
        announce(calls, title=None, rawInput={"a": 1})
        kept = {} if null_clears else {"title": "t"}
        expected = {"toolCallId": "c", "kind": "read", "rawInput": {"a": 1}, **kept}
        assert calls.announced(naming("c")) == expected
        assert calls.announced(naming("other")) == calls.announced(naming(None)) == {}


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled"])
def test_a_tool_call_that_has_ended_is_forgotten(status: str) -> None:
    """`verify` forgets the kind and other details of a tool call when the call has ended."""
    calls = ToolCalls(null_clears=False)
    announce(calls, kind="read")
    announce(calls, status=status)
    assert calls.announced(naming("c")) == {}


def test_the_oldest_tool_calls_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """`verify` remembers only a limited number of tool calls, and forgets the oldest."""
    monkeypatch.setattr(permission_match, "REMEMBERED", 2)
    calls = ToolCalls(null_clears=False)
    for call in ("a", "b", "a", "c"):
        announce(calls, call, kind="read")
    assert [bool(calls.announced(naming(call))) for call in ("a", "b", "c")] == [True, False, True]


def test_a_tool_call_with_an_unreadable_update_equals_no_other() -> None:
    """If an update of a tool call is unreadable, `verify` repeats no permission for the call."""
    calls = ToolCalls(null_clears=False)
    update = b'{"sessionUpdate":"tool_call","toolCallId":"c"}'
    message = read(b'{"method":"session/update","params":{"update":%s}}' % update)
    calls.take(evolve(message, raw=None))
    result = calls.announced(naming("c", None))
    assert [value == value for value in result.values()] == [False]


def test_a_request_names_its_tool_call_in_any_dialect() -> None:
    """In each dialect, `verify` finds the id of the tool call in a permission request."""
    for params in (
        {"toolCall": {"toolCallId": "c"}},
        {"subject": {"toolCall": {"toolCallId": "c"}}},
        {"subject": {"toolCallId": "c"}},
        {"toolCallId": "c"},
    ):
        assert call_named({"params": params}) == "c"
    assert call_named({"params": {"toolCallId": 7}}) is None
