# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In playback, a session that no request opened belongs to the lane of another session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.playback_options import Order
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

_TEXT = (
    '"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}'
)
_OPTIONS = '"options": [{"optionId": "a", "name": "A", "kind": "allow_once"}]'
_DONE = 'result {"stopReason": "end_turn"}'
CHILD = f"""
    1-4 session
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- session/update {{"sessionId": "s", "update": {{"sessionUpdate": "subagent_update", "sessionId": "c"}}}}
    7 <- session/update {{"sessionId": "c", {_TEXT}}}
    8 <- #60 session/request_permission {{"sessionId": "c", "toolCall": {{"toolCallId": "k", "kind": "edit", "rawInput": {{"path": "/p/f"}}}}, {_OPTIONS}}}
    9 -> #60 result {{"outcome": {{"outcome": "selected", "optionId": "a"}}}}
    10 <- #2 {_DONE}
"""
CONNECTION = '{"connectionId": "c1", "method": "m"}'
MCP = f"""
    1-2 handshake
    3 -> #1 session/new {{"cwd": "/p", "mcpServers": [{{"type": "acp", "name": "t", "serverId": "550e"}}]}}
    4 <- #1 result {{"sessionId": "s"}}
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- #30 mcp/connect {{"serverId": "550e"}}
    7 -> #30 result {{"connectionId": "c1"}}
    8 <- #31 mcp/message {CONNECTION}
    9 -> #31 result {{}}
    10 <- mcp/message {CONNECTION}
    11 -> #77 mcp/message {CONNECTION}
    12 <- #77 error {{"code": -32601, "message": "no"}}
    13 <- #33 mcp/disconnect {{"connectionId": "c1"}}
    14 -> #33 result {{}}
    15 <- #2 {_DONE}
"""
OLD_MCP = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": [{"type": "acp", "name": "t", "id": "u"}]}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s"}
    6 <- #30 mcp/connect {"acpId": "u"}
    7 -> #30 result {"connectionId": "c1"}
    8 <- #31 mcp/message {"connectionId": "c1", "method": "m"}
    9 -> #31 result {}
    10 <- #2 result {"stopReason": "end_turn"}
"""
OLDEST_MCP = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": [{"name": "t"}]}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s"}
    6 <- #30 _mcp/request {"serverName": "t", "mcpMethod": "m"}
    7 -> #30 result {}
    8 <- #2 result {"stopReason": "end_turn"}
"""


@pytest.mark.parametrize("transcript", [CHILD, MCP, OLD_MCP, OLDEST_MCP])
def test_the_order_option_changes_nothing_for_joined_sessions(
    record: Record, transcript: str
) -> None:
    """With any `--order`, `replay` sends the same lines of a session and its child session.

    The same is true of a session and its MCP connection.
    """
    recorded = record(transcript)
    sent = []
    for order in (Order.SESSION, Order.RECORDED):
        live = recorded.replay(order=order)
        steps = (step for step in recorded.script().read() if not step.from_agent)
        sent.append([live.send(recorded.numbers[step.seq]) for step in steps])
        assert live.leave() == ["<- end"]
        assert live.mismatches == []
    assert sent[0] == sent[1]
    assert [line for lines in sent[0] for line in lines][-1] == f"<- {len(recorded.raw)}"


def test_a_child_of_one_of_two_sessions_is_announced_first(record: Record) -> None:
    """A replay sends the announcement of a child session before the frames of the child session."""
    record(f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "a"}}
        5 -> #2 session/new {{"cwd": "/q"}}
        6 <- #2 result {{"sessionId": "b"}}
        7 -> #3 session/prompt {{"sessionId": "a"}}
        8 -> #4 session/prompt {{"sessionId": "b"}}
        9 <- session/update {{"sessionId": "a", "update": {{"sessionUpdate": "subagent_update", "sessionId": "c"}}}}
        10 <- session/update {{"sessionId": "b", {_TEXT}}}
        11 <- session/update {{"sessionId": "c", {_TEXT}}}
        12 <- #4 {_DONE}
        13 <- #3 {_DONE}
    """).replay().check("""
        1-6
        -> 8
        <- 10
        <- 12
        -> 7
        <- 9
        <- 11
        <- 13
        -> end
        <- end
    """)


def test_a_session_that_is_not_announced_plays_where_it_was_recorded(record: Record) -> None:
    """A replay keeps the recorded order for the frames of a session that was never announced."""
    record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- session/update {{"sessionId": "s", {_TEXT}}}
        7 <- session/update {{"sessionId": "c", {_TEXT}}}
        8 <- #2 {_DONE}
    """).replay().check("""
        1-8
    """)


def test_a_client_may_cancel_a_child(record: Record) -> None:
    """In a replay, a client may cancel a child session if the recorded client did."""
    live = record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- session/update {{"sessionId": "c", {_TEXT}}}
        7 -> session/cancel {{"sessionId": "c"}}
        8 <- #2 {_DONE}
    """).replay()
    live.check("""
        1-8
        -> end
        <- end
    """)
    assert live.mismatches == []


def test_a_child_is_verified(record: Record) -> None:
    """If an unchanged agent has a child session, `verify` reports no divergence."""
    live = verify(record(CHILD))
    live.check("""
        1-10
        -> end
    """)
    assert live.mismatches == live.informed == []


def test_a_child_may_have_another_name(record: Record) -> None:
    """`verify` recognizes a recorded child session although its live id is different."""
    live = verify(
        record(f"""
            1-4 session
            5 -> #2 session/prompt {{"sessionId": "s"}}
            6 <- session/update {{"sessionId": "c", {_TEXT}}}
            7 -> session/cancel {{"sessionId": "c"}}
            8 <- #2 {_DONE}
        """)
    )
    live.check(f"""
        1-3
        <- #1 result {{"sessionId": "t"}}
        -> #2 session/prompt {{"sessionId": "t"}}
        <- session/update {{"sessionId": "d", {_TEXT}}}
        -> session/cancel {{"sessionId": "d"}}
        <- #2 {_DONE}
        -> end
    """)
    assert live.mismatches == []


def test_a_childs_idle_ends_no_turn_of_its_parent(record: Record) -> None:
    """In v2, if a child session becomes idle, `verify` does not end its parent's turn."""
    idle = '"update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}'
    live = verify(
        record(f"""
            1 -> #0 initialize {{"protocolVersion": 2}}
            2 <- #0 result {{"protocolVersion": 2}}
            3 -> #1 session/new {{"cwd": "/p"}}
            4 <- #1 result {{"sessionId": "s"}}
            5 -> #2 session/prompt {{"sessionId": "s"}}
            6 <- #2 result {{}}
            7 <- session/update {{"sessionId": "c", {_TEXT}}}
            8 <- session/update {{"sessionId": "c", {idle}}}
            9 <- session/update {{"sessionId": "s", {idle}}}
            10 -> #3 session/prompt {{"sessionId": "s"}}
            11 <- #3 result {{}}
            12 <- session/update {{"sessionId": "s", {idle}}}
        """)
    )
    live.check("""
        1-12
        -> end
    """)


def test_mcp_over_acp_is_verified(record: Record) -> None:
    """If an agent repeats the recorded MCP messages over ACP, `verify` reports no divergence."""
    live = verify(record(MCP))
    live.check("""
        1-15
        -> end
    """)
    assert live.mismatches == live.informed == []
