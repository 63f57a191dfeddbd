"""Tables whose cells have colours: they fit the terminal, and have no column of nothing."""

from collections.abc import Iterator, Sequence

from attrs import evolve, field, frozen

from acp_proxy.cli.render.columns import GAP, Heading, layout
from acp_proxy.cli.render.output import Ink, columns_of, fit, paint
from acp_proxy.safe_text import visible

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
