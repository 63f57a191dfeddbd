"""Every example of the specifications has a preview that a person has reviewed."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.describe.content_texts import BLOCKS
from acp_proxy.explain.describe.method_texts import METHODS
from acp_proxy.explain.describe.session_texts import UPDATES
from acp_proxy.explain.preview import preview
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.updates import kind_and_update
from tests.support import captures
from tests.support.cases import each_case
from tests.tools.previews import GOLDEN, Case, cases, golden

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = list(cases())

UPDATE_KINDS = [
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
    "plan_update",
    "subagent_update",
    "session_message",
    "session_message_chunk",
    "plan_removed",
    "notice",
    "compaction_update",
    "compaction_summary_chunk",
    "user_message",
    "agent_message",
    "agent_thought",
    "state_update",
    "tool_call_content_chunk",
    "terminal_update",
    "terminal_output_chunk",
    "thought_message_chunk",
    "available_commands",
]
"""Of all dialects."""
BLOCK_TYPES = ["text", "image", "audio", "resource_link", "resource"]
TOOL_CONTENT_TYPES = ["content", "diff", "terminal"]
SERVER_REQUESTS = [
    "initialize",
    "authenticate",
    "logout",
    "auth/login",
    "auth/logout",
    "session/new",
    "session/load",
    "session/resume",
    "session/list",
    "session/delete",
    "session/close",
    "session/fork",
    "session/prompt",
    "session/set_mode",
    "session/set_model",
    "session/set_config_option",
    "providers/list",
    "providers/set",
    "providers/disable",
    "nes/start",
    "nes/suggest",
    "nes/close",
    "mcp/message",
]
CLIENT_REQUESTS = [
    "session/request_permission",
    "fs/read_text_file",
    "fs/write_text_file",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
    "mcp/connect",
    "mcp/disconnect",
]
NOTIFICATIONS = [
    "session/update",
    "session/cancel",
    "$/cancel_request",
    "nes/accept",
    "nes/reject",
    "document/didOpen",
    "document/didChange",
    "document/didClose",
    "document/didSave",
    "document/didFocus",
    "elicitation/complete",
    "mcp/message",
]
CHAINS = ["_proxy/successor", "proxy/successor", "_proxy/initialize", "proxy/initialize"]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Returns all objects in a value, at any depth."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from objects(item)


def updates(kind: str) -> list[Case]:
    """Returns the examples of a kind of session update."""
    return [
        case
        for case in CASES
        if case.method == "session/update" and kind_and_update(case.message["params"])[0] == kind
    ]


def said(method: str, *kinds: str) -> list[Case]:
    """Returns the examples of a method."""
    return [case for case in CASES if case.method == method and case.kind in kinds]


def test_the_previews_are_those_that_were_reviewed() -> None:
    """The previews in `log` of all example messages equal the reviewed previews in tests/data."""
    assert golden() == GOLDEN.read_text(encoding="utf-8")


def test_each_example_has_a_preview_of_its_own() -> None:
    """`log` describes each example in ACP's documents in words, and prints no JSON."""
    for case in CASES:
        shown = case.preview
        assert shown.strip(), case.source
        assert shown.isprintable(), case.source
        assert not shown.startswith("{"), case.source
        assert '{"' not in shown, case.source
        is_text = case.method == "terminal/output"
        for value, key in itertools.product(objects(case.message), ("data", "blob")):
            if isinstance(data := value.get(key), str) and not is_text:
                assert data not in shown, case.source


@each_case("kind", UPDATE_KINDS)
def test_an_update_has_a_describer(kind: str) -> None:
    """Each kind of session update has its own function that makes its preview for `log`."""
    assert kind in UPDATES
    assert updates(kind)
    for case in updates(kind):
        assert case.preview.startswith(f"{kind}: ")


@each_case("kind", [*BLOCK_TYPES, *TOOL_CONTENT_TYPES])
def test_content_has_a_describer(kind: str) -> None:
    """Each type of content block has its own function that makes its preview for `log`."""
    assert kind in BLOCKS
    assert any(value.get("type") == kind for case in CASES for value in objects(case.message))


def test_the_tables_have_an_example_for_each_line() -> None:
    """The tests have an example for each method and content type that has its own preview."""
    assert set(UPDATES) == set(UPDATE_KINDS)
    assert set(BLOCKS) == {*BLOCK_TYPES, *TOOL_CONTENT_TYPES}
    known = {*SERVER_REQUESTS, *CLIENT_REQUESTS, *NOTIFICATIONS, *CHAINS, "_mcp/request"}
    assert set(METHODS) == known


@each_case("method", [*SERVER_REQUESTS, *CLIENT_REQUESTS])
def test_a_request_and_its_answer_are_described(method: str) -> None:
    """`log` describes every request of the protocol, and its answer, in words."""
    assert said(method, "request")
    assert said(method, "response")


@each_case("method", NOTIFICATIONS)
def test_a_notification_is_described(method: str) -> None:
    """`log` describes every notification of the protocol in words."""
    assert said(method, "notification")


@pytest.mark.parametrize("method", CHAINS)
def test_a_wrapped_message_is_described(method: str) -> None:
    """If a message is wrapped for a chain of proxies, `log` describes the inner message."""
    assert said(method, "request", "notification")


@each_case(
    ("part", "shown"),
    [
        (
            "permission of v1",
            "Ready for implementation (call_switch_mode_001) [switch_mode, pending]: Yes",
        ),
        ("permission of v2 for a call", "Edit the parser? [edit, pending] /home/user/a.py:3: Yes"),
        ("permission of v2 for a command", "Run the tests? npm test (in /home/user/project): Yes"),
        ("permission of the draft", "file_write /home/user/my-project/src/auth.ts: Add error"),
        ("choice of v1", "selected allow-once"),
        ("no choice of v1", "cancelled"),
        ("choice of the draft", "granted, remembered, for session"),
        ("refusal of the draft", "denied"),
        ("custom request", "language=rust"),
        ("custom notification", "path=/home/user/project/src/editor.rs"),
        ("custom answer", "buffers=[{id=0, path="),
        ("custom capability of v1", "protocol 1: loadSession, _meta.zed.dev.workspace"),
        ("custom capability of the draft", "protocol 1: loadSession, _custom.codeAnalysis"),
        ("custom update", "_example_update: progress=0.5, label=half"),
        ("custom block", "agent_message_chunk: [_chart: title=Load"),
        ("method of an agent's own", "modeId=yolo"),
        ("MCP of the draft", "remote-tool tools/call: name=search"),
        ("diff of v1", "tool_call_update: c [diff /home/user/project/src/config.json +1 −1]"),
        ("diff of v2", "tool_call_update: call_1 [completed] [diff /home/user/a.py, new /home"),
        ("diff of the draft", "tool_call_update: tc_123 [completed] [diff /home/user/project/src"),
    ],
)
def test_a_form_is_among_the_examples(part: str, shown: str) -> None:
    """The tests of previews have an example of each form that differs among dialects."""
    assert any(case.preview.startswith(shown) for case in CASES), part


def test_real_agents_have_previews_of_their_own() -> None:
    """`log` describes every message of the recorded agents in words."""
    for path in captures.all_captures():
        capture = captures.load(path)
        lines = [
            (stream, read(raw))
            for stream in ("to-agent", "to-client")
            for raw in capture.stream_bytes(stream).splitlines()
        ]
        methods = {(s, m.rpc_id): m.method for s, m in lines if m.kind == "request"}
        for stream, message in lines:
            asker = "to-agent" if stream == "to-client" else "to-client"
            method = message.method or methods.get((asker, message.rpc_id))
            shown = preview(message.raw or b"", message.kind, method, message.parse_error)
            assert shown.isprintable()
            assert shown.strip()
            assert not shown.startswith(("{", "(")), shown
