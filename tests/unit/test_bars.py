"""Bars are as long as what they show."""

from __future__ import annotations

import pytest

from acp_proxy.cli.render.table import placed, stacked


def test_what_took_time_can_be_seen() -> None:
    """A stacked bar is as long as its share of the whole, and no part of it is missing."""
    parts = [("█", None), ("░", 244), ("p", None), ("t", 130), ("f", 32)]
    spent = dict(zip(parts, (500, 499, 1), strict=False))
    bar = "".join(text for text, _ in stacked(spent, 2000, 20))
    assert bar == "████░░░░░p"
    assert stacked(dict.fromkeys(parts, 0), 10, 10) == []
    assert "".join(text for text, _ in stacked(dict.fromkeys(parts, 1), 600, 10)) == "█░ptf"


@pytest.mark.parametrize(
    ("start", "duration", "shown"),
    [(0, 100, "##########"), (0, 0, "#         "), (100, 0, "         #"), (50, 20, "     ##   "),
     (95, 500, "         #")],
)  # fmt: skip
def test_a_bar_stands_where_it_is_in_time(start: int, duration: int, shown: str) -> None:
    """It begins where it began, is never longer than there is room, and never nothing."""
    assert "".join(text for text, _ in placed(start, duration, 100, 10, ("#", None))) == shown


def test_no_time_at_all_is_no_division_by_zero() -> None:
    """A turn that took no time has bars as well."""
    assert "".join(text for text, _ in placed(0, 0, 0, 3, ("#", None))) == "#  "
    assert stacked({("#", None): 1}, 0, 3)
