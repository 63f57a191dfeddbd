"""The labels of a huge line are read from its beginning and its end."""

from __future__ import annotations

import pytest
from attrs import evolve

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.outline import read_outline
from tests.support.cases import each_case

EDGE = 400
BIG = 'line {"a": [1, 2]}\\n'.replace('"', '\\"') * 100


def outline(raw: str) -> Message:
    """Reads the labels of a line from its beginning and its end."""
    return read_outline(raw.encode()[:EDGE], raw.encode()[-EDGE:])


def agrees(raw: str) -> bool:
    """Whether a line's beginning and end show the same labels as the whole line."""
    return outline(raw) == evolve(read(raw.encode()), raw=None, text=None)


@each_case(
    "line",
    [
        # Node and Python write the id first, Rust writes it last.
        '{"jsonrpc":"2.0","id":3,"method":"fs/write_text_file",'
        '"params":{"sessionId":"s","path":"/a","content":"BIG"}}',
        '{"jsonrpc":"2.0","method":"fs/write_text_file",'
        '"params":{"sessionId":"s","path":"/a","content":"BIG"},"id":3}',
        '{"jsonrpc":"2.0","result":{"content":"BIG"},"id":"c0ffee"}',
        '{"jsonrpc":"2.0","result":"BIG","id":null}',
        '{"jsonrpc":"2.0","id":0,"result":"BIG"}',
        '{"jsonrpc":"2.0","id":0,"result":{"output":"BIG","truncated":false}}',
        '{"jsonrpc":"2.0","error":{"code":-32603,"message":"BIG"},"id":1}',
        '{"jsonrpc":"2.0","id":1,"error":{"message":"BIG","code":-32603}}',
        '{"id":1,"error":"BIG"}',
        '{"id":1,"error":null,"result":"BIG"}',
        # The Python SDK writes the kind of an update last.
        '{"method":"session/update","params":{"sessionId":"s",'
        '"update":{"content":{"text":"BIG","type":"text"},"sessionUpdate":"agent_message_chunk"}}}',
        '{"method":"session/update","params":{"update":{"rawInput":["BIG"],"toolCallId":"c",'
        '"sessionUpdate":"tool_call"},"sessionId":"s"}}',
        '{"method":"session/update","params":{"sessionId":"s","type":"tool_call_update",'
        '"data":{"output":{"text":"BIG"},"id":"c"}}}',
        '{"id":2,"method":"session/request_permission","params":{"sessionId":"s",'
        '"toolCall":{"rawInput":{"x":"BIG"},"toolCallId":"c"}}}',
        '{"id":2,"method":"session/request_permission","params":{"sessionId":"s",'
        '"subject":{"toolCall":{"rawInput":"BIG","toolCallId":"c"}}}}',
        '{"id":2,"method":"session/request_permission","params":{"sessionId":"s",'
        '"subject":{"toolCallId":"c"},"title":"BIG"}}',
        '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
        '"state_update","_meta":["BIG",{"state":"x"}],"state":"idle","stopReason":"refusal"}}}',
        '{"method":"$/cancel_request","params":{"_meta":"BIG","requestId":1.0}}',
        '{"id":8,"method":"terminal/output","params":{"terminalId":"t","x":"BIG"}}',
        '{"params":{"x":"BIG","sessionId":"s"},"method":"_x/y","id":7}',
        '{"id":1,"method":"x","params":["BIG"]}',
        '{"id":1,"method":"x","params":"BIG"}',
        '{"id":1,"method":"x","params":{"":{"sessionId":"no"},"a":{"params":{"sessionId":"no"}},'
        '"sessionId":"yes","x":"BIG"}}',
        '{"id":1,"method":"x","params":{"a":[{"sessionId":"no"}],"x":"BIG"}}',
        '{"id":1,"method":"x","params":{"sessionId":7,"toolCallId":null,"x":"BIG"}}',
        '{"id":1,"method":"x","params":{"sessionId":"\\u00e9\\ud800","x":"BIG"}}',
        ' { "id" : 1.50 , "method" : "x" , "params" : { "sessionId" : "s" , "x" : "BIG" } } ',
    ],
)
def test_an_outline_has_the_labels_of_the_whole_line(line: str) -> None:
    """acp-proxy reads the method and the ids of a huge line from the line's two ends."""
    assert agrees(line.replace("BIG", BIG))


def test_an_id_inside_is_not_the_id() -> None:
    """In a huge line, acp-proxy does not take an `id` within the params for the message's id."""
    assert outline(f'{{"method":"x","params":{{"a":"{BIG}","id":5}}}}').rpc_id is None
    inner = BIG + ',\\"id\\":5}'
    assert outline(f'{{"method":"x","params":"{inner}"}}').rpc_id is None


def test_with_several_large_strings_the_head_is_used() -> None:
    """In a huge line with two large strings, acp-proxy still finds the method and the id."""
    first = f'"content":[{{"text":"{BIG}"}}],"rawInput":{{"text":"{BIG}"}}'
    raw = f'{{"method":"x","params":{{"sessionId":"s","update":{{{first}}}}},"id":4}}'
    message = outline(raw)
    assert (message.kind, message.session, message.rpc_id) == (Kind.REQUEST, "s", "4")


def test_a_tail_may_begin_within_an_escape() -> None:
    """acp-proxy finds ids at the end of a huge line even if it begins to read within an escape."""
    rest = ',"sessionId":"s"},"id":1}'
    for text in ("x" * 900 + '\\"', "x" * 900 + "\\\\", "x" * 900):
        raw = f'{{"method":"x","params":{{"a":"{text}"{rest}'
        for size in range(len(rest) + 1, len(rest) + 6):
            message = read_outline(raw[:300].encode(), raw[-size:].encode())
            assert (message.session, message.rpc_id) == ("s", "1")


def test_a_batch_is_not_looked_into() -> None:
    """acp-proxy labels a huge JSON-RPC batch as too large, and does not read its messages."""
    message = outline(f'  [{{"method":"x","params":"{BIG}"}}]')
    assert (message.kind, message.parse_error) == (Kind.BATCH, "a batch too large to look into")


@pytest.mark.parametrize("raw", ["x" * 900, f'"{BIG}"', f'{{"a":"{BIG}"}}', " " * 900, "{" * 900])
def test_a_line_without_an_envelope_has_a_reason(raw: str) -> None:
    """acp-proxy labels a huge line as invalid if its first bytes do not look like a message."""
    message = outline(raw)
    assert (message.kind, message.parse_error) == (Kind.INVALID, "no envelope in its first bytes")


@pytest.mark.parametrize(
    "head",
    [
        b'{"method":"x","params":' + b'{"a":' * 20_000,
        b'{"method":"x","params":' + b"[" * 60_000,
        b'{"method":"x","params":"' + b'\\"' * 30_000,
        b'{"method":"x","params":' + b'{"a":"\\"",' * 6_000,
        b'{"method":"x","params":' + b" " * 60_000,
        b'{"method":"x","params":' + b"9" * 60_000,
    ],
    ids=["objects", "arrays", "quotes", "keys", "spaces", "digits"],
)
def test_hostile_edges_are_read_in_one_pass(head: bytes) -> None:
    """acp-proxy reads the beginning of a huge line in linear time, however deeply it is nested."""
    assert read_outline(head, head[-60_000:]).method == "x"
