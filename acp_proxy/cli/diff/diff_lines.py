"""The lines about one difference: a frame, or a place where two frames differ."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from acp_proxy.base.limits import SHORT_LIST, SHOWN_LINE, STRING, TITLE
from acp_proxy.base.text_diff import excerpts, readable_diff
from acp_proxy.base.wording import counted, visible
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
"""For each kind of change, its mark, its colour and its meaning."""
_SIDES = {"a": Change.ONLY_A, "b": Change.ONLY_B, None: Change.CHANGED}


class DiffLines:
    """Makes lines that fit a screen.

    Args:
        screen: the screen.
        newest: about the largest frame number; it sets the width of the columns of numbers.
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
        first = (f"{indent}{mark} ", ink, True)
        pointer = piece(place.pointer or "(the whole message)")
        longest = SHOWN_LINE if self._screen.columns is None else self._screen.columns * 3
        sides = [
            (sign, ink, _lines(value, longest))
            for side, sign, ink, value in (
                ("a", "- ", Ink.TROUBLE, place.a),
                ("b", "+ ", Ink.TO_CLIENT, place.b),
            )
            if place.only in (side, None)
        ]
        line = [pointer]
        for (_, value_ink, lines), before in zip(sides, ("  ", " → "), strict=False):
            line += [piece(before, Ink.FAINT), piece(lines[0], value_ink)]
        width = columns_of(text_of([first, *line]))
        if all(len(lines) == 1 for *_, lines in sides) and width <= (
            self._screen.columns or STRING
        ):
            yield self._screen.line(first, *line)
            return
        yield from self._screen.wrapped(first, pointer)
        deeper = f"{indent}    "
        if pieces := readable_diff(place.a, place.b, longest):
            yield from self._excerpts(pieces, deeper)
            return
        for sign, ink, lines in sides:
            for text in lines[:SHORT_LIST]:
                lead = deeper if place.only else f"{deeper}{sign}"
                yield from self._screen.wrapped((lead, ink, False), piece(text, ink))
            yield from self._omitted(len(lines) - SHORT_LIST, "line", deeper)

    def _omitted(self, count: int, noun: str, indent: str) -> Iterator[str]:
        if count > 0:
            more = f"{indent}… and {counted(count, f'more {noun}')}"
            yield self._screen.line((more, Ink.FAINT, False))

    def _excerpts(self, words: Sequence[tuple[str, str]], indent: str) -> Iterator[str]:
        """Yields excerpts of a text: each change with a few words before and after it."""
        shown = list(excerpts(words))
        for excerpt in shown[:SHORT_LIST]:
            pieces = [self._word_piece(op, text) for op, text in excerpt]
            yield from self._screen.wrapped((indent, None, False), *pieces)
        yield from self._omitted(len(shown) - SHORT_LIST, "place", indent)

    def _word_piece(self, op: str, text: str) -> Piece:
        if op == "=":
            return piece(_escaped(text))
        shown = _cut(_escaped(text[: TITLE + 1]), TITLE, len(text))
        if not self._screen.color or not shown.strip():
            shown = f"[-{shown}-]" if op == "-" else f"{{+{shown}+}}"
        return piece(shown, Ink.TROUBLE) if op == "-" else piece(shown, Ink.TO_CLIENT, bold=True)


def _preview(entry: DiffEntry) -> str:
    """Returns the preview of an entry, without a first word that repeats the title's last word."""
    word = entry.title.rpartition(" ")[2]
    text = (entry.preview or "").removeprefix(f"{word}: ")
    return f"  {text}" if text else ""


def _runs(entry: DiffEntry) -> str:
    """Returns the number of chunks in an entry, such as `` ×3``; empty for a single frame."""
    counts = [n for n in (entry.a_frames, entry.b_frames) if n]
    if max(counts, default=1) < 2:
        return ""
    return " ×" + " / ×".join(str(n) for n in dict.fromkeys(counts))


def _lines(value: Any, longest: int) -> list[str]:
    """Returns the lines that show a value, each cut to `longest` characters; see `_members`."""
    try:
        lines = [*_members(value)]
    except RecursionError:
        return ["(nested too deeply)"]
    return [_cut(visible(line[: longest + 1]), longest, len(line)) for line in lines]


def _members(value: Any, name: str = "") -> Iterator[str]:
    """Yields the lines of a text or, for an object or an array, the lines of each member."""
    if isinstance(value, str) and "\n" in value[:-1]:
        yield from filter(None, [name])
        yield from (f"{'  ' * bool(name)}{line}" for line in value.splitlines())
    elif isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in items:
            yield from _members(member, f"{name}/{key}")
    else:
        yield f"{name}  {json.dumps(value, ensure_ascii=False)}".lstrip()


def _cut(text: str, longest: int, length: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({length:,} characters)"


def _escaped(text: str) -> str:
    """Returns a part of a string on one line, with the escapes of JSON."""
    return visible(json.dumps(text, ensure_ascii=False)[1:-1])
