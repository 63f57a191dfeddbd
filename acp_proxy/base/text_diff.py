"""Compares two texts, line by line or word by word, and shows each change with its context.

A comparison by words aligns words, single punctuation marks and runs of white space. Text
in a writing system that puts no spaces between words is aligned character by character. Two changes
are joined if the equal text between them is no longer than the shorter change.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from acp_proxy.base.alignment import align, gaps
from acp_proxy.base.limits import COMPARED_TEXT

Piece = tuple[str, str]
"""A mark and a text. The mark is ``=`` (in A and B), ``-`` (only in A) or ``+`` (only in B)."""

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|\s+|[^\w\s]")
_AROUND = 40
"""The largest number of characters of context on either side of a change."""
_ALIKE = 4
"""A word diff is readable if at least one in ``_ALIKE`` characters is equal in A and B."""
_LINES_AROUND = 3
"""The number of lines of context on either side of a change."""


class _Change(NamedTuple):
    """A range of A and the range of B that replaces it, in characters, tokens or lines."""

    a_start: int
    a_end: int
    b_start: int
    b_end: int

    @property
    def size(self) -> int:
        """The length of the longer range."""
        return max(self.a_end - self.a_start, self.b_end - self.b_start)


def unified(old: str, new: str) -> Iterator[str]:
    """Yields the lines of a unified diff without file names; no lines if the texts are equal.

    Args:
        old: the text before the change.
        new: the text after the change.
    """
    before, after = old.splitlines(), new.splitlines()
    for group in _grouped(_differences(before, after)):
        first, last = group[0], group[-1]
        head = min(first.a_start, _LINES_AROUND)
        tail = min(len(before) - last.a_end, _LINES_AROUND)
        place = first.a_start - head
        yield (
            f"@@ -{_span(place, last.a_end + tail)}"
            f" +{_span(first.b_start - head, last.b_end + tail)} @@"
        )
        for change in group:
            yield from (f" {line}" for line in before[place : change.a_start])
            yield from (f"-{line}" for line in before[change.a_start : change.a_end])
            yield from (f"+{line}" for line in after[change.b_start : change.b_end])
            place = change.a_end
        yield from (f" {line}" for line in before[place : place + tail])


def _grouped(changes: Iterable[_Change]) -> Iterator[list[_Change]]:
    """Groups neighbouring changes whose context lines touch or overlap."""
    group: list[_Change] = []
    for change in changes:
        if group and change.a_start - group[-1].a_end > 2 * _LINES_AROUND:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _span(start: int, end: int) -> str:
    """Writes a range of lines for a unified diff: its first line and its number of lines."""
    count = end - start
    if count == 1:
        return f"{start + 1}"
    return f"{start + 1 if count else start},{count}"


def word_diff(a: str, b: str) -> list[Piece]:
    """Compares two texts word by word. Parts of very large texts are compared line by line.

    Args:
        a: the text A.
        b: the text B.

    Returns:
        Pieces, none of them empty. The ``=`` and ``-`` pieces make up A. The ``=`` and ``+`` pieces
        make up B. In a change the ``-`` piece comes before the ``+`` piece.
    """
    pieces: list[Piece] = []
    place = 0
    for change in _joined(_changes(a, b)):
        pieces += [
            ("=", a[place : change.a_start]),
            ("-", a[change.a_start : change.a_end]),
            ("+", b[change.b_start : change.b_end]),
        ]
        place = change.a_end
    pieces.append(("=", a[place:]))
    return [piece for piece in pieces if piece[1]]


def readable_diff(a: Any, b: Any, longest: int) -> list[Piece]:
    """Compares two values word by word.

    Args:
        a: the value A.
        b: the value B.
        longest: the largest number of characters of a text that can be shown as a whole.

    Returns:
        The pieces. The list is empty if a value is not a string, or if two texts that can be shown
        as a whole have little in common.
    """
    if not (isinstance(a, str) and isinstance(b, str)):
        return []
    pieces = word_diff(a, b)
    same = sum(len(text) for op, text in pieces if op == "=")
    longer = max(len(a), len(b))
    return pieces if longer > longest or same * _ALIKE >= longer else []


def excerpts(pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yields the changes of a text, each with the text around it; close changes form one excerpt.

    An ellipsis marks omitted text.

    Args:
        pieces: the pieces that `word_diff` returned.
    """
    excerpt: list[Piece] = []
    last = len(pieces) - 1
    for number, (op, text) in enumerate(pieces):
        if op != "=":
            excerpt.append((op, text))
            continue
        before = _beginning(text) if number > 0 else ""
        after = _ending(text) if number < last else ""
        if len(before) + len(after) >= len(text):
            excerpt.append((op, text))
            continue
        if excerpt:
            yield [*excerpt, (op, f"{before}…")]
        excerpt = [(op, f"…{after}")] if after else []
    if any(op != "=" for op, _ in excerpt):
        yield excerpt


def _changes(a: str, b: str) -> Iterator[_Change]:
    whole = _Change(0, len(a), 0, len(b))
    if whole.size <= COMPARED_TEXT:
        yield from _aligned(_TOKEN, a, b, whole)
        return
    left = COMPARED_TEXT
    for change in _aligned(_LINE, a, b, whole):
        trimmed = _trimmed(a, b, change)
        if trimmed.size <= left:
            left -= trimmed.size
            yield from _aligned(_TOKEN, a, b, trimmed)
        else:
            yield trimmed


def _aligned(token: re.Pattern[str], a: str, b: str, within: _Change) -> Iterator[_Change]:
    """Aligns the tokens of two ranges of text; yields the differences as ranges of characters."""
    tokens_a = token.findall(a, within.a_start, within.a_end)
    tokens_b = token.findall(b, within.b_start, within.b_end)
    a_at = [*accumulate(map(len, tokens_a), initial=within.a_start)]
    b_at = [*accumulate(map(len, tokens_b), initial=within.b_start)]
    for difference in _differences(tokens_a, tokens_b):
        yield _Change(
            a_at[difference.a_start],
            a_at[difference.a_end],
            b_at[difference.b_start],
            b_at[difference.b_end],
        )


def _differences(a: Sequence[str], b: Sequence[str]) -> Iterator[_Change]:
    """Yields the ranges between aligned items; skips a pair of ranges if both ranges are empty."""
    for range_a, range_b in gaps(align(a, b), len(a), len(b)):
        if range_a or range_b:
            yield _Change(range_a.start, range_a.stop, range_b.start, range_b.stop)


def _trimmed(a: str, b: str, change: _Change) -> _Change:
    """Returns a change without the equal words at its start and at its end."""
    rest_a, rest_b = a[change.a_start : change.a_end], b[change.b_start : change.b_end]
    start = rest_a.rfind(" ", 0, _common(rest_a, rest_b)) + 1
    rest_a, rest_b = rest_a[start:], rest_b[start:]
    end = _common(rest_a[::-1], rest_b[::-1])
    space = rest_a.find(" ", len(rest_a) - end)
    end = len(rest_a) - space if space >= 0 else 0
    return _Change(
        change.a_start + start, change.a_end - end, change.b_start + start, change.b_end - end
    )


def _common(a: str, b: str) -> int:
    """Returns the length of the common prefix of two texts."""
    least, most = 0, min(len(a), len(b))
    while least < most:
        middle = (least + most + 1) // 2
        if a[least:middle] == b[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def _joined(changes: Iterator[_Change]) -> list[_Change]:
    """Joins two changes if the text between them is no longer than the shorter change."""
    joined: list[_Change] = []
    for change in changes:
        joined.append(change)
        while len(joined) > 1:
            left, right = joined[-2:]
            if right.a_start - left.a_end > min(left.size, right.size):
                break
            joined[-2:] = [_Change(left.a_start, right.a_end, left.b_start, right.b_end)]
    return joined


def _beginning(text: str) -> str:
    """Returns the first words of a text, at most `_AROUND` characters."""
    if len(text) <= _AROUND:
        return text
    cut = text[:_AROUND]
    return cut.rpartition(" ")[0] or cut


def _ending(text: str) -> str:
    """Returns the last words of a text, at most `_AROUND` characters."""
    if len(text) <= _AROUND:
        return text
    cut = text[-_AROUND:]
    return cut.partition(" ")[2] or cut
