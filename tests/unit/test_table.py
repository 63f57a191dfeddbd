"""Tables fit the width that there is."""

from __future__ import annotations

import pytest

from acp_proxy.cli.render.output import columns_of
from acp_proxy.cli.render.table import Column, cell, table

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
