"""Reads messages that a person copied from Zed's ACP logs: an array of pretty printed objects.

Zed writes the result or the error of an answer as a member ``params``, so each message is rebuilt.
An error is recognized by its form alone, so the recording notes that the source does not
distinguish results from errors. Zed also writes the method of an answer. The method is kept if the
answer's request is not in the log. The reader also reads excerpts, and several arrays in a row.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.imports.embedded_json import (
    FoundObject,
    ObjectSplitter,
    member_texts,
    read_message,
    too_long,
)
from acp_proxy.imports.log_entries import (
    BROKEN,
    MISPLACED,
    NOT_WHOLE,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.imports.no_messages import broken
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import Stream

_STREAMS = {"outgoing": Stream.TO_AGENT, "incoming": Stream.TO_CLIENT, "stderr": Stream.STDERR}


def _recognizes(head: bytes) -> bool:
    return b'"_direction"' in head and b'"_type"' in head


def _read(pieces: Iterable[bytes], _head: bytes) -> Iterator[Entry]:
    has_ended = False
    for part in ObjectSplitter(b"", b"[").split(pieces):
        if part.text is None:
            yield too_long(part)
        elif not isinstance(part, FoundObject) and b'"_direction"' in part.text:
            yield UnreadLines(part.first, part.last, MISPLACED)
        elif not isinstance(part, FoundObject):
            yield Remark(part.first, part.last, _kind_of(part.text))
            if has_ended and b"[" in part.text:  # a person appended a later part of the log
                yield Remark(part.first, part.last, RemarkKind.GAP)
            has_ended = has_ended or b"]" in part.text
        elif not part.is_whole:
            yield UnreadLines(part.first, part.last, NOT_WHOLE)
        else:
            yield from _message(part.first, part.last, part.text)


def _kind_of(text: bytes) -> RemarkKind:
    if text.strip(b" \t\r\n[],"):
        return RemarkKind.REMARK
    return RemarkKind.BRACKETS if b"[" in text or b"]" in text else RemarkKind.BLANK


def _message(first: int, last: int, text: bytes) -> Iterator[Entry]:
    message = read_message(text)
    if message is None or not isinstance(message.value, dict):
        yield UnreadLines(first, last, broken(text))
        return
    value = message.value
    stream = _STREAMS.get(str(value.get("_direction")))
    if stream is None:
        yield UnreadLines(first, last, 'expected "_direction" to be incoming, outgoing or stderr')
    elif stream is Stream.STDERR:
        params = value.get("params")
        words = params if isinstance(params, str) else json.dumps(params)
        for each in words.split("\n"):
            yield LoggedLine(first, last, stream, storable(each).encode())
    elif (texts := member_texts(message.raw)) is None:
        yield UnreadLines(first, last, BROKEN)
    elif (raw := _rebuilt(value, texts)) is None:
        expected = "request, response or notification"
        yield UnreadLines(first, last, f'expected "_type" to be {expected}')
    else:
        answered = value.get("method") if value["_type"] == "response" else None
        yield LoggedLine(first, last, stream, raw, answered=answered)


def _rebuilt(value: dict[str, Any], texts: dict[str, bytes]) -> bytes | None:
    """Rebuilds the original message; returns None if the message has an unknown type."""
    kind, params = value.get("_type"), texts.get("params", b"null")
    known = {"id": texts.get("id", b"null"), "method": texts.get("method", b"null")}
    if kind == "response":
        name = "error" if _is_error(value.get("params")) else "result"
        return _spelled({"id": known["id"], name: params})
    if kind not in ("request", "notification"):
        return None
    if kind == "notification":
        del known["id"]
    return _spelled(known if params == b"null" else {**known, "params": params})


def _spelled(parts: dict[str, bytes]) -> bytes:
    members = b"".join(b',"%s":%s' % (name.encode(), text) for name, text in parts.items())
    return b'{"jsonrpc":"2.0"' + members + b"}"


def _is_error(params: Any) -> bool:
    if not isinstance(params, dict) or params.keys() - {"code", "message", "data"}:
        return False
    code = params.get("code")
    return type(code) is int and isinstance(params.get("message"), str)


SOURCE = LogFormat(
    name="zed",
    title="messages copied from the ACP logs of Zed",
    lost=("bytes", "command", "ending", "times", "values"),
    recognizes=_recognizes,
    read=_read,
)
