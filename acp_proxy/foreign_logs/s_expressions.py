"""Reads what Emacs prints of Lisp values: lists, pairs, vectors, strings, numbers and symbols.

A value that is printed once and named elsewhere (``#1=`` and ``#1#``) is read again at each place,
within limits.
"""

import re
from math import isinf
from typing import Any

from attrs import define, field, frozen

_TOKEN = re.compile(
    r"""(?:\s|;[^\n]*\n?)*+(?:
    (?P<mark>[()\[\]])
    |(?P<quote>\#?'|`|,@|,)
    |(?P<label>\#\d+[=\#])
    |\#?(?P<string>"(?:[^"\\]++|\\.)*+")
    |(?P<symbol>\#\#|(?:[^\s()\[\]"';\\]|\\.)++)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NUMBER = re.compile(r"[+-]?\d+\.?|[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]+)(?:\\ )?|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SPELLED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "e": "\x1b", "b": "\b", "a": "\a",
            "v": "\v", "d": "\x7f", "s": " ", "\n": "", " ": ""}  # fmt: skip
_DEEPEST = 400
_MOST_VALUES = 1 << 20
"""Values of one expression, those that are named again counted at each place."""
_VALUE_SIZE = 64
"""A string counts as a value for each so many characters."""
_MOST_LABELS = 10_000
_QUOTES = {"'": "quote", "#'": "function", "`": "`", ",": ",", ",@": ",@"}


@frozen
class Symbol:
    """A name that is not quoted."""

    name: str


@frozen
class Pair:
    """What is printed as ``(a . b)``; a longer list is a pair whose end is a pair or nil."""

    head: Any
    tail: Any


NIL = Symbol("nil")


class NotLisp(ValueError):
    """Raised when a text is not what Emacs prints."""


@define
class Labels:
    """Values of a file that are named elsewhere in it, and how many values each has in it."""

    values: dict[str, Any] = field(factory=dict)
    sizes: dict[str, int] = field(factory=dict)


def read_expression(text: str, labels: Labels | None = None) -> Any:
    """Reads one value: `Pair`, `Symbol`, tuple for a vector, str, int or float.

    Args:
        text: the value.
        labels: those of the file before it; those in the value are added.

    Raises:
        NotLisp: it is none, or it is nested too deeply or too large.
    """
    reader = _Reader(text, labels or Labels())
    value = reader.value(0)
    if reader.peek() is not None:
        raise NotLisp("expected one value, got more")
    return value


class _Reader:
    def __init__(self, text: str, labels: Labels) -> None:
        self._labels = labels
        self._next: re.Match[str] | None = None
        self._text = text
        self._end = 0
        self._values = 0

    def peek(self) -> re.Match[str] | None:
        """Returns the next token; None at the end."""
        if self._next is None:
            self._next = _TOKEN.match(self._text, self._end)
            if self._next is None and self._text[self._end :].strip():
                raise NotLisp(f"expected a value, got {self._text[self._end :].strip()[:20]!r}")
        return self._next

    def _take(self) -> re.Match[str]:
        match = self.peek()
        if match is None:
            raise NotLisp("expected a value, got the end")
        self._next, self._end = None, match.end()
        return match

    def value(self, depth: int) -> Any:
        """Reads the next value."""
        self._values += 1
        if depth > _DEEPEST or self._values > _MOST_VALUES:
            raise NotLisp("nested too deeply, or too large")
        match = self._take()
        kind = match.lastgroup
        if kind == "string":
            self._values += len(match["string"]) // _VALUE_SIZE
            return _string(match["string"])
        if kind == "symbol":
            return _atom(match["symbol"])
        if kind == "label":
            return self._labelled(match["label"], depth)
        if kind == "quote":
            return Pair(Symbol(_QUOTES[match["quote"]]), Pair(self.value(depth + 1), NIL))
        if match["mark"] == "(":
            return self._list(depth)
        if match["mark"] == "[":
            items: list[Any] = []
            while not self._is_next("]"):
                items.append(self.value(depth + 1))
            self._take()
            return tuple(items)
        raise NotLisp(f"expected a value, got {match['mark']!r}")

    def _labelled(self, label: str, depth: int) -> Any:
        name, labels = label[1:-1], self._labels
        if label.endswith("#"):
            if name not in labels.values:
                raise NotLisp(f"expected a value named before, got {label}")
            self._values += labels.sizes[name]
            return labels.values[name]
        before = self._values
        value = self.value(depth + 1)
        if len(labels.values) < _MOST_LABELS:
            labels.values[name], labels.sizes[name] = value, self._values - before
        return value

    def _list(self, depth: int) -> Any:
        items: list[Any] = []
        tail: Any = NIL
        while not self._is_next(")"):
            if items and self._is_next("."):
                self._take()
                tail = self.value(depth + 1)
                if not self._is_next(")"):
                    raise NotLisp("expected one value after a dot")
                break
            items.append(self.value(depth + 1))
        self._take()
        for item in reversed(items):
            tail = Pair(item, tail)
        return tail

    def _is_next(self, token: str) -> bool:
        match = self.peek()
        if match is None:
            raise NotLisp(f"expected {token!r}, got the end")
        return (match["mark"] or match["symbol"]) == token


def _string(token: str) -> str:
    return _ESCAPE.sub(_character, token[1:-1])


def _character(match: re.Match[str]) -> str:
    octal, hexadecimal, short, letter = match.groups()
    if letter is not None:
        return _SPELLED.get(letter, letter)
    code = int(octal, 8) if octal else int(hexadecimal or short, 16)
    return chr(code) if code < 0x110000 else "\ufffd"


def _atom(token: str) -> Any:
    if _NUMBER.fullmatch(token):
        try:
            whole = token.removesuffix(".")
            number = int(whole) if whole.lstrip("+-").isdigit() else float(token)
        except ValueError:
            raise NotLisp("a number has too many digits") from None
        if isinstance(number, float) and isinf(number):
            raise NotLisp("a number is too large")
        return number
    return Symbol("" if token == "##" else re.sub(r"\\(.)", r"\1", token, flags=re.DOTALL))
