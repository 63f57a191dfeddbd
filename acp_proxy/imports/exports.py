"""Reads exports of other programs: JSON objects with one message each, on one or more lines.

acp-devtools writes one JSON object with all messages, or one message per line. Each message has its
original line as a string, so lines that are not JSON are kept too.

A person copies an array of pretty-printed objects from Zed's ACP logs. Zed writes the result or the
error of an answer as a member ``params``. So each message is rebuilt, and an error is recognized by
its form. The recording notes that the source does not distinguish results from errors.

Zed also writes the method of an answer. The method is kept if the request is not in the log. Parts
of an array, and several arrays in a row, are read too.
"""

import json
import re
import shlex
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.imports.embedded_json import (
    FoundObject,
    ObjectSplitter,
    member_texts,
    read_message,
    too_long,
)
from acp_proxy.imports.headings import LATEST_NS
from acp_proxy.imports.log_entries import (
    BROKEN,
    MISPLACED,
    NOT_WHOLE,
    Entry,
    Facts,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.imports.no_messages import broken
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import Stream

_DEVTOOLS_STREAMS = {"editor-to-agent": Stream.TO_AGENT, "agent-to-editor": Stream.TO_CLIENT}
_DIRECTION = re.compile(rb'"direction"\s*:\s*"(?:editor-to-agent|agent-to-editor)"')
_MOST_AROUND = 1 << 20
_MS = 10**6


def _is_of_devtools(head: bytes) -> bool:
    if _DIRECTION.search(head):
        return True
    return head.lstrip()[:1] == b"{" and b'"acp-devtools"' in head and b'"messages"' in head


def _read_devtools(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    is_export = b'"messages"' in _DIRECTION.split(head, 1)[0]
    around = bytearray()
    last = 1
    for part in ObjectSplitter(b"{[" if is_export else b"").split(pieces):
        last = part.last
        if part.text is None:
            yield too_long(part)
            continue
        if isinstance(part, FoundObject):
            yield _devtools_message(part.first, last, part.text, is_whole=part.is_whole)
            continue
        if _DIRECTION.search(part.text):
            yield UnreadLines(part.first, last, MISPLACED)
            continue
        words = part.text.strip(b" \t\r\n,")
        if words:  # more than the separator of two messages
            around += part.text[: max(0, _MOST_AROUND - len(around))]
        kind = RemarkKind.REMARK if part.text.strip() else RemarkKind.BLANK
        yield Remark(part.first, last, kind)
    if is_export:
        yield _facts(bytes(around), last)


def _devtools_message(first: int, last: int, text: bytes, *, is_whole: bool) -> Entry:
    if not is_whole:
        return UnreadLines(first, last, NOT_WHOLE)
    read = read_message(text)
    value = read.value if read is not None else None
    if not isinstance(value, dict):
        return UnreadLines(first, last, BROKEN)
    direction, raw, time = value.get("direction"), value.get("raw"), value.get("timestamp")
    if not isinstance(direction, str) or direction not in _DEVTOOLS_STREAMS:
        return UnreadLines(
            first, last, f"expected direction to be one of {', '.join(_DEVTOOLS_STREAMS)}"
        )
    if not isinstance(raw, str) or "\n" in raw:
        return UnreadLines(first, last, "expected raw to be one line")
    time_ns = None
    if isinstance(time, int | float) and 0 <= time < LATEST_NS // _MS:
        time_ns = int(time * _MS)
    return LoggedLine(first, last, _DEVTOOLS_STREAMS[direction], storable(raw).encode(), time_ns)


def _facts(around: bytes, last: int) -> Facts:
    """Reads the facts in an export: all members except the messages."""
    read = read_message(around.removeprefix(BOM_UTF8))
    session = read.value.get("session") if read and isinstance(read.value, dict) else None
    words = session.get("agentCommand") if isinstance(session, dict) else None
    return Facts(last, last, command=_words_of(words))


def _words_of(command: Any) -> tuple[str, ...] | None:
    """Splits a command whose words acp-devtools joined with spaces; None if it is not a command."""
    if not isinstance(command, str) or not command:
        return None
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return (command,)


ACP_DEVTOOLS = LogFormat(
    name="acp-devtools",
    title="an export of acp-devtools",
    lost=("bytes", "command", "ending", "stderr"),
    resolution_ns=_MS,
    recognizes=_is_of_devtools,
    read=_read_devtools,
)

_ZED_STREAMS = {"outgoing": Stream.TO_AGENT, "incoming": Stream.TO_CLIENT, "stderr": Stream.STDERR}


def _is_of_zed(head: bytes) -> bool:
    return b'"_direction"' in head and b'"_type"' in head


def _read_zed(pieces: Iterable[bytes], _head: bytes) -> Iterator[Entry]:
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
            yield from _zed_message(part.first, part.last, part.text)


def _kind_of(text: bytes) -> RemarkKind:
    if text.strip(b" \t\r\n[],"):
        return RemarkKind.REMARK
    return RemarkKind.BRACKETS if b"[" in text or b"]" in text else RemarkKind.BLANK


def _zed_message(first: int, last: int, text: bytes) -> Iterator[Entry]:
    message = read_message(text)
    if message is None or not isinstance(message.value, dict):
        yield UnreadLines(first, last, broken(text))
        return
    value = message.value
    stream = _ZED_STREAMS.get(str(value.get("_direction")))
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


ZED = LogFormat(
    name="zed",
    title="messages copied from the ACP logs of Zed",
    lost=("bytes", "command", "ending", "times", "values"),
    recognizes=_is_of_zed,
    read=_read_zed,
)
