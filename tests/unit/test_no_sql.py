"""Only the room `store` contains SQL."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import acp_proxy

PACKAGE = Path(acp_proxy.__file__).parent

ALLOWED = ("store",)

_SQL = re.compile(
    r"\b(SELECT\b|INSERT (OR \w+ )?INTO|DELETE FROM|UPDATE [\w.]+ SET|PRAGMA |CREATE \w|ATTACH ')"
    r"|^\s*(?i:select\b.*\bfrom|insert into|delete from|pragma)\b"
)
_EXECUTES = ("execute", "executemany", "executescript")


def sql_in(source: str) -> list[int]:
    """Returns the lines of a module that contain or run SQL, without comments and docstrings."""
    nodes = [*ast.walk(ast.parse(source))]
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    actual = []
    for node in nodes:
        if isinstance(node, ast.Constant):
            text = node.value if isinstance(node.value, str) and id(node) not in prose else ""
            if _SQL.search(text):
                actual.append(node.lineno)
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _EXECUTES:
            actual.append(node.lineno)
    return sorted(actual)


def test_other_rooms_have_no_sql() -> None:
    """Packages other than `store/` contain no SQL."""
    actual = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in ALLOWED
        for line in sql_in(path.read_text())
    ]
    assert actual == []


@pytest.mark.parametrize(
    "line",
    [
        "rows = reader.query('SELECT seq FROM frames')",
        "sql = f'SELECT {columns} FROM frames WHERE seq = ?'",
        "rows = reader.query('select seq from frames')",
        "connection.execute(statement)",
        "text = 'INSERT OR REPLACE INTO turns VALUES (?)'",
        "text = \"UPDATE recording SET state = 'unindexed'\"",
        "text = 'PRAGMA user_version'",
    ],
)
def test_planted_sql_is_found(line: str) -> None:
    """The check for SQL outside of `store/` finds a query and a call that runs SQL."""
    assert sql_in(f'"""A module."""\n\n{line}\n') == [3]


@pytest.mark.parametrize(
    "source",
    [
        '"""Runs a SELECT over the names of the contract."""\n',
        "# SELECT seq FROM frames\nx = 1\n",
        "help = 'Select frames, or update the note.'\n",
    ],
)
def test_prose_is_no_sql(source: str) -> None:
    """The check for SQL outside of `store/` ignores docstrings."""
    assert sql_in(source) == []
