"""A frame is described by what a person would want to know of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.inspection.preview import plain, preview, prompt_text


def show(method: str, kind: str = "notification", /, **value: Any) -> str:
    """The preview of a message with some params or, if it is a response, a result."""
    member = "result" if kind == "response" else "params"
    return preview(json.dumps({member: value}).encode(), kind, method)


def update(kind: str, **fields: Any) -> str:
    """The preview of a session update of v1 or v2."""
    return show("session/update", sessionId="s", update={"sessionUpdate": kind, **fields})


def test_a_prompt_is_its_text() -> None:
    """Text is shown as it is, and what is no text by its type and size or name."""
    blocks = [
        {"type": "text", "text": "Look at"},
        {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100},
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "x = 1"}},
    ]
    assert show("session/prompt", "request", prompt=blocks) == (
        "Look at [image/png, 300 bytes] [file:///a.py] [file:///b.py]"
    )
    assert prompt_text({"content": [{"type": "text", "text": "the draft"}]}) == "the draft"
    audio = {"type": "audio", "source": {"mimeType": "audio/wav", "data": "AAAA"}}
    assert prompt_text({"content": [audio]}) == "[audio/wav, 3 bytes]"


def test_a_chunk_is_what_it_says() -> None:
    """A piece of a message is shown after its kind, in either dialect."""
    chunk = {"type": "text", "text": "Hello\nthere"}
    assert update("agent_message_chunk", content=chunk) == "agent_message_chunk: Hello\\nthere"
    draft = show("session/update", sessionId="s", type="agent_message_chunk", data={"content": "x"})
    assert draft == "agent_message_chunk: x"


def test_a_tool_call_is_its_title_and_status() -> None:
    """A call says what it does, how far it is, and what came of it."""
    content = [{"type": "content", "content": {"type": "text", "text": "3 files"}}]
    assert (
        update("tool_call", toolCallId="c", title="List", status="completed", content=content)
        == "tool_call: List [completed] 3 files"
    )
    diff = [{"type": "diff", "path": "/a.py"}, {"type": "terminal", "terminalId": "t"}]
    shown = update("tool_call_update", toolCallId="c", content=diff)
    assert shown == "tool_call_update: c [diff /a.py] [terminal t]"


def test_other_updates() -> None:
    """Plans are counted, states named, and the rest is shown as JSON."""
    entries = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
    assert update("plan", entries=entries) == "plan: 1 of 2 done"
    commands = [{"name": "a"}, {"name": "b"}]
    assert (
        update("available_commands_update", availableCommands=commands)
        == "available_commands_update: 2 commands"
    )
    assert update("state_update", state="idle", stopReason="end_turn") == (
        "state_update: idle end_turn"
    )
    assert update("state_update", state="running") == "state_update: running"
    assert update("current_mode_update", currentModeId="é") == (
        'current_mode_update: {"currentModeId": "é"}'
    )


def test_a_permission_is_the_question_and_the_choice() -> None:
    """What is asked and what may be chosen, then what was."""
    asked = show(
        "session/request_permission",
        "request",
        toolCall={"toolCallId": "c", "title": "Run npm"},
        options=[{"optionId": "a", "kind": "allow_once"}, {"optionId": "r", "kind": "reject_once"}],
    )
    assert asked == "Run npm (allow_once, reject_once)"
    method = "session/request_permission"
    chosen = {"outcome": "selected", "optionId": "a"}
    assert show(method, "response", outcome=chosen) == "selected a"
    assert show(method, "response", outcome={"outcome": "cancelled"}) == "cancelled"
    assert show(method, "request", operation="file_write", resource="/a") == "file_write"
    assert show(method, "response", granted=False) == "denied"


def test_initialize_is_who_talks() -> None:
    """Version and name of either side."""
    info = {"name": "zed", "version": "0.2"}
    assert show("initialize", "request", protocolVersion=1, clientInfo=info) == "protocol 1 zed 0.2"
    assert show("initialize", "response", protocolVersion=1) == "protocol 1"


def test_files_and_terminals() -> None:
    """Paths, sizes, commands and exits."""
    assert show("fs/read_text_file", "request", path="/a") == "/a"
    assert show("fs/read_text_file", "response", content="abc") == "3 characters"
    assert show("fs/write_text_file", "request", path="/a", content="ab") == "/a (2 characters)"
    assert show("terminal/create", "request", command="npm", args=["run", "x"]) == "npm run x"
    assert show("terminal/create", "response", terminalId="t") == "t"
    ended = {"exitCode": 0, "signal": None}
    assert show("terminal/output", "response", output="ok\n", exitStatus=ended) == "exit 0 ok"
    assert show("terminal/wait_for_exit", "response", signal="SIGKILL") == "signal SIGKILL"


def test_sessions_and_turns() -> None:
    """A session is its directory, then its id; a turn is how it stopped."""
    assert show("session/new", "request", cwd="/w", mcpServers=[]) == "/w"
    assert show("session/new", "response", sessionId="s") == "s"
    assert show("session/prompt", "response", stopReason="end_turn") == "end_turn"
    assert show("session/cancel", sessionId="s", reason="user") == "s user"
    assert show("$/cancel_request", requestId=0) == "0"


def test_an_error_is_its_code_and_message() -> None:
    """Errors are shown whatever their shape."""
    raw = b'{"id":1,"error":{"code":-32601,"message":"\\"Method not found\\": x"}}'
    assert preview(raw, "error", "x") == '-32601 "Method not found": x'
    assert preview(b'{"id":1,"error":"broken"}', "error", "x") == "? broken"


def test_an_unknown_method_is_its_params() -> None:
    """What nobody knows is shown as JSON; nothing is shown as nothing."""
    assert show("_x/y", a=[1, "é"]) == '{"a": [1, "é"]}'
    assert preview(b'{"method":"x"}', "notification", "x") == ""
    assert preview(b'{"id":1,"result":null}', "response", None) == ""
    assert preview(b'{"id":1,"result":[1]}', "response", "session/new") == "[1]"
    assert preview(b'[{"method":"x"},{}]', "batch", None) == "2 messages"


def test_what_is_no_message_is_text() -> None:
    """A line that is none says why, and stderr is what was printed."""
    assert preview(b"Loading\t\xff", "invalid", None, "not JSON") == "(not JSON) Loading \ufffd"
    assert preview(b"\x1b[31mred\x07", "stderr", None) == "\\x1b[31mred\\x07"
    assert preview(b"", "blank", None) == ""


def test_a_shape_that_nobody_foresaw_is_shown_as_json() -> None:
    """Members of other types than theirs spoil nothing."""
    for method in ("session/prompt", "session/update", "terminal/create", "initialize"):
        odd = {"prompt": 5, "update": 5, "args": 5, "clientInfo": 5, "command": []}
        assert show(method, "request", **odd)
    assert show("session/update", update={"sessionUpdate": 5}) == '{"update": {"sessionUpdate": 5}}'


def test_nobody_reads_a_preview_of_a_megabyte() -> None:
    """A frame that is too large has none, and text is cut."""
    assert show("session/prompt", "request", prompt=[{"text": "x" * (1 << 20)}]) == ""
    assert len(show("session/prompt", "request", prompt=[{"text": "x" * 5000}])) == 2000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\r\nb\nc", "a\\nb\\nc"),
        ("a\tb", "a b"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("é\u00a0你", "é\\xa0你"),
    ],
)
def test_plain_text_commands_no_terminal(text: str, shown: str) -> None:
    """Control characters, and what turns text around, become visible."""
    assert plain(text) == shown


def test_any_depth_is_shown() -> None:
    """Content that is nested as deep as JSON can be is no reason to raise."""
    for depth in range(900, 1010):
        raw = b'{"params":{"prompt":%s%s}}' % (b"[" * depth, b"]" * depth)
        preview(raw, "request", "session/prompt")
