"""Mends JSON from which a person has left something out: ``{"id":1,"params":{...},...}``.

Dots outside of strings stand for members of an object, items of an array, or a value. They become
JSON that still shows them: the member ``"...": "..."``, or the string ``"..."``. Blanks between
tokens are dropped. Nothing is guessed: what was left out stays out.
"""

import re

from acp_proxy.protocol.json_text import ELIDED

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<dots>\.{2,}|…)
    |(?P<string>"(?:[^"\\\n]|\\.)*+")
    |(?P<word>true|false|null|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<mark>[{}\[\]:,])
    |\Z)""",
    re.VERBOSE,
)
_VALUE = f'"{ELIDED}"'
_MEMBER = f"{_VALUE}:{_VALUE}"
_DEEPEST = 500
_KEY, _COLON, _ITEM, _COMMA, _END = "key", "colon", "item", "comma", "end"


def mend_elisions(text: str) -> str | None:
    """Returns the JSON value of a text in which dots stand for something, without blanks.

    Args:
        text: the text.

    Returns:
        The value as JSON; None if there are no such dots, or if it is no JSON but for them.
    """
    if ".." not in text and "…" not in text:
        return None
    reader = _Reader()
    place = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            return None
        if token.lastgroup is not None and not reader.take(token.lastgroup, token[token.lastgroup]):
            return None
        place = token.end()
    return reader.mended


class _Reader:
    """Copies one JSON value token by token, with a member or item in place of each elision."""

    def __init__(self) -> None:
        self._written: list[str] = []
        self._open: list[str] = []
        """The brackets that are open."""
        self._dotted: list[bool] = []
        """Of each, whether dots were written there."""
        self._next = _ITEM
        """What may come; for `_KEY` and `_ITEM` a closing bracket too if the last one opened."""
        self._has_dots = False

    @property
    def mended(self) -> str | None:
        """The value; None if it is not whole, or had nothing to be mended."""
        return "".join(self._written) if self._next == _END and self._has_dots else None

    def take(self, kind: str, token: str) -> bool:
        """Takes the next token; returns False if none like it may come here."""
        if kind == "dots":
            self._has_dots = True
            return self._take_dots()
        if kind == "mark" and token in "]}":
            return self._close(token)
        if self._next == _COMMA and token != "," and self._written[-1] in (_MEMBER, _VALUE):
            self._write(",", self._inside)  # {... "id": 1}
        if kind == "mark" and token in "[{":
            return self._next == _ITEM and self._begin(token)
        if token == ":":
            return self._next == _COLON and self._write(token, _ITEM)
        if token == ",":
            return self._next == _COMMA and self._write(token, self._inside)
        if self._next == _KEY:
            return kind == "string" and self._write(token, _COLON)
        return self._next == _ITEM and self._write(token, self._after)

    @property
    def _inside(self) -> str:
        return _KEY if self._open[-1] == "{" else _ITEM

    @property
    def _after(self) -> str:
        return _COMMA if self._open else _END

    def _write(self, token: str, then: str) -> bool:
        self._written.append(token)
        self._next = then
        return True

    def _begin(self, bracket: str) -> bool:
        self._open.append(bracket)
        self._dotted.append(False)
        self._write(bracket, self._inside)
        return len(self._open) <= _DEEPEST

    def _close(self, bracket: str) -> bool:
        opened = "{" if bracket == "}" else "["
        is_empty = bool(self._written) and self._written[-1] == opened
        if not self._open or self._open[-1] != opened or not (is_empty or self._next == _COMMA):
            return False
        self._open.pop()
        self._dotted.pop()
        return self._write(bracket, self._after)

    def _take_dots(self) -> bool:
        if not self._open or self._next == _COLON:
            return False
        if self._written[-1] == ":":
            return self._write(_VALUE, _COMMA)
        if self._dotted[-1]:  # one member for all dots of an object, one item for those of an array
            if self._written[-1] == ",":
                self._written.pop()
        else:
            self._dotted[-1] = True
            if self._next == _COMMA:
                self._written.append(",")
            self._written.append(_MEMBER if self._open[-1] == "{" else _VALUE)
        self._next = _COMMA
        return True
