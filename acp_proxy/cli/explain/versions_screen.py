"""Prints a comparison of versions or projects as a table."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from acp_proxy.base.wording import duration
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import Ink, Screen
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.explain.stats.versions import COUNTS, NUMBERS, VersionRow

_TITLES = ("recs", "turns", "turn p50", "p90", "first word p50", "p90", "tokens/turn",
           "failed calls", "hangs", "crashes", "errors", "warnings")  # fmt: skip
"""The titles of the columns of `NUMBERS`."""
_RANKS = (0, 4, 1, 5, 3, 7, 2, 6, 0, 0, 1, 8)
"""The ranks of these columns."""


def show_versions(screen: Screen, rows: Sequence[VersionRow]) -> None:
    """Prints a row for each version or project, and below it the changes from the version before.

    Args:
        screen: the screen that the output has to fit.
        rows: at least one row.
    """
    by = rows[0].by
    columns = [
        Column(by, [*_names(rows)], least=14, most=36, keeps_end=by == "project"),
        *(Column(title, [*_numbers(rows, name)], rank=rank, right=True)
          for name, title, rank in zip(NUMBERS, _TITLES, _RANKS, strict=True)),
    ]  # fmt: skip
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
    written: Callable[[Any], str] = duration if name.endswith("_ns") else "{:,.0f}".format
    for row in rows:
        value, change = row.numbers[name], (row.change or {}).get(name)
        yield cell("" if value is None else written(value))
        if change is None:
            yield from [cell("")] * (row.change is not None)
        elif (text := written(abs(change))) == written(0):
            yield cell("=", Ink.FAINT)
        else:
            is_worse = change > 0 and name in COUNTS
            ink = Ink.TROUBLE if is_worse else Ink.FAINT
            yield cell(f"{'+' if change > 0 else '-'}{text}", ink)
