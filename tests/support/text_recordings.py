"""Exports recordings as text, rewrites the text in other styles, and reads it back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from acp_proxy.cli.main import cli
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.copies.text_import import read_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.indexed_rows import new_database

if TYPE_CHECKING:
    import sqlite3

CONTRACT = ("recording", "frames", "exchanges", "turns", "events", "faults_fired")
"""The tables that must be equal after a recording was written as text and read back."""

HEADER = (
    b'{"acp_proxy":1,"recording":{"id":"c0ffee000001","name":"x","tool_version":"0.1.0",'
    b'"started_at":"2025-06-15T15:06:40.000000+00:00"}}\n'
)

Rows = dict[str, list[dict[str, Any]]]


def rows_of(connection: sqlite3.Connection) -> Rows:
    """Returns every row of the `CONTRACT` tables, without the columns that are null."""
    return {table: _rows(connection, table) for table in CONTRACT}


def _rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def text_of(path: Path) -> bytes:
    """Returns the text form of a recording."""
    with RecordingReader(path, unredacted=True) as reader:
        return b"".join(write_text_form(reader))


def rows_of_recording(path: Path) -> Rows:
    """Returns every row of a recording."""
    with RecordingReader(path, unredacted=True) as reader:
        return rows_of(reader.connection)


def rows_of_text(text: bytes) -> Rows:
    """Returns every row of the recording that a text is imported as."""
    with new_database() as connection:
        read_text_form(io.BytesIO(text), Path("x.jsonl"), connection)
        return rows_of(connection)


def spelled_anew(text: bytes, *, ascii_only: bool) -> bytes:
    """Returns the text with each line parsed and written again, as another tool would."""
    return b"".join(
        json.dumps(json.loads(line), ensure_ascii=ascii_only, separators=(" , ", " : ")).encode()
        + b"\r\n\n# a remark\n"
        for line in text.split(b"\n")
        if line
    )


def assert_comes_back(path: Path) -> bytes:
    """Checks that a recording has the same rows after export and import; returns the text."""
    rows, text = rows_of_recording(path), text_of(path)
    assert rows_of_text(text) == rows
    for ascii_only in (True, False):
        assert rows_of_text(spelled_anew(text, ascii_only=ascii_only)) == rows
    with RecordingReader(Path("x.jsonl"), io.BytesIO(text), unredacted=True) as reader:
        assert b"".join(write_text_form(reader)) == text
    return text


def run_with(stdin: bytes, *arguments: str | Path, home: Path | None = None) -> Result:
    """Runs ``acp-proxy`` with the given standard input."""
    env = {"ACP_PROXY_RECORDINGS": str(home)} if home else {}
    words = [str(argument) for argument in arguments]
    return CliRunner(env=env).invoke(
        cli, words, input=stdin, prog_name="acp-proxy", catch_exceptions=False
    )
