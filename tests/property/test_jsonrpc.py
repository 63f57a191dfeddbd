"""Reading never raises, and the two readers agree."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve
from hypothesis import example, given
from hypothesis import strategies as st

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from tests.strategies import broken_lines, json_values, lines, messages

ODD = b'{"params":0,'
"""Params that only the tolerant reader takes; any that follow count instead."""


def without_line(message: Message) -> Message:
    """Returns a message without the bytes that it was read from."""
    return evolve(message, raw=None)


@given(st.binary() | broken_lines())
@example(b"\xed\xa0\x80")
@example(b"[" * 3000)
def test_any_bytes_are_read(raw: bytes) -> None:
    """The reader accepts any bytes without raising."""
    message = read(raw)
    assert message.raw == raw
    assert (message.parse_error is not None) == (message.kind is Kind.INVALID) or raw.startswith(
        b"["
    )


@given(lines())
def test_both_readers_agree_on_messages(raw: bytes) -> None:
    """For each line that the quick reader accepts, the tolerant reader returns the same message."""
    assert without_line(read(raw)) == without_line(read(raw.strip().replace(b"{", ODD, 1)))


@given(broken_lines())
def test_both_readers_agree_on_invalid_json(raw: bytes) -> None:
    """Both readers agree on whether a line is JSON."""
    text = raw.strip(b" \r")
    if text[:1] == b"{" and text.strip(b"{ \r\t")[:1] != b"}":
        assert read(raw).kind == read(text.replace(b"{", ODD, 1)).kind


@given(messages)
def test_the_envelope_makes_the_kind(message: dict[str, Any]) -> None:
    """The kind follows from which members there are, and the id from the one of that name."""
    found = read(json.dumps(message).encode())
    if "method" in message:
        kind = Kind.REQUEST if "id" in message else Kind.NOTIFICATION
        assert found.method == message["method"]
    else:
        kind = Kind.RESPONSE if message.get("error") is None else Kind.ERROR
    assert found.kind is kind
    assert found.rpc_id == (json.dumps(message["id"]) if "id" in message else None)


@given(json_values)
def test_any_json_is_a_message_or_has_a_reason(value: Any) -> None:
    """JSON of any shape is read, and the result can be encoded as UTF-8."""
    message = read(json.dumps(value).encode())
    for found in (message.method, message.session, message.update, message.tool_call):
        assert found is None or found.encode().decode() == found


@given(st.lists(messages | st.integers(), min_size=1, max_size=4), st.booleans())
def test_the_members_of_a_batch_are_read_as_if_alone(values: list[Any], odd: bool) -> None:
    """A member of a batch is read as on a line of its own."""
    texts = [json.dumps(value) for value in values]
    if odd:  # a lone surrogate, which only the tolerant reader takes
        texts.append('{"method":"\\ud800"}')
    batch = read(f"[{' , '.join(texts)}]".encode())
    assert batch.kind is Kind.BATCH
    assert list(batch.members) == [read(text.encode()) for text in texts]
