"""Tests how `show` summarizes the updates of tool calls."""

from __future__ import annotations

import json

from acp_proxy.explain.show.frame_pass import CallLog

KEY = ("s", "call-1")


def updated(**members: object) -> CallLog:
    """Returns the log of a tool call that was announced, and then updated with some members."""
    log = CallLog()
    announced: dict[str, object] = {
        "sessionUpdate": "tool_call",
        "title": "Read a.py",
        "kind": "read",
    }
    update = {"sessionUpdate": "tool_call_update", "toolCallId": KEY[1], **members}
    for seq, its in enumerate((announced, update), start=1):
        status = its.get("status")
        raw = json.dumps({"params": {"update": its}}).encode()
        log.add(KEY, seq, raw, status if isinstance(status, str) else None)
    return log


def test_an_update_of_the_status_changes_nothing_else() -> None:
    """If the last update of a tool call has only a status, `show` keeps the call's title."""
    (call,) = updated(status="completed").first()
    assert (call.seq, call.title, call.kind, call.status) == (1, "Read a.py", "read", "completed")


def test_an_update_with_a_final_status_may_change_the_title() -> None:
    """If the last update of a tool call changes the title, `show` prints the new title."""
    (call,) = updated(status="failed", title="Read b.py").first()
    assert (call.title, call.status) == ("Read b.py", "failed")


def test_an_update_with_a_final_status_may_have_a_diff() -> None:
    """If the last update of a tool call contains a diff, `show` lists the changed file."""
    diff = {"type": "diff", "path": "/a.py", "oldText": "", "newText": "one\n"}
    (call,) = updated(status="completed", content=[diff]).calls
    assert [*call.changed] == ["/a.py"]
