"""Tests how a session's mode, tool calls and terminals change with messages."""

from __future__ import annotations

import pytest

from acp_proxy.protocol.connection import Connection
from acp_proxy.protocol.connection_state import Session, Terminal
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.labelled_transcripts import Conversation, play


def connection(transcript: str, dialect: str = "auto") -> Connection:
    """Returns the connection after the frames of a transcript without labels."""
    conversation = Conversation(Connection(dialect=dialect))
    for _ in play([line.strip() for line in transcript.strip().splitlines()], conversation):
        pass
    return conversation.connection


@pytest.mark.parametrize(
    ("opened", "changed", "expected"),
    [
        ('{"sessionId": "s", "modes": {"currentModeId": "ask"}}', "", "ask"),
        ('{"sessionId": "s"}', "", None),
        (
            '{"sessionId": "s", "modes": {"currentModeId": "ask"}}',
            '-> #2 session/set_mode {"sessionId": "s", "modeId": "code"}\n<- #2 result {}',
            "code",
        ),
        (
            '{"sessionId": "s", "modes": {"currentModeId": "ask"}}',
            '-> #2 session/set_mode {"sessionId": "s", "modeId": "code"}\n'
            '<- #2 error {"code": -32602, "message": ""}',
            "ask",
        ),
        (
            '{"sessionId": "s", "modes": {"currentModeId": "ask"}}',
            '<- session/update {"sessionId": "s", "update":'
            ' {"sessionUpdate": "current_mode_update", "currentModeId": "code"}}',
            "code",
        ),
        (
            '{"sessionId": "s"}',
            '<- session/update {"sessionId": "s", "type": "current_mode_update",'
            ' "data": {"previousMode": "default", "currentMode": "plan"}}',
            "plan",
        ),
        (
            '{"sessionId": "s"}',
            '-> #2 session/set_mode {"sessionId": "s", "mode": "plan"}\n'
            '<- #2 result {"previousMode": "default", "currentMode": "plan"}',
            "plan",
        ),
    ],
)
def test_the_mode_of_a_session_is_followed(opened: str, changed: str, expected: str | None) -> None:
    """`Connection` notes the mode of a session when a message has set or changed the mode."""
    start = f'-> #1 session/new {{"cwd": "/"}}\n<- #1 result {opened}\n{changed}'.strip()
    assert connection(start).state.sessions == {"s": Session(mode=expected)}


def test_a_closed_session_stays_known() -> None:
    """After `session/close`, the state of `Connection` still contains the session."""
    machine = connection("""
        -> #1 session/resume {"sessionId": "s", "cwd": "/"}
        <- #1 result {}
        -> #2 session/close {"sessionId": "s"}
        <- #2 result {}
    """)
    assert machine.state.sessions == {"s": Session()}


def _call(status: str, kind: str = "tool_call_update") -> str:
    update = f'{{"sessionUpdate": "{kind}", "toolCallId": "c"{status}}}'
    return f'\n<- session/update {{"sessionId": "s", "update": {update}}}'


@pytest.mark.parametrize(
    ("updates", "expected"),
    [
        (_call("", "tool_call"), {"c": "pending"}),
        (_call(', "status": "in_progress"'), {"c": "in_progress"}),
        (_call(', "status": "in_progress"') + _call(""), {"c": "in_progress"}),
        (_call(', "status": "completed"'), {}),
        (_call(', "status": "completed"') + _call(', "status": "in_progress"'), {}),
        (_call(', "status": "in_progress"') + _call(', "status": "pending"'), {"c": "pending"}),
        (_call(', "status": "_own"') + _call(', "status": "failed"'), {}),
    ],
)
def test_the_status_of_a_tool_call_is_followed(updates: str, expected: dict[str, str]) -> None:
    """`Connection.open_calls` has the latest status of open tool calls, and no call that ended."""
    machine = connection('-> #1 session/prompt {"sessionId": "s"}' + updates)
    assert machine.open_calls("s") == expected


def test_a_finished_tool_call_is_forgotten_with_its_turn() -> None:
    """At the end of a turn, `Connection` forgets its finished tool calls, but not open ones."""
    machine = connection(
        '-> #1 session/prompt {"sessionId": "s"}'
        + _call(', "status": "completed"')
        + _call("").replace('"c"', '"d"')
        + '\n<- #1 result {"stopReason": "end_turn"}'
    )
    assert machine.state.calls == {"s": {"d": "pending"}}


def test_a_terminal_is_followed_until_its_release() -> None:
    """`Connection` notes the exit of a terminal's command, and forgets a released terminal."""
    created = """
        <- #1 terminal/create {"sessionId": "s", "command": "ls"}
        -> #1 result {"terminalId": "t"}
    """
    waited = created + '<- #2 terminal/wait_for_exit {"sessionId": "s", "terminalId": "t"}\n'
    exited = waited + '-> #2 result {"exitCode": 0}\n'
    released = exited + '<- #3 terminal/release {"sessionId": "s", "terminalId": "t"}\n'
    assert connection(waited).state.terminals == {"t": Terminal("s")}
    assert connection(exited).state.terminals == {"t": Terminal("s", has_exited=True)}
    assert connection(released + "-> #3 result {}").state.terminals == {}
    unknown = '<- #2 terminal/kill {"sessionId": "s", "terminalId": "unknown"}\n-> #2 result {}'
    assert connection(created + unknown).state.terminals == {"t": Terminal("s")}


@pytest.mark.parametrize(("status", "has_exited"), [("null", False), ('{"exitCode": 1}', True)])
def test_output_may_report_the_exit(status: str, has_exited: bool) -> None:
    """If the answer to `terminal/output` has an exit status, `Connection` notes the exit."""
    machine = connection(f"""
        <- #1 terminal/create {{"sessionId": "s", "command": "ls"}}
        -> #1 result {{"terminalId": "t"}}
        <- #2 terminal/output {{"sessionId": "s", "terminalId": "t"}}
        -> #2 result {{"output": "", "truncated": false, "exitStatus": {status}}}
    """)
    assert machine.state.terminals["t"].has_exited is has_exited


def test_the_number_of_unreleased_terminals_is_bounded() -> None:
    """acp-proxy remembers at most a thousand unreleased terminals of a recording."""
    lines = (
        f'<- #{n} terminal/create {{"sessionId": "s"}}\n-> #{n} result {{"terminalId": "{n}"}}'
        for n in range(1_200)
    )
    terminals = connection("\n".join(lines)).state.terminals
    assert len(terminals) == 1_000
    assert "1199" in terminals


def test_the_state_of_a_session_leaves_its_mode() -> None:
    """In ACP v2, `Connection` keeps the mode of a session at a state update without a mode."""
    opened = """
        -> #1 session/new {"cwd": "/p"}
        <- #1 result {"sessionId": "s"}
    """
    running = '<- session/update {"sessionId": "s", "update": %s}'
    state = '{"sessionUpdate": "state_update", "state": "running"}'
    mode = '{"sessionUpdate": "current_mode_update", "currentModeId": "code"}'
    machine = connection(f"{opened}\n{running % mode}\n{running % state}", "v2")
    assert machine.state.sessions["s"].mode == "code"


def test_open_requests_of_the_agent_are_known() -> None:
    """`Connection` lists the agent's requests as open until they are answered."""
    machine = connection("""
        <- #1 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "c"}}
        <- #2 fs/read_text_file {"sessionId": "s", "path": "/a"}
        <- #3 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "d"}}
        -> #1 result {"outcome": {"outcome": "cancelled"}}
    """)
    assert [asked.tool_call for asked in machine.open_requests(Direction.TO_CLIENT)] == [None, "d"]


def test_a_permission_request_may_announce_a_tool_call() -> None:
    """If a permission request announces a call without a status, `Connection` calls it pending."""
    asked = '<- #%d session/request_permission {"sessionId": "s", "toolCall": %s}'
    with_status = asked % (0, '{"toolCallId": "c", "status": "in_progress"}')
    without = asked % (1, '{"toolCallId": "d"}')
    machine = connection(f"{with_status}\n{without}", "v1")
    assert machine.state.calls == {"s": {"c": "in_progress", "d": "pending"}}


def test_tool_calls_may_have_no_session() -> None:
    """`Connection` follows tool calls even if their updates name no session."""
    prompt = '-> #1 session/prompt {"prompt": []}'
    update = '<- session/update {"update": {"sessionUpdate": "tool_call", "toolCallId": "%s", %s}}'
    running = update % ("c", '"status": "in_progress"')
    completed = update % ("d", '"status": "completed"')
    machine = connection(f"{prompt}\n{running}\n{completed}", "v1")
    assert machine.state.calls == {"": {"c": "in_progress", "d": "completed"}}
    assert machine.open_calls(None) == {"c": "in_progress"}
    end = '<- #1 result {"stopReason": "end_turn"}'
    assert connection(f"{prompt}\n{running}\n{completed}\n{end}", "v1").state.calls == {
        "": {"c": "in_progress"}
    }
    assert connection(f"{prompt}\n{completed}\n{end}", "v1").state.calls == {}
