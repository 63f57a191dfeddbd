"""Parses JSON with comments and trailing commas, and keeps where each value begins and ends.

Positions are indexes of characters. A byte order mark is the character with index 0.
"""

import json
import re
from typing import Any

from attrs import frozen

from acp_proxy.base.errors import BadSettings

BYTE_ORDER_MARK = "\ufeff"
_SPACE = re.compile(r"[ \t]*")
_BLANK = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\[^\r\n])*"')
_SCALAR = re.compile(r"(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])")
_DEEPEST = 100


@frozen
class JsonMember:
    """A member of an object."""

    name: str
    start: int
    """The index of the quote before the member's name."""
    node: "JsonNode"


@frozen
class JsonNode:
    """A value, and where it begins and ends."""

    start: int
    end: int
    """The index after the last character of the value."""
    value: Any
    members: tuple[JsonMember, ...] = ()
    """The members of an object, in order; if several have the same name, the last one counts."""
    items: tuple["JsonNode", ...] = ()
    """The items of an array."""

    @property
    def is_object(self) -> bool:
        """Whether the value is an object."""
        return isinstance(self.value, dict)

    def member(self, name: str) -> JsonMember | None:
        """Returns the last member with the given name; None if no member has this name."""
        return next((member for member in reversed(self.members) if member.name == name), None)


def decode(data: bytes) -> str:
    """Returns the text of a settings file.

    Raises:
        BadSettings: the data is not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise BadSettings(f"it is not UTF-8 at byte {e.start}") from None


def parse(text: str) -> JsonNode | None:
    """Returns the value of a document, or None if there are only blanks and comments.

    Raises:
        BadSettings: the text is not JSON with comments; the message has the line and the column.
    """
    return _Parser(text).document()


def behind_blanks(text: str, place: int) -> int:
    """Returns the index after the blanks and comments that begin at an index.

    Args:
        text: a document.
        place: an index outside of strings and comments.
    """
    while True:
        place = _end(_BLANK, text, place)
        comment = _COMMENT.match(text, place)
        if comment is None:
            return place
        place = comment.end()


def behind_line(text: str, place: int) -> tuple[int, bool]:
    """Skips the blanks and comments that follow an index on its line.

    Args:
        text: a document.
        place: an index outside of strings and comments.

    Returns:
        If only blanks and comments follow on the line: the index of the next line, and True.
        Otherwise: the index after the last comment, and False.
    """
    while True:
        here = _end(_SPACE, text, place)
        if text.startswith("\r\n", here):
            return here + 2, True
        if text[here : here + 1] in ("\n", "\r"):
            return here + 1, True
        comment = _COMMENT.match(text, here)
        if comment is None:
            return place, False
        place = comment.end()


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    match = pattern.match(text, place)
    return match.end() if match else place


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0

    def document(self) -> JsonNode | None:
        self._skip()
        if self._place == len(self._text):
            return None
        node = self._value(0)
        self._skip()
        if self._place != len(self._text):
            raise self._error("the end")
        return node

    def _value(self, depth: int) -> JsonNode:
        if depth > _DEEPEST:
            raise self._error(f"at most {_DEEPEST} levels")
        start = self._place
        match self._text[start : start + 1]:
            case "{":
                return self._object(depth)
            case "[":
                return self._array(depth)
            case '"':
                text, end = self._string()
                return JsonNode(start, end, text)
        scalar = _SCALAR.match(self._text, start)
        if scalar is None:
            raise self._error("a value")
        self._place = scalar.end()
        return JsonNode(start, self._place, json.loads(scalar[0]))

    def _object(self, depth: int) -> JsonNode:
        start = self._place
        members: list[JsonMember] = []
        while self._goes_on("}", is_first=not members):
            place = self._place
            if self._text[place : place + 1] != '"':
                raise self._error("a name in double quotes")
            name = self._string()[0]
            self._skip()
            self._take(":")
            self._skip()
            members.append(JsonMember(name, place, self._value(depth + 1)))
        value = {member.name: member.node.value for member in members}
        return JsonNode(start, self._place, value, members=tuple(members))

    def _array(self, depth: int) -> JsonNode:
        start = self._place
        items: list[JsonNode] = []
        while self._goes_on("]", is_first=not items):
            items.append(self._value(depth + 1))
        return JsonNode(start, self._place, [item.value for item in items], items=tuple(items))

    def _goes_on(self, end: str, *, is_first: bool) -> bool:
        """Skips to the next item or member; returns False if the object or array ends instead."""
        if is_first:
            self._place += 1
        self._skip()
        if not is_first and self._text[self._place : self._place + 1] == ",":
            self._place += 1
            self._skip()
        elif not is_first and self._text[self._place : self._place + 1] != end:
            raise self._error(f"a comma or {end}")
        if self._text[self._place : self._place + 1] == end:
            self._place += 1
            return False
        return True

    def _string(self) -> tuple[str, int]:
        match = _STRING.match(self._text, self._place)
        if match is None:
            raise self._error("the end of a string")
        try:
            text = json.loads(match[0], strict=False)
        except ValueError:
            raise self._error("a string with valid escapes") from None
        self._place = match.end()
        return text, self._place

    def _skip(self) -> None:
        self._place = behind_blanks(self._text, self._place)

    def _take(self, character: str) -> None:
        if self._text[self._place : self._place + 1] != character:
            raise self._error(character)
        self._place += 1

    def _error(self, expected: str) -> BadSettings:
        before = self._text[: self._place].replace("\r\n", "\n").replace("\r", "\n")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        got = self._text[self._place : self._place + 1]  # no more, because of secrets
        actual = repr(got) if self._place < len(self._text) else "the end"
        return BadSettings(f"line {line}, column {column}: expected {expected}, got {actual}")
