"""Shows a line to a person: JSON on many lines, its long texts unfolded, and its bytes in hex.

JSON is only laid out: the line is cut into tokens and never parsed into values. So numbers keep
their form, objects keep repeated names, and strings keep their escapes, except for escaped letters.
Tokens are read when a line of the output is needed, and the output is limited for messages of any
size or depth.
"""

import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from typing import Any

from attrs import define, field

from acp_proxy.base.limits import LONG_LIST, SHOWN_FRAME, WHOLE_LINE
from acp_proxy.base.text_diff import unified
from acp_proxy.base.wording import byte_size, visible
from acp_proxy.explain.describe.phrases import from_base64, is_base64, message_of, part, parts, word
from acp_proxy.explain.search.search_patterns import ESCAPE, undone
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.updates import kind_and_update

_DEEPEST = 60
"""The largest number of levels that are indented."""
_SHOWN = 32
"""How many characters of an elided base64 text are shown."""
_TOKEN = re.compile(
    rb'[ \t\r\n]*+(?:(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<number>-?[0-9][0-9.eE+-]*+)'
    rb"|(?P<word>true|false|null)|(?P<sign>[{}\[\],:])|(?P<other>.))",
    re.DOTALL,
)

_BASE64 = re.compile(rb'"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{200,}+={0,2}"')
_LONG, _COLUMNS = 160, 100
"""The largest length of a one-line text that is not wrapped, and the width of wrapped lines."""
_AS_IT_IS: dict[str, Any] = {
    "expand_tabs": False,
    "replace_whitespace": False,
    "break_long_words": False,
    "break_on_hyphens": False,
}
_DEEPEST_UNFOLDED = 40
_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·", "cancelled": "✗", "failed": "✗"}
_UNDECODED = re.compile("([\udc80-\udcff]+)")
_ROW = 16
_MOST_ROWS = 32
"""The largest number of rows of bytes; ``--raw`` shows all bytes."""

Unfolded = tuple[str, list[str]]
"""A place as a JSON pointer, and its lines, which may contain control characters."""


class TokenKind(Enum):
    """The kind of a piece of a line."""

    SPACE = "space"
    SIGN = "sign"
    KEY = "key"
    STRING = "string"
    NUMBER = "number"
    WORD = "word"
    """true, false and null."""
    OTHER = "other"
    """Not JSON."""
    NOTE = "note"
    """Added by acp-proxy."""


Piece = tuple[TokenKind, str]


def pretty(raw: bytes, *, elide: bool = False, longest: int = SHOWN_FRAME) -> Iterator[list[Piece]]:
    """Yields the lines of a message, each in pieces without control characters.

    Args:
        raw: the message; the part after the first place that is not JSON is shown unchanged.
        elide: whether long base64 texts are replaced by their size.
        longest: the largest number of characters; a note replaces all further characters.
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
    """Decides where lines break, and which strings are names."""

    raw: bytes
    elide: bool
    line: list[Piece] = field(factory=list)
    open: list[bool] = field(factory=list)
    """Whether each open level is an object."""
    fresh: bool = False
    """Whether a level has just begun."""
    names: bool = False
    """Whether the next string is a name."""

    def lines(self) -> Iterator[list[Piece]]:
        for match in _TOKEN.finditer(self.raw):
            kind = match.lastgroup or ""
            if kind == "other":
                rest = self.raw[match.start(kind) : match.start(kind) + SHOWN_FRAME + 1]
                self.line.append((TokenKind.OTHER, _text(rest)))
                break
            yield from self._token(kind, match[kind])
        yield self.line

    def _token(self, kind: str, token: bytes) -> Iterator[list[Piece]]:
        closing = token in (b"}", b"]")
        if closing and self.open:
            self.open.pop()
        if closing != self.fresh and (closing or self.fresh):  # no break between `{` and `}`
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
        ended = self.line
        self.line = [(TokenKind.SPACE, "  " * min(len(self.open), _DEEPEST))] if self.open else []
        return ended

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
    text = token[: SHOWN_FRAME + 1].decode(errors="backslashreplace")
    return visible(ESCAPE.sub(_readable, text) if "\\u" in text else text)


def _readable(escape: re.Match[str]) -> str:
    """Returns the letter of an escape; any other escape is returned unchanged."""
    character = undone(escape[0]) if escape[4] is None else ""
    return character if character.isprintable() and not character.isascii() else escape[0]


def unfolded(raw: bytes) -> Iterator[Unfolded]:
    """Yields the plan, the diffs and the long texts of a message as lines; never raises.

    In JSON a file of a hundred lines is one string with a hundred escapes. A text of one long line
    is wrapped, and the output of a terminal is decoded (in v2 it is base64). A very large message,
    or one that is not an object, yields nothing.
    """
    message = message_of(raw) if len(raw) <= WHOLE_LINE else {}
    kind, update = kind_and_update(part(message, "params"))
    if kind in ("terminal_output_chunk", "terminal_update") and (
        output := from_base64(update.get("data", part(update, "output").get("data")))
    ):
        name = "data" if "data" in update else "output/data"
        text = output.decode(errors="replace")
        yield f"/params/update/{name}", _first_lines(_lines(text))
    if entries := parts(update, "entries") or parts(update, "steps"):
        yield "plan", _first_lines([_entry(entry) for entry in entries])
    yield from _unfold(message, "", 0)


def _entry(entry: dict[str, Any]) -> str:
    status, priority = word(entry, "status"), word(entry, "priority")
    name = word(entry, "content", "description")
    return f"{_MARKS.get(status, status or '·')} {name}" + (f" ({priority})" if priority else "")


def _unfold(value: object, place: str, depth: int) -> Iterator[Unfolded]:
    if depth > _DEEPEST_UNFOLDED:
        return
    match value:
        case str() if "\n" in value.rstrip("\n"):
            yield place, _first_lines(_lines(value))
        case str() if len(value) > _LONG and " " in value and not is_base64(value):
            yield place, _first_lines(textwrap.wrap(value, _COLUMNS, **_AS_IT_IS))
        case list():
            for number, item in enumerate(value):
                yield from _unfold(item, f"{place}/{number}", depth + 1)
        case dict():
            compared = _compared(value)
            if compared is not None:
                yield f"{place} {word(value, 'path')}".rstrip(), _first_lines(compared)
            for key, inner in value.items():
                if compared is None or key not in ("oldText", "newText"):
                    yield from _unfold(inner, place + pointer((key,)), depth + 1)


def _compared(value: dict[str, Any]) -> list[str] | None:
    """Returns the lines of a diff of old and new text (v1); None for anything else."""
    new, old = value.get("newText"), value.get("oldText") or ""
    if not isinstance(new, str) or not isinstance(old, str):
        return None
    return [*unified(old, new)]


def _lines(text: str) -> list[str]:
    """Returns the lines of a text; only a newline ends a line, and tabs become spaces."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [line.expandtabs() for line in lines]


def _first_lines(lines: list[str]) -> list[str]:
    more = len(lines) - LONG_LIST
    return lines if more <= 0 else [*lines[:LONG_LIST], f"… and {more:,} more lines"]


def hex_view(raw: bytes) -> Iterator[str]:
    """Yields rows of sixteen bytes: the rows with bytes that are not UTF-8, and the rows around."""
    before = -1
    for number, row in enumerate(_shown_rows(raw)):
        if number == _MOST_ROWS:
            yield "…"
            return
        if row != before + 1:
            yield "…"
        before = row
        yield _hex_row(raw, row * _ROW)
    if 0 <= before < (len(raw) - 1) // _ROW:
        yield "…"


def _shown_rows(raw: bytes) -> Iterator[int]:
    following = 0
    last = (len(raw) - 1) // _ROW
    for place in _not_text(raw):
        wanted = place // _ROW
        for row in range(max(following, wanted - 1), min(wanted + 1, last) + 1):
            yield row
            following = row + 1


def _not_text(raw: bytes) -> Iterator[int]:
    """Yields the positions of the bytes that cannot be decoded."""
    start = 0
    for piece in _UNDECODED.split(raw.decode(errors="surrogateescape")):
        end = start + len(piece.encode(errors="surrogateescape"))
        if _UNDECODED.match(piece):
            yield from range(start, end)
        start = end


def _hex_row(raw: bytes, start: int) -> str:
    some = raw[start : start + _ROW]
    text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in some)
    return f"{start:08x}  {some.hex(' '):<{_ROW * 3 - 1}}  {text}"
