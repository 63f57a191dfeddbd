# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Tests replays of version 2 and of the 1.0 draft."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.playbook import Record

V2 = """
    1 -> #0 initialize {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    2 <- #0 result {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}
    3 -> #1 auth/login {"methodId": "m"}
    4 <- #1 result {}
    5 -> #2 session/new {"cwd": "/p"}
    6 <- #2 result {"sessionId": "s"}
    7 -> #3 session/prompt {"sessionId": "s", "prompt": []}
    8 <- #3 result {}
    9 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "running"}}
    10 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "terminal_update", "terminalId": "t", "cwd": "/p"}}
    11 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}}
    12 -> #4 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "more"}]}
    13 <- #4 result {}
    14 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}}
"""
DRAFT = """
    1 -> #0 initialize {"protocolVersion": 1, "clientInfo": {"name": "c", "version": "1"}, "capabilities": {"terminal": {}}}
    2 <- #0 result {"protocolVersion": 1, "agentInfo": {"name": "a", "version": "1"}, "capabilities": {}}
    3 -> #1 session/new {"workingDirectory": "/p"}
    4 <- #1 result {"sessionId": "s", "createdAt": "2026-02-04"}
    5 -> #2 session/prompt {"sessionId": "s", "content": [{"type": "file", "path": "/p/a"}]}
    6 <- session/update {"sessionId": "s", "type": "tool_call", "data": {"id": "c", "location": {"path": "/p/a"}}}
    7 <- #0 session/request_permission {"sessionId": "s", "operation": "write", "resource": "/p/a"}
    8 -> #0 result {"granted": true, "remember": false}
    9 <- #1 fs/write_text_file {"path": "/p/a", "content": "x"}
    10 -> #1 result {"bytesWritten": 1, "created": true}
    11 <- #2 terminal/create {"command": "ls", "cwd": "/p"}
    12 -> #2 result {"terminalId": "t"}
    13 -> #3 terminal/output {"terminalId": "t", "data": "a b c"}
    14 <- #3 result {"received": true}
    15 <- #2 result {"stopReason": "end_turn"}
"""


def test_a_v2_conversation_replays_against_itself(record: Record) -> None:
    """If a client sends the messages of a v2 recording, a replay reports no divergence."""
    live = record(V2).replay()
    live.check("""
        1-14
        -> end
        <- end
    """)
    assert live.divergences == []


def test_another_login_is_a_divergence_of_the_handshake(record: Record) -> None:
    """If a client logs in by an unrecorded method, a replay reports that its handshake diverges.

    The replay counts all later divergences as consequences.
    """
    live = record(V2).replay()
    live.send(1, '#1 auth/login {"methodId": "other"}')
    live.leave()
    assert live.mismatches[0] == "params-differ primary in connection 3"
    assert all(" cascade " in item for item in live.mismatches[1:])


def test_a_draft_conversation_replays_against_itself(record: Record) -> None:
    """If a client sends the messages of a 1.0 draft recording, a replay reports no divergence."""
    live = record(DRAFT).replay()
    live.check("""
        1-15
        -> end
        <- end
    """)
    assert live.divergences == []


def test_the_draft_replays_in_another_directory(record: Record) -> None:
    """If a client of the 1.0 draft works in another directory, a replay sends paths in this one."""
    live = record(DRAFT).replay(1)
    live.check("""
        -> #1 session/new {"workingDirectory": "/q"}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "content": [{"type": "file", "path": "/q/a"}]}
        <- session/update {"sessionId": "s", "type": "tool_call", "data": {"id": "c", "location": {"path": "/q/a"}}}
        <- #0 session/request_permission {"sessionId": "s", "operation": "write", "resource": "/q/a"}
        -> #0 result {"granted": true}
        <- #1 fs/write_text_file {"path": "/q/a", "content": "x"}
        -> 10
        <- #2 terminal/create {"command": "ls", "cwd": "/q"}
        -> #2 result {"terminalId": "T"}
        -> #3 terminal/output {"terminalId": "T", "data": "a"}
        <- 14
        <- 15
    """)
    assert live.mismatches == []


def test_a_denied_permission_of_the_draft_is_another_outcome(record: Record) -> None:
    """If a client of the 1.0 draft denies a recorded granted permission, a replay diverges."""
    live = record(DRAFT).replay(1, 3, 5)
    live.check("""
        -> #0 result {"granted": false}
        <- refusal #2
    """)
    assert live.mismatches == ["outcome-differs primary in s 8"]
    assert "expected granted, the client answered denied" in live.divergences[0].summary
