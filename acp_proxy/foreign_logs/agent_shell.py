"""Reads the traffic that agent-shell saves: a list of messages as Emacs prints Lisp values.

``((:direction . outgoing) (:kind . request) (:object (jsonrpc . "2.0") (method . "initialize")))``.
Emacs has one value, ``nil``, for null, false and an empty object, so a recording says that these
are not told apart. Times are not saved.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from acp_proxy.foreign_logs.s_expressions import NIL, Labels, NotLisp, Pair, Symbol, read_expression
from acp_proxy.foreign_logs.values import (
    LONGEST,
    NOT_WHOLE,
    TOO_LONG,
    Entry,
    LogFormat,
    LoggedLine,
    Remark,
    RemarkKind,
    UnreadLines,
)
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.peers import Stream

_STREAMS = {"outgoing": Stream.TO_AGENT, "incoming": Stream.TO_CLIENT}
_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*+(?:\(\s*+)?(?:#\d{1,9}=)?\(\s*+(?:#\d{1,9}=)?\(:direction\s"
)
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|\\.|["()\n]', re.DOTALL)
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+(["\\]?)', re.DOTALL)
_CONSTANTS = {"nil": None, ":null": None, ":false": False, ":json-false": False, "t": True}


def _recognizes(head: bytes) -> bool:
    return _START.match(head) is not None


def _read(pieces: Iterable[bytes], head: bytes) -> Iterator[Entry]:
    labels = Labels()
    match = _START.match(head)
    is_list = match is not None and match[0].count(b"(") == 3
    for first, last, text, is_whole in _Splitter(int(is_list)).split(pieces):
        if text is None:
            yield UnreadLines(first, last, f"expected a message, got one {TOO_LONG}")
        elif is_whole:
            yield _message(first, last, text, labels)
        elif text.strip(b"() \t\r\n"):
            is_message = text.lstrip()[:1] == b"("
            yield UnreadLines(first, last, NOT_WHOLE) if is_message else Remark(first, last)
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
        raw = storable(json.dumps(_json(message), ensure_ascii=False, separators=(",", ":")))
    except (NotLisp, RecursionError) as e:
        reason = "nested too deeply" if isinstance(e, RecursionError) else str(e)
        return UnreadLines(first, last, f"expected a message, got broken Lisp: {reason}")
    return LoggedLine(first, last, _STREAMS[direction.name], raw.encode())


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


class _Part(NamedTuple):
    """A list at a level of nesting, or what is between two of them."""

    first: int
    last: int
    text: bytes | None
    """The text of the expression; None if it is longer than `LONGEST`."""
    is_whole: bool
    """Whether it is a list."""


class _Splitter:
    """Splits an input into the lists at a level of nesting, and what is between them.

    Args:
        level: how deeply nested the lists are.
    """

    def __init__(self, level: int) -> None:
        self._level = level
        self._depth = 0
        self._line = self._first = 1
        self._in_string = False
        self._is_cut = False
        """Whether a piece ended between a backslash and its character."""
        self._kept: list[bytes] = []
        self._size = 0

    def split(self, pieces: Iterable[bytes]) -> Iterator[_Part]:
        """Yields the parts in order; together they have every line.

        Args:
            pieces: of the input.
        """
        for piece in pieces:
            start = place = 0
            while place < len(piece):
                if self._in_string:
                    place = self._end_of_string(piece, place)
                    continue
                found = _TOKEN.search(piece, place)
                if found is None:
                    break
                token, place = found[0], found.end()
                cut = place - 1 if token == b"(" else place
                if self._cuts(token):
                    self._keep(piece[start:cut])
                    start = cut
                    yield from self._ended(token)
            self._keep(piece[start:])
        if self._kept:
            ends_line = self._kept[-1].endswith(b"\n")
            yield self._taken(max(self._first, self._line - ends_line))

    def _end_of_string(self, piece: bytes, place: int) -> int:
        """Returns where a string ends, or the piece."""
        match = _STRING.match(piece, place + self._is_cut)
        end = match.end() if match else len(piece)
        self._line += piece.count(b"\n", place, end)
        self._is_cut = match is not None and match[1] == b"\\"
        self._in_string = match is None or match[1] != b'"'
        return end

    def _cuts(self, token: bytes) -> bool:
        """Takes a token, and returns whether a part ends there."""
        if token == b"\n":
            self._line += 1
            return self._depth <= self._level
        if token == b"(":
            self._depth += 1
            return self._depth == self._level + 1
        if token == b")":
            self._depth = max(0, self._depth - 1)
            return self._depth == self._level
        if token == b'"':
            self._in_string = self._depth > 0
        else:
            self._line += token.count(b"\n")
        return False

    def _ended(self, token: bytes) -> Iterator[_Part]:
        """Yields the part that a token ends, if there is any."""
        if token == b"\n":
            yield self._taken(max(self._first, self._line - 1))
        elif token == b")":
            yield self._taken(self._line, is_whole=True)
        else:
            part = self._taken(self._line)
            if part.text is None or part.text.strip(b" \t("):
                yield part
        self._first = self._line

    def _keep(self, text: bytes) -> None:
        self._size += len(text)
        if self._size > LONGEST:
            self._kept.clear()
        elif text:
            self._kept.append(text)

    def _taken(self, last: int, *, is_whole: bool = False) -> _Part:
        text = b"".join(self._kept) if self._size <= LONGEST else None
        self._kept.clear()
        self._size = 0
        return _Part(self._first, last, text, is_whole)


SOURCE = LogFormat(
    name="agent-shell",
    title="traffic saved by agent-shell",
    lost=("bytes", "command", "ending", "stderr", "times", "values"),
    recognizes=_recognizes,
    read=_read,
)
