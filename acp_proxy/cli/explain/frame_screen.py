"""Prints one frame or event in full: its labels, its message, and the other half of its exchange.

The message is laid out as JSON, one value on each line. The long texts of the message follow, line
by line. Bytes that are not UTF-8 are printed in hex.

The JSON is cut into tokens and is never parsed into values. So numbers, repeated names and most
escapes are printed as they were sent, and a message may have any size and depth.
"""

import re
import textwrap
from collections.abc import Iterator
from itertools import islice
from typing import Any

from attrs import define, field, frozen

from acp_proxy.base.limits import LONG_LIST, SHOWN_FRAME, WHOLE_LINE
from acp_proxy.base.text_diff import unified
from acp_proxy.base.wording import byte_size, visible
from acp_proxy.cli.explain.log_screen import TimelineLayout
from acp_proxy.cli.screens.recording_page import LABEL
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece, text_of
from acp_proxy.explain.describe.phrases import from_base64, is_base64, message_of, part, parts, word
from acp_proxy.explain.log.frame_json import facts
from acp_proxy.explain.log.timeline import event_line
from acp_proxy.explain.observed_faults import delivered_instead
from acp_proxy.explain.search.search_patterns import ESCAPE, undone
from acp_proxy.protocol.json_text import pointer
from acp_proxy.protocol.jsonrpc import MESSAGE_KINDS
from acp_proxy.protocol.updates import kind_and_update
from acp_proxy.store.tables.checked_values import Row, is_excerpt

_TERMINAL_LONGEST = 100_000
"""The largest number of characters of a message that are shown on a terminal."""
_PAIR_LONGEST = 20_000
"""The largest number of characters that are printed of the paired frame: the request of an answer,
or the answer to a request."""
_DIFF_INKS = {"-": Ink.TROUBLE, "+": Ink.TO_CLIENT, "@": Ink.FAINT}
_DEEPEST = 60
"""The number of levels of JSON that are indented."""
_SHOWN = 32
"""The number of characters that are shown of a base64 text, before its size."""
_TOKEN = re.compile(
    rb'[ \t\r\n]*+(?:(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<number>-?[0-9][0-9.eE+-]*+)'
    rb"|(?P<word>true|false|null)|(?P<sign>[{}\[\],:])|(?P<other>.))",
    re.DOTALL,
)
_INKS = {
    "name": Ink.TO_AGENT, "string": Ink.TO_CLIENT, "number": Ink.STDERR, "word": Ink.PERMISSION,
    "other": Ink.TROUBLE,
}  # fmt: skip
"""The colour of each kind of token. Text that is not JSON has the kind *other*."""
_BASE64 = re.compile(rb'"(?:data:[\w/+.-]+;base64,)?[A-Za-z0-9+/_-]{200,}+={0,2}"')
_LONG, _COLUMNS = 160, 100
"""A text of one line that is longer than `_LONG` characters is wrapped to `_COLUMNS` characters."""
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
"""The largest number of rows of bytes that are printed in hex."""

Unfolded = tuple[str, list[str]]
"""The JSON pointer of a text, and the lines of the text, which may contain control characters."""


@frozen
class FramePage:
    """Lays out frames and events in full."""

    layout: TimelineLayout

    def lines(self, row: Row, pair: Row | None) -> Iterator[str]:
        """Yields the lines about a frame or event, and about its paired frame.

        Args:
            row: the frame or event.
            pair: the paired frame: the request of an answer, or the answer to a request; None if
                there is none.
        """
        yield self._title(row)
        for member in self.layout.member_lines(row):
            yield self.layout.text(member)
        for name, value in facts(row, self.layout.recording, live=self.layout.live):
            if value not in (None, ""):
                label = piece(f"{name:<{LABEL}}", Ink.FAINT)
                yield self.layout.screen.whole(piece("  "), label, piece(str(value)))
        longest = _TERMINAL_LONGEST if self._on_terminal else SHOWN_FRAME
        yield from self._content(row, longest)
        yield from self._unfolded(row)
        if "raw" in row and (instead := delivered_instead(row)) is not None:
            yield ""
            yield self._note("delivered in its place:")
            yield from self._text(instead, longest)
        if pair is not None:
            yield ""
            yield self._title(pair)
            yield from self._content(pair, _PAIR_LONGEST)
            yield from self._unfolded(pair)

    def _title(self, row: Row) -> str:
        if "raw" not in row:
            return self.layout.text(event_line(row))
        return self.layout.text(self.layout.frame_line(row))

    def _content(self, row: Row, longest: int) -> Iterator[str]:
        if "raw" in row and is_excerpt(row):
            yield from self._text(bytes(row["raw"]), min(longest, len(row["raw"]) - 1), row["size"])
        elif "raw" not in row:
            yield from self._json(row["data"].encode(), longest, "--json")
        elif row["kind"] in MESSAGE_KINDS:
            hint = "--raw" if longest > _PAIR_LONGEST else f"--seq {row['seq']}"
            yield from self._json(bytes(row["raw"]), longest, hint)
        else:
            yield from self._text(bytes(row["raw"]), longest)

    def _unfolded(self, row: Row) -> Iterator[str]:
        """Yields the plans, diffs and long texts of a message, line by line."""
        if "raw" not in row or row["kind"] not in MESSAGE_KINDS or is_excerpt(row):
            return
        for place, lines in unfolded(bytes(row["raw"])):
            yield ""
            yield self._note(f"{place}:")
            is_diff = bool(lines) and lines[0].startswith("@@ -")
            for text in lines:
                ink = _DIFF_INKS.get(text[:1]) if is_diff else None
                yield self.layout.screen.whole(piece("  "), piece(text, ink))

    def _json(self, raw: bytes, longest: int, hint: str) -> Iterator[str]:
        for line in pretty(raw, elide=self._on_terminal, longest=longest):
            yield self.layout.screen.whole(*line)
            if line and line[-1][1] == Ink.FAINT and line[-1][0].startswith("… cut"):
                yield self._note(f"{hint} prints the rest")

    def _text(self, raw: bytes, longest: int, whole: int | None = None) -> Iterator[str]:
        yield visible(raw[:longest].decode(errors="backslashreplace"))
        if len(raw) > longest:
            yield self._note(f"… cut: the line has {byte_size(whole or len(raw))}; --raw prints it")
        rows = list(hex_view(raw))
        if rows:
            yield self._note("not UTF-8:")
            yield from rows

    def _note(self, text: str) -> str:
        return self.layout.screen.whole(piece(text, Ink.FAINT))

    @property
    def _on_terminal(self) -> bool:
        """Whether the output is a terminal. If so, base64 texts and long texts are shortened."""
        return self.layout.screen.columns is not None


def pretty(raw: bytes, *, elide: bool = False, longest: int = SHOWN_FRAME) -> Iterator[list[Piece]]:
    """Yields the lines of a message that is laid out as JSON, without control characters.

    Args:
        raw: the message. Any text after invalid JSON is printed unchanged.
        elide: whether long base64 texts are replaced by their size.
        longest: the largest number of characters to print; a note replaces the rest.
    """
    layout = _Layout(raw, elide)
    written = 0
    for line in layout.lines():
        room = longest - written
        written += len(text_of(line))
        if written > longest:
            note = f"… cut: the whole has {byte_size(len(raw))}"
            yield [*_cut(line, room), piece(note, Ink.FAINT)]
            return
        yield line


def _cut(line: list[Piece], room: int) -> Iterator[Piece]:
    for text, ink, bold in line:
        yield text[:room], ink, bold
        room -= len(text)
        if room <= 0:
            return


@define
class _Layout:
    """Divides the tokens of a JSON text into indented lines, and colours names and values."""

    raw: bytes
    elide: bool
    line: list[Piece] = field(factory=list)
    open: list[bool] = field(factory=list)
    """For each open object or array, the outermost first: whether it is an object."""
    fresh: bool = False
    """Whether the previous token has opened an object or an array."""
    names: bool = False
    """Whether the next string is the name of a member."""

    def lines(self) -> Iterator[list[Piece]]:
        for match in _TOKEN.finditer(self.raw):
            kind = match.lastgroup or ""
            if kind == "other":
                rest = self.raw[match.start(kind) : match.start(kind) + SHOWN_FRAME + 1]
                self.line.append(_piece(kind, rest))
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
        self.line = [piece("  " * min(len(self.open), _DEEPEST))] if self.open else []
        return ended

    def _put(self, kind: str, token: bytes) -> None:
        if token == b":":
            self.line.append(piece(": "))
        elif self.elide and len(token) > 200 and _BASE64.fullmatch(token):
            self.line.append(_piece(kind, token[:_SHOWN] + "…".encode()))
            note = f" base64 of {byte_size((len(token) - 2) * 3 // 4)}"
            self.line.append(piece(note, Ink.FAINT))
        else:
            self.line.append(_piece("name" if kind == "string" and self.names else kind, token))


def _piece(kind: str, token: bytes) -> Piece:
    text = token[: SHOWN_FRAME + 1].decode(errors="backslashreplace")
    return piece(ESCAPE.sub(_readable, text) if "\\u" in text else text, _INKS.get(kind))


def _readable(escape: re.Match[str]) -> str:
    """Decodes the JSON escape of a printable non-ASCII character; keeps any other escape."""
    character = undone(escape[0]) if escape[4] is None else ""
    return character if character.isprintable() and not character.isascii() else escape[0]


def unfolded(raw: bytes) -> Iterator[Unfolded]:
    """Yields the plan, the diffs and the long texts of a message as lines. Never raises.

    The base64 output of a terminal is decoded, and a text of one long line is wrapped. Nothing is
    yielded for a very large message, or for a message that is not an object.
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
    """Returns a diff of an object's old and new text; None if the object has no new text."""
    new, old = value.get("newText"), value.get("oldText") or ""
    if not isinstance(new, str) or not isinstance(old, str):
        return None
    return [*unified(old, new)]


def _lines(text: str) -> list[str]:
    """Splits a text into lines at newlines, and replaces tabs by spaces."""
    lines = text.replace("\r\n", "\n").removesuffix("\n").split("\n")
    return [line.expandtabs() for line in lines]


def _first_lines(lines: list[str]) -> list[str]:
    more = len(lines) - LONG_LIST
    return lines if more <= 0 else [*lines[:LONG_LIST], f"… and {more:,} more lines"]


def hex_view(raw: bytes) -> Iterator[str]:
    """Yields rows of sixteen bytes in hex: rows that are not UTF-8, and their neighbours."""
    bad = islice(_not_text(raw), _MOST_ROWS * _ROW)
    near = {place // _ROW + step for place in bad for step in (-1, 0, 1)}
    before, last = -1, (len(raw) - 1) // _ROW
    for row in sorted(row for row in near if 0 <= row <= last)[:_MOST_ROWS]:
        if row != before + 1:
            yield "…"
        some = raw[row * _ROW : (row + 1) * _ROW]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in some)
        yield f"{row * _ROW:08x}  {some.hex(' '):<{_ROW * 3 - 1}}  {text}"
        before = row
    if 0 <= before < last:
        yield "…"


def _not_text(raw: bytes) -> Iterator[int]:
    """Yields the positions of the bytes that cannot be decoded."""
    start = 0
    for text in _UNDECODED.split(raw.decode(errors="surrogateescape")):
        end = start + len(text.encode(errors="surrogateescape"))
        if _UNDECODED.match(text):
            yield from range(start, end)
        start = end
