"""Runs the SQL queries of docs/database.md, and writes their results into the page.

Run ``python -m tests.tools.questions`` after ``make recordings``, for instance.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from click.testing import CliRunner
from sqlite_utils.cli import cli as sqlite_utils

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/database.md"
RECORDING = ROOT / "recordings/tour.db"
_BLOCKS = re.compile(r"(?<=^```sql\n)(.*?)(?=^```$)(^```\n\n```text\n)(.*?)(?=^```$)", re.M | re.S)


class Question(NamedTuple):
    """A query on the page, and the result that the page shows."""

    sql: str
    result: str
    """The result as the page shows it."""


def questions() -> Iterator[Question]:
    """Yields the queries of the page in their order."""
    for sql, _, result in _BLOCKS.findall(PAGE.read_text(encoding="utf-8")):
        yield Question(sql, result)


def answer(sql: str) -> str:
    """Returns the output of ``sqlite-utils query --table`` for a query on the recording."""
    words = ["query", str(RECORDING), sql.rstrip(";\n"), "--table"]
    result = CliRunner().invoke(sqlite_utils, words, catch_exceptions=False)
    assert result.exit_code == 0, f"{sql}: {result.output}"
    return "".join(f"{line.rstrip()}\n" for line in result.output.splitlines())


def main() -> None:
    """Writes the results of all queries into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        _BLOCKS.sub(lambda match: f"{match[1]}{match[2]}{answer(match[1])}", text), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
