"""Reads the traffic that agent-shell saves: a list of messages as Emacs prints Lisp values.

``((:direction . outgoing) (:kind . request) (:object (jsonrpc . "2.0") (method . "initialize")))``.
Emacs has one value, ``nil``, for null, false and an empty object, so a recording says that these
are not told apart. Times are not saved.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from acp_proxy.foreign_logs.s_expressions import NIL, Labels, NotLisp, Pair, Symbol, read_expression
from acp_proxy.foreign_logs.values import (
    LONGEST,
    TOO_LONG,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.protocol.peers import Stream

_STREAMS = {"outgoing": Stream.TO_AGENT, "incoming": Stream.TO_CLIENT}
_START = re.compile(rb"\s*+(?:\(\s*+)?(?:#\d{1,9}=)?\(\s*+(?:#\d{1,9}=)?\(:direction\s")
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.|["()\n]', re.DOTALL)
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+(["\\]?)', re.DOTALL)
_CONSTANTS = {"nil": None, ":null": None, ":false": False, ":json-false": False, "t": True}
_NOT_WHOLE = "expected a message, got a part of one"


def _recognizes(head: bytes) -> bool:
    return _START.match(head) is not None


def _read(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    labels = Labels()
    match = _START.match(head)
    is_list = match is not None and match[0].count(b"(") == 3
    for first, last, text, is_whole in _split(pieces, int(is_list)):
        if text is None:
            yield UnreadLines(first, last, f"expected a message, got one {TOO_LONG}")
        elif is_whole:
            yield _message(first, last, text, labels)
        elif text.strip(b"() \t\r\n"):
            is_message = text.lstrip()[:1] == b"("
            yield UnreadLines(first, last, _NOT_WHOLE) if is_message else Remark(first, last)
        else:
            kind = RemarkKind.REMARK if text.strip() else RemarkKind.BLANK
            yield Remark(first, last, kind)


def _message(first: int, last: int, text: bytes, labels: Labels) -> Entry:
    try:
        entry = _members(read_expression(text.decode("utf-8", "replace"), labels))
        if entry is None:
            return UnreadLines(first, last, "expected a direction, a kind and an object")
        direction, message = entry.get(":direction"), entry.get(":object")
        if not isinstance(direction, Symbol) or direction.name not in _STREAMS:
            return UnreadLines(first, last, "expected :direction to be incoming or outgoing")
        raw = json.dumps(_json(message), ensure_ascii=False, separators=(",", ":"))
    except (NotLisp, RecursionError) as e:
        reason = "nested too deeply" if isinstance(e, RecursionError) else str(e)
        return UnreadLines(first, last, f"expected a message, got broken Lisp: {reason}")
    return LoggedLine(first, last, _STREAMS[direction.name], raw.encode("utf-8", "replace"))


def _members(value: Any) -> dict[str, Any] | None:
    """Returns the members of a list of pairs; None if it is none."""
    found: dict[str, Any] = {}
    while isinstance(value, Pair):
        if not isinstance(value.head, Pair) or not isinstance(value.head.head, Symbol):
            return None
        found.setdefault(value.head.head.name, value.head.tail)
        value = value.tail
    return found if value == NIL else None


def _json(value: Any) -> Any:
    """Returns JSON for what Emacs has made of it."""
    if isinstance(value, Symbol):
        if value.name not in _CONSTANTS:
            raise NotLisp(f"expected nil, t, :null or :false, got {value.name[:40]}")
        return _CONSTANTS[value.name]
    if isinstance(value, tuple):
        return [_json(each) for each in value]
    if not isinstance(value, Pair):
        return value
    if (members := _members(value)) is not None:
        return {name: _json(each) for name, each in members.items()}
    items = []
    while isinstance(value, Pair):
        items.append(_json(value.head))
        value = value.tail
    if value != NIL:
        raise NotLisp("expected a list, got a pair")
    return items


def _split(pieces: Iterable[bytes], level: int) -> Iterator[tuple[int, int, bytes | None, bool]]:
    """Yields the lists at a level of nesting and what is between them, with their lines."""
    depth, line, first = 0, 1, 1
    in_string = is_cut = False
    parts: list[bytes] = []
    size = 0

    def taken() -> bytes | None:
        nonlocal size
        text = b"".join(parts) if size <= LONGEST else None
        parts.clear()
        size = 0
        return text

    def keep(part: bytes) -> None:
        nonlocal size
        size += len(part)
        if size > LONGEST:
            parts.clear()
        elif part:
            parts.append(part)

    for piece in pieces:
        start = place = 0
        while place < len(piece):
            if in_string:
                match = _STRING.match(piece, place + is_cut)
                end = match.end() if match else len(piece)
                line += piece.count(b"\n", place, end)
                is_cut = match is not None and match[1] == b"\\"
                in_string = match is None or match[1] != b'"'
                place = end
                continue
            found = _TOKEN.search(piece, place)
            if found is None:
                break
            token, place = found[0], found.end()
            if token == b"\n":
                line += 1
                if depth <= level:
                    keep(piece[start:place])
                    start = place
                    yield first, max(first, line - 1), taken(), False
                    first = line
            elif token == b'"':
                in_string = depth > 0
            elif token == b"(":
                if depth == level:
                    keep(piece[start : place - 1])
                    start = place - 1
                    if b"".join(parts).strip(b" \t("):
                        yield first, line, taken(), False
                    else:
                        taken()
                    first = line
                depth += 1
            elif token == b")":
                depth = max(0, depth - 1)
                if depth == level:
                    keep(piece[start:place])
                    start = place
                    yield first, line, taken(), True
                    first = line
            else:
                line += token.count(b"\n")
        keep(piece[start:])
    if parts:
        yield first, max(first, line - parts[-1].endswith(b"\n")), taken(), False


SOURCE = LogFormat(
    name="agent-shell",
    title="traffic saved by agent-shell",
    lost=("bytes", "command", "ending", "stderr", "times", "values"),
    recognizes=_recognizes,
    read=_read,
)
