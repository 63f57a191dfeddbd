"""A database that `import` makes from a text form is complete, or no file is left."""

from __future__ import annotations

import io
import json
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.store.copies import text_import
from acp_proxy.store.copies.text_import import import_text_form
from acp_proxy.store.files.database import new_rows
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, record_conversation
from tests.support.text_recordings import HEADER, rows_of_recording, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator


def make(text: bytes, directory: Path, **options: str) -> Path:
    """Imports a text form, and returns the path of its database."""
    return import_text_form(io.BytesIO(text), Path("x.jsonl"), directory, **options)


def test_the_database_is_a_plain_private_file(tmp_path: Path) -> None:
    """`import` makes a database that only its owner can read."""
    text = text_of(record_conversation(tmp_path / "x.db"))
    home = tmp_path / "home"
    home.mkdir()
    path = make(text, home, stem="y")
    assert list(home.iterdir()) == [path]
    assert path.stat().st_mode & 0o777 == 0o600
    assert rows_of_recording(path) == rows_of_recording(tmp_path / "x.db")
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_an_existing_file_is_never_touched(tmp_path: Path) -> None:
    """If a file of the recording's name exists, `import` keeps it and adds a number to the name."""
    (tmp_path / "x.db").write_bytes(b"mine")
    (tmp_path / "x-3.db").symlink_to("nowhere")
    with LogWriter(tmp_path / "x-2.db"):
        (tmp_path / "x-4.db-journal").touch()
        assert make(HEADER, tmp_path) == tmp_path / "x-5.db"
    assert (tmp_path / "x.db").read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("name", "file"),
    [("../../etc/x", "etc-x.db"), (".", "recording.db"), ("é b\n", "é-b.db"), ("", "recording.db"),
     ("n" * 300, f"{'n' * 60}.db")],
)  # fmt: skip
def test_a_name_from_a_text_stays_in_its_directory(tmp_path: Path, name: str, file: str) -> None:
    """`import` stores a recording in the recordings directory, even if its name is a path."""
    text = HEADER.replace(b'"x"', json.dumps(name).encode())
    assert make(text, tmp_path) == tmp_path / file
    assert list(tmp_path.iterdir()) == [tmp_path / file]


def test_a_recording_can_get_another_name(tmp_path: Path) -> None:
    """`import --name` stores the given name in the database."""
    with RecordingReader(make(HEADER, tmp_path, name="mine")) as reader:
        assert reader.recording.name == "mine"


def test_a_failed_import_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If `import` fails, it leaves no files."""
    with pytest.raises(UnreadableRecording, match="line 2"):
        make(HEADER + b"{", tmp_path)

    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(text_import, "read_text_form", full)
    with pytest.raises(OSError, match="disk is full"):
        make(HEADER, tmp_path)
    monkeypatch.undo()

    def killed() -> Iterator[bytes]:
        yield HEADER
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_text_form(killed(), Path("x.jsonl"), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    """`import` fails if the directory for its database does not exist."""
    with pytest.raises(FileNotFoundError):
        make(HEADER, tmp_path / "none")


def test_rows_can_be_temporary() -> None:
    """The rows of a text form that a command reads are in memory, not in a file."""
    connection = new_rows()
    assert connection.execute("PRAGMA database_list").fetchall() == [(0, "main", "")]
    assert connection.execute("SELECT count(*) FROM frame_rows").fetchone() == (0,)
    connection.close()
