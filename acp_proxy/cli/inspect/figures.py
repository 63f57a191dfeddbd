"""Tables and bars: columns that fit the terminal, and colours for what time was spent on."""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from acp_proxy.cli.output import Ink, columns_of, fit, paint
from acp_proxy.inspection.measures.turn_times import Part
from acp_proxy.inspection.safe_text import visible

Piece = tuple[str, int | None]
"""Text without control characters, and its colour."""
Cell = Sequence[Piece]

WIDE = 110
"""Columns of a terminal from which on there is room for a wide gap."""
GLYPHS: Mapping[Part, Piece] = {
    Part.STREAMING: ("█", Ink.TO_CLIENT),
    Part.SILENT: ("░", Ink.FAINT),
    Part.PERSON: ("p", Ink.PERMISSION),
    Part.TERMINALS: ("t", Ink.STDERR),
    Part.FILES: ("f", Ink.TO_AGENT),
    Part.OTHER: ("o", Ink.TO_AGENT),
}
"""What the bar of each part is made of; also without colours all are different."""


def cell(text: str, ink: int | None = None) -> Cell:
    """A cell of one piece, in which nothing commands the terminal."""
    return [(visible(text), ink)]


@frozen
class Column:
    """A column of a table; one whose cells are all empty is not shown."""

    title: str
    cells: Sequence[Cell]
    right: bool = False
    least: int | None = None
    """To how few columns it may be cut, if it may; the last column that may is cut first."""
    rank: int = 0
    """Where there is no room the column of highest rank goes first; those of rank 0 stay."""


def table(columns: Sequence[Column], width: int | None, *, color: bool) -> Iterator[str]:
    """Yields the lines of a table, the titles first.

    Args:
        columns: each with as many cells.
        width: of the terminal, or None if nothing is to be left out or cut.
        color: whether to colour.
    """
    shown = [column for column in columns if any(map(str.strip, map(_text, column.cells)))]
    gap = 2 if width is None or width >= WIDE else 1
    widths = _fitted(shown, gap, width)
    shown = [column for column in shown if column.title in widths]
    titles = [evolve(column, cells=[cell(column.title, Ink.FAINT)]) for column in shown]
    for columns_ in (titles, shown):
        for cells in zip(*(column.cells for column in columns_), strict=True):
            row: list[Piece] = []
            for found, column in zip(cells, columns_, strict=True):
                row += [(" " * gap, None)] if row else []
                row += _padded(found, widths[column.title], right=column.right)
            yield _painted(row if width is None else list(_cut(row, width)), color)


def _fitted(columns: Sequence[Column], gap: int, width: int | None) -> dict[str, int]:
    """The widths of the columns that there is room for, by their titles."""
    widths = {
        column.title: max(map(columns_of, [column.title, *map(_text, column.cells)]))
        for column in columns
    }
    if width is None:
        return widths
    least = {
        column.title: min(widths[column.title], column.least or widths[column.title])
        for column in columns
    }
    for column in sorted(columns, key=lambda column: -column.rank):
        if column.rank and sum(least.values()) + gap * (len(least) - 1) > width:
            del widths[column.title], least[column.title]
    excess = sum(widths.values()) + gap * (len(widths) - 1) - width
    for column in reversed(columns):
        if excess > 0 and column.least is not None and column.title in widths:
            cut = min(excess, widths[column.title] - least[column.title])
            widths[column.title] -= cut
            excess -= cut
    return widths


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


def stacked(spent: Mapping[Part, int], whole: int, columns: int) -> Cell:
    """One bar of several parts; what took time at all has at least one column of it.

    Args:
        spent: the time of each part.
        whole: the time that takes all columns.
        columns: the longest that a bar can be.
    """
    total = sum(spent.values())
    length = max(1, round(total * columns / max(1, whole))) if total else 0
    taken: dict[Part, int] = {}
    for part, ns in spent.items():
        taken[part] = max(1, round(ns * length / total)) if ns else 0
    while sum(taken.values()) > max(length, sum(1 for n in taken.values() if n)):
        taken[max(taken, key=lambda part: taken[part])] -= 1
    return [(GLYPHS[part][0] * n, GLYPHS[part][1]) for part, n in taken.items() if n]


def placed(start: int, duration: int, whole: int, columns: int, piece: Piece) -> Cell:
    """A bar where it is in time.

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
