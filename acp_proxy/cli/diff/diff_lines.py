"""The lines about one difference: a frame, or a place where two frames differ."""

import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from acp_proxy.base.limits import SHORT_LIST, SHOWN_LINE, STRING, TITLE
from acp_proxy.base.text_diff import excerpts, readable_diff
from acp_proxy.base.wording import visible
from acp_proxy.cli.screens.styled_text import (
    STREAM_INKS,
    Ink,
    Piece,
    Screen,
    columns_of,
    piece,
    text_of,
)
from acp_proxy.diff.diff_result import Change, DiffEntry, Field
from acp_proxy.explain.log.timeline import ARROWS

MARKS = {
    Change.ONLY_A: ("-", Ink.TROUBLE, "only in A"),
    Change.ONLY_B: ("+", Ink.TO_CLIENT, "only in B"),
    Change.CHANGED: ("~", Ink.STDERR, "changed"),
    Change.MOVED: (">", Ink.TO_AGENT, "moved"),
}
"""The mark of each change, and its meaning."""
_SIDES = {"a": Change.ONLY_A, "b": Change.ONLY_B, None: Change.CHANGED}


class DiffLines:
    """Makes lines that fit a screen.

    Args:
        screen: the screen.
        newest: roughly the largest frame number, which sets the width of the numbers.
    """

    def __init__(self, screen: Screen, newest: int = 0) -> None:
        self._screen = screen
        self._number = max(4, len(str(newest)) + 1)

    def entry(self, entry: DiffEntry) -> Iterator[str]:
        """Yields the line of a frame or a run of chunks, and the lines of its differing places."""
        mark, ink, _ = MARKS[entry.change]
        of_a, of_b = (f"#{number}" if number else "" for number in (entry.a, entry.b))
        numbers = f" {of_a:>{self._number}} {of_b:>{self._number}}  "
        yield self._screen.line(
            (mark, ink, True),
            (numbers, Ink.FAINT, False),
            piece(f"{ARROWS.get(entry.direction, '')} ", STREAM_INKS.get(entry.direction)),
            piece(entry.title, ink),
            (_runs(entry), Ink.FAINT, False),
            piece(_preview(entry)),
        )
        for place in entry.fields:
            yield from self.field(place, "    ", is_marked=False)

    def field(self, place: Field, indent: str = "", *, is_marked: bool = True) -> Iterator[str]:
        """Yields the lines about one differing place.

        Args:
            place: the place.
            indent: the text before the mark.
            is_marked: whether a changed value has a mark.
        """
        change = _SIDES[place.only]
        mark, ink, _ = MARKS[change]
        if change is Change.CHANGED and not is_marked:
            mark, ink = " ", Ink.FAINT
        pointer = piece(place.pointer or "(the whole message)")
        longest = SHOWN_LINE if self._screen.columns is None else self._screen.columns * 3
        values = [*_values(place, longest)]
        line = [pointer, piece("  "), *values]
        if self._fits(indent, line, change):
            yield self._screen.line((f"{indent}{mark} ", ink, True), *line)
            return
        yield from self._screen.wrapped((f"{indent}{mark} ", ink, True), pointer)
        deeper = f"{indent}    "
        if change is not Change.CHANGED:
            yield from self._screen.wrapped((deeper, None, False), *values)
        elif pieces := readable_diff(place.a, place.b, longest):
            yield from self._excerpts(pieces, deeper)
        else:
            yield from self._screen.wrapped((f"{deeper}- ", Ink.TROUBLE, False), values[0])
            yield from self._screen.wrapped((f"{deeper}+ ", Ink.TO_CLIENT, False), values[-1])

    def _fits(self, indent: str, line: list[Piece], change: Change) -> bool:
        most = self._screen.columns
        if most is None:
            most = STRING if change is Change.CHANGED else sys.maxsize
        return len(indent) + 2 + columns_of(text_of(line)) <= most

    def _excerpts(self, words: Sequence[tuple[str, str]], indent: str) -> Iterator[str]:
        """Yields excerpts of a text: each change with a few words before and after it."""
        shown = list(excerpts(words))
        for excerpt in shown[:SHORT_LIST]:
            pieces = [self._word_piece(op, text) for op, text in excerpt]
            yield from self._screen.wrapped((indent, None, False), *pieces)
        if len(shown) > SHORT_LIST:
            more = f"… and {len(shown) - SHORT_LIST:,} more places"
            yield self._screen.line((indent, None, False), (more, Ink.FAINT, False))

    def _word_piece(self, op: str, text: str) -> Piece:
        if op == "=":
            return piece(_escaped(text))
        shown = _cut(_escaped(text[: TITLE + 1]), TITLE, len(text))
        if not self._screen.color or not shown.strip():
            shown = f"[-{shown}-]" if op == "-" else f"{{+{shown}+}}"
        return piece(shown, Ink.TROUBLE) if op == "-" else piece(shown, Ink.TO_CLIENT, bold=True)


def _preview(entry: DiffEntry) -> str:
    """Returns the preview of a frame without the last word of its title."""
    word = entry.title.rpartition(" ")[2]
    text = (entry.preview or "").removeprefix(f"{word}: ")
    return f"  {text}" if text else ""


def _runs(entry: DiffEntry) -> str:
    """Returns the number of frames in a run of chunks, in words."""
    counts = [n for n in (entry.a_frames, entry.b_frames) if n]
    if max(counts, default=1) < 2:
        return ""
    return " ×" + " / ×".join(str(n) for n in dict.fromkeys(counts))


def _values(place: Field, longest: int) -> Iterator[Piece]:
    if place.only != "b":
        yield piece(_shown(place.a, longest), Ink.TROUBLE)
    if place.only is None:
        yield piece(" → ", Ink.FAINT)
    if place.only != "a":
        yield piece(_shown(place.b, longest), Ink.TO_CLIENT)


def _shown(value: Any, longest: int) -> str:
    """Returns a value as JSON, shortened if it is very long."""
    if isinstance(value, str):
        text = visible(json.dumps(value[: longest + 1], ensure_ascii=False))
        return _cut(text, longest, len(value))
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"
    return _cut(text, longest, len(text))


def _cut(text: str, longest: int, length: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({length:,} characters)"


def _escaped(text: str) -> str:
    """Returns a part of a string with the escapes of JSON, on one line."""
    return visible(json.dumps(text, ensure_ascii=False)[1:-1])
