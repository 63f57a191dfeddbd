"""Tables that fit the terminal, and the bars in their cells.

In a pipe, a table is as wide as its cells.
"""

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, field, frozen

from acp_proxy.cli.screens.styled_text import (
    Ink,
    Piece,
    Screen,
    columns_of,
    cut,
    fit_end,
    fit_middle,
    pad,
    piece,
    text_of,
    wrap,
)

_GAP = 2
"""Blanks between two columns."""
_LEAST_MIDDLE = 6
"""The smallest width to which a text may be cut in its middle."""
_LEAST_LAST, _LEAST_BESIDE = 20, 40
"""The smallest width of the last cell of an aligned row. Cells that may be left out are left out
until the last cell has `_LEAST_BESIDE` columns."""
WIDE = 110
"""The smallest width of a terminal that shows less important columns."""
Cell = Sequence[Piece]


def cell(text: str, ink: int | None = None) -> Cell:
    """Makes a cell of one piece.

    Args:
        text: any text.
        ink: the colour of the text; None for the default colour of the terminal.
    """
    return [piece(text, ink)]


@frozen
class Column:
    """A column, its cells, and how it shrinks on a narrow terminal."""

    title: str
    cells: Sequence[Cell] = ()
    rank: int = field(default=0, kw_only=True)
    """The order in which columns are left out: the highest rank first. A column without a positive
    rank is never left out. Columns with a low rank get space first."""
    least: int = field(default=0, kw_only=True)
    """The smallest width to which the column may be cut; 0 for a column that is never cut."""
    most: int | None = field(default=None, kw_only=True)
    """The preferred largest width. The column is wider only if all other columns have all the space
    they need."""
    keeps_end: bool = field(default=False, kw_only=True)
    """Whether the cells are cut at their beginning instead of at their end."""
    keeps_ends: bool = field(default=False, kw_only=True)
    """Whether the longest text of a cell is cut in its middle."""
    right: bool = field(default=False, kw_only=True)
    """Whether the cells are aligned to the right."""


def table(columns: Sequence[Column], screen: Screen, *, is_list: bool = False) -> Iterator[str]:
    """Yields the lines of a table, the titles first. Columns without text are left out.

    Args:
        columns: the columns, all with the same number of cells.
        screen: the screen that the table has to fit.
        is_list: whether the table is a list: its titles are bold, and a pipe also gets columns
            without text.
    """
    if screen.columns is not None or not is_list:
        columns = [other for other in columns if any(text_of(row).strip() for row in other.cells)]
    rows = [[*map(text_of, row)] for row in _rows(columns)]
    chosen = [(columns[n], taken) for n, taken in _layout(columns, rows, screen.columns)]
    style = piece("", None if is_list else Ink.FAINT, bold=is_list)[1:]
    titles = [evolve(column, cells=[[(column.title, *style)]]) for column, _ in chosen]
    for row in (*_rows(titles), *_rows([column for column, _ in chosen])):
        line: list[Piece] = []
        for cell, (column, taken) in zip(row, chosen, strict=True):
            line += [piece(" " * _GAP)] if line else []
            line += _padded(cell, column, taken)
        yield screen.line(*line)


def _layout(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None
) -> list[tuple[int, int]]:
    """Chooses the columns that fit. Returns the index and the width of each chosen column.

    Columns with a high rank are left out first. Columns with a low rank get space first.
    """
    widest = [
        max(columns_of(text) for text in (column.title, *(row[n] for row in rows)))
        for n, column in enumerate(columns)
    ]
    if width is None:
        return list(enumerate(widest))
    chosen = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    widths = [min(w, c.least or w) for w, c in zip(widest, columns, strict=True)]

    def left() -> int:
        return width - sum(widths[n] for n in chosen) - _GAP * (len(chosen) - 1)

    while left() < 0 and any(columns[n].rank > 0 for n in chosen):
        chosen.remove(max(chosen, key=lambda n: columns[n].rank))
    modest = [w if c.most is None else min(w, c.most) for w, c in zip(widest, columns, strict=True)]
    for bounds in (modest, widest):
        for n in sorted(chosen, key=lambda n: columns[n].rank):
            widths[n] += max(0, min(left(), bounds[n] - widths[n]))
    return [(n, widths[n]) for n in chosen]


def _rows(columns: Sequence[Column]) -> Iterator[tuple[Cell, ...]]:
    return zip(*(column.cells for column in columns), strict=True)


def _padded(content: Cell, column: Column, taken: int) -> list[Piece]:
    shown = cut(content, taken)
    if column.keeps_end:
        shown = [(fit_end(text_of(content), taken), *content[0][1:])]
    elif column.keeps_ends:
        shown = cut(_with_shorter_middle(content, taken), taken)
    space = piece(" " * max(0, taken - columns_of(text_of(shown))))
    return [space, *shown] if column.right else [*shown, space]


def _with_shorter_middle(pieces: Cell, columns: int) -> Cell:
    """Cuts the longest text of a cell in its middle, so that the cell fits."""
    widths = [columns_of(piece[0]) for piece in pieces]
    if sum(widths) <= columns:
        return pieces
    longest = widths.index(max(widths))
    room = columns - sum(widths) + widths[longest]
    shorter = (fit_middle(pieces[longest][0], room), *pieces[longest][1:])
    return [*pieces[:longest], shorter, *pieces[longest + 1 :]] if room >= _LEAST_MIDDLE else pieces


def aligned(
    rows: Sequence[Cell], screen: Screen, *, is_cut: bool = False, spare: Sequence[int] = ()
) -> Iterator[str]:
    """Yields indented rows with aligned cells; columns without text take no room.

    Args:
        rows: the rows, which may differ in their numbers of cells. Each cell is one piece. Only
            the last cell of a row is fitted to the screen.
        screen: the screen that the last cell has to fit.
        is_cut: whether the last cell is cut instead of wrapped.
        spare: the indexes of cells that may be left out. Cells are left out in this order until the
            last cell has 40 columns or room for its text.
    """
    count = max(map(len, rows), default=0)
    widths = [
        max((columns_of(row[n][0]) for row in rows if n < len(row) - 1), default=0) or -_GAP
        for n in range(count - 1)
    ]
    least = min(_LEAST_BESIDE, max((columns_of(row[-1][0]) for row in rows), default=0))
    for place in spare:
        if screen.columns is None or _lead(widths) + least <= screen.columns:
            break
        rows = [[("", None, False) if n == place and n < len(row) - 1 else cell
                 for n, cell in enumerate(row)] for row in rows]  # fmt: skip
        widths[place] = -_GAP
    for row in rows:
        lead = [piece("  ")]
        for (text, ink, bold), wide in zip(row[:-1], widths, strict=False):
            lead.append((pad(text, wide + 2), ink, bold))
        taken = columns_of(text_of(lead))
        room = None if screen.columns is None else max(_LEAST_LAST, screen.columns - taken)
        for line in [cut(row[-1:], room)] if is_cut else wrap(row[-1:], room):
            yield (screen.line if is_cut else screen.whole)(*lead, *line)
            lead = [piece(" " * taken)]


def _lead(widths: Sequence[int]) -> int:
    """Returns the width of everything before the last cell, in columns of the terminal."""
    return 2 + sum(wide + 2 for wide in widths)


def stacked(spent: Mapping[Piece, int], whole: int, columns: int) -> Cell:
    """Draws a bar of several parts. Each part above zero has at least one column.

    Args:
        spent: the time of each part. The key is the piece that is repeated to draw the part.
        whole: the time that fills all columns.
        columns: the length of the longest bar.
    """
    total = sum(spent.values())
    length = max(1, round(total * columns / max(1, whole))) if total else 0
    taken = {part: max(1, round(ns * length / total)) for part, ns in spent.items() if ns}
    while sum(taken.values()) > max(length, len(taken)):
        taken[max(taken, key=lambda part: taken[part])] -= 1
    return [(part[0] * columns, *part[1:]) for part, columns in taken.items()]


def placed(start: int, duration: int, whole: int, columns: int, bar: Piece) -> Cell:
    """Draws a bar at its position on a time line.

    Args:
        start: the start time.
        duration: the time that the bar covers.
        whole: the time that fills all columns.
        columns: the length of the time line.
        bar: the piece that is repeated to draw the bar.
    """
    whole = max(1, whole)
    first = min(columns - 1, max(0, start * columns // whole))
    last = min(columns, max(first + 1, round((start + duration) * columns / whole)))
    return [piece(" " * first), (bar[0] * (last - first), *bar[1:]), piece(" " * (columns - last))]
