"""The 1.0 draft: corners beside the examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judged import judge

HANDSHAKE = "a 1.0 draft handshake"
TURN = f"{HANDSHAKE}, session s, a prompt"
INFO = {"name": "x", "version": "1"}


def found(lines: list[str], rule: str, after: str = TURN) -> list[str]:
    """The findings of a rule, without the lines."""
    return [line.strip() for line in judge(lines, after, rule) if line.startswith(" ")]


def call(status: str, kind: str = "tool_call_update") -> str:
    """An update of the tool call ``c``."""
    data = json.dumps({"id": "c", "status": status})
    return f'<- session/update {{"sessionId": "s", "type": "{kind}", "data": {data}}}'


def asks(number: int, *, session: str = "s", resource: Any = "/a") -> str:
    """A permission request for the tool call ``c``."""
    params = {"sessionId": session, "operation": "file_read", "resource": resource}
    return f"<- #{number} session/request_permission {json.dumps({**params, 'toolCallId': 'c'})}"


@pytest.mark.parametrize(
    ("required", "places"),
    [
        ({"fs": {"read": True}, "terminal": True}, 0),
        ({"fs": {"watch": True}, "ui": {"diffViewer": True}}, 2),
        ({"fs": {"watch": False}, "terminal": {"maxConcurrent": 9}}, 0),
        ([True], 0),
        (True, 0),
        ({"fs": {"read": {"a": {"b": {"c": {"d": True}}}}}}, 0),
    ],
)
def test_only_what_is_true_is_required(required: Any, places: int) -> None:
    """A number is no capability, and what is no object names none."""
    client = {"fs": {"read": True}, "terminal": {"create": True}}
    params = {"protocolVersion": 1, "clientInfo": INFO, "capabilities": client}
    result = {"protocolVersion": 1, "agentInfo": INFO, "capabilities": {"loadSession": True}}
    lines = [
        f"-> #0 initialize {json.dumps(params)}",
        f"<- #0 result {json.dumps({**result, 'requiredClientCapabilities': required})}",
    ]
    expected = ["s4.required-capabilities by agent"] * places
    assert found(lines, "s4.required-capabilities", "") == expected


@pytest.mark.parametrize(
    ("granted", "session", "resource", "is_again"),
    [
        ({"granted": True, "scope": "session"}, "s", "/a", True),
        ({"granted": True, "scope": "workspace"}, "s", "/a", True),
        ({"granted": True, "scope": "always"}, "t", "/a", True),
        ({"granted": True, "scope": "session"}, "t", "/a", False),
        ({"granted": True, "scope": "once"}, "s", "/a", False),
        ({"granted": True}, "s", "/a", False),
        ({"granted": False, "scope": "always"}, "s", "/a", False),
        ({"granted": True, "scope": "always", "remember": False}, "s", "/a", False),
        ({"granted": True, "scope": ["always"]}, "s", "/a", False),
        ({"granted": True, "scope": "always"}, "s", {"path": "/a"}, False),
    ],
)
def test_a_grant_has_a_scope(
    granted: dict[str, Any], session: str, resource: Any, is_again: bool
) -> None:
    """In which the same is not asked for again."""
    lines = [
        asks(0),
        f"-> #0 result {json.dumps(granted)}",
        asks(1, session=session, resource=resource),
    ]
    expected = ["s4.permission-scope-again by agent"] if is_again else []
    assert found(lines, "s4.permission-scope-again") == expected


@pytest.mark.parametrize("status", ["denied", "cancelled", "completed", "in_progress", None])
def test_a_refused_call_may_end_otherwise(status: str | None) -> None:
    """As denied or cancelled; if it ran, that is another breach. Without a status it is none."""
    lines = [asks(0), '-> #0 result {"granted": false}', *([call(status)] if status else [])]
    lines.append('<- #2 result {"stopReason": "end_turn"}')
    expected = [] if status else ["s4.denied-status by agent"]
    assert found(lines, "s4.denied-status") == expected


def test_a_cancelled_turn_leaves_calls_as_they_are() -> None:
    """Or one that fails."""
    start = [asks(0), '-> #0 result {"granted": false}']
    cancel = '-> session/cancel {"sessionId": "s"}'
    ends = ['<- #2 result {"stopReason": "cancelled"}', '<- #2 error {"code": 1, "message": "x"}']
    assert found([*start, cancel, ends[0]], "s4.denied-status") == []
    assert found([*start, ends[1]], "s4.denied-status") == []


@pytest.mark.parametrize(
    ("before", "after", "is_right"),
    [
        ("pending", "in_progress", True),
        ("pending", "completed", True),
        ("pending", "denied", False),
        ("awaiting_permission", "denied", True),
        ("awaiting_permission", "cancelled", True),
        ("awaiting_permission", "pending", False),
        ("in_progress", "failed", True),
        ("in_progress", "awaiting_permission", False),
        ("completed", "denied", True),
        ("odd", "pending", True),
        ("pending", "odd", True),
    ],
)
def test_statuses_follow_the_diagram(before: str, after: str, is_right: bool) -> None:
    """What comes after a final status, or skips one, is left to other rules."""
    expected = [] if is_right else ["s4.status-flow by agent"]
    assert found([call(before, "tool_call"), call(after)], "s4.status-flow") == expected


@pytest.mark.parametrize("before", ["release", "kill", "wait_for_exit"])
def test_a_terminal_that_ends_makes_room(before: str) -> None:
    """When the agent asks for its release, or its command has ended."""
    create = '<- #{0} terminal/create {{"command": "x"}}'
    created = '-> #{0} result {{"terminalId": "t{0}"}}'
    lines = [row.format(number) for number in (0, 1) for row in (create, created)]
    end = [f'<- #9 terminal/{before} {{"terminalId": "t0"}}']
    if before == "wait_for_exit":
        end.append('-> #9 result {"exitCode": 0}')
    last = [create.format(2), created.format(2)]
    assert found([*lines, *end, *last], "s4.terminal-max") == []
    assert found([*lines, *last], "s4.terminal-max") == ["s4.terminal-max by agent"]


@pytest.mark.parametrize(
    ("mcp", "places"),
    [
        ({"servers": True, "transport": ["stdio"]}, 0),
        ({"servers": True, "transport": ["http"]}, 1),
        ({"servers": True}, 0),
        ({"servers": False, "transport": ["stdio"]}, 1),
        (None, 1),
        ({"servers": True, "transport": [["stdio"], {}]}, 1),
    ],
)
def test_the_transport_is_one_of_a_list(mcp: Any, places: int) -> None:
    """Which an agent may leave out."""
    params = {"protocolVersion": 1, "clientInfo": INFO, "capabilities": {}}
    result = {**params, "agentInfo": INFO, "capabilities": {"mcpCapabilities": mcp}}
    servers = [{"name": "a", "transport": {"type": "stdio"}}, {"transport": {"type": []}}, 7]
    new = {"workingDirectory": "/", "mcpServers": servers}
    lines = [
        f"-> #0 initialize {json.dumps({**params, 'capabilities': {'fs': {'read': True}}})}",
        f"<- #0 result {json.dumps(result)}",
        f"-> #1 session/new {json.dumps(new)}",
    ]
    assert found(lines, "s4.mcp-transport", "") == ["s4.mcp-transport by client"] * places


@pytest.mark.parametrize("at", [1, 2])
def test_the_mode_may_be_reported_early(at: int) -> None:
    """Before the answer, after it, or not at all if it was the mode before."""
    update = (
        '<- session/update {"sessionId": "s", "type": "current_mode_update",'
        ' "data": {"previousMode": "ask", "currentMode": "code"}}'
    )
    turn = [
        '-> #4 session/prompt {"sessionId": "s", "content": []}',
        '<- #4 result {"stopReason": "end_turn"}',
    ]
    lines = [
        '-> #3 session/set_mode {"sessionId": "s", "mode": "code"}',
        '<- #3 result {"previousMode": "ask", "currentMode": "code"}',
        *turn,
    ]
    after = f"{HANDSHAKE}, session s"
    assert found([*lines[:at], update, *lines[at:]], "s4.mode-notified", after) == []
    assert found(lines, "s4.mode-notified", after) == ["s4.mode-notified by agent"]
    same = [lines[0], lines[1].replace("ask", "code"), *turn]
    assert found(same, "s4.mode-notified", after) == []
    assert found([*turn[:1], *lines[:2], *turn[1:]], "s4.mode-notified", after) == []


@pytest.mark.parametrize(
    ("url", "is_remote"),
    [
        ("http://example.com", True),
        ("HTTP://10.0.0.7:80/x", True),
        ("https://example.com", False),
        ("http://localhost:1", False),
        ("http://127.0.0.9", False),
        ("http://[::1]:80", False),
        ("http://0.0.0.0:80", False),
        ("http://[::1", False),
        ("http:///x", False),
        ("", False),
        ("[redacted:url:0123abcd]", False),
    ],
)
def test_only_other_machines_are_remote(url: str, is_remote: bool) -> None:
    """By the host of the URL."""
    servers = [{"name": "a", "transport": {"type": "http", "url": url}}]
    new = json.dumps({"workingDirectory": "/", "mcpServers": servers})
    expected = ["s4.https by client"] if is_remote else []
    assert found([f"-> #1 session/new {new}"], "s4.https", HANDSHAKE) == expected
