"""Lines of code are counted room by room."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.size import code_lines, table

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
    """Docstrings, strings below constants, comments and blank lines are not counted."""
    assert code_lines(MODULE) == 8


def test_a_room_has_the_lines_of_the_rooms_in_it(tmp_path: Path) -> None:
    """A module counts for each room that it is in, and once for the package."""
    room = tmp_path / "outer" / "inner"
    room.mkdir(parents=True)
    for path in (tmp_path / "top.py", room.parent / "a.py", room / "b.py"):
        path.write_text("a = 1\n", encoding="utf-8")
    assert table(tmp_path) == [
        "      2 lines    2 files  outer/",
        "      1 lines    1 files    outer/inner/",
        "      1 lines    1 files  top.py",
        "      3 lines    3 files  in all",
    ]
