"""Printed tables fit the terminal: columns are left out by rank, and cells are cut."""

from __future__ import annotations

import pytest

from acp_proxy.cli.screens.styled_text import Screen, columns_of, piece, text_of
from acp_proxy.cli.screens.table import Column, _layout, cell, placed, stacked, table

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
        (
            23,
            ["    n  some  more  text", "    1  ab    x     你…", "1,000        y     abc"],
        ),
        (20, ["    n  some  text", "    1  ab    你好你…", "1,000        abc"]),
        (14, ["    n  text", "    1  你好你…", "1,000  abc"]),
        (7, ["    n …", "    1 …", "1,000 …"]),
        (3, ["  …", "  …", "1,…"]),
    ],
)
def test_columns_are_left_out_before_they_are_cut(width: int | None, lines: list[str]) -> None:
    """In a narrow terminal, a table loses columns before others get less than their least width."""
    actual = list(table(COLUMNS, Screen(width)))
    assert actual == lines
    assert width is None or max(map(columns_of, actual)) <= width


def test_colours_end_where_a_cell_ends() -> None:
    """In a table that a command prints, a cell's colour covers its text but no spaces beside it."""
    column = Column("a", [cell("x", 28), cell("long", 28)], right=True)
    _, short, _ = table([column], Screen(color=True))
    assert short == "   \x1b[38;5;28mx\x1b[0m"


HEADINGS = (
    Column("A"),
    Column("NAME", least=4, most=6),
    Column("B", rank=2),
    Column("C", rank=1, least=3),
)
ROW = ("1", "a long name", "22", "some text")


def test_without_a_terminal_everything_is_there() -> None:
    """In a pipe, a command prints all columns of a table."""
    assert _layout(HEADINGS, [ROW], None) == [(0, 1), (1, 11), (2, 2), (3, 9)]
    assert _layout(HEADINGS, [("1", "n", "", "")], None) == [(0, 1), (1, 4), (2, 1), (3, 1)]


def test_a_column_of_negative_rank_gets_space_before_others() -> None:
    """If a table is too wide for a terminal, columns of negative rank are cut after all others."""
    columns = (Column("A", least=2), Column("B", least=2, rank=-1))
    rows = [("a" * 10, "b" * 10)]
    assert _layout(columns, rows, 17) == [(0, 5), (1, 10)]
    assert _layout(columns, rows, 3) == [(0, 2), (1, 2)]


def test_columns_of_high_rank_are_left_out_first() -> None:
    """If a table is too wide for the terminal, columns of the highest rank are left out first."""
    assert [n for n, _ in _layout(HEADINGS, [ROW], 16)] == [0, 1, 2, 3]
    assert [n for n, _ in _layout(HEADINGS, [ROW], 15)] == [0, 1, 3]
    assert [n for n, _ in _layout(HEADINGS, [ROW], 11)] == [0, 1]
    assert [n for n, _ in _layout(HEADINGS, [ROW], 2)] == [0, 1]


def test_room_goes_to_what_matters_most() -> None:
    """If a terminal has width to spare, a table widens its columns in order of their importance."""
    assert _layout(HEADINGS, [ROW], 18) == [(0, 1), (1, 6), (2, 2), (3, 3)]
    assert _layout(HEADINGS, [ROW], 24) == [(0, 1), (1, 6), (2, 2), (3, 9)]
    assert _layout(HEADINGS, [ROW], 99) == [(0, 1), (1, 11), (2, 2), (3, 9)]


def test_an_empty_column_is_left_out_on_a_terminal() -> None:
    """On a terminal, a table of `list` leaves out a column if all of its cells are empty."""
    assert [n for n, _ in _layout(HEADINGS, [("1", "n", "", "c")], 80)] == [0, 1, 3]


def test_cells_are_cut_and_filled() -> None:
    """If a command cuts cells of a table, it cuts a text at its end and a path at its beginning."""
    columns = [
        Column("A", [cell("abcdef"), cell("a")], least=4),
        Column("B", [cell("a/b/cd"), cell("b")], keeps_end=True, least=5),
    ]
    lines = [*table(columns, Screen(11), is_list=True)]
    assert lines == ["A     B", "abc…  …b/cd", "a     b"]


def test_a_stacked_bar_shows_every_part() -> None:
    """A stacked bar of `stats` shows every part, however small it is."""
    parts = [*map(piece, "█░ptf")]
    spent = dict(zip(parts, (500, 499, 1), strict=False))
    bar = text_of(stacked(spent, 2000, 20))
    assert bar == "████░░░░░p"
    assert stacked(dict.fromkeys(parts, 0), 10, 10) == []
    assert text_of(stacked(dict.fromkeys(parts, 1), 600, 10)) == "█░ptf"


@pytest.mark.parametrize(
    ("start", "duration", "shown"),
    [(0, 100, "##########"), (0, 0, "#         "), (100, 0, "         #"), (50, 20, "     ##   "),
     (95, 500, "         #")],
)  # fmt: skip
def test_a_bar_is_drawn_at_its_time(start: int, duration: int, shown: str) -> None:
    """In `stats --turn`, the bar of a part of a turn begins at the part's start time."""
    assert (
        "".join(text for text, _, _ in placed(start, duration, 100, 10, ("#", None, False)))
        == shown
    )


def test_a_turn_of_zero_length_has_bars() -> None:
    """In `stats --turn`, a bar has at least one character, even for a turn that took no time."""
    assert text_of(placed(0, 0, 0, 3, piece("#"))) == "#  "
    assert stacked({piece("#"): 1}, 0, 3)
