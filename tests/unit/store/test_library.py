"""Recordings are listed whatever their state."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from acp_proxy.store.directory import disk_size, paths
from acp_proxy.store.library import list_recordings, read_listed
from tests.log_writer import LogWriter, handshake, record_conversation, write_conversation
from tests.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path


def test_a_log_alone_counts(tmp_path: Path) -> None:
    """A directory's recordings are its databases, and the logs that have none yet."""
    record_conversation(tmp_path / "b.db")
    with LogWriter(tmp_path / "a.db"):
        pass
    (tmp_path / "notes.txt").touch()
    (tmp_path / "server.log").touch()
    (tmp_path / "old.db").mkdir()
    assert paths(tmp_path) == [tmp_path / "a.db", tmp_path / "b.db"]


def test_a_missing_directory_has_no_recordings(tmp_path: Path) -> None:
    """A path that does not exist, or is no directory, has no recordings."""
    (tmp_path / "file").touch()
    assert paths(tmp_path / "nowhere") == paths(tmp_path / "file") == []


def test_an_entry_has_all_columns_of_a_list(tmp_path: Path) -> None:
    """Frames, turns, the first prompt and the bytes on the disk are in an entry."""
    path = record_conversation(tmp_path / "x.db")
    entry = read_listed(path)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.recording is not None
    assert entry.recording.exit_code == 3
    assert entry.first_prompt is not None
    assert "hello 你好" in entry.first_prompt.decode()
    assert entry.size == path.stat().st_size == disk_size(path)


def test_a_running_recording_is_counted_to_its_last_frame(tmp_path: Path) -> None:
    """What is only in the log counts: frames, turns, the first prompt and the log's own size."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        write_conversation(recorder)
        entry = read_listed(recorder.path)
        assert (entry.live, entry.frames, entry.turns) == (True, 20, 1)
        assert entry.first_prompt is not None
        assert entry.size == sum(found.stat().st_size for found in tmp_path.glob("x.db*"))


def test_a_size_is_that_after_reading(tmp_path: Path) -> None:
    """A log that reading turns into a database is listed with the database's size."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    assert read_listed(recorder.path).size == recorder.path.stat().st_size


def test_an_unreadable_recording_is_listed_with_its_problem(tmp_path: Path) -> None:
    """A broken file neither hides nor spoils the list; it comes last, with its problem."""
    (tmp_path / "b.db").write_text("no database")
    record_conversation(tmp_path / "a.db")
    good, bad = list_recordings(paths(tmp_path))
    assert (good.path.name, good.problem) == ("a.db", None)
    assert bad.recording is None
    assert bad.problem == f"cannot read {bad.path} as a recording: it is not a SQLite database"
    assert bad.size == len("no database")


def test_the_newest_is_first(tmp_path: Path) -> None:
    """A list is ordered by when the recordings began."""
    for number in (2, 3, 1):
        record_conversation(tmp_path / f"{number}.db", wall=number * 10**18)
    assert [entry.path.stem for entry in list_recordings(paths(tmp_path))] == ["3", "2", "1"]


# Finding


def write_text(path: Path, name: str, **start: str) -> Path:
    """Makes a recording's text form, and only that."""
    database = record_conversation(path.with_suffix(".db"), name=name, **start)
    path.write_bytes(text_of(database))
    database.unlink()
    return path


def test_texts_are_recordings(tmp_path: Path) -> None:
    """A file named and begun like the text form counts; one that is only named so does not."""
    text = write_text(tmp_path / "a.jsonl", "story")
    record_conversation(tmp_path / "b.db")
    (tmp_path / "c.jsonl").write_text('{"some": "thing"}\n')
    (tmp_path / "d.jsonl").mkdir()
    assert paths(tmp_path) == [text, tmp_path / "b.db"]
    entry = read_listed(text)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.size == text.stat().st_size


def test_a_text_with_a_mistake_is_an_entry_with_a_problem(tmp_path: Path) -> None:
    """A list goes on, and names the line that is wrong."""
    text = write_text(tmp_path / "a.jsonl", "story")
    text.write_bytes(text.read_bytes() + b"{}\n")
    entry = read_listed(text)
    assert entry.recording is None
    assert "line 25: expected one of stream" in str(entry.problem)


def test_a_frame_of_no_stream_is_passed_over(tmp_path: Path) -> None:
    """A damaged file is listed like others; what masking reads of it is less."""
    path = record_conversation(tmp_path / "x.db")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE recording SET redaction = NULL")
        connection.execute("UPDATE frame_rows SET flags = flags & ~3 WHERE seq < 6")
    assert read_listed(path).problem is None
