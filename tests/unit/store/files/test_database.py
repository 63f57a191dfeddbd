"""Databases of recordings are readable by their owner only, and are opened without trust."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import (
    DamagedRecording,
    NewerRecording,
    NotARecording,
    UnreadableRecording,
)
from acp_proxy.store.files import database
from acp_proxy.store.tables.schema import VERSION
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


def names(path: Path) -> set[str]:
    """Returns the names of the files in a directory."""
    return {entry.name for entry in path.iterdir()}


def test_every_file_is_its_owners_alone(tmp_path: Path) -> None:
    """The database of a recording has mode 0600."""
    before = os.umask(0)
    try:
        with contextlib.closing(database.create(tmp_path / "x.db")):
            modes = {entry.name: entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == {"x.db": 0o600, "x.db-wal": 0o600, "x.db-shm": 0o600}


def test_the_write_ahead_log_stays_small(tmp_path: Path) -> None:
    """While a recorder writes, SQLite's write-ahead log stays below one megabyte."""
    with contextlib.closing(database.create(tmp_path / "x.db")) as connection:
        for number in range(100):
            connection.execute("INSERT INTO events VALUES (?, 0, 'note', ?)", (number, "x" * 10**5))
            connection.commit()
        assert (tmp_path / "x.db-wal").stat().st_size < 1_000_000
        assert (tmp_path / "x.db").stat().st_size > 9_000_000


def test_closing_leaves_one_plain_file(tmp_path: Path) -> None:
    """When a recorder has closed its database, no write-ahead log is left beside the database."""
    database.close(database.create(tmp_path / "x.db"))
    assert names(tmp_path) == {"x.db"}
    with contextlib.closing(database.open_readonly(tmp_path / "x.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        assert names(tmp_path) == {"x.db"}


def test_a_write_ahead_log_that_a_reader_kept_open_is_folded_in_later(tmp_path: Path) -> None:
    """`database.fold` merges a write-ahead log only when the last reader has closed it."""
    path = tmp_path / "x.db"
    writer = database.create(path)
    with contextlib.closing(database.open_readonly(path)) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (0,)
        writer.execute("INSERT INTO events VALUES (1, 0, 'note', '{}')")
        writer.commit()
        database.close(writer)
        assert (tmp_path / "x.db-wal").stat().st_size
        database.fold(path)
        assert (tmp_path / "x.db-wal").exists()
    database.fold(path)
    assert names(tmp_path) == {"x.db"}
    with contextlib.closing(database.open_readonly(path)) as reader:
        assert reader.execute("SELECT count(*) FROM events").fetchone() == (1,)


def test_a_foreign_database_is_never_written_to(tmp_path: Path) -> None:
    """A recorder does not write into the database of another program."""
    path = tmp_path / "x.db"
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE songs (title)")
    with pytest.raises(sqlite3.DatabaseError, match="another program"):
        database.create(path)
    with contextlib.closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT name FROM sqlite_master").fetchall() == [("songs",)]
        assert other.execute("PRAGMA application_id").fetchone() == (0,)


def test_a_reader_cannot_write(tmp_path: Path) -> None:
    """If a recording is opened to be read, no SQL statement can change it."""
    path = record_conversation(tmp_path / "x.db")
    with contextlib.closing(database.open_readonly(path)) as connection:
        for statement in ("DELETE FROM events", "CREATE TABLE t (x)", "PRAGMA user_version = 7"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(statement)


def test_a_files_schema_is_not_trusted(tmp_path: Path) -> None:
    """When `open_readonly` opens a database, SQLite's setting `trusted_schema` is off."""
    path = record_conversation(tmp_path / "x.db")
    with contextlib.closing(database.open_readonly(path)) as connection:
        assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_text_is_not_a_recording(tmp_path: Path) -> None:
    """If a file `.db` contains text, `open_readonly` reports that it is not a SQLite database."""
    (tmp_path / "x.db").write_text("hello, world")
    with pytest.raises(NotARecording, match="it is not a SQLite database"):
        database.open_readonly(tmp_path / "x.db")


def test_a_directory_is_not_a_recording(tmp_path: Path) -> None:
    """`open_readonly` refuses a directory, and reports that the path is a directory."""
    with pytest.raises(NotARecording, match="is a directory"):
        database.open_readonly(tmp_path)


def test_another_programs_database_is_not_a_recording(tmp_path: Path) -> None:
    """`open_readonly` refuses a SQLite database of another program, and the error says so."""
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as other:
        other.execute("CREATE TABLE songs (title)")
    with pytest.raises(NotARecording, match="a SQLite database of another program"):
        database.open_readonly(tmp_path / "x.db")


def test_a_newer_format_is_refused_with_a_hint(tmp_path: Path) -> None:
    """If a database has a newer format, the error of `open_readonly` says to upgrade acp-proxy."""
    path = record_conversation(tmp_path / "x.db")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(
        NewerRecording, match=f"at most format {VERSION}, got {VERSION + 1}; upgrade"
    ):
        database.open_readonly(path)


def test_a_broken_schema_is_damage(tmp_path: Path) -> None:
    """If a database's schema is broken, commands call it damaged and suggest `.recover`."""
    path = record_conversation(tmp_path / "$(x y).db")
    content = bytearray(path.read_bytes())
    content[100:110] = bytes(10)
    path.write_bytes(content)
    with pytest.raises(DamagedRecording, match="it is damaged") as caught:
        _read(path)
    assert str(caught.value).endswith(f"; try `sqlite3 '{path}' .recover`")


def test_a_locked_file_is_not_called_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another program locks a database, `open_readonly` reports the lock and no damage."""
    path = record_conversation(tmp_path / "x.db")
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **kw: connect(*a, **{**kw, "timeout": 0}))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnreadableRecording, match="another program has locked it") as caught:
            database.open_readonly(path)
    assert not isinstance(caught.value, DamagedRecording)


def _read(path: Path) -> None:
    with contextlib.closing(database.open_readonly(path)) as connection:
        try:
            connection.execute("SELECT * FROM frames").fetchall()
        except sqlite3.Error as e:
            raise database.unreadable(path, e) from None


def test_an_error_is_one_line(tmp_path: Path) -> None:
    """The message of `DamagedRecording` is one line, even if it quotes text of several lines."""
    assert str(DamagedRecording(tmp_path, "no such\ncolumn")).count("\n") == 0
