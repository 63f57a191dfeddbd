"""Every row of the tables by which a dialect is detected."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.protocol.dialects import DRAFT, V1, V2, body, dialect_of_frame, dialect_of_initialize
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from tests.documents import Example, draft, official

ONE = {"protocolVersion": 1}
TWO = {"protocolVersion": 2}
INFO = {"name": "x", "version": "1"}


def dialect_from(method: str, /, **params: object) -> str | None:
    """The dialect that is detected from a later frame."""
    found = dialect_of_frame(read(json.dumps({"method": method, "params": params}).encode()))
    return found.dialect if found else None


def dialect_of_answer(method: str, **members: object) -> str | None:
    """The dialect that is detected from the answer to a method."""
    found = dialect_of_frame(read(json.dumps({"id": 1, **members}).encode()), method)
    return found.dialect if found else None


@pytest.mark.parametrize(
    ("params", "dialect"),
    [
        ({**TWO, "info": INFO, "capabilities": {}}, V2),
        ({**TWO}, V2),
        ({**ONE, "clientCapabilities": {}}, V1),
        ({**ONE, "clientCapabilities": {}, "clientInfo": INFO}, V1),
        ({**ONE, "capabilities": {}, "clientInfo": INFO}, DRAFT),
        ({**ONE, "capabilities": {"fs": {"read": True}}}, DRAFT),
        ({**ONE, "capabilities": {"fs": {"write": False}}}, DRAFT),
        ({**ONE, "capabilities": {"fs": {"watch": True}}}, DRAFT),
        ({**ONE, "capabilities": {"terminal": {"create": True}}}, DRAFT),
        ({**ONE, "capabilities": {"ui": {}}}, DRAFT),
        ({**ONE, "clientCapabilities": {"fs": {"readTextFile": True}}}, V1),
        ({**ONE, "clientCapabilities": {"terminal": True}}, V1),
        ({**ONE}, V1),
        ({**ONE, "clientInfo": INFO}, V1),
        ({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": INFO}, None),  # MCP
        ({"processId": 1, "rootUri": None, "rootPath": None, "capabilities": {}}, None),  # LSP
        ({}, None),
    ],
)
def test_the_request_points_to_a_dialect(params: dict[str, Any], dialect: str | None) -> None:
    """The params of initialize decide until it is answered."""
    found = dialect_of_initialize(params, None)
    assert (found and found.dialect) == dialect
    assert found is None or found.reason


@pytest.mark.parametrize(
    ("result", "dialect"),
    [
        ({**ONE, "agentCapabilities": {}}, V1),
        ({**ONE, "authMethods": []}, V1),
        ({**ONE, "agentInfo": INFO}, V1),
        ({**ONE, "agentCapabilities": {}, "authMethods": [], "agentInfo": INFO}, V1),
        ({**TWO, "info": INFO, "capabilities": {"session": {}}}, V2),
        ({**TWO, "info": INFO, "capabilities": {"session": {}}, "authMethods": []}, V2),
        (
            {
                **ONE,
                "agentInfo": INFO,
                "capabilities": {
                    "sessionCapabilities": {"modes": ["default"]},
                    "mcpCapabilities": {"transport": ["stdio"]},
                    "promptCapabilities": {"streaming": True},
                },
            },
            DRAFT,
        ),
        ({**ONE}, V1),
    ],
)
def test_the_result_points_to_a_dialect(result: dict[str, Any], dialect: str) -> None:
    """If the request is nearly empty, the result decides."""
    found = dialect_of_initialize(ONE, result)
    assert found is not None
    assert found.dialect == dialect


@pytest.mark.parametrize(
    ("params", "result", "dialect"),
    [
        ({**TWO, "info": INFO, "capabilities": {}}, ONE, V1),
        ({**TWO, "info": INFO, "capabilities": {}}, {**ONE, "agentCapabilities": {}}, V1),
        ({**ONE, "clientCapabilities": {}}, TWO, V2),
        ({**ONE, "capabilities": {}, "clientInfo": INFO}, {**ONE, "agentCapabilities": {}}, V1),
        ({**ONE, "clientCapabilities": {}}, {**ONE, "capabilities": {}}, DRAFT),
        ({**ONE, "capabilities": {}, "clientInfo": INFO}, {}, DRAFT),
        ({"protocolVersion": "2025-06-18"}, {"protocolVersion": "2025-06-18"}, None),
        ({}, {"serverInfo": INFO}, None),
    ],
)
def test_the_result_decides(
    params: dict[str, Any], result: dict[str, Any], dialect: str | None
) -> None:
    """Where request and result differ, the result counts; a lower version was negotiated."""
    found = dialect_of_initialize(params, result)
    assert (found and found.dialect) == dialect


@pytest.mark.parametrize("kind", ["tool_call", "plan", "current_mode_update"])
def test_updates_of_v1(kind: str) -> None:
    """Three kinds of update are gone in v2, and the draft has them in another envelope."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) == V1
    assert dialect_from("session/update", sessionId="s", type=kind, data={}) == DRAFT
    assert dialect_from("session/update", sessionId="s", type=kind) is None


@pytest.mark.parametrize(
    "kind",
    ["state_update", "user_message", "agent_message", "agent_thought",
     "tool_call_content_chunk", "terminal_update", "terminal_output_chunk"],
)  # fmt: skip
def test_updates_of_v2(kind: str) -> None:
    """Seven kinds of update are new in v2."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) == V2


@pytest.mark.parametrize("kind", ["agent_message_chunk", "tool_call_update", "plan_update"])
def test_updates_of_both(kind: str) -> None:
    """The other kinds only show the draft, by their envelope."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) is None
    assert dialect_from("session/update", sessionId="s", type=kind, data={"content": ""}) == DRAFT


@pytest.mark.parametrize(
    ("method", "params", "dialect"),
    [
        ("session/new", {"cwd": "/", "mcpServers": []}, None),
        ("session/new", {"workingDirectory": "/"}, DRAFT),
        ("session/prompt", {"sessionId": "s", "prompt": []}, None),
        ("session/prompt", {"sessionId": "s", "content": []}, DRAFT),
        ("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}, V1),
        ("session/load", {"sessionId": "s"}, None),
        ("session/set_mode", {"sessionId": "s", "modeId": "ask"}, V1),
        ("session/set_mode", {"sessionId": "s", "mode": "plan"}, None),
        ("authenticate", {"methodId": "x"}, V1),
        ("authenticate", {"method": "api_key", "credentials": {}}, None),
        ("fs/read_text_file", {"sessionId": "s", "path": "/a"}, V1),
        ("fs/write_text_file", {"sessionId": "s", "path": "/a", "content": ""}, V1),
        ("fs/read_text_file", {"path": "/a"}, None),
        ("terminal/create", {"sessionId": "s", "command": "npm"}, V1),
        ("terminal/output", {"sessionId": "s", "terminalId": "t"}, V1),
        ("terminal/create", {"command": "npm"}, None),
        ("auth/login", {"methodId": "x"}, V2),
        ("auth/logout", {}, V2),
        ("session/cancel", {"sessionId": "s"}, None),
        ("_x/y", {"workingDirectory": "/", "content": [], "cwd": "/"}, None),
    ],
)
def test_methods(method: str, params: dict[str, Any], dialect: str | None) -> None:
    """Some methods show it by their name, others by the names of their params."""
    assert dialect_from(method, **params) == dialect


def test_an_answered_prompt() -> None:
    """Only v2 answers a prompt without saying how the turn stopped."""
    assert dialect_of_answer("session/prompt", result={}) == V2
    assert dialect_of_answer("session/prompt", result={"_meta": {}}) == V2
    assert dialect_of_answer("session/prompt", result={"stopReason": "end_turn"}) is None
    assert dialect_of_answer("session/prompt", result=None) is None
    assert dialect_of_answer("session/prompt", error={"code": 1, "message": ""}) is None
    assert dialect_of_answer("session/set_mode", result={}) is None


def test_only_the_outline_of_a_large_line_decides_the_dialect() -> None:
    """Without the line, it is detected from the labels alone."""
    large = Message(Kind.NOTIFICATION, "session/update", update="state_update")
    found = dialect_of_frame(large)
    assert found is not None
    assert found.dialect == V2
    for method in ("session/update", "session/new", "session/prompt", "session/load"):
        assert dialect_of_frame(Message(Kind.REQUEST, method, update="plan")) is None
    assert dialect_of_frame(Message(Kind.RESPONSE), "session/prompt") is None


def test_a_body_is_an_object_or_nothing() -> None:
    """What is asked for is decoded if it is an object, of a line that is JSON."""
    assert body(read(b'{"method":"x","params":{"a":[1]}}'), "params") == {"a": [1]}
    for raw in (b'{"method":"x","params":[1]}', b'{"method":"x"}', b"[1]", b"{", b"\xff"):
        assert body(read(raw), "params") == {}
    assert body(Message(Kind.REQUEST, "x"), "params") == {}
    assert body(Message(Kind.REQUEST, "x", raw=b"[" * 100_000), "params") == {}


def dialects_of(examples: list[Example]) -> set[str]:
    """The dialects that are detected from the messages of a document, each taken alone."""
    dialects = set()
    for example in examples:
        message = read(example.raw)
        if example.method == "initialize" and example.kind == "request":
            found = dialect_of_initialize(example.message["params"], None)
        elif example.method == "initialize":
            found = dialect_of_initialize({}, example.message["result"])
        else:
            answered = example.method if message.method is None else None
            found = dialect_of_frame(message, answered)
        dialects.update([found.dialect] if found else [])
    return dialects


def test_no_message_of_a_document_means_another_dialect() -> None:
    """Each example of a document has its dialect, or none."""
    assert dialects_of(official()) == {V1}
    assert dialects_of(draft()) == {DRAFT}
