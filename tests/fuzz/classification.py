"""Fuzzes the classification of messages: all readers of a line agree, and none raises."""

from __future__ import annotations

import json
from typing import Any

from attrs import evolve

from acp_proxy.protocol.json_text import json_or_none, json_or_text, parse_or_begin, tokens
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.outline import read_outline
from tests.fuzz import seeds
from tests.fuzz.byte_source import ByteSource
from tests.fuzz.target import Target

_ODD = b'{"params":0,'
"""Params that only the tolerant reader accepts; later params replace them."""
_FILLING = b'x\\"{[,:\\u00e9\\\\ '


def check(data: bytes) -> None:
    """Checks that a line is read the same alone, in a batch, by its edges and by each reader."""
    source = ByteSource(data)
    place = source.number(255)
    raw = source.rest().replace(b"\n", b"")
    message = read(raw)
    assert message.raw == raw
    _check_labels(message)
    _check_beginning(raw)
    _check_tolerant(raw, message)
    _check_member(raw, message)
    read_outline(raw[:place], raw[-place:])
    _check_outline(raw, place)


def _check_labels(message: Message) -> None:
    """Checks that a line without a kind has a reason, and that each label can be stored."""
    has_reason = message.parse_error is not None
    assert has_reason == (message.kind is Kind.INVALID) or message.kind is Kind.BATCH
    for label in (message.method, message.rpc_id, message.session, message.update, message.mode,
                  message.tool_call, message.terminal, message.target, message.status,
                  message.state, message.stop_reason, message.parse_error):  # fmt: skip
        assert label is None or label.encode().decode() == label
    if message.kind is Kind.REQUEST:
        assert message.rpc_id is not None
    if message.kind in (Kind.REQUEST, Kind.NOTIFICATION):
        assert message.method is not None
    if message.rpc_id is not None:
        json.loads(message.rpc_id, parse_int=str)
    for member in message.members:
        assert member.kind is not Kind.BATCH
        _check_labels(member)


def _check_beginning(raw: bytes) -> None:
    """Checks that the reader of broken JSON never raises, and returns the line as text."""
    if json_or_none(raw) is None:
        assert raw.strip() == b"null" or isinstance(json_or_text(raw), str)
    parse_or_begin(raw, len(raw) // 2)


def _check_tolerant(raw: bytes, message: Message) -> None:
    """Checks that the tolerant reader returns the same as the fast one."""
    text = raw.strip(b" \t\r")
    if text[:1] != b"{" or text[1:].lstrip(b" \t\r")[:1] == b"}":
        return
    odd = text.replace(b"{", _ODD, 1)
    tolerant = read(odd)
    assert tolerant.kind == message.kind
    if message.kind is not Kind.INVALID and len(raw) < 2000:  # or else maybe too deep
        assert evolve(tolerant, raw=None) == evolve(message, raw=None)


def _check_member(raw: bytes, message: Message) -> None:
    """Checks that a message in a batch is read like a line of its own."""
    if message.kind in (Kind.INVALID, Kind.BLANK, Kind.BATCH):
        return
    batch = read(b"[" + raw + b" , 7]")
    assert batch.kind is Kind.BATCH
    assert evolve(batch.members[0], raw=None) == evolve(message, raw=None)


def _check_outline(raw: bytes, place: int) -> None:
    """Checks that the edges of a line with one large string give the labels of the whole line."""
    message = read(raw)
    if message.kind in (Kind.INVALID, Kind.BLANK, Kind.BATCH) or not _is_plain(raw):
        return
    strings = [token for token in tokens(raw) if token.string is not None]
    if not strings or len(raw) > 2000:
        return
    token = strings[place % len(strings)]
    assert token.string is not None
    start = token.end - 1 - len(token.string)
    if raw[token.end :].lstrip()[:1] == b":" or token.string.decode() in _labels(message):
        return  # a member name or a possible label
    before, after = raw[:start], raw[token.end - 1 :]
    edge = max(len(before), len(after)) + place % 4
    large = before + _FILLING * (2 + 3 * edge // len(_FILLING)) + after
    assert read_outline(large[:edge], large[-edge:]) == evolve(read(large), raw=None)


def _labels(message: Message) -> set[str | None]:
    target = message.target or ""
    return {message.method, message.session, message.update, message.mode, message.tool_call,
            message.terminal, message.status, message.state, message.stop_reason,
            (message.rpc_id or "").strip('"'), target.strip('"')}  # fmt: skip


def _is_plain(raw: bytes) -> bool:
    """Whether a line is JSON without duplicate names in objects and without objects as ids."""
    twice = False

    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal twice
        values = dict(members)
        twice = twice or len(values) < len(members)
        return values

    try:
        value = json.loads(raw, object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return False
    params = value.get("params") if isinstance(value, dict) else None
    ids = [value.get("id"), params.get("requestId") if isinstance(params, dict) else None]
    return not twice and not any(isinstance(rpc_id, dict | list) for rpc_id in ids)


def _seeds() -> list[bytes]:
    return [bytes([place % 256]) + line for place, line in enumerate(seeds.lines())]


WORDS = (b'"id":', b'"method":', b'"params":{', b'"result":', b'"error":{"code":', b'"update":{',
         b'"sessionId":', b'"toolCallId":', b'"terminalId":', b'"requestId":', b'"content":[',
         b'"sessionUpdate":"tool_call"', b'"type":"terminal"', b'"toolCall":{', b'"subject":{',
         b'"data":{', b'"modes":{', b'"stopReason":', b'{"jsonrpc":"2.0",', b"\\u0069d",
         b"-0", b"1.0", b"1e5", b"true", b"[" * 40, b'{"a":' * 40)  # fmt: skip
TARGET = Target("classification", check, _seeds, WORDS)
