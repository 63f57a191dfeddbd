"""Lays a table out: columns that matter less give way where there is no room for all.

Where there is no terminal a table has every column, as wide as its widest cell: stable and plain.
"""

from collections.abc import Sequence

from attrs import frozen

from acp_proxy.cli.output import columns_of, fit, pad

_GAP = 2


@frozen
class Column:
    """One column."""

    title: str
    rank: int = 0
    """How early it gives way; 0 never does."""
    least: int = 0
    """Columns below which it is of no use; 0 if it is never cut."""
    most: int = 40
    """Columns beyond which it takes room only if nothing else wants it."""
    keeps_end: bool = False
    """Whether it is its beginning that is cut off."""


def layout(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None
) -> list[tuple[int, int]]:
    """Chooses columns for a terminal.

    Args:
        columns: all that there are, in their order.
        rows: a cell for each of them.
        width: of the terminal; None if there is none.

    Returns:
        The number of each column that has room, and the width that it gets.
    """
    wanted = [
        max(columns_of(text) for text in (column.title, *(row[n] for row in rows)))
        for n, column in enumerate(columns)
    ]
    if width is None:
        return list(enumerate(wanted))
    chosen = [n for n in range(len(columns)) if any(row[n] for row in rows)]
    least = [min(w, c.least or w) for w, c in zip(wanted, columns, strict=True)]
    while _total(chosen, least) > width and any(columns[n].rank for n in chosen):
        chosen.remove(max(chosen, key=lambda n: (columns[n].rank, n)))
    widths = {n: least[n] for n in chosen}
    left = width - _total(chosen, least)
    modest = [min(w, c.most) for w, c in zip(wanted, columns, strict=True)]
    for bounds in (modest, wanted):
        for n in sorted(chosen, key=lambda n: (columns[n].rank, n)):
            more = max(0, min(left, bounds[n] - widths[n]))
            widths[n] += more
            left -= more
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
    columns: Sequence[Column], row: Sequence[str], chosen: Sequence[tuple[int, int]]
) -> list[str]:
    """Cuts and fills the cells of a row, each with the gap behind it but the last."""
    last = len(chosen) - 1
    fitted = [(fit_end if columns[n].keeps_end else fit)(row[n], width) for n, width in chosen]
    return [
        text if place == last else pad(text, width) + " " * _GAP
        for place, (text, (_, width)) in enumerate(zip(fitted, chosen, strict=True))
    ]


def _total(chosen: Sequence[int], widths: Sequence[int]) -> int:
    return sum(widths[n] for n in chosen) + _GAP * max(0, len(chosen) - 1)
