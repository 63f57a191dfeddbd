"""`make size` counts lines of Python and SQL for each room, and refuses too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.tools.size import code_lines, excess, sql_lines, table

if TYPE_CHECKING:
    from pathlib import Path

MODULE = '''"""A module.

Of two paragraphs.
"""

LIMIT = 3  # a comment
"""What a person should know of the constant."""

# Another comment.
def f(
    text: str = """two
    lines""",
) -> str:
    """Says what it does."""
    return (

        text
    )
'''


def test_prose_is_no_code() -> None:
    """`make size` does not count docstrings and comments of Python."""
    assert code_lines(MODULE) == 8


def test_comments_and_blank_lines_are_no_sql() -> None:
    """`make size` does not count comments of SQL."""
    assert sql_lines("-- All.\n\nSELECT a,  -- a letter\n  -- and\n  '--'\n  \nFROM b;\n") == 3


def test_a_room_has_the_lines_of_the_rooms_in_it(tmp_path: Path) -> None:
    """`make size` counts the lines of a folder for the folder above, too."""
    room = tmp_path / "outer" / "inner"
    room.mkdir(parents=True)
    for path in (tmp_path / "top.py", room.parent / "a.py", room / "b.py"):
        path.write_text("a = 1\n", encoding="utf-8")
    (room / "c.sql").write_text("-- One.\nSELECT\n  1;\n", encoding="utf-8")
    (room / "README.md").write_text("One.\n", encoding="utf-8")
    shown, *counts = table(tmp_path)
    assert counts == [5, 4]
    assert shown == [
        "      4 lines    3 files  outer/",
        "      3 lines    2 files    outer/inner/",
        "      1 lines    1 files  top.py",
        "      5 lines    4 files  in all",
    ]


def test_more_than_is_allowed_is_refused() -> None:
    """`make size` fails if the package has more lines than allowed."""
    most = {"lines": 3, "files": 2}
    assert excess(3, 2, most) == ""
    assert excess(4, 2, most).startswith("expected at most 3 lines of code in 2 files, got 4 in 2")
    assert excess(3, 3, most)
