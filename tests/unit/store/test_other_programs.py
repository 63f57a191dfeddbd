"""Datasette and sqlite-utils can open every table and SQL view of a recording."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner
from sqlite_utils import Database
from sqlite_utils.cli import cli as sqlite_utils

from tests.support.indexed_rows import stored_views
from tests.support.log_writer import LogWriter, write_conversation

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
RECORDINGS = sorted((ROOT / "recordings").glob("*.db"))


def odd_recording(path: Path) -> Path:
    """Makes a recording with a JSON-RPC batch and with invalid lines."""
    with LogWriter(path) as recorder:
        write_conversation(recorder)
        recorder.chunk(2, b'\xff\xfe\nno JSON\n5\n\n[1,{"method":"x"},"y"]\n{"a":"\\ud83d"}\n')
        recorder.chunk(3, b"\xff\xfe\n")
        recorder.finish()
    return path


def names(path: Path) -> list[str]:
    """Returns the names of the tables and views of a recording."""
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view')"
        return [name for (name,) in connection.execute(sql)]


def test_every_kept_recording_has_all_views() -> None:
    """A database that `export -o X.db` wrote has all SQL views."""
    for path in RECORDINGS:
        assert stored_views() <= set(names(path)), path


def test_datasette_opens_everything(tmp_path: Path) -> None:
    """Datasette shows every page of a recording without an error."""
    asyncio.run(visit([*RECORDINGS, odd_recording(tmp_path / "odd.db")]))


async def visit(paths: Iterable[Path]) -> None:
    """Opens the page of every table and view in this process."""
    from datasette.app import Datasette  # not by all workers, which collect this test

    # Datasette has switched this on for the process, and other tests interrupt queries.
    sqlite3.enable_callback_tracebacks(False)
    datasette = Datasette([str(path) for path in paths], settings={"num_sql_threads": 0})
    await datasette.invoke_startup()
    for path in paths:
        for name in names(path):
            page = await datasette.client.get(f"/{path.stem}/{name}?_nofacet=1&_nocount=1")
            assert page.status_code == 200, f"{path.name}: {name}: {page.text[-500:]}"
        frames = (await datasette.client.get(f"/{path.stem}/frames?_nofacet=1")).text
        link = re.search(r'href="([^"]*\.blob\?[^"]*)"', frames)
        assert link, path
        line = await datasette.client.get(link[1].replace("&amp;", "&"))
        assert line.status_code == 200
        assert line.content.startswith(b"{")
    for database in datasette.databases.values():
        database.close()


def test_sqlite_utils_reads_everything(tmp_path: Path) -> None:
    """sqlite-utils can read every table and SQL view of a recording."""
    odd = odd_recording(tmp_path / "odd.db")
    for path in [*RECORDINGS, odd]:
        with closing(sqlite3.connect(path)) as connection:
            database = Database(connection)
            for name in names(path):
                list(database.query(f"select * from [{name}]"))
    listed = CliRunner().invoke(sqlite_utils, ["views", str(odd), "--table"])
    assert all(name in listed.output for name in stored_views())
