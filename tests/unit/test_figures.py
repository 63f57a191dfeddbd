"""Tables fit the width that there is, and bars are as long as what they show."""

from __future__ import annotations

import pytest

from acp_proxy.cli.inspect.figures import Column, cell, placed, stacked, table
from acp_proxy.cli.output import columns_of
from acp_proxy.inspection.measures.turn_times import Part

COLUMNS = [
    Column("n", [cell("1"), cell("1,000")], right=True),
    Column("some", [cell("ab"), cell("")], rank=1),
    Column("more", [cell("x"), cell("y")], rank=2),
    Column("none", [cell(""), cell(" ")]),
    Column("text", [cell("你好你好"), cell("abc")], least=4),
]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (
            None,
            ["    n  some  more  text", "    1  ab    x     你好你好", "1,000        y     abc"],
        ),
        (20, ["    n some more text", "    1 ab   x    你…", "1,000      y    abc"]),
        (19, ["    n some text", "    1 ab   你好你好", "1,000      abc"]),
        (12, ["    n text", "    1 你好…", "1,000 abc"]),
        (7, ["    n …", "    1 …", "1,000 …"]),
        (3, ["  …", "  …", "1,…"]),
    ],
)
def test_columns_go_and_are_cut_in_their_order(width: int | None, lines: list[str]) -> None:
    """First those of highest rank go, then what may be cut is cut, at last the whole line."""
    found = list(table(COLUMNS, width, color=False))
    assert found == lines
    assert width is None or max(map(columns_of, found)) <= width


def test_colours_end_where_a_cell_ends() -> None:
    """A coloured cell is painted by itself, and spaces stay as they are."""
    column = Column("a", [cell("x", 28), cell("long", 28)], right=True)
    _, short, _ = table([column], None, color=True)
    assert short == "   \x1b[38;5;28mx\x1b[0m"


def test_what_took_time_can_be_seen() -> None:
    """A stacked bar is as long as its share of the whole, and no part of it is missing."""
    spent = {Part.STREAMING: 500, Part.SILENT: 499, Part.PERSON: 1}
    bar = "".join(text for text, _ in stacked(spent, 2000, 20))
    assert bar == "████░░░░░p"
    assert stacked(dict.fromkeys(Part, 0), 10, 10) == []
    assert "".join(text for text, _ in stacked(dict.fromkeys(Part, 1), 600, 10)) == "█░ptfo"


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
    assert stacked({Part.SILENT: 1}, 0, 3)
