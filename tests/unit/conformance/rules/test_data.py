"""Metadata, extensions, paths and elicitation: corners beside the examples."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.judged import judge

HANDSHAKE = "a v1 handshake"


def found(lines: list[str], rule: str, after: str = HANDSHAKE) -> list[str]:
    """The findings of a rule, without the lines."""
    return [line.strip() for line in judge(lines, after, rule) if line.startswith(" ")]


@pytest.mark.parametrize("value", [None, {}, {"a": 1}])
def test_metadata_may_be_null(value: Any) -> None:
    """The schema allows it."""
    assert found([f'-> #1 session/list {{"_meta": {json.dumps(value)}}}'], "meta.type") == []


@pytest.mark.parametrize("value", ["1", "[]", '""', "true"])
def test_metadata_is_found_at_any_depth(value: str) -> None:
    """In items of lists too; each place is one finding."""
    block = f'{{"type": "text", "text": "x", "_meta": {value}}}'
    line = f'-> #2 session/prompt {{"sessionId": "s", "prompt": [{block}, {block}]}}'
    assert found([line], "meta.type", f"{HANDSHAKE}, session s") == ["meta.type by client"] * 2


@pytest.mark.parametrize(
    "line",
    [
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call",'
        ' "toolCallId": "c", "title": "t", "rawInput": {"_meta": 1}}}',
        '<- _x/y {"_meta": 1}',
        '-> #1 session/list {"_meta": {"_meta": 1}}',
        '<- {"jsonrpc": "2.0", "_meta": 1}',
        '<- [{"_meta": 1}]',
    ],
)
def test_only_types_of_the_protocol_have_metadata(line: str) -> None:
    """What is free, or what is no message, is not looked at."""
    assert found([line], "meta.type") == []


@pytest.mark.parametrize(
    ("name", "value", "is_right"),
    [
        ("traceparent", "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01", True),
        ("traceparent", "01-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01-more", True),
        ("traceparent", "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01-more", False),
        ("traceparent", "ff-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01", False),
        ("traceparent", "00-80E1AFED08E019FC1110464CFA66635C-7a085853722dc6d2-01", False),
        ("traceparent", f"00-{'0' * 32}-7a085853722dc6d2-01", False),
        ("traceparent", 7, False),
        ("traceparent", None, True),
        ("traceparent", "[redacted:token:0123abcd]", True),
        ("tracestate", "a=b", True),
        ("baggage", {"a": "b"}, False),
        ("traceId", 7, True),
    ],
)
def test_trace_contexts(name: str, value: Any, is_right: bool) -> None:
    """As in the recommendation of the W3C; a masked one is not judged."""
    lines = [f'-> #1 session/list {{"_meta": {json.dumps({name: value})}}}']
    assert found(lines, "meta.trace") == ([] if is_right else ["meta.trace by client"])


@pytest.mark.parametrize(
    ("code", "text", "is_right"),
    [
        (-32601, "Method not found", True),
        (-32603, "the dictionary is not there", True),
        (-32602, "method name is missing", True),
        (-32600, "Method not found", False),
        (-32000, '"Method not found": _a/b', False),
        (-32603, "Unknown method: _a/b", False),
        (400, "method _a/b is not supported", False),
    ],
)
def test_an_unknown_method_has_its_code(code: int, text: str, is_right: bool) -> None:
    """Another error than that of an unknown method may be any."""
    error = json.dumps({"code": code, "message": text})
    expected = [] if is_right else ["ext.unanswered by agent (warning)"]
    assert found(["-> #1 _a/b {}", f"<- #1 error {error}"], "ext.unanswered") == expected


def test_who_leaves_owes_the_answers() -> None:
    """A client need not wait for any; what is no extension has another rule."""
    assert found(["-> #1 _a/b {}", "== client leaves"], "ext.unanswered") == []
    assert found(["-> #1 session/list {}", "== agent exits"], "ext.unanswered") == []
    assert found(["-> #1 _a/b {}"], "ext.unanswered") == []


def test_a_namespace_is_reported_once() -> None:
    """For each side; notifications may be ignored and are not reported."""
    lines = ["-> #1 _a/b {}", "-> #2 _a/c {}", "-> #3 _A.x/c {}", "<- #1 _a/b {}", "<- _q/r {}"]
    lines += ["-> #4 _proxy/successor {}"]
    expected = ["ext.not-advertised by client", "ext.not-advertised by agent"]
    assert found(lines, "ext.not-advertised") == expected


def test_a_namespace_may_be_a_value() -> None:
    """Of a list of extensions, at any depth of the metadata."""
    lines = [
        '-> #0 initialize {"protocolVersion": 1}',
        '<- #0 result {"protocolVersion": 1, "agentCapabilities": {"_meta": {"x": ["_a/b"]}}}',
        "-> #1 _a/b {}",
    ]
    assert found(lines, "ext.not-advertised", "") == []


def test_paths_of_changes_are_absolute() -> None:
    """Those of v2, whole and streamed."""
    change = '{"operation": "move", "path": "a", "oldPath": "/b"}'
    diff = f'{{"type": "diff", "changes": [{change}]}}'
    lines = [
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update",'
        f' "toolCallId": "c", "content": [{diff}]}}}}',
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate":'
        f' "tool_call_content_chunk", "toolCallId": "c", "content": {diff}}}}}',
    ]
    after = "a v2 handshake, session s, a prompt"
    assert found(lines, "path.absolute", after) == ["path.absolute by agent"] * 2


@pytest.mark.parametrize("mode", ['"voice"', "[]", "null", "7"])
def test_other_modes_are_left_to_the_schema(mode: str) -> None:
    """No capability belongs to them."""
    lines = [f'<- #0 elicitation/create {{"sessionId": "s", "mode": {mode}}}']
    assert found(lines, "elicit.capability", "a v1 handshake without capabilities") == []


def test_an_elicitation_is_completed_once() -> None:
    """Unless another one with its id has begun; an error may demand one, too."""
    create = '<- #{} elicitation/create {{"mode": "url", "elicitationId": "e"}}'
    complete = '<- elicitation/complete {"elicitationId": "e"}'
    lines = [create.format(0), complete, complete, create.format(1), complete]
    assert judge(lines, HANDSHAKE, "elicit.complete-known") == [
        *lines[:3],
        "   elicit.complete-known by agent",
        *lines[3:],
    ]
    error = '{"code": -32042, "message": "x", "data": {"elicitations": [{"elicitationId": "e"}]}}'
    lines = ["-> #1 session/list {}", f"<- #1 error {error}", complete]
    assert found(lines, "elicit.complete-known") == []


@pytest.mark.parametrize(
    ("name", "is_secret"),
    [
        ("password", True),
        ("dbPassword", True),
        ("api_key", True),
        ("OPENAI_API_KEY", True),
        ("token", True),
        ("GitHub access token", True),
        ("Password for the database", True),
        ("Passphrase (optional)", True),
        ("client_secret", True),
        ("maxTokens", False),
        ("token name", False),
        ("password hint", False),
        ("passwordManager", False),
        ("keyboard", False),
        ("How do you store the API key", False),
        ("secretary", False),
        ("user name", False),
    ],
)
def test_secrets_are_told_from_what_is_about_them(name: str, is_secret: bool) -> None:
    """By the name or the title of a text field; a choice is no secret."""
    for label, form in (
        (name, {"type": "string"}),
        ("x", {"type": "string", "title": name}),
    ):
        schema = {"type": "object", "properties": {label: form}}
        params = json.dumps({"mode": "form", "message": "m", "requestedSchema": schema})
        expected = ["elicit.secret-form by agent"] if is_secret else []
        lines = [f"<- #0 elicitation/create {params}"]
        assert found(lines, "elicit.secret-form") == expected
        lines = [lines[0].replace('"string"', '"boolean"')]
        assert found(lines, "elicit.secret-form") == []
