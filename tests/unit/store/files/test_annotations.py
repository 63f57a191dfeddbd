"""Notes can be written into any recording, even while its recorder runs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import CannotAnnotate, UnreadableRecording
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.files.database import open_readonly
from acp_proxy.store.files.directory import read_id_and_note
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.schema import VERSION
from tests.support.log_writer import LogWriter, handshake, record_conversation, write_conversation

if TYPE_CHECKING:
    from pathlib import Path


def make_old(path: Path) -> Path:
    """Makes a database of version 1, without the column for notes."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE recording DROP COLUMN note")
        connection.execute("DELETE FROM _sqlite_migrations WHERE name = '0002_note'")
        connection.commit()
        connection.execute("PRAGMA user_version = 1")
    return path


def note_of(path: Path) -> str | None:
    """Returns the note of a recording, as a reader returns it."""
    with RecordingReader(path) as reader:
        return reader.recording.note


def test_a_note_is_written_and_taken_away(tmp_path: Path) -> None:
    """`note` writes and removes a note, and keeps the modification time of the file."""
    path = record_conversation(tmp_path / "x.db")
    os.utime(path, (1e9, 1e9))
    set_note(path, "zwei\nZeilen 你好")
    assert note_of(path) == "zwei\nZeilen 你好"
    assert read_id_and_note(path) == ("c0ffee000001", "zwei\nZeilen 你好")
    set_note(path, None)
    assert note_of(path) is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.db"]
    assert path.stat().st_mtime == 1e9


def test_a_recording_of_version_1_is_read_as_it_is(tmp_path: Path) -> None:
    """If commands read a recording of database version 1, they do not change its file."""
    path = make_old(record_conversation(tmp_path / "x.db"))
    before = path.read_bytes()
    assert note_of(path) is None
    assert read_id_and_note(path) == ("c0ffee000001", None)
    assert path.read_bytes() == before


def test_a_note_migrates_a_recording_of_version_1(tmp_path: Path) -> None:
    """The first `note` on an older recording adds a database column for notes."""
    path = make_old(record_conversation(tmp_path / "x.db"))
    set_note(path, "words")
    assert note_of(path) == "words"
    with contextlib.closing(open_readonly(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert connection.execute("SELECT count(*) FROM frame_rows").fetchone() == (18,)


def test_a_running_recording_of_version_1_is_read(tmp_path: Path) -> None:
    """Commands read a running recording of database version 1."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        make_old(recorder.path)
        write_conversation(recorder)
        with RecordingReader(recorder.path) as reader:
            assert (reader.live, reader.count(), reader.recording.note) == (True, 20, None)
            assert reader.recording.exit_code == 3


def test_a_dead_recording_of_version_1_is_finished(tmp_path: Path) -> None:
    """If an older recorder was killed, commands finish the recording and keep its note."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        make_old(recorder.path)
        write_conversation(recorder)
    set_note(recorder.path, "words")
    with RecordingReader(recorder.path) as reader:
        assert (reader.recording.note, reader.count()) == ("words", 20)


def test_a_note_on_a_running_recording_survives_its_recorder(tmp_path: Path) -> None:
    """A note on a running recording is kept when the recorder ends."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        set_note(recorder.path, "words")
        write_conversation(recorder)
        for _ in range(2):
            with RecordingReader(recorder.path) as reader:
                row = reader.recording
                assert (row.note, row.exit_code) == ("words", 3)
            recorder.index()
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        row = reader.recording
        assert (row.note, row.state) == ("words", "complete")


def test_a_recording_that_has_no_row_yet_has_to_wait(tmp_path: Path) -> None:
    """If a recorder has only just started, the error of `note` says to try again."""
    with (
        LogWriter(tmp_path / "x.db") as recorder,
        pytest.raises(CannotAnnotate, match="only just started; try again"),
    ):
        set_note(recorder.path, "words")


def test_a_locked_recording_is_reported_as_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While another program writes to a recording, the error of `note` says to try again."""
    monkeypatch.setattr("acp_proxy.store.files.annotations._PATIENCE_S", 0.0)
    path = record_conversation(tmp_path / "x.db")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(CannotAnnotate, match="another program has locked it; try again"):
            set_note(path, "words")
        other.execute("ROLLBACK")
    assert note_of(path) is None


def test_a_file_that_is_no_recording_is_not_changed(tmp_path: Path) -> None:
    """`note` refuses a file that is not a recording."""
    (tmp_path / "text.db").write_text("hello")
    with contextlib.closing(sqlite3.connect(tmp_path / "songs.db")) as other:
        other.execute("CREATE TABLE recording (id, note)")
    for name in ("text.db", "songs.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(UnreadableRecording):
            set_note(tmp_path / name, "words")
        assert (tmp_path / name).read_bytes() == before
        assert read_id_and_note(tmp_path / name) is None


def test_a_text_form_is_annotated_in_its_header(tmp_path: Path) -> None:
    """`note` on a text form changes only its header."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        lines = list(write_text_form(reader))
    path = tmp_path / "y.jsonl"
    path.write_bytes(b"".join([b"# a remark\n", *lines]))
    path.chmod(0o640)
    set_note(path, "words")
    with RecordingReader(path) as reader:
        assert reader.recording.note == "words"
    assert read_id_and_note(path) == ("c0ffee000001", "words")
    written = path.read_bytes().splitlines(keepends=True)
    assert written[0] == b"# a remark\n"
    assert written[2:] == lines[1:]
    assert path.stat().st_mode & 0o777 == 0o640
    set_note(path, None)
    assert path.read_bytes().splitlines(keepends=True)[1:] == lines
