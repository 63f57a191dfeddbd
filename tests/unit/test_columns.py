"""A table says the most that fits: columns give way by rank, and cells are cut."""

from __future__ import annotations

from acp_proxy.cli.render.table import Heading, cells, fit_end, layout

COLUMNS = (
    Heading("A"),
    Heading("NAME", least=4, most=6),
    Heading("B", rank=2),
    Heading("C", rank=1, least=3),
)
ROW = ("1", "a long name", "22", "some text")


def test_without_a_terminal_everything_is_there() -> None:
    """Each column is as wide as its widest cell, also where there is nothing in it."""
    assert layout(COLUMNS, [ROW], None) == [(0, 1), (1, 11), (2, 2), (3, 9)]
    assert layout(COLUMNS, [("1", "n", "", "")], None) == [(0, 1), (1, 4), (2, 1), (3, 1)]


def test_what_matters_least_gives_way() -> None:
    """Where there is no room, the column of the highest rank goes first, those of rank 0 never."""
    assert [n for n, _ in layout(COLUMNS, [ROW], 16)] == [0, 1, 2, 3]
    assert [n for n, _ in layout(COLUMNS, [ROW], 15)] == [0, 1, 3]
    assert [n for n, _ in layout(COLUMNS, [ROW], 11)] == [0, 1]
    assert [n for n, _ in layout(COLUMNS, [ROW], 2)] == [0, 1]


def test_room_goes_to_what_matters_most() -> None:
    """First up to what a column should have at the most, then to whoever wants more."""
    assert layout(COLUMNS, [ROW], 18) == [(0, 1), (1, 6), (2, 2), (3, 3)]
    assert layout(COLUMNS, [ROW], 24) == [(0, 1), (1, 6), (2, 2), (3, 9)]
    assert layout(COLUMNS, [ROW], 99) == [(0, 1), (1, 11), (2, 2), (3, 9)]


def test_a_column_of_nothing_is_left_out_on_a_terminal() -> None:
    """Nothing is said in a column without cells."""
    assert [n for n, _ in layout(COLUMNS, [("1", "n", "", "c")], 80)] == [0, 1, 3]


def test_cells_are_cut_and_filled() -> None:
    """The last one is not filled, and a path is cut at its beginning."""
    columns = (Heading("A"), Heading("B", keeps_end=True))
    assert cells(columns, ("abcdef", "a/b/cd"), [(0, 4), (1, 5)]) == ["abc…  ", "…b/cd"]
    assert cells(columns, ("a", "b"), [(0, 3), (1, 5)]) == ["a    ", "b"]


def test_a_text_is_cut_at_its_beginning() -> None:
    """Wide characters count for two."""
    assert [fit_end("a你好", n) for n in (5, 4, 3, 2, 1, 0)] == [
        "a你好",
        "…好",
        "…好",
        "…",
        "…",
        "",
    ]
