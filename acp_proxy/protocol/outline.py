"""Reads the header of a line that is too large to hold, from its first and its last bytes.

A frame of 64 MB is one enormous string in a small envelope. The head is scanned token by token, and
the path of every scalar is known while its brackets are; the values that matter stand before the
large one, except that some peers write the id last. That one is found at the very end of the line,
where only the closing brace may follow. Whether the middle is JSON, nobody looked.
"""

import contextlib
import json
import re
from collections.abc import Iterator

from acp_proxy.protocol.jsonrpc import Kind, Message, read

EDGE = 65536
"""Bytes to look at, at either end."""

_TOKEN = re.compile(rb'\s*(?:"((?:[^"\\]|\\.)*)"|([{}\[\],:])|([^\s"{}\[\],:]+))', re.DOTALL)
_ID_AT_END = re.compile(rb',\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|null)\s*\}\s*$')

_CONTAINERS = {("params",), ("result",), ("error",)}
_WANTED = {
    ("method",),
    ("id",),
    ("error", "code"),
    ("params", "sessionId"),
    ("params", "type"),
    ("params", "toolCallId"),
    ("params", "terminalId"),
    ("params", "data", "id"),
    ("params", "update", "sessionUpdate"),
    ("params", "update", "toolCallId"),
    ("params", "update", "terminalId"),
    ("params", "toolCall", "toolCallId"),
    ("params", "subject", "toolCallId"),
    ("params", "subject", "toolCall", "toolCallId"),
    ("result", "sessionId"),
    ("result", "terminalId"),
    ("result", "stopReason"),
}


def read_outline(head: bytes, tail: bytes) -> Message:
    """Reads a line of which only ``head`` and ``tail`` are at hand; never raises.

    The answer is what `jsonrpc.read` gives for the same envelope without its large values.
    """
    if head.lstrip()[:1] == b"[":
        return Message(Kind.BATCH, parse_error="a batch too large to look into")
    envelope: dict[str, object] = {}
    token: str | None = None
    for path, text in _scalars(head):
        if path == ("id",) and text:
            token = text.decode(errors="replace")
        _put(envelope, path, text)
    if token is None and (match := _ID_AT_END.search(tail)):
        token = match[1].decode(errors="replace")
    if not envelope.keys() & {"method", "result", "error"}:
        return Message(Kind.INVALID, rpc_id=token, parse_error="no envelope in its first bytes")
    envelope.pop("id", None)
    message = read(json.dumps(envelope).encode())
    message.raw = None
    message.rpc_id = token
    if message.kind in (Kind.NOTIFICATION, Kind.REQUEST):
        message.kind = Kind.REQUEST if token is not None else Kind.NOTIFICATION
    return message


def _put(envelope: dict[str, object], path: tuple[str, ...], text: bytes) -> None:
    *outer, last = path
    place = envelope
    for key in outer:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        place = inner
    if path in _WANTED and text:
        with contextlib.suppress(ValueError):
            place[last] = json.loads(text)
    elif path in _CONTAINERS and (text == b"{" or last not in place):
        place[last] = {} if text == b"{" else None


def _scalars(head: bytes) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yields the path and the text of each whole scalar, and of each container that opens."""
    path: list[str | None] = []  # None inside an array
    key: str | None = None
    expect_key = False
    for match in _TOKEN.finditer(head):
        string, mark, word = match[1], match[2], match[3]
        if mark in (b"{", b"["):
            if path and key is not None and None not in path:
                yield (*[k for k in path if k], key), mark
            path.append(key if mark == b"{" and path else (None if mark == b"[" else ""))
            key, expect_key = None, mark == b"{"
        elif mark in (b"}", b"]"):
            if not path:
                return
            path.pop()
            key, expect_key = None, False
        elif mark == b",":
            key, expect_key = None, True
        elif mark == b":":
            expect_key = False
        elif string is not None and expect_key and path and path[-1] is not None:
            key, expect_key = string.decode(errors="replace"), False
            if len(path) == 1:
                yield (key,), b""  # its value may be what is too large to see
        elif key is not None and None not in path:
            if word is not None and match.end() == len(head):
                return  # a word that the edge may have cut
            text = b'"' + string + b'"' if string is not None else word
            yield (*[k for k in path if k], key), text
            key = None
