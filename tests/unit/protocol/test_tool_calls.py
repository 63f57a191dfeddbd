"""Messages about a tool call are merged in the same way for all dialects."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.protocol.tool_calls import CallState, CallStatus, call_of, merge


def test_a_later_message_replaces_its_members() -> None:
    """For acp-proxy, a later message about a tool call replaces only the members that it has."""
    call = CallState(members={})
    call.take({"title": "Run", "kind": "execute", "rawInput": {"command": "ls"}}, 1)
    call.take({"title": None, "status": "failed", "rawInput": {}}, 2)
    call.take({"sessionUpdate": "tool_call_update", "_meta": {}, "rawOutput": "no"}, 3)
    assert (call.title, call.kind, call.status, call.status_seq) == ("Run", "execute", "failed", 2)
    assert (call.is_over, call.is_failed) == (True, True)
    assert call.members == {
        "title": "Run", "kind": "execute", "status": "failed", "rawInput": {}, "rawOutput": "no",
    }  # fmt: skip


@pytest.mark.parametrize("status", [None, ""])
def test_a_message_without_a_status_leaves_the_status(status: str | None) -> None:
    """If a message about a tool call has no status, acp-proxy keeps the earlier status."""
    call = CallStatus()
    call.take_status("in_progress", 1)
    call.take_status(status, 2)
    assert call == CallStatus("in_progress", 1)
    assert (call.is_over, call.is_failed) == (False, False)


@pytest.mark.parametrize(("null_clears", "left"), [(False, {"title": "t"}), (True, {})])
def test_null_removes_a_member_in_v2_alone(null_clears: bool, left: dict[str, Any]) -> None:
    """Only in ACP v2, a null in a message about a tool call makes acp-proxy drop the member."""
    known = {"title": "t"}
    merge(known, {"title": None, "kind": None}, null_clears=null_clears)
    assert known == left


@pytest.mark.parametrize("known", [{}, {"content": None}, {"content": "text"}])
def test_a_chunk_adds_an_item_to_the_content(known: dict[str, Any]) -> None:
    """acp-proxy adds a content chunk of a tool call to the end of the call's content."""
    for item in ("a", "b"):
        merge(known, {"content": item, "title": "t"}, "tool_call_content_chunk")
    assert known == {"content": ["a", "b"]}


@pytest.mark.parametrize(
    "params",
    [
        {"update": {"sessionUpdate": "tool_call", "id": "c"}},
        {"type": "tool_call", "data": {"id": "c"}},
        {"toolCall": {"id": "c"}},
        {"subject": {"toolCall": {"id": "c"}}},
    ],
)
def test_the_call_of_a_message_is_read_in_every_dialect(params: dict[str, Any]) -> None:
    """In each dialect, acp-proxy finds the tool call in an update or a permission request."""
    assert call_of(params)["id"] == "c"
    assert call_of({"update": [], "toolCall": [], "subject": [params]}) == {}
