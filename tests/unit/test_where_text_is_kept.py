"""docs/redaction.md lists every place that holds text, so that none is forgotten in masking."""

from __future__ import annotations

import re
import sqlite3
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acp_proxy.cli.main import cli
from acp_proxy.store.files import database
from acp_proxy.store.queries.masked_rows import _TEXTS
from acp_proxy.store.tables.schema import TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = (Path(__file__).parents[2] / "docs/redaction.md").read_text(encoding="utf-8")
_CELL = re.compile(r"(?<!\\)\|")


def rows(title: str) -> list[list[str]]:
    """Returns the cells of a table without its head."""
    section = _PAGE.partition(f"\n### {title}\n")[2].partition("\n## ")[0].partition("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines[1:]]


def named(cell: str) -> list[str]:
    """Returns the names in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def every_command(command: click.Command, *words: str) -> Iterator[str]:
    """Returns the full names of all commands except groups, and the program itself."""
    if not isinstance(command, click.Group):
        yield " ".join(word for word in words if word != "inspect")
        return
    if not words:
        yield "acp-proxy"
    context = click.Context(command)
    for name in command.list_commands(context):
        inner = command.get_command(context, name)
        assert inner is not None
        yield from every_command(inner, *words, name)


def options(name: str) -> set[str]:
    """Returns the options of a command."""
    command: click.Command | None = cli
    for word in name.removeprefix("acp-proxy").split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return {option for parameter in command.params for option in parameter.opts}


def test_every_column_of_text_is_listed() -> None:
    """docs/redaction.md lists each text column of the database."""
    connection = sqlite3.connect(":memory:")
    database.migrate(connection)
    columns = [
        (table, name)
        for table in TABLES
        for _, name, kind, *_ in connection.execute(f"PRAGMA table_info({table})")
        if kind in ("TEXT", "BLOB")
    ]
    connection.close()
    listed = [(named(row[0])[0], name) for row in rows("In the database") for name in named(row[1])]
    assert sorted(listed) == sorted(columns)


def test_the_recordings_row_is_masked_as_it_says() -> None:
    """docs/redaction.md lists the columns of the table `recording` that are masked."""
    masked = {
        name
        for table, columns, _, how in rows("In the database")
        if table == "`recording`" and "when read" in how
        for name in named(columns)
    }
    assert masked - {"name"} == {*_TEXTS, "command"}


def test_every_command_is_listed() -> None:
    """docs/redaction.md lists each command, and whether it has the option `--unredacted`."""
    listed = {how: named(names) for how, names in rows("Commands")}
    assert sorted(chain(*listed.values())) == sorted(every_command(cli))
    for how, names in listed.items():
        for name in names:
            assert ("--unredacted" in options(name)) == ("`--unredacted`" in how), name
