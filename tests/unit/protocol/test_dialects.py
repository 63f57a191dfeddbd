"""Tests every row of the tables that decide the dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.forms import converter
from acp_proxy.protocol.dialects import DRAFT, V1, V2, Evidence, body
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from tests.support.cases import each_case
from tests.support.protocol_documents import Example, draft, official

ONE = {"protocolVersion": 1}
TWO = {"protocolVersion": 2}
NO_SIGN = "protocolVersion 1 in initialize, and no sign of another dialect"
INFO = {"name": "x", "version": "1"}


def evidence_of(*messages: tuple[str | None, dict[str, Any]]) -> Evidence:
    """Returns the evidence for a dialect in some messages; an answer comes with its method."""
    evidence = Evidence()
    for answered, message in messages:
        evidence.take(read(json.dumps(message).encode()), answered)
    return evidence


def asked(method: str, /, **params: object) -> tuple[None, dict[str, Any]]:
    """Returns a request."""
    return None, {"id": 1, "method": method, "params": params}


def answered(method: str, **result: object) -> tuple[str, dict[str, Any]]:
    """Returns the answer to a request."""
    return method, {"id": 1, "result": result}


def updated(kind: str, **members: object) -> tuple[None, dict[str, Any]]:
    """Returns a session update of v1."""
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return None, {"method": "session/update", "params": params}


def dialect_of_frame(message: Message, answered: str | None = None) -> tuple[str, str] | None:
    """Returns the dialect that a single message shows."""
    evidence = Evidence()
    evidence.take(message, answered)
    return evidence.best()


def dialect_of_initialize(
    params: dict[str, Any], result: dict[str, Any] | None
) -> tuple[str, str] | None:
    """Returns the dialect that an initialize exchange alone shows."""
    exchange = [asked("initialize", **params)]
    return evidence_of(
        *exchange, *([answered("initialize", **result)] if result is not None else [])
    ).best()


def dialect_from(method: str, /, **params: object) -> str | None:
    """Returns the dialect that a message other than `initialize` shows."""
    detected = dialect_of_frame(read(json.dumps({"method": method, "params": params}).encode()))
    return detected[0] if detected else None


def dialect_of_answer(method: str, **members: object) -> str | None:
    """Returns the dialect that the answer to a method shows."""
    detected = dialect_of_frame(read(json.dumps({"id": 1, **members}).encode()), method)
    return detected[0] if detected else None


@each_case(
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
    """Before `initialize` is answered, acp-proxy detects the dialect by the request's params."""
    detected = dialect_of_initialize(params, None)
    assert (detected and detected[0]) == dialect
    assert detected is None or detected[1]


@each_case(
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
    """If `initialize` only names version 1, acp-proxy detects the dialect by the answer."""
    detected = dialect_of_initialize(ONE, result)
    assert detected is not None
    assert detected[0] == dialect


@each_case(
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
    """If params and result of `initialize` show different dialects, acp-proxy trusts the result."""
    detected = dialect_of_initialize(params, result)
    assert (detected and detected[0]) == dialect


@pytest.mark.parametrize("kind", ["tool_call", "plan", "current_mode_update"])
def test_updates_of_v1(kind: str) -> None:
    """acp-proxy detects v1 by the updates `tool_call`, `plan` and `current_mode_update`."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) == V1
    assert dialect_from("session/update", sessionId="s", type=kind, data={}) == DRAFT
    assert dialect_from("session/update", sessionId="s", type=kind) is None


@pytest.mark.parametrize(
    "kind",
    ["state_update", "user_message", "agent_message", "agent_thought",
     "tool_call_content_chunk", "terminal_update", "terminal_output_chunk"],
)  # fmt: skip
def test_updates_of_v2(kind: str) -> None:
    """acp-proxy detects v2 by session updates that only v2 has, such as `state_update`."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) == V2


@pytest.mark.parametrize("kind", ["agent_message_chunk", "tool_call_update", "plan_update"])
def test_updates_of_both(kind: str) -> None:
    """acp-proxy detects no dialect by a session update that v1 and v2 share."""
    assert dialect_from("session/update", sessionId="s", update={"sessionUpdate": kind}) is None
    assert dialect_from("session/update", sessionId="s", type=kind, data={"content": ""}) == DRAFT


@each_case(
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
def test_a_method_may_show_the_dialect(
    method: str, params: dict[str, Any], dialect: str | None
) -> None:
    """acp-proxy detects a dialect by a method or a param that only this dialect has."""
    assert dialect_from(method, **params) == dialect


def test_an_answered_prompt() -> None:
    """acp-proxy detects v2 if the answer to a prompt has no stop reason."""
    assert dialect_of_answer("session/prompt", result={}) == V2
    assert dialect_of_answer("session/prompt", result={"_meta": {}}) == V2
    assert dialect_of_answer("session/prompt", result={"stopReason": "end_turn"}) is None
    assert dialect_of_answer("session/prompt", result=None) is None
    assert dialect_of_answer("session/prompt", error={"code": 1, "message": ""}) is None
    assert dialect_of_answer("session/set_mode", result={}) is None


def test_only_the_outline_of_a_large_line_decides_the_dialect() -> None:
    """To detect a dialect by a huge line, acp-proxy uses only the line's kind of update."""
    large = Message(Kind.NOTIFICATION, "session/update", update="state_update")
    detected = dialect_of_frame(large)
    assert detected is not None
    assert detected[0] == V2
    for method in ("session/update", "session/new", "session/prompt", "session/load"):
        assert dialect_of_frame(Message(Kind.REQUEST, method, update="plan")) is None
    assert dialect_of_frame(Message(Kind.RESPONSE), "session/prompt") is None


def test_a_body_is_an_object_or_nothing() -> None:
    """To detect a dialect, acp-proxy reads missing params, or params in a list, as empty."""
    assert body(read(b'{"method":"x","params":{"a":[1]}}'), "params") == {"a": [1]}
    for raw in (b'{"method":"x","params":[1]}', b'{"method":"x"}', b"[1]", b"{", b"\xff"):
        assert body(read(raw), "params") == {}
    assert body(Message(Kind.REQUEST, "x"), "params") == {}
    assert body(Message(Kind.REQUEST, "x", raw=b"[" * 100_000), "params") == {}


def dialects_of(examples: list[Example]) -> set[str]:
    """Returns the dialects detected from single messages of a document."""
    dialects = set()
    for example in examples:
        message = read(example.raw)
        if example.method == "initialize" and example.kind == "request":
            detected = dialect_of_initialize(example.message["params"], None)
        elif example.method == "initialize":
            detected = dialect_of_initialize({}, example.message["result"])
        else:
            answered = example.method if message.method is None else None
            detected = dialect_of_frame(message, answered)
        dialects.update([detected[0]] if detected else [])
    return dialects


def test_no_message_of_a_document_means_another_dialect() -> None:
    """acp-proxy detects the right dialect for every example in ACP's documents."""
    assert dialects_of(official()) == {V1}
    assert dialects_of(draft()) == {DRAFT}


# Evidence over the handshake and the first turn

DRAFT_INITIALIZE = asked("initialize", protocolVersion=1, capabilities={}, clientInfo=INFO)
BARE_RESULT = answered("initialize", protocolVersion=1)
V1_TURN = (
    asked("session/new", cwd="/", mcpServers=[]),
    answered("session/new", sessionId="s"),
    asked("session/prompt", sessionId="s", prompt=[]),
    updated("agent_message_chunk", content={"type": "text", "text": "hi"}),
    answered("session/prompt", stopReason="end_turn"),
)


def found_by(*messages: tuple[str | None, dict[str, Any]]) -> tuple[str, str] | None:
    """Returns the dialect that is detected from some messages, and the reason."""
    return evidence_of(*messages).best()


def test_a_client_of_v1_may_write_initialize_as_the_draft_does() -> None:
    """If only `initialize` looks like the 1.0 draft, acp-proxy detects v1 by later messages."""
    assert found_by(DRAFT_INITIALIZE, BARE_RESULT) == (
        DRAFT,
        "capabilities and clientInfo in initialize",
    )
    expected = (V1, "session/new with cwd; initialize is written as draft-1.0")
    assert found_by(DRAFT_INITIALIZE, BARE_RESULT, *V1_TURN[:1]) == expected
    assert found_by(DRAFT_INITIALIZE, BARE_RESULT, *V1_TURN) == expected
    assert found_by(DRAFT_INITIALIZE, *V1_TURN) == expected


def test_one_member_of_another_dialect_changes_nothing() -> None:
    """A single message in the form of another dialect does not change the detected dialect."""
    capabilities = answered("initialize", protocolVersion=1, capabilities={})
    new = asked("session/new", cwd="/")
    assert found_by(DRAFT_INITIALIZE, capabilities, new) == (
        DRAFT,
        "capabilities in the initialize result; session/new is written as v1",
    )
    drafted = None, {"method": "session/update", "params": {"type": "tool_call", "data": {}}}
    ours = answered("initialize", protocolVersion=1, agentCapabilities={})
    best = found_by(asked("initialize", protocolVersion=1), ours, *V1_TURN[:-1], drafted)
    assert best is not None
    assert best[0] == V1
    assert best[1].endswith("; the update tool_call is written as draft-1.0")


def test_a_version_of_2_needs_both_sides() -> None:
    """acp-proxy detects v2 after an `initialize` only if both sides named version 2 in it."""
    opening = asked("initialize", protocolVersion=1), BARE_RESULT
    two = asked("initialize", protocolVersion=2), answered("initialize", protocolVersion=2)
    best = found_by(*opening, updated("state_update", state="running"))
    assert best is not None
    assert best[0] == V1
    assert found_by(two[0], BARE_RESULT, *V1_TURN) == (V1, NO_SIGN)
    best = found_by(*two, updated("tool_call", toolCallId="c"))
    assert best is not None
    assert best[0] == V2


def test_a_refused_request_shows_nothing() -> None:
    """To detect a dialect, acp-proxy ignores a request whose method the agent does not know."""
    login = asked("auth/login", methodId="m")
    refusal = "auth/login", {"id": 1, "error": {"code": -32601, "message": "no"}}
    assert found_by(login) == (V2, "method auth/login")
    assert found_by(login, refusal) is None


def test_after_the_first_turn_nothing_changes_the_dialect() -> None:
    """After the first turn has ended, no message changes the detected dialect."""
    start = asked("initialize", protocolVersion=1), BARE_RESULT
    evidence = evidence_of(*start, *V1_TURN)
    assert evidence.is_complete
    assert not evidence.take(read(json.dumps(DRAFT_INITIALIZE[1]).encode()))
    assert evidence.best() == (V1, NO_SIGN)
    accepted = evidence_of(asked("session/prompt", prompt=[]), answered("session/prompt"))
    assert not accepted.is_complete
    idle = updated("state_update", state="idle")[1]
    accepted.take(read(json.dumps(idle).encode()))
    assert accepted.is_complete


def test_a_message_of_each_kind_votes_once() -> None:
    """To detect a dialect, acp-proxy counts only the first of several updates of one kind."""
    chunk = updated("agent_message_chunk", content={})
    assert evidence_of(chunk, chunk) == evidence_of(chunk)


@given(st.data())
def test_evidence_can_be_stored_at_any_message(data: st.DataObject) -> None:
    """acp-proxy can store the evidence for a dialect, and read it back, after any message."""
    messages = [DRAFT_INITIALIZE, BARE_RESULT, *V1_TURN]
    place = data.draw(st.integers(0, len(messages)))
    evidence = evidence_of(*messages[:place])
    stored = converter.structure(json.loads(converter.dumps(evidence)), Evidence)
    for answering, message in messages[place:]:
        stored.take(read(json.dumps(message).encode()), answering)
    assert stored == evidence_of(*messages)


def test_an_initialize_without_an_id_shows_nothing() -> None:
    """To detect a dialect, acp-proxy ignores an `initialize` without an id."""
    assert found_by((None, {"method": "initialize", "params": {"protocolVersion": 1}})) is None
