# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Playback binds, replaces or hides values at the typed places of every dialect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.replay.replay_report import text

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

KEY = """
    1 -> #0 initialize {"protocolVersion": 1, "clientInfo": {"name": "c"}, "capabilities": {"fs": {"read": true}}}
    2 <- #0 result {"protocolVersion": 1, "agentInfo": {"name": "a"}, "capabilities": {}}
    3 -> #1 authenticate {"method": "api_key", "credentials": {"apiKey": "sk-REAL"}}
    4 <- #1 result {"success": true, "expiresAt": "2026-03-01T10:00:00Z"}
"""
PROVIDER = """
    1 -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}
    2 <- #0 result {"protocolVersion": 1, "agentCapabilities": {}}
    3 -> #1 providers/set {"providerId": "main", "apiType": "openai", "baseUrl": "https://real.example.com", "headers": {"Authorization": "Bearer REAL"}}
    4 <- #1 result {}
"""
SERVERS = """
    1 -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}
    2 <- #0 result {"protocolVersion": 1, "agentCapabilities": {}}
    3 -> #1 session/new {"cwd": "/p", "_x": 1, "mcpServers": [{"name": "a", "url": "u", "headers": [{"name": "Authorization", "value": "Bearer REAL"}]}]}
    4 <- #1 result {"sessionId": "s"}
"""


def begun(record: Record, text: str) -> Live:
    """Returns a replay after the handshake."""
    return record(text).replay(1)


@pytest.mark.parametrize(
    ("recording", "said"),
    [
        (KEY, 'authenticate {"method": "api_key", "credentials": {"apiKey": "sk-CI"}}'),
        (KEY, 'authenticate {"method": "api_key", "credentials": {"token": ["sk-CI", 3]}}'),
        (KEY, 'authenticate {"method": "api_key"}'),
        (
            PROVIDER,
            'providers/set {"providerId": "main", "apiType": "other", "baseUrl": "http://localhost", "headers": {"X-Key": "CI"}}',
        ),
    ],
)
def test_any_credentials_match(record: Record, recording: str, said: str) -> None:
    """In a replay, any credentials of the client match the recorded credentials."""
    live = begun(record, recording)
    assert live.send(f"#1 {said}") == ["<- 4"]
    assert live.divergences == []


@pytest.mark.parametrize(
    ("recording", "said"),
    [
        (KEY, 'authenticate {"method": "oauth2", "credentials": {"apiKey": "sk-CI"}}'),
        (KEY, 'authenticate [{"credentials": {"apiKey": "sk-CI"}}]'),
        (PROVIDER, 'providers/set {"providerId": "other", "headers": {"Authorization": "sk-CI"}}'),
        (SERVERS, 'session/new {"cwd": "/p", "mcpServers": [{"env": [{"value": "sk-CI"}]}]}'),
        (
            SERVERS,
            'session/new {"workingDirectory": "/p", "mcpServers": [{"transport": {"headers": {"Authorization": "sk-CI"}}}]}',
        ),
    ],
)
def test_credentials_are_hidden(record: Record, recording: str, said: str) -> None:
    """A replay masks credentials in its report."""
    live = begun(record, recording)
    live.send(f"#1 {said}")
    live.leave()
    assert live.mismatches
    told = live.bytes.decode() + "\n".join(text(live.report)) + repr(live.divergences)
    assert "REAL" not in told
    if "authenticate [" not in said:  # otherwise credentials are not known as such
        assert "sk-CI" not in told


def test_a_false_capability_equals_an_absent_one(record: Record) -> None:
    """In a replay, a capability that is false matches a missing capability."""
    said = '#0 initialize {"protocolVersion": 1, "clientInfo": {"name": "x"}, "capabilities": %s}'
    for capabilities in (
        '{"fs": {"read": true}}',
        '{"fs": {"read": true, "write": false}, "terminal": null, "ui": {"diffViewer": false}}',
    ):
        assert record(KEY).replay().send(said % capabilities) == ["<- 2"]
    live = record(KEY).replay()
    live.send(said % '{"fs": {"read": true, "write": true}}')
    assert live.mismatches[0].startswith("params-differ primary in connection 1")
    assert [
        difference.pointer for difference in live.divergences[0].near_misses[0].differences
    ] == ["/params/capabilities/fs/write"]


DRAFT = """
    1 -> #0 initialize {"protocolVersion": 1, "clientInfo": {"name": "c"}, "capabilities": {}}
    2 <- #0 result {"protocolVersion": 1, "agentInfo": {"name": "a"}, "capabilities": {}}
    3 -> #1 session/new {"workingDirectory": "/p"}
    4 <- #1 result {"sessionId": "s", "createdAt": "2026-02-04"}
    5 -> #2 session/prompt {"sessionId": "s", "content": [{"type": "image", "source": {"type": "url", "url": "file:///p/x.png"}}]}
    6 <- #7 terminal/create {"command": "ls", "cwd": "/p"}
    7 -> #7 result {"terminalId": "t"}
    8 <- session/update {"sessionId": "s", "type": "tool_call_update", "data": {"id": "c", "output": {"type": "diff", "path": "/p/a", "hunks": []}}}
    9 <- session/update {"sessionId": "s", "type": "tool_call_update", "data": {"id": "c", "output": {"type": "terminal", "terminalId": "t"}}}
    10 <- #8 fs/write_binary_file {"path": "/p/b"}
    11 -> #8 result {"bytesWritten": 1}
    12 <- #9 fs/create_directory {"path": "/p/c"}
    13 -> #9 result {}
    14 -> session/cancel {"sessionId": "s", "reason": "user_requested"}
    15 <- #2 result {"stopReason": "cancelled"}
"""


def test_values_of_the_draft_are_replaced(record: Record) -> None:
    """A replay of the 1.0 draft replaces the ids of tool calls and terminals by live ids."""
    live = begun(record, DRAFT)
    live.check("""
        -> #1 session/new {"workingDirectory": "/q"}
        <- 4
        -> #2 session/prompt {"sessionId": "s", "content": [{"type": "image", "source": {"type": "url", "url": "file:///q/x.png"}}]}
        <- #7 terminal/create {"command": "ls", "cwd": "/q"}
        -> #7 result {"terminalId": "T"}
        <- session/update {"sessionId": "s", "type": "tool_call_update", "data": {"id": "c", "output": {"type": "diff", "path": "/q/a", "hunks": []}}}
        <- session/update {"sessionId": "s", "type": "tool_call_update", "data": {"id": "c", "output": {"type": "terminal", "terminalId": "T"}}}
        <- #8 fs/write_binary_file {"path": "/q/b"}
        -> 11
        <- #9 fs/create_directory {"path": "/q/c"}
        -> 13
        -> session/cancel {"sessionId": "s", "reason": "timeout"}
        <- 15
    """)
    assert live.divergences == []


def test_the_reason_of_a_cancellation_does_not_count(record: Record) -> None:
    """A replay accepts a cancel of a turn with a different reason than recorded."""
    for said in ('{"sessionId": "s"}', '{"sessionId": "s", "reason": {"code": 3}}'):
        live = begun(record, DRAFT)
        for number in (3, 5, 7, 11, 13):
            live.send(number)
        assert live.send(f"session/cancel {said}") == ["<- 15"]
        assert live.divergences == []


V2 = """
    1 -> #0 initialize {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}}
    2 <- #0 result {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}
    3 -> #1 session/new {"cwd": "/p"}
    4 <- #1 result {"sessionId": "s"}
    5 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "resource_link", "uri": "file:///p/x"}]}}
    6 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "content", "content": {"type": "resource_link", "uri": "file:///p/x"}}}}
    7 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "diff", "changes": [{"path": "/p/x"}]}}}
    8 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "p", "uri": "file:///p/plan.md"}}}
    9 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "terminal_update", "terminalId": "t", "cwd": "/p/src"}}
"""


def test_directories_of_v2_are_replaced(record: Record) -> None:
    """A replay of v2 replaces recorded directories in messages by live directories."""
    live = begun(record, V2)
    live.check("""
        -> #1 session/new {"cwd": "/q"}
        <- 4
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message", "messageId": "m", "content": [{"type": "resource_link", "uri": "file:///q/x"}]}}
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "content", "content": {"type": "resource_link", "uri": "file:///q/x"}}}}
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "diff", "changes": [{"path": "/q/x"}]}}}
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "p", "uri": "file:///q/plan.md"}}}
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "terminal_update", "terminalId": "t", "cwd": "/q/src"}}
    """)


ANYBODYS = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/w", "_open": "/w/a", "mcpServers": []}
    4 <- #1 result {"sessionId": "s"}
    5 -> _zed.dev/file_opened {"path": "/w/a", "uri": "file:///w/a", "near": "/w2", "say": "in /w/a"}
    6 -> #2 _custom/analyze {"path": "/w/src", "deep": [{"files": ["/w", "/w/b"]}]}
    7 <- #2 result {}
    8 <- #0 _zed.dev/workspace/buffers {"sessionId": "s"}
    9 -> #0 result {"buffers": [{"id": 0, "path": "/w/a"}]}
"""


def test_a_path_of_an_extension_may_be_in_the_live_directory(record: Record) -> None:
    """A replay replaces the recorded directory in extension messages by the client's directory."""
    live = begun(record, ANYBODYS)
    live.check("""
        -> #1 session/new {"cwd": "/z", "_open": "/z/a", "mcpServers": []}
        <- 4
        <- 8
        -> _zed.dev/file_opened {"path": "/z/a", "uri": "file:///z/a", "near": "/w2", "say": "in /w/a"}
        -> #2 _custom/analyze {"path": "/z/src", "deep": [{"files": ["/z", "/z/b"]}]}
        <- 7
        -> #0 result {"buffers": [{"id": 0, "path": "/z/a"}]}
    """)
    assert live.divergences == []


@pytest.mark.parametrize("path", ["/z/other", "/y/src", "/z2/src", "z/src", "/z/src/"])
def test_another_path_is_another_message(record: Record, path: str) -> None:
    """A replay matches a path only if its part below the client's directory is as recorded."""
    live = begun(record, ANYBODYS)
    live.send('#1 session/new {"cwd": "/z", "_open": "/z/a", "mcpServers": []}')
    live.send(f'#2 _custom/analyze {{"path": "{path}", "deep": [{{"files": ["/z", "/z/b"]}}]}}')
    assert live.mismatches[0].startswith("params-differ primary")


TODAY = """
    1 -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}
    2 <- #0 result {"protocolVersion": 1, "agentCapabilities": {}}
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "messageId": "m1", "prompt": []}
    6 <- #7 elicitation/create {"sessionId": "s", "requestId": 2, "mode": "form", "message": "?"}
    7 -> #7 result {"action": "cancel"}
    8 <- #8 mcp/connect {"sessionId": "s", "serverId": "x"}
    9 -> #8 result {"connectionId": "c1"}
    10 <- #9 mcp/message {"sessionId": "s", "connectionId": "c1", "method": "tools/list"}
    11 -> #9 result {"tools": []}
    12 -> mcp/message {"sessionId": "s", "connectionId": "c1", "method": "notifications/tools/list_changed"}
    13 <- #10 mcp/disconnect {"sessionId": "s", "connectionId": "c1"}
    14 -> #10 result {}
    15 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "user_message_chunk", "messageId": "m1", "content": {"type": "text", "text": "m1"}}}
    16 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk", "messageId": "m0", "content": {"type": "text", "text": "hi"}}}
    17 <- #2 result {"stopReason": "end_turn", "userMessageId": "m1"}
"""


def test_ids_that_the_client_chose_are_replaced_in_frames(record: Record) -> None:
    """In the frames that a replay sends, it replaces ids that the client chose by the live ids."""
    live = begun(record, TODAY)
    live.send(3)
    live.check("""
        -> #"p" session/prompt {"sessionId": "s", "messageId": "m2", "prompt": []}
        <- #7 elicitation/create {"sessionId": "s", "requestId": "p", "mode": "form", "message": "?"}
        -> 7
        <- 8
        -> #8 result {"connectionId": "C"}
        <- #9 mcp/message {"sessionId": "s", "connectionId": "C", "method": "tools/list"}
        -> 11
        <- #10 mcp/disconnect {"sessionId": "s", "connectionId": "C"}
        -> mcp/message {"sessionId": "s", "connectionId": "C", "method": "notifications/tools/list_changed"}
        -> 14
        <- session/update {"sessionId": "s", "update": {"sessionUpdate": "user_message_chunk", "messageId": "m2", "content": {"type": "text", "text": "m1"}}}
        <- 16
        <- #"p" result {"stopReason": "end_turn", "userMessageId": "m2"}
    """)
    assert live.divergences == []


EDITS = """
    1 -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}
    2 <- #0 result {"protocolVersion": 1, "agentCapabilities": {}}
    3 -> #1 nes/start {"workspaceUri": "file:///my%20p", "workspaceFolders": [{"uri": "file:///my%20p", "name": "p"}, {"uri": "file:///lib", "name": "l"}]}
    4 <- #1 result {"sessionId": "n"}
    5 -> #2 nes/suggest {"sessionId": "n", "uri": "file:///my%20p/a", "context": {"userActions": [{"uri": "file:///lib/b", "timestampMs": 5}]}}
    6 <- #2 result {"suggestions": [{"kind": "jump", "id": "g", "uri": "file:///lib/b"}]}
"""


def test_a_workspace_is_a_directory_that_the_client_chose(record: Record) -> None:
    """A replay replaces the recorded workspace URI by the URI that the client has chosen."""
    live = begun(record, EDITS)
    live.check("""
        -> #1 nes/start {"workspaceUri": "file:///z", "workspaceFolders": [{"uri": "file:///z", "name": "p"}, {"uri": "file:///l%20x", "name": "l"}]}
        <- 4
        -> #2 nes/suggest {"sessionId": "n", "uri": "file:///z/a", "context": {"userActions": [{"uri": "file:///l%20x/b", "timestampMs": 7}]}}
        <- #2 result {"suggestions": [{"kind": "jump", "id": "g", "uri": "file:///l%20x/b"}]}
    """)
    assert live.divergences == []


def test_process_ids_do_not_count(record: Record) -> None:
    """If a client's answer has a different process id than recorded, a replay does not diverge."""
    live = begun(
        record, DRAFT.replace('{"terminalId": "t"}\n', '{"terminalId": "t", "pid": 5}\n', 1)
    )
    live.send(3, 5, '#7 result {"terminalId": "t", "pid": 77}')
    assert live.divergences == []
