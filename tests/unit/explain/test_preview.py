"""The preview of a frame describes its content in one line that is safe to print."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from acp_proxy.base.wording import plain, visible
from acp_proxy.explain.describe.session_texts import prompt_text
from acp_proxy.explain.preview import preview

PICTURE = base64.b64encode(random.Random(1).randbytes(3000)).decode()


def show(method: str, kind: str = "notification", /, **value: Any) -> str:
    """Returns the preview of a message with some params or, for a response, with a result."""
    member = "result" if kind == "response" else "params"
    return preview(json.dumps({member: value}).encode(), kind, method)


def update(kind: str, /, **fields: Any) -> str:
    """Returns the preview of a session update of v1 or v2."""
    return show("session/update", sessionId="s", update={"sessionUpdate": kind, **fields})


def test_a_prompt_is_its_text() -> None:
    """The preview of a prompt in `log` has its text, and images and links in brackets."""
    blocks = [
        {"type": "text", "text": "Look at"},
        {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100},
        {"type": "resource_link", "uri": "file:///a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///b.py", "text": "x = 1"}},
    ]
    assert show("session/prompt", "request", prompt=blocks) == (
        "Look at [image/png, 300 B] [file:///a.py] [file:///b.py, 5 characters]"
    )
    assert show("session/prompt", "request", prompt=[]) == "(empty)"


def test_the_text_of_a_prompt_is_returned_alone() -> None:
    """`prompt_text` returns a prompt's text alone, and the type and size of an audio block."""
    assert prompt_text({"prompt": [{"type": "text", "text": "the first"}]}) == "the first"
    assert prompt_text({"content": [{"type": "text", "text": "the draft"}]}) == "the draft"
    audio = {"type": "audio", "source": {"mimeType": "audio/wav", "data": "AAAA"}}
    assert prompt_text({"content": [audio]}) == "[audio/wav, 3 B]"
    assert prompt_text({"prompt": 5}) == prompt_text({}) == ""


def test_a_chunk_is_its_kind_and_text() -> None:
    """The preview of a chunk in `log` contains the chunk's kind and text."""
    chunk = {"type": "text", "text": "Hello\nthere"}
    assert update("agent_message_chunk", content=chunk) == "agent_message_chunk: Hello\\nthere"
    assert update("agent_message_chunk", content={"type": "text", "text": ""}) == (
        "agent_message_chunk: (empty)"
    )
    draft = show("session/update", sessionId="s", type="agent_message_chunk", data={"content": "x"})
    assert draft == "agent_message_chunk: x"


def test_a_tool_call_is_its_title_and_status() -> None:
    """The preview of a tool call in `log` contains its title and status."""
    content = [{"type": "content", "content": {"type": "text", "text": "3 files"}}]
    assert (
        update("tool_call", toolCallId="c", title="List", status="completed", content=content)
        == "tool_call: List (c) [completed] 3 files"
    )
    diff = [{"type": "diff", "path": "/a.py", "oldText": "a", "newText": "b"}]
    shown = update("tool_call_update", toolCallId="c", content=[*diff, {"type": "terminal"}])
    assert shown == "tool_call_update: c [diff /a.py +1 −1] [terminal]"


def test_the_files_of_a_tool_call_are_listed() -> None:
    """The preview of a tool call in `log` lists the files that its title does not name."""
    places = [{"path": "/a.py", "line": 3}, {"path": "/b.py"}, {"path": "/c.py", "line": 0}]
    assert update("tool_call", title="Read /b.py", kind="read", locations=places) == (
        "tool_call: Read /b.py [read] /a.py:3, /c.py"
    )
    many = [{"path": f"/{name}"} for name in "abcde"]
    assert update("tool_call", title="Read", locations=many) == (
        "tool_call: Read /a, /b, /c, +2 more"
    )


def test_a_tool_call_without_more_is_its_input_and_output() -> None:
    """If a tool call has no content, its preview in `log` shows its input and output."""
    given = {"command": "ls -la", "timeout": 10}
    assert update("tool_call", title="`ls -la`", rawInput=given) == "tool_call: `ls -la` timeout=10"
    blocks = [{"type": "text", "text": "3 files"}]
    for output in ("3 files", blocks):
        assert update("tool_call_update", toolCallId="c", rawOutput=output) == (
            "tool_call_update: c 3 files"
        )
    assert update("tool_call_update", toolCallId="c", rawOutput={"code": 2}) == (
        "tool_call_update: c code=2"
    )


def test_a_permission_is_the_question_and_the_choice() -> None:
    """In `log`, a permission request shows its options, and its answer shows the chosen one."""
    method = "session/request_permission"
    options = [
        {"optionId": "a", "name": "Allow", "kind": "allow_once"},
        {"optionId": "r", "name": "No, stop", "kind": "reject_once"},
    ]
    call = {"toolCallId": "c", "title": "Run npm"}
    asked = show(method, "request", toolCall=call, options=options)
    assert asked == "Run npm (c): Allow (allow_once) | No, stop (reject_once)"
    chosen = {"outcome": "selected", "optionId": "a"}
    assert show(method, "response", outcome=chosen) == "selected a"
    assert show(method, "response", outcome={"outcome": "cancelled"}) == "cancelled"
    assert show(method, "request", operation="file_write", resource="/a") == "file_write /a"
    assert show(method, "response", granted=False) == "denied"


@pytest.mark.parametrize(
    ("scope", "said"),
    [("once", "granted, once"), ("always", "granted, always"), ("file", "granted, for file")],
)
def test_a_grant_of_the_draft_has_its_scope(scope: str, said: str) -> None:
    """In the 1.0 draft, `log` shows the scope of a granted permission, such as `always`."""
    assert show("session/request_permission", "response", granted=True, scope=scope) == said


def test_file_and_terminal_requests_are_described() -> None:
    """The preview in `log` of a file request has its path; of a terminal request, its command."""
    read, write = "fs/read_text_file", "fs/write_text_file"
    assert show(read, "request", path="/a", line=10, limit=5) == "/a, lines 10-14"
    assert show(read, "request", path="/a", line=10) == "/a, lines 10-"
    assert show(read, "request", path="/a", limit=5) == "/a, lines 1-5"
    assert show(read, "response", content="abc") == "3 characters"
    assert show(read, "response", content="") == "an empty file"
    assert show(write, "request", path="/a", content="a\nb\n") == "/a (2 lines, 4 characters)"
    assert show("terminal/create", "request", command="npm", args=["run", "x y"]) == "npm run 'x y'"
    assert show("terminal/create", "request", command="ls | wc") == "ls | wc"
    ended = {"exitCode": 0, "signal": None}
    assert show("terminal/output", "response", output="ok\n", exitStatus=ended) == (
        "exit 0, 3 B: ok\\n"
    )
    assert show("terminal/output", "response", output="") == "running, no output"
    assert show("terminal/wait_for_exit", "response", signal="SIGKILL") == "signal SIGKILL"


def test_secrets_of_the_environment_are_not_shown() -> None:
    """Previews in `log` leave out the values of environment variables and headers."""
    server = {"name": "x", "command": "c", "args": [], "env": [{"name": "KEY", "value": "secret"}]}
    headers = [{"name": "Authorization", "value": "secret"}]
    remote = {"type": "http", "name": "y", "url": "https://example.com", "headers": headers}
    for shown in (
        show("session/new", "request", cwd="/w", mcpServers=[server, remote]),
        show("authenticate", "request", method="api_key", credentials={"apiKey": "secret"}),
        show("providers/set", "request", providerId="p", headers={"Authorization": "secret"}),
        show("terminal/create", "request", command="c", env=[{"name": "KEY", "value": "secret"}]),
    ):
        assert shown
        assert "secret" not in shown


def test_capabilities_are_named_if_they_are_on() -> None:
    """In `log`, the preview of `initialize` lists the enabled capabilities and no others."""
    v1 = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": None, "auth": {}}
    assert show("initialize", "request", protocolVersion=1, clientCapabilities=v1) == (
        "protocol 1: fs.readTextFile"
    )
    v2: dict[str, Any] = {"session": {"prompt": {"image": {}}, "mcp": None}, "auth": {}}
    assert show("initialize", "response", protocolVersion=2, capabilities=v2) == (
        "protocol 2: session.prompt.image, auth"
    )


def test_an_error_is_its_code_and_message() -> None:
    """The preview of an error response in `log` contains its code and message."""
    raw = b'{"id":1,"error":{"code":-32601,"message":"\\"Method not found\\": x"}}'
    assert preview(raw, "error", "x") == '-32601 "Method not found": x'
    assert preview(b'{"id":1,"error":"broken"}', "error", "x") == "? broken"
    assert preview(b'{"id":1,"error":{"code":0}}', "error", "x") == "0"
    error: dict[str, Any] = {"code": -32603, "message": "Internal error"}
    for data in ("too slow", {"details": "too slow"}):
        raw = json.dumps({"error": {**error, "data": data}}).encode()
        assert preview(raw, "error", "x") == "-32603 Internal error: too slow"


def test_an_empty_result_is_ok() -> None:
    """The preview of an empty result in `log` is the word `ok`."""
    for result in (None, {}, {"_meta": {"a": 1}}):
        raw = json.dumps({"id": 1, "result": result}).encode()
        for method in ("session/close", "session/load", "fs/write_text_file", "_x/y", None):
            assert preview(raw, "response", method) == "ok"


def test_an_unknown_method_is_its_members() -> None:
    """The preview of a message with an unknown method in `log` lists its JSON members."""
    assert show("_x/y", a=[1, "é"], sessionId="s", _meta={"b": 1}) == "a=[1, é]"
    assert show("_x/y", sessionId="s") == "sessionId=s"
    assert preview(b'{"method":"x"}', "notification", "x") == "no params"
    assert preview(b'{"method":"x","params":[1,2]}', "notification", "x") == "[1, 2]"
    assert preview(b'{"id":1,"result":[1]}', "response", "session/new") == "[1]"
    assert preview(b'{"id":1,"result":{"stopReason":"x"}}', "response", None) == "stopReason=x"
    assert show("_x/y", text="x" * 500) == f"text={'x' * 120}…"
    assert show("_x/y", many=list(range(30))) == "many=[0, 1, 2, 3, 4, 5, 6, 7, +22 more]"
    assert show("_x/y", a={"b": {"c": {"d": {"e": 1}}}}) == "a={b={c={d={…}}}}"


def test_a_batch_is_its_messages() -> None:
    """The preview of a JSON-RPC batch in `log` lists the methods of its messages."""
    raw = b'[{"method":"x"},{"method":"y","id":1},{"id":1,"result":0},{"id":2,"error":{}},5]'
    assert preview(raw, "batch", None) == (
        "batch of 5: notification x, request y, response, no message, no message"
    )
    raw = json.dumps([{"id": 1, "error": {"code": 1}}] * 9).encode()
    assert preview(raw, "batch", None) == f"batch of 9: {'error, ' * 8}+1 more"


def test_an_invalid_line_is_shown_as_text() -> None:
    """The preview of an invalid line in `log` says why the line is invalid."""
    assert preview(b"Loading\t\xff", "invalid", None, "not JSON") == "(not JSON) Loading \ufffd"
    assert preview(b"\x1b[31mred\x07", "stderr", None) == "\\x1b[31mred\\x07"
    assert preview(b"", "blank", None) == ""
    assert preview(b"no JSON", "request", "x") == "no JSON"


def test_an_unexpected_shape_is_shown_by_its_members() -> None:
    """If a message has an unexpected form, its preview in `log` lists its JSON members."""
    for method in ("session/prompt", "session/update", "terminal/create", "initialize"):
        odd = {"prompt": 5, "update": 5, "args": 5, "clientInfo": 5, "command": []}
        assert show(method, "request", **odd)
    assert show("session/update", update={"sessionUpdate": 5}) == "update={sessionUpdate=5}"


def test_what_a_strict_decoder_refuses_is_described() -> None:
    """A message with NaN or half a surrogate pair still has a preview in `log`."""
    raw = b'{"params":{"update":{"sessionUpdate":"agent_message_chunk","content":"a\\ud83d"}}}'
    assert preview(raw, "notification", "session/update") == "agent_message_chunk: a\\ud83d"
    assert preview(b'{"params":{"a":NaN}}', "notification", "_x/y") == "a=nan"


@pytest.mark.parametrize(("size", "shown"), [(2_000_000, "1.5 MB"), (7_900_000, "5.9 MB")])
def test_a_large_frame_is_described_like_a_small_one(size: int, shown: str) -> None:
    """The preview of a frame of up to 8 MB in `log` describes all of the frame."""
    block = {"type": "image", "mimeType": "image/png", "data": "A" * size}
    prompt = [{"type": "text", "text": "See"}, block]
    assert show("session/prompt", "request", prompt=prompt) == f"See [image/png, {shown}]"


def test_a_huge_frame_is_described_by_its_beginning() -> None:
    """The preview of a huge frame in `log` shows only the frame's beginning."""
    words = "The quick brown fox. " * 500_000
    shown = update("agent_message_chunk", content={"type": "text", "text": words})
    assert shown.startswith("[the first 64 kB of 10.5 MB] agent_message_chunk: The quick brown fox")
    assert len(shown) == 2000


def test_a_frame_that_was_cut_off_is_described() -> None:
    """If the end of a frame's JSON is missing, its preview in `log` shows what is there."""
    raw = json.dumps({"params": {"update": {"sessionUpdate": "tool_call", "title": "Edit"}}})
    assert preview(raw[:-7].encode(), "notification", "session/update") == "tool_call: E"


def test_text_is_cut() -> None:
    """A preview of a message in `log` has at most 2000 characters."""
    assert len(show("session/prompt", "request", prompt=[{"text": "x" * 5000}])) == 2000
    assert len(show("session/prompt", "request", prompt=[{"text": "\x1b" * 5000}])) == 2000


@pytest.mark.parametrize(
    "text",
    [
        f"![a chart](data:image/png;base64,{PICTURE})",
        f"the picture: {PICTURE}",
        "\n".join(PICTURE[i : i + 76] for i in range(0, len(PICTURE), 76)),
        json.dumps({"data": PICTURE}),
        f"{'so it begins ' * 290}{PICTURE}",
    ],
)
def test_base64_within_text_is_hidden(text: str) -> None:
    """Previews of messages in `log` hide base64 within other text."""
    shown = update("agent_message_chunk", content={"type": "text", "text": text})
    assert not any(PICTURE[i : i + 40] in shown for i in range(len(PICTURE) - 40))


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
def test_no_text_controls_the_terminal(text: str, shown: str) -> None:
    """Previews of messages in `log` escape control characters."""
    assert plain(text) == shown
    assert visible("a\nb") == "a\\nb"


def test_any_depth_is_shown() -> None:
    """If a prompt is nested about a thousand levels deep, `log` previews it without an error."""
    for depth in range(900, 1010):
        raw = b'{"params":{"prompt":%s%s}}' % (b"[" * depth, b"]" * depth)
        preview(raw, "request", "session/prompt")


def test_a_timeout_is_shown_with_its_signal() -> None:
    """In `log`, the preview of a command's exit says if it timed out, and names the signal."""
    raw = b'{"id":1,"result":{"exitCode":null,"signal":"SIGKILL","timedOut":true}}'
    assert preview(raw, "response", "terminal/wait_for_exit") == "timed out, signal SIGKILL"


def test_an_option_may_be_an_object() -> None:
    """The preview of a changed session option in `log` also shows a value that is an object."""
    data = b'{"key":"limits","currentValue":{"tokens":5},"previousValue":[1],"source":"user"}'
    raw = b'{"params":{"sessionId":"s","type":"config_option_update","data":' + data + b"}}"
    assert preview(raw, "notification", "session/update") == (
        "config_option_update: limits={tokens=5} (was [1], by user)"
    )
