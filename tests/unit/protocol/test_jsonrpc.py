"""Tests the labels of messages, and the kinds of lines that are not messages."""

from __future__ import annotations

import json

import pytest
from attrs import evolve

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from tests.support.cases import each_case

INT = 2**53 + 1


def labels(raw: bytes) -> dict[str, object]:
    """Returns the labels of a line that have a value, except its kind and its text."""
    message = read(raw)
    names = ("method", "rpc_id", "session", "update", "tool_call", "terminal", "target")
    values = {name: getattr(message, name) for name in (*names, "stop_reason", "state")}
    return {name: value for name, value in values.items() if value is not None}


@pytest.mark.parametrize(
    "call",
    [
        '"update":{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{},CONTENT]}',
        '"update":{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":CONTENT}',
        '"type":"tool_call_update","data":{"id":"c","output":CONTENT}',
        '"type":"tool_call","data":{"id":"c","content":[CONTENT]}',
        '"toolCall":{"toolCallId":"c","content":[CONTENT]}',
        '"subject":{"toolCall":{"toolCallId":"c","content":[CONTENT]}}',
    ],
)
def test_a_tool_call_names_the_terminal_that_it_shows(call: str) -> None:
    """A message with a terminal in a tool call's content gets the terminal's id as a label."""
    shown = call.replace("CONTENT", '{"type":"terminal","terminalId":"t"}')
    message = read(f'{{"method":"session/update","params":{{{shown}}}}}'.encode())
    assert (message.tool_call, message.terminal) == ("c", "t")
    odd = call.replace("CONTENT", '{"terminalId":7}')
    message = read(f'{{"method":"session/update","params":{{{odd}}}}}'.encode())
    assert (message.tool_call, message.terminal) == ("c", None)


def params(method: str, **values: object) -> bytes:
    """Returns a notification with params."""
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": values}).encode()


@each_case(
    ("raw", "kind"),
    [
        (b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}', Kind.REQUEST),
        (b'{"id":1,"method":"x"}', Kind.REQUEST),
        (b'{"id":null,"method":"x"}', Kind.REQUEST),
        (b'{"method":"x"}', Kind.NOTIFICATION),
        (b'{"method":"x","params":null}', Kind.NOTIFICATION),
        (b'{"method":"x","params":[1,"a"]}', Kind.NOTIFICATION),
        (b'{"method":""}', Kind.NOTIFICATION),
        (b'{"id":1,"result":{}}', Kind.RESPONSE),
        (b'{"id":1,"result":null}', Kind.RESPONSE),
        (b'{"id":1,"result":[]}', Kind.RESPONSE),
        (b'{"id":1,"result":"x"}', Kind.RESPONSE),
        (b'{"result":{},"id":1}', Kind.RESPONSE),
        (b'{"id":1,"result":{},"error":null}', Kind.RESPONSE),
        (b'{"result":1}', Kind.RESPONSE),
        (b'{"id":1,"error":{"code":-32603,"message":"x"}}', Kind.ERROR),
        (b'{"id":1,"result":null,"error":{"code":1}}', Kind.ERROR),
        (b'{"id":null,"error":{"code":-32700}}', Kind.ERROR),
        (b'{"error":{"code":-32700}}', Kind.ERROR),
        (b'{"id":1,"error":"broken"}', Kind.ERROR),
        (b'{"id":1,"error":false}', Kind.ERROR),
        (b'{"id":1,"method":"x","result":{},"error":{}}', Kind.REQUEST),
        (b"[]", Kind.BATCH),
        (b'[{"method":"x"}]', Kind.BATCH),
        (b"", Kind.BLANK),
        (b" \t\r", Kind.BLANK),
    ],
)
def test_the_members_of_the_envelope_make_the_kind(raw: bytes, kind: Kind) -> None:
    """By the members of a line, acp-proxy decides if it is a request, a response or an error."""
    assert read(raw).kind is kind


@each_case(
    ("raw", "reason"),
    [
        (b"hello", "not JSON at character 0: expecting value"),
        (b'{"method":"x"', "not JSON at character 13: expecting ',' delimiter"),
        (b'{"method":"x"} {}', "not JSON at character 15: extra data"),
        (b'{"method":"x"}\0', "not JSON at character 14: extra data"),
        (b'{"method":"\0"}', "not JSON at character 11: invalid control character at"),
        (b'{"method":"x","params":NaN}', "not JSON: NaN is no JSON number"),
        (b'{"method":"x","params":{"a":-Infinity}}', "not JSON: -Infinity is no JSON number"),
        (b'\xef\xbb\xbf{"method":"x"}', "begins with a byte order mark"),
        (b'{"method":"\xff"}', "not UTF-8 at byte 11"),
        (b'{"method":"\xed\xa0\x80"}', "not UTF-8 at byte 11"),
        (b'"x"', "a JSON value that is no object"),
        (b"7", "a JSON value that is no object"),
        (b"null", "a JSON value that is no object"),
        (b"{}", "neither method, result nor error"),
        (b'{"jsonrpc":"2.0","id":5}', "neither method, result nor error"),
        (b'{"id":5,"error":null}', "neither method, result nor error"),
        (b'{"id":5,"method":7}', "a method that is no string"),
        (b'{"id":5,"method":null,"result":1}', "a method that is no string"),
        (b'{"method":["x"]}', "a method that is no string"),
    ],
)
def test_an_invalid_message_has_a_reason(raw: bytes, reason: str) -> None:
    """acp-proxy labels a line that is not a valid message with the reason."""
    message = read(raw)
    assert (message.kind, message.parse_error, message.raw) == (Kind.INVALID, reason, raw)
    assert message.rpc_id == ("5" if b'"id":5' in raw else None)


@each_case(
    "token",
    ["0", "-0", "7", "7.0", "1e2", '"7"', "null", "true", str(INT), "9" * 400, '"\\u0041"',
     '"\\ud800"', '"\\"\\\\"', '"\u00e9"', '""', '{"a": 1}', "[1, 2.0]", "-1.50E+3"],
)  # fmt: skip
@each_case(
    "line",
    [
        '{"jsonrpc":"2.0","id":%s,"method":"x"}',
        '{"id" :  %s  ,"result":1,"junk":"\\ud800"}',
        '{"error":{"code":1},"id":%s}',
        '{"method":"x","params":[],"\\u0069d":%s}',
        '{"method":"x","params":{"sessionId":1},"id":%s}',
        '{"id":"other","method":"x","id":%s}',
    ],
)
def test_an_id_is_kept_as_it_is_written(line: str, token: str) -> None:
    """acp-proxy stores the id of a message exactly as the id is written."""
    assert read((line % token).encode()).rpc_id == token


@each_case("token", ["0", "1.0", '"1"', '"\\ud800"', "null", "1e5", '{"a": [1]}'])
@each_case("junk", ["1", '{"toolCallId":7}', "[]"])
def test_a_cancel_request_keeps_the_token_of_its_target(token: str, junk: str) -> None:
    """acp-proxy stores the id in a cancellation exactly as the id is written."""
    raw = f'{{"method":"$/cancel_request","params":{{"x":{junk},"requestId": {token} }}}}'
    assert read(raw.encode()).target == token
    assert read(raw.replace('"x"', '"toolCall"').encode()).target == token


@each_case(
    ("code", "expected"),
    [
        ("-32603", -32603), ("400", 400), ("0", 0), (str(2**70), 2**70),
        ("1.0", None), ('"x"', None), ("null", None), ("true", None), ("9" * 5000, None),
    ],
)  # fmt: skip
def test_an_error_code_is_an_integer(code: str, expected: int | None) -> None:
    """If the code of a JSON-RPC error is not an integer, acp-proxy stores no code."""
    message = read(f'{{"id":1,"error":{{"code":{code},"message":"m"}}}}'.encode())
    assert (message.kind, message.error_code) == (Kind.ERROR, expected)


def test_the_last_of_duplicate_members_counts() -> None:
    """If a JSON object has two members of one name, acp-proxy reads the last one."""
    assert labels(b'{"method":"a","method":"b"}') == {"method": "b"}
    assert labels(
        b'{"id":1,"method":"a","params":{"sessionId":"s"},"id":2,"params":{"sessionId":"t"}}'
    ) == {"method": "a", "rpc_id": "2", "session": "t"}
    assert labels(b'{"method":"a","params":{"sessionId":"s"},"params":{}}') == {"method": "a"}
    assert read(b'{"method":1,"method":"a"}').kind is Kind.NOTIFICATION
    assert read(b'{"method":"a","method":1}').kind is Kind.INVALID


def test_v1_fields() -> None:
    """In ACP v1, acp-proxy labels a message with its session, tool call and terminal."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
    assert labels(params("session/update", sessionId="s", update=update)) == {
        "method": "session/update",
        "session": "s",
        "update": "tool_call_update",
        "tool_call": "c",
    }
    asked = params("session/request_permission", sessionId="s", toolCall={"toolCallId": "c"})
    assert labels(asked)["tool_call"] == "c"
    assert labels(params("terminal/output", sessionId="s", terminalId="t"))["terminal"] == "t"
    assert labels(params("elicitation/create", sessionId="s", toolCallId="c"))["tool_call"] == "c"
    assert labels(b'{"id":1,"result":{"sessionId":"s"}}') == {"rpc_id": "1", "session": "s"}
    assert labels(b'{"id":1,"result":{"terminalId":"t"}}') == {"rpc_id": "1", "terminal": "t"}
    assert labels(b'{"id":1,"result":{"stopReason":"refusal"}}')["stop_reason"] == "refusal"


def test_v2_fields() -> None:
    """In ACP v2, acp-proxy labels a message with its session, state and tool call."""
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}
    assert labels(params("session/update", sessionId="s", update=idle)) == {
        "method": "session/update",
        "session": "s",
        "update": "state_update",
        "state": "idle",
        "stop_reason": "end_turn",
    }
    shown = {"sessionUpdate": "terminal_output_chunk", "terminalId": "t"}
    assert labels(params("session/update", update=shown))["terminal"] == "t"
    for subject in ({"toolCallId": "c"}, {"type": "tool_call", "toolCall": {"toolCallId": "c"}}):
        asked = params("session/request_permission", sessionId="s", subject=subject)
        assert labels(asked)["tool_call"] == "c"


def test_draft_fields() -> None:
    """In the 1.0 draft, acp-proxy reads the kind of an update from the member `type`."""
    call = params("session/update", sessionId="s", type="tool_call", data={"id": "c"})
    assert labels(call) == {
        "method": "session/update",
        "session": "s",
        "update": "tool_call",
        "tool_call": "c",
    }
    chunk = params("session/update", sessionId="s", type="agent_message_chunk", data={"id": "m"})
    assert labels(chunk) == {
        "method": "session/update",
        "session": "s",
        "update": "agent_message_chunk",
    }
    asked = params("session/request_permission", sessionId="s", toolCallId="c")
    assert labels(asked)["tool_call"] == "c"
    assert labels(params("_x/y", type="tool_call", data={"id": "c"})) == {"method": "_x/y"}


@each_case("odd", [7, 1.5, True, None, [], {}, ["s"], {"a": "s"}])
def test_a_field_of_the_wrong_type_is_ignored(odd: object) -> None:
    """acp-proxy uses a session id or the kind of an update as a label only if it is a string."""
    update = {"sessionUpdate": odd, "toolCallId": "c"}
    assert labels(params("session/update", sessionId=odd, update=update)) == {
        "method": "session/update",
        "tool_call": "c",
    }
    if not isinstance(odd, dict):
        assert labels(params("session/update", sessionId="s", update=odd)) == {
            "method": "session/update",
            "session": "s",
        }


def test_a_lone_surrogate_is_written_as_its_escape() -> None:
    """acp-proxy stores half a surrogate pair in a session id as an escape."""
    raw = b'{"method":"\\ud800x","params":{"sessionId":"\\udfff","toolCallId":"\\ud83d\\ude00"}}'
    assert labels(raw) == {
        "method": "\\ud800x",
        "session": "\\udfff",
        "tool_call": "\U0001f600",
    }


def test_escapes_are_decoded_in_labels() -> None:
    """acp-proxy decodes escapes in the method of a message."""
    raw = b'{"\\u006dethod":"a\\/b","params":{"session\\u0049d":"\\u00e9"}}'
    assert labels(raw) == {"method": "a/b", "session": "\u00e9"}


def test_the_members_of_a_batch_are_read() -> None:
    """acp-proxy reads each item of a JSON-RPC batch as a message, and an odd item as invalid."""
    batch = read(b' [ {"id":7,"method":"a"}, {"id":"7","result":1} ,3,{},null ]')
    assert (batch.kind, batch.method, batch.parse_error) == (Kind.BATCH, None, None)
    assert [(m.kind, m.rpc_id) for m in batch.members] == [
        (Kind.REQUEST, "7"),
        (Kind.RESPONSE, '"7"'),
        (Kind.INVALID, None),
        (Kind.INVALID, None),
        (Kind.INVALID, None),
    ]
    assert batch.members[0].raw == b'{"id":7,"method":"a"}'


def test_an_empty_batch_has_a_reason() -> None:
    """acp-proxy labels an empty JSON-RPC batch with the reason why it is invalid."""
    assert read(b"[ ]") == Message(Kind.BATCH, parse_error="an empty batch", raw=b"[ ]")


def test_a_batch_within_a_batch_is_invalid() -> None:
    """acp-proxy reads a JSON-RPC batch within a JSON-RPC batch as an invalid message."""
    (member,) = read(b'[[{"method":"x"}]]').members
    assert (member.kind, member.parse_error) == (Kind.INVALID, "a batch within a batch")


@pytest.mark.parametrize("base", [0, 1, 5])
def test_any_depth_is_read_or_refused(base: int) -> None:
    """acp-proxy treats a message that is nested too deeply as invalid, and does not crash."""
    for depth in range(1, 1100, 3 if base else 1):
        opened, closed = b"[" * depth, b"]" * depth
        for raw in (opened + closed, b'{"method":"\\ud800","id":%s%s}' % (opened, closed)):
            message = _deeper(base, raw)
            assert message.kind in (Kind.BATCH, Kind.REQUEST) or (
                message.parse_error == "nested too deeply"
            )
    assert read(b"[" * 100_000).parse_error == "nested too deeply"


def _deeper(levels: int, raw: bytes) -> Message:
    return _deeper(levels - 1, raw) if levels else read(raw)


def test_space_around_a_message_is_ignored() -> None:
    """acp-proxy ignores white space around the JSON of a message."""
    tight = read(b'{"id":1,"method":"x","params":{"sessionId":"s"}}')
    loose = read(b' \t{ "id" : 1 , "method":\t"x" ,"params" : { "sessionId" : "s" } }\r')
    assert evolve(loose, raw=None) == evolve(tight, raw=None)
