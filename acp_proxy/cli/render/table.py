"""Tables that fit the terminal, and the bars in their cells."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from acp_proxy.cli.render.output import Ink, columns_of, fit, pad, paint
from acp_proxy.safe_text import visible

GAP = 2
"""Between two columns."""


@frozen
class Heading:
    """One column: what it is called, and how it gives way."""

    title: str
    rank: int = field(default=0, kw_only=True)
    """How early it gives way; 0 never does."""
    least: int = field(default=0, kw_only=True)
    """Columns below which it is of no use; 0 if it is never cut."""
    most: int | None = field(default=None, kw_only=True)
    """Columns beyond which it takes room only if nothing else wants it, if there are any."""
    keeps_end: bool = field(default=False, kw_only=True)
    """Whether it is its beginning that is cut off."""


def layout(
    columns: Sequence[Heading],
    rows: Sequence[Sequence[str]],
    width: int | None,
    gap: int = GAP,
) -> list[tuple[int, int]]:
    """Chooses columns for a terminal.

    Room goes to columns of low rank first, and to the left one of two that have the same. Of two
    that have the same and give way it is the left one, too, that goes first.

    Args:
        columns: all that there are, in their order.
        rows: a cell for each of them.
        width: of the terminal; None if there is none.
        gap: between two columns.

    Returns:
        The number of each column that has room, and the width that it gets. Those of rank 0 are
        always there, if with their least width.
    """
    wanted = [
        max(columns_of(text) for text in (column.title, *(row[n] for row in rows)))
        for n, column in enumerate(columns)
    ]
    if width is None:
        return list(enumerate(wanted))
    chosen = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    widths = [min(w, c.least or w) for w, c in zip(wanted, columns, strict=True)]

    def left() -> int:
        return width - sum(widths[n] for n in chosen) - gap * (len(chosen) - 1)

    while left() < 0 and any(columns[n].rank for n in chosen):
        chosen.remove(max(chosen, key=lambda n: columns[n].rank))
    modest = [w if c.most is None else min(w, c.most) for w, c in zip(wanted, columns, strict=True)]
    for bounds in (modest, wanted):
        for n in sorted(chosen, key=lambda n: columns[n].rank):
            widths[n] += max(0, min(left(), bounds[n] - widths[n]))
    return [(n, widths[n]) for n in chosen]


def fit_end(text: str, columns: int) -> str:
    """Cuts text to a number of columns, at its beginning."""
    if columns_of(text) <= columns:
        return text
    if columns < 1:
        return ""
    while columns_of(text) > columns - 1:
        text = text[1:]
    return f"…{text}"


def cells(
    columns: Sequence[Heading], row: Sequence[str], chosen: Sequence[tuple[int, int]]
) -> list[str]:
    """Cuts and fills the cells of a row, each with the gap behind it but the last."""
    last = len(chosen) - 1
    fitted = [(fit_end if columns[n].keeps_end else fit)(row[n], width) for n, width in chosen]
    return [
        text if place == last else pad(text, width) + " " * GAP
        for place, (text, (_, width)) in enumerate(zip(fitted, chosen, strict=True))
    ]


Piece = tuple[str, int | None]
"""Text without control characters, and its colour."""
Cell = Sequence[Piece]

WIDE = 110
"""Columns of a terminal from which on there is room for a wide gap."""


def cell(text: str, ink: int | None = None) -> Cell:
    """A cell of one piece, in which nothing commands the terminal."""
    return [(visible(text), ink)]


@frozen
class Column(Heading):
    """A column and its cells; one whose cells are all empty is not shown."""

    cells: Sequence[Cell]
    right: bool = field(default=False, kw_only=True)
    """Whether its cells stand at its right edge."""


def table(columns: Sequence[Column], width: int | None, *, color: bool) -> Iterator[str]:
    """Yields the lines of a table, the titles first.

    Args:
        columns: each with as many cells.
        width: of the terminal, or None if nothing is to be left out or cut.
        color: whether to colour.
    """
    filled = [column for column in columns if any(map(str.strip, map(_text, column.cells)))]
    rows = [[*map(_text, row)] for row in _rows(filled)]
    gap = GAP if width is None or width >= WIDE else 1
    chosen = layout(filled, rows, width, gap)
    shown = [filled[n] for n, _ in chosen]
    titles = [evolve(column, cells=[cell(column.title, Ink.FAINT)]) for column in shown]
    for row in (*_rows(titles), *_rows(shown)):
        line: list[Piece] = []
        for found, column, (_, taken) in zip(row, shown, chosen, strict=True):
            line += [(" " * gap, None)] if line else []
            line += _padded(found, taken, right=column.right)
        yield _painted(line if width is None else list(_cut(line, width)), color)


def _rows(columns: Sequence[Column]) -> Iterator[tuple[Cell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _text(found: Cell) -> str:
    return "".join(text for text, _ in found)


def _padded(found: Cell, columns: int, *, right: bool) -> list[Piece]:
    shown = list(_cut(found, columns))
    space = (" " * max(0, columns - columns_of(_text(shown))), None)
    return [space, *shown] if right else [*shown, space]


def _painted(row: list[Piece], color: bool) -> str:
    while row and not row[-1][0].strip():
        row.pop()
    row[-1:] = [(text.rstrip(), ink) for text, ink in row[-1:]]
    if not color:
        return _text(row)
    return "".join(paint(text, ink) for text, ink in row)


def _cut(found: Cell, columns: int) -> Iterator[Piece]:
    """Cuts a cell that is too wide in the piece in which it gets too wide."""
    if columns_of(_text(found)) <= columns:
        yield from found
        return
    for number, (text, ink) in enumerate(found):
        taken = columns_of(text)
        if taken > columns or (taken == columns and _text(found[number + 1 :])):
            yield fit(f"{text}…" if taken <= columns else text, columns), ink
            return
        columns -= taken
        yield text, ink


def stacked(spent: Mapping[Piece, int], whole: int, columns: int) -> Cell:
    """Draws one bar of several parts; a part of more than zero has at least one column.

    Args:
        spent: the time of each part, by the piece that its bar is made of.
        whole: the time that takes all columns.
        columns: the longest that a bar can be.
    """
    total = sum(spent.values())
    length = max(1, round(total * columns / max(1, whole))) if total else 0
    taken = {part: max(1, round(ns * length / total)) for part, ns in spent.items() if ns}
    while sum(taken.values()) > max(length, len(taken)):
        taken[max(taken, key=lambda part: taken[part])] -= 1
    return [(text * taken[text, ink], ink) for text, ink in taken]


def placed(start: int, duration: int, whole: int, columns: int, piece: Piece) -> Cell:
    """Draws a bar at its place in time.

    Args:
        start: when it begins.
        duration: how long it is.
        whole: the time that takes all columns.
        columns: how many there are.
        piece: what the bar is made of, and its colour.
    """
    whole = max(1, whole)
    first = min(columns - 1, max(0, start * columns // whole))
    last = min(columns, max(first + 1, round((start + duration) * columns / whole)))
    return [
        (" " * first, None),
        (piece[0] * (last - first), piece[1]),
        (" " * (columns - last), None),
    ]
