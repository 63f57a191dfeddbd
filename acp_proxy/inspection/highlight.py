"""Writes JSON in many lines without changing it: what was sent stays, only spaces are new.

The text is cut into tokens and never parsed into values, so numbers keep their form, objects a name
that stands twice, and strings their escapes, letters apart. Tokens are read as lines are asked for,
and there is an end to what is written, however large or deep the message is.
"""

import re
from collections.abc import Iterator
from enum import Enum

from attrs import define, field

from acp_proxy.safe_text import visible
from acp_proxy.wording import byte_size

LONGEST = 1 << 20
"""Characters that are written before the rest is cut."""
_DEEPEST = 60
"""Levels that are indented; deeper ones are not read by people."""
_SHOWN = 32
"""Characters of a base64 text that are left where it is not written out."""
_TOKEN = re.compile(
    rb'[ \t\r\n]*+(?:(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<number>-?[0-9][0-9.eE+-]*+)'
    rb"|(?P<word>true|false|null)|(?P<sign>[{}\[\],:])|(?P<other>.))",
    re.DOTALL,
)
_ESCAPE = re.compile(
    r"\\(?:u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|.)"
)
_BASE64 = re.compile(rb'"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{200,}+={0,2}"')


class TokenKind(Enum):
    """What a piece of a line is."""

    SPACE = "space"
    SIGN = "sign"
    KEY = "key"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"
    """true, false and null."""
    OTHER = "other"
    """No JSON."""
    NOTE = "note"
    """Words of ours."""


Piece = tuple[TokenKind, str]


def pretty(raw: bytes, *, elide: bool = False, longest: int = LONGEST) -> Iterator[list[Piece]]:
    """Yields the lines of a message, each in pieces that hold no control characters.

    Args:
        raw: the message; what is no JSON in it, and all that follows, is written as it is.
        elide: whether long base64 texts are replaced by their size.
        longest: how many characters there are at the most, before a note that the rest is cut.
    """
    layout = _Layout(raw, elide)
    written = 0
    for line in layout.lines():
        room = longest - written
        written += sum(len(text) for _, text in line)
        if written > longest:
            note = f"… cut: all of it is {byte_size(len(raw))}"
            yield [*_cut(line, room), (TokenKind.NOTE, note)]
            return
        yield line


def _cut(line: list[Piece], room: int) -> Iterator[Piece]:
    for role, text in line:
        yield role, text[:room]
        room -= len(text)
        if room <= 0:
            return


@define
class _Layout:
    """Where lines break, and what each string is."""

    raw: bytes
    elide: bool
    line: list[Piece] = field(factory=list)
    open: list[bool] = field(factory=list)
    """For each level, whether it is an object."""
    fresh: bool = False
    """Whether a level has just begun."""
    names: bool = False
    """Whether a string would be a name."""

    def lines(self) -> Iterator[list[Piece]]:
        for match in _TOKEN.finditer(self.raw):
            kind = match.lastgroup or ""
            if kind == "other":
                rest = self.raw[match.start(kind) : match.start(kind) + LONGEST + 1]
                self.line.append((TokenKind.OTHER, _text(rest)))
                break
            yield from self._token(kind, match[kind])
        yield self.line

    def _token(self, kind: str, token: bytes) -> Iterator[list[Piece]]:
        closing = token in (b"}", b"]")
        if closing and self.open:
            self.open.pop()
        if closing != self.fresh and (closing or self.fresh):  # not between the two of `{}`
            yield self._break()
        self.fresh = False
        self._put(kind, token)
        if kind == "sign" and token in (b"{", b"["):
            self.open.append(token == b"{")
            self.fresh = True
        if token == b"," and kind == "sign":
            yield self._break()
        self.names = kind == "sign" and token in (b"{", b",") and bool(self.open and self.open[-1])

    def _break(self) -> list[Piece]:
        done = self.line
        self.line = [(TokenKind.SPACE, "  " * min(len(self.open), _DEEPEST))] if self.open else []
        return done

    def _put(self, kind: str, token: bytes) -> None:
        if token == b":":
            self.line.append((TokenKind.SIGN, ": "))
        elif self.elide and len(token) > 200 and _BASE64.fullmatch(token):
            self.line.append((TokenKind.STRING, f"{_text(token[:_SHOWN])}…"))
            self.line.append((TokenKind.NOTE, f" base64 of {byte_size((len(token) - 2) * 3 // 4)}"))
        else:
            role = TokenKind.KEY if kind == "string" and self.names else TokenKind(kind)
            self.line.append((role, _text(token)))


def _text(token: bytes) -> str:
    text = token[: LONGEST + 1].decode(errors="backslashreplace")
    return visible(_ESCAPE.sub(_readable, text) if "\\u" in text else text)


def _readable(escape: re.Match[str]) -> str:
    """Writes out a letter that was sent as a number; what is no letter stays as it was sent."""
    if escape[2]:
        character = chr(
            0x10000 + ((int(escape[1], 16) & 0x3FF) << 10) + (int(escape[2], 16) & 0x3FF)
        )
    else:
        character = chr(int(escape[3], 16)) if escape[3] else ""
    return character if character.isprintable() and not character.isascii() else escape[0]
