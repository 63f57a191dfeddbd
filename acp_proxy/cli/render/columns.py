"""Which columns of a table there is room for: those that matter less give way.

Where there is no terminal a table has every column, as wide as its widest cell: stable and plain.
"""

from collections.abc import Sequence

from attrs import field, frozen

from acp_proxy.cli.render.output import columns_of, fit, pad

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
