"""The text form in tests: made of recordings, spelled anew, and made rows of again."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from acp_proxy.cli.main import cli
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_export import write_text_form
from acp_proxy.store.text_import import read_text_form
from tests.rows import new_database

if TYPE_CHECKING:
    import sqlite3

CONTRACT = ("recording", "frames", "exchanges", "turns", "events", "faults_fired")
"""The tables that have to be equal, whatever a recording has been through."""

HEADER = (
    b'{"acp_proxy":1,"recording":{"id":"c0ffee000001","name":"x","tool_version":"0.1.0",'
    b'"started_at":"2025-06-15T15:06:40.000000+00:00"}}\n'
)

Rows = dict[str, list[dict[str, Any]]]


def rows_of(connection: sqlite3.Connection) -> Rows:
    """Every row of the contract; a column that is null is as good as none."""
    return {table: _rows(connection, table) for table in CONTRACT}


def _rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def text_of(path: Path) -> bytes:
    """The text form of a recording."""
    with RecordingReader(path, unredacted=True) as reader:
        return b"".join(write_text_form(reader))


def rows_of_recording(path: Path) -> Rows:
    """Every row of a recording."""
    with RecordingReader(path, unredacted=True) as reader:
        return rows_of(reader.connection)


def rows_of_text(text: bytes) -> Rows:
    """Every row that a text becomes."""
    with new_database() as connection:
        read_text_form(io.BytesIO(text), Path("x.jsonl"), connection)
        return rows_of(connection)


def spelled_anew(text: bytes, *, ascii_only: bool) -> bytes:
    """The same text as a tool writes it that reads each line and cares for its value alone."""
    return b"".join(
        json.dumps(json.loads(line), ensure_ascii=ascii_only, separators=(" , ", " : ")).encode()
        + b"\r\n\n# a remark\n"
        for line in text.split(b"\n")
        if line
    )


def assert_comes_back(path: Path) -> bytes:
    """Makes sure that a recording survives the text form, however that is spelled; returns it."""
    rows, text = rows_of_recording(path), text_of(path)
    assert rows_of_text(text) == rows
    for ascii_only in (True, False):
        assert rows_of_text(spelled_anew(text, ascii_only=ascii_only)) == rows
    with RecordingReader(Path("x.jsonl"), io.BytesIO(text), unredacted=True) as reader:
        assert b"".join(write_text_form(reader)) == text
    return text


def run_with(stdin: bytes, *arguments: str | Path, home: Path | None = None) -> Result:
    """Runs ``acp-proxy`` with something on standard input."""
    env = {"ACP_PROXY_RECORDINGS": str(home)} if home else {}
    words = [str(argument) for argument in arguments]
    return CliRunner(env=env).invoke(
        cli, words, input=stdin, prog_name="acp-proxy", catch_exceptions=False
    )
