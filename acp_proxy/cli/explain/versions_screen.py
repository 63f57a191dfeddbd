"""Prints a comparison of versions or projects as a table."""

from collections.abc import Iterator, Sequence

from acp_proxy.base.wording import duration
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import Ink, Screen
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.explain.stats.versions import COUNTS, VersionRow

_COLUMNS = {
    "recordings": ("recs", 0), "turns": ("turns", 4),
    "turn_p50_ns": ("turn p50", 1), "turn_p90_ns": ("p90", 5),
    "first_word_p50_ns": ("first word p50", 3), "first_word_p90_ns": ("p90", 7),
    "failed_calls": ("failed calls", 6), "hangs": ("hangs", 0), "crashes": ("crashes", 0),
    "errors": ("errors", 1), "warnings": ("warnings", 8),
}  # fmt: skip
"""The title of the column of each number, and its rank."""


def show_versions(screen: Screen, rows: Sequence[VersionRow]) -> None:
    """Prints a row for each version or project, and below it the changes from the version before.

    Args:
        screen: the screen that the output has to fit.
        rows: at least one row.
    """
    by = rows[0].by
    columns = [
        Column(by, [*_names(rows)], least=14, most=36, keeps_end=by == "project"),
        *(
            Column(title, [*_numbers(rows, name)], rank=rank, right=True)
            for name, (title, rank) in _COLUMNS.items()
        ),
    ]
    page = Page(screen)
    page.lines(table(columns, screen))
    page.flush()


def _names(rows: Sequence[VersionRow]) -> Iterator[Cell]:
    for row in rows:
        yield cell(" ".join(filter(None, (row.name, row.version))) or "(unknown)")
        if row.change is not None:
            yield cell("  ±", Ink.FAINT)


def _numbers(rows: Sequence[VersionRow], name: str) -> Iterator[Cell]:
    """Yields the number of each row, and its change."""
    is_time = name.endswith("_ns")
    for row in rows:
        value = getattr(row, name)
        yield cell(duration(value) if is_time else f"{value:,}")
        if row.change is not None:
            change = row.change[name]
            size = abs(change or 0)
            text = duration(int(size)) if is_time else f"{size:,.0f}"
            is_same = change is None or text in ("0", duration(0))
            is_worse = (change or 0) > 0 and name in COUNTS
            sign = "+" if (change or 0) > 0 else "-"
            yield cell("" if change is None else "=" if is_same else f"{sign}{text}",
                       Ink.TROUBLE if is_worse and not is_same else Ink.FAINT)  # fmt: skip
