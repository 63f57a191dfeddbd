"""Reads the labels of a line that is too large for memory, from its head and tail.

A frame of 64 MB is usually one enormous string in a small envelope. The scanner reads the head (the
first bytes) token by token, and continues in the tail (the last bytes) after the string's end.

If all brackets close at the end of the line, the labels in the tail are used, too. Otherwise there
was another string between head and tail. Then only the labels in the head are used, and an id that
is the last member of the line.
"""

import json
import re
from collections.abc import Iterator

from attrs import define, evolve, field
from msgspec import Struct

from acp_proxy.protocol.envelope import Block, Envelope, fields_of
from acp_proxy.protocol.json_text import tokens
from acp_proxy.protocol.jsonrpc import Kind, Message, read

_SCALAR = re.compile(rb"-?[0-9][0-9.eE+-]*|true|false|null")
_REST_OF_STRING = re.compile(rb'(?:[^"\\]|\\.)*"(?=\s*[,\]}])', re.DOTALL)
_ID_AT_END = re.compile(rb',\s*"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+|null)\s*\}\s*$')


def _paths(
    kind: type[Struct], outer: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yields the paths that `envelope` reads, and for each path whether its value is an object."""
    for name, (inner, is_scalar) in fields_of(kind).items():
        path = (*outer, name)
        if inner is not None and inner is not Block:
            yield path, True
            yield from _paths(inner, path)
        elif is_scalar and inner is None:
            yield path, False


_CONTAINERS = {path for path, is_object in _paths(Envelope) if is_object}
_WANTED = {path for path, is_object in _paths(Envelope) if not is_object}
_ID, _TARGET = ("id",), ("params", "requestId")
"""Paths of ids, which are kept in their original spelling."""
_DEEPEST = 4
"""The number of keys in the longest path that is read."""

Scalar = tuple[tuple[str, ...], bytes]
"""The path and the text of a scalar, or of the opening bracket of a container. The text is empty if
only the key is known."""


def read_outline(head: bytes, tail: bytes) -> Message:
    """Reads the labels of a line from its head and its tail; never raises.

    Args:
        head: the first `LINE_EDGE` bytes of the line.
        tail: the last bytes of the line, without the newline.

    Returns:
        The labels that `jsonrpc.read` returns, except labels between the head and the tail.
    """
    if head.lstrip()[:1] == b"[":
        return Message(Kind.BATCH, parse_error="a batch too large to look into")
    envelope: dict[str, object] = {}
    tokens: dict[tuple[str, ...], str] = {}
    for path, text in _scalars(head, tail):
        if path in (_ID, _TARGET) and text:
            tokens[path] = text.decode(errors="replace")
        _put(envelope, path, text)
    if _ID not in tokens and (match := _ID_AT_END.search(tail)):
        tokens[_ID] = match[1].decode(errors="replace")
    token = tokens.get(_ID)
    if not envelope.keys() & {"method", "result", "error"}:
        return Message(Kind.INVALID, rpc_id=token, parse_error="no envelope in its first bytes")
    message = read(json.dumps(envelope).encode())
    message.raw = None
    message.rpc_id = token
    if message.kind in (Kind.NOTIFICATION, Kind.REQUEST):
        message.kind = Kind.REQUEST if token is not None else Kind.NOTIFICATION
        message.target = tokens.get(_TARGET)
    return message


def _put(envelope: dict[str, object], path: tuple[str, ...], text: bytes) -> None:
    if path not in _WANTED and path not in _CONTAINERS:
        return
    *outer, last = path
    place = envelope
    for key in outer:
        inner = place.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        place = inner
    if path in _CONTAINERS:
        if text == b"{" or len(path) == 1:
            place[last] = None if text == b"null" else {}
    elif text:
        try:
            value = json.loads(text.decode())
        except ValueError:
            return
        if not isinstance(value, float):  # no label is a float, and JSON cannot write every float
            place[last] = value


def _scalars(head: bytes, tail: bytes) -> Iterator[Scalar]:
    """Yields the scalars before the large string; also later scalars if all brackets close."""
    scanner = _Scanner()
    yield from scanner.feed(head)
    if head[scanner.place :].lstrip()[:1] != b'"':
        return
    for start in (0, 1):  # a quote at the very start may follow a backslash
        if match := _REST_OF_STRING.match(tail, start):
            rest = evolve(scanner, path=scanner.path.copy(), key=None, place=match.end())
            later = list(rest.feed(tail))
            if not rest.path and not tail[rest.place :].strip():
                yield from later
                return


@define
class _Scanner:
    """Tracks the open objects and arrays from token to token, up to the first truncated token."""

    path: list[str | None] = field(factory=list)
    """The keys of the open objects, outermost first. The key of the outermost object is ""; an open
    array is None."""
    key: str | None = None
    expect_key: bool = False
    place: int = 0
    """The offset that the scan has reached."""

    def feed(self, text: bytes) -> Iterator[Scalar]:
        for token in tokens(text, self.place):
            mark, string, word = token.mark, token.string, token.word
            if not token.is_whole or (word is not None and not _SCALAR.fullmatch(word)):
                return  # cut by the edge, or not JSON
            self.place = token.end
            if mark in (b"{", b"["):
                if self.key is not None:
                    yield from self._found(self.key, mark)
                inner = self.key if self.path else ""
                self.path.append(inner if mark == b"{" else None)
                self.key, self.expect_key = None, mark == b"{"
            elif mark in (b"}", b"]"):
                if self.path:
                    self.path.pop()
                self.key, self.expect_key = None, False
                if not self.path:
                    return
            elif mark == b",":
                self.key, self.expect_key = None, True
            elif mark == b":":
                self.expect_key = False
            elif string is not None and self.expect_key and self.path and self.path[-1] is not None:
                self.key, self.expect_key = string.decode(errors="replace"), False
                if len(self.path) == 1:
                    yield (self.key,), b""  # its value may be the large string
            elif self.key is not None:
                yield from self._found(self.key, word or b'"' + (string or b"") + b'"')
                self.key = None

    def _found(self, key: str, text: bytes) -> Iterator[Scalar]:
        if len(self.path) <= _DEEPEST and None not in self.path:
            yield (*(part for part in self.path[1:] if part is not None), key), text
