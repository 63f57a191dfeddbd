"""Finds the JSON objects in a text without parsing them, and reads messages.

An object may be on one line or on many lines, or a file may be a single object that contains all
messages. The text is read in pieces. An object is returned as soon as its last bracket is read.

Reading a message changes at most the white space of its JSON. Messages without required members are
read too, so that mistakes of a peer stay visible.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from acp_proxy.imports.log_entries import LONGEST, TOO_LONG, Remark, UnreadLines
from acp_proxy.protocol.json_text import members, parse

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|["{}\[\]\n]', re.DOTALL)
"""Matches a whole string, or a character that changes the state of the parser."""
_OUTSIDE = re.compile(rb"[{}\[\]\n]")
"""Matches a character that has a meaning outside of all brackets. A quotation mark does not begin a
string there."""
_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+(["\\]?)', re.DOTALL)
"""Matches the remaining characters of a string, and its closing quote. If the piece ends before
this quote, the match may end with half of an escape."""
_SPACE = re.compile(rb'("(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z))|\s++', re.DOTALL)
"""Matches white space outside of strings, and whole strings, so that strings are kept unchanged."""


class FoundText(NamedTuple):
    """Text between or around objects."""

    first: int
    """The number of the text's first line."""
    last: int
    """The number of the text's last line."""
    text: bytes | None
    """The text; None if it is longer than `LONGEST`."""


class FoundObject(NamedTuple):
    """A JSON object."""

    first: int
    """The number of the object's first line."""
    last: int
    """The number of the object's last line."""
    text: bytes | None
    """The text of the object; None if it is longer than `LONGEST`."""
    is_whole: bool = True
    """False if the input ended inside the object."""


def too_long(found_object: FoundObject | FoundText) -> Remark | UnreadLines:
    """Returns the entry for a text (`Remark`) or an object (`UnreadLines`) that is too long."""
    if isinstance(found_object, FoundText):
        return Remark(found_object.first, found_object.last)
    return UnreadLines(
        found_object.first, found_object.last, f"expected a message, got one {TOO_LONG}"
    )


class ObjectSplitter:
    """Splits a text into JSON objects and the texts between them.

    Args:
        *inside: the brackets that are open around the objects to return: ``b""`` for objects
            outside of all brackets, ``b"{["`` for the items of arrays in one large object.
    """

    def __init__(self, *inside: bytes) -> None:
        self._inside = inside
        self._open = bytearray()
        self._begun: int | None = None
        """The number of brackets that were open when the current object began; None outside of
        objects."""
        self._in_string = self._is_cut = False
        self._parts: list[bytes] = []
        self._size = 0
        self._ends_line = False
        """Whether the kept text ends with a newline."""
        self._first = self._line = 1

    def split(self, pieces: Iterable[bytes]) -> Iterator[FoundObject | FoundText]:
        """Yields objects and the texts between them, in order; together they cover every line."""
        for piece in pieces:
            yield from self._feed(piece)
        if self._begun is not None:
            yield FoundObject(self._first, self._last_line(), self._taken(), is_whole=False)
        elif self._size:
            yield self._text(self._last_line())

    def _feed(self, piece: bytes) -> Iterator[FoundObject | FoundText]:
        start = 0
        place = self._end_of_string(piece, 0) if self._in_string else 0
        while match := (_TOKEN if self._open else _OUTSIDE).search(piece, place):
            token, place = match[0], match.end()
            if token == b"\n":
                self._line += 1
                if self._begun is None:
                    self._keep(piece[start:place])
                    start = place
                    yield self._text(self._line - 1)
            elif token.startswith(b'"'):
                if len(token) == 1:
                    self._in_string = True
                    place = self._end_of_string(piece, place)
                else:
                    self._line += token.count(b"\n")
            elif token in b"{[":
                if self._begun is None and token == b"{" and bytes(self._open) in self._inside:
                    self._keep(piece[start : place - 1])
                    start = place - 1
                    text = self._text(self._line)
                    if text.text is None or text.text.strip(b" \t,[{"):
                        yield text
                    self._begun, self._first = len(self._open), self._line
                self._open += token
            elif self._open:
                self._open.pop()
                if self._begun is not None and len(self._open) <= self._begun:
                    self._keep(piece[start:place])
                    start = place
                    yield FoundObject(self._first, self._line, self._taken())
                    self._begun, self._first = None, self._line
        self._keep(piece[start:])

    def _end_of_string(self, piece: bytes, place: int) -> int:
        """Returns the offset of the string's end, or of the piece's end if the string continues."""
        if self._is_cut:
            place += 1
            self._line += piece[:1] == b"\n"
        match = _STRING.match(piece, place)
        end = match.end() if match else len(piece)
        self._in_string = match is None or match[1] != b'"'
        self._is_cut = match is not None and match[1] == b"\\"
        self._line += piece.count(b"\n", place, end)
        return end

    def _keep(self, part: bytes) -> None:
        if part:
            self._size += len(part)
            self._ends_line = part.endswith(b"\n")
            if self._size <= LONGEST:
                self._parts.append(part)
            else:
                self._parts.clear()

    def _taken(self) -> bytes | None:
        text = b"".join(self._parts) if self._size <= LONGEST else None
        self._parts, self._size = [], 0
        return text

    def _text(self, last: int) -> FoundText:
        found_text = FoundText(self._first, last, self._taken())
        self._first = self._line
        return found_text

    def _last_line(self) -> int:
        return max(self._first, self._line - self._ends_line)


class Brackets:
    """Counts the open brackets of a JSON value from line to line."""

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = False

    def end(self, line: bytes, place: int = 0) -> int | None:
        """Reads the next line; returns the offset of the value's end, or None if the value goes on.

        Args:
            line: the line.
            place: the offset in the line where the reading begins.
        """
        if self._in_string:
            match = _STRING.match(line, place)
            place = match.end() if match else len(line)
            self._in_string = match is None or match[1] != b'"'
        while match := _TOKEN.search(line, place):
            token, place = match[0], match.end()
            if token == b'"':
                self._in_string = True
                return None
            if token in b"{[":
                self._depth += 1
            elif token in b"}]":
                self._depth -= 1
                if self._depth <= 0:
                    return place
        return None


def items_of(array: bytes) -> Iterator[bytes]:
    """Yields the text of each object in an array."""
    for part in ObjectSplitter(b"[").split([array]):
        if isinstance(part, FoundObject) and part.text is not None and part.is_whole:
            yield part.text


class ReadMessage(NamedTuple):
    """A JSON object or array that was read from a log."""

    raw: bytes
    """The JSON text on one line."""
    value: Any


def read_message(text: bytes) -> ReadMessage | None:
    """Reads the text of an object or array in any layout; returns None for any other text.

    Args:
        text: the text; white space around it is ignored.
    """
    text = text.strip()
    if text[:1] not in (b"{", b"["):
        return None
    try:
        text.decode()
        value = parse(text)
    except (ValueError, RecursionError):
        return None
    is_one_line = b"\n" not in text and b"\r" not in text
    return ReadMessage(text if is_one_line else _SPACE.sub(rb"\1", text), value)


def member_texts(raw: bytes) -> dict[str, bytes] | None:
    """Returns the members of an object that `read_message` has read, each as its original text.

    Returns:
        A dictionary from names to original texts; None instead if a value is nested too deeply.
    """
    text = raw.decode()
    try:
        return {member.key: text[member.start : member.end].encode() for member in members(text)}
    except (ValueError, IndexError, RecursionError):
        return None


def is_message(value: Any) -> bool:
    """Whether parsed JSON is a JSON-RPC message, or a batch of messages."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, dict) and is_message(item) for item in value)
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("method"), str):
        return "jsonrpc" in value or not value.keys() - {"method", "params", "id", "type", "_meta"}
    return ("result" in value or "error" in value) and ("jsonrpc" in value or "id" in value)
