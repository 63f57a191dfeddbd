"""Recordings are listed in any state, and `prune` deletes only old ones."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.files.directory import (
    delete,
    disk_size,
    list_recordings,
    paths,
    prunable,
    read_listed,
)
from tests.support.indexed_rows import alter
from tests.support.log_writer import LogWriter, handshake, record_conversation, write_conversation
from tests.support.text_recordings import text_of

if TYPE_CHECKING:
    from pathlib import Path


DAY = 86400.0


def write_text(path: Path, name: str, **start: str) -> Path:
    """Makes the text form of a recording without its database."""
    database = record_conversation(path.with_suffix(".db"), name=name, **start)
    path.write_bytes(text_of(database))
    database.unlink()
    return path


def test_a_log_alone_counts(tmp_path: Path) -> None:
    """`list` shows a capture log without a database as a recording."""
    record_conversation(tmp_path / "b.db")
    with LogWriter(tmp_path / "a.db"):
        pass
    (tmp_path / "notes.txt").touch()
    (tmp_path / "server.log").touch()
    (tmp_path / "old.db").mkdir()
    assert paths(tmp_path) == [tmp_path / "a.db", tmp_path / "b.db"]


def test_a_missing_directory_has_no_recordings(tmp_path: Path) -> None:
    """`list` treats a recordings directory that does not exist as empty."""
    (tmp_path / "file").touch()
    assert paths(tmp_path / "nowhere") == paths(tmp_path / "file") == []


def test_an_entry_has_all_columns_of_a_list(tmp_path: Path) -> None:
    """For `list`, `read_listed` returns the frames, turns, exit code, first prompt and size."""
    path = record_conversation(tmp_path / "x.db")
    entry = read_listed(path)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.recording is not None
    assert entry.recording.exit_code == 3
    assert entry.first_prompt is not None
    assert "hello 你好" in entry.first_prompt.decode()
    assert entry.size == path.stat().st_size == disk_size(path)


def test_a_running_recording_is_counted_to_its_last_frame(tmp_path: Path) -> None:
    """`list` counts the frames of a running recording that are not in the database yet."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
        write_conversation(recorder)
        entry = read_listed(recorder.path)
        assert (entry.live, entry.frames, entry.turns) == (True, 20, 1)
        assert entry.first_prompt is not None
        assert entry.size == sum(file.stat().st_size for file in tmp_path.glob("x.db*"))


def test_a_size_is_that_after_reading(tmp_path: Path) -> None:
    """If `list` finishes a killed recording, it shows the size of the finished file."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    assert read_listed(recorder.path).size == recorder.path.stat().st_size


def test_an_unreadable_recording_is_listed_with_its_problem(tmp_path: Path) -> None:
    """`list` shows a broken file with its problem."""
    (tmp_path / "b.db").write_text("no database")
    record_conversation(tmp_path / "a.db")
    good, bad = list_recordings(paths(tmp_path))
    assert (good.path.name, good.problem) == ("a.db", None)
    assert bad.recording is None
    assert bad.problem == f"cannot read {bad.path} as a recording: it is not a SQLite database"
    assert bad.size == len("no database")


def test_the_newest_is_first(tmp_path: Path) -> None:
    """`list` sorts recordings by their start, newest first."""
    for number in (2, 3, 1):
        record_conversation(tmp_path / f"{number}.db", wall=number * 10**18)
    assert [entry.path.stem for entry in list_recordings(paths(tmp_path))] == ["3", "2", "1"]


def test_texts_are_recordings(tmp_path: Path) -> None:
    """`list` shows a file as text form only if the file has the right suffix and header."""
    text = write_text(tmp_path / "a.jsonl", "story")
    record_conversation(tmp_path / "b.db")
    (tmp_path / "c.jsonl").write_text('{"some": "thing"}\n')
    (tmp_path / "d.jsonl").mkdir()
    assert paths(tmp_path) == [text, tmp_path / "b.db"]
    entry = read_listed(text)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.size == text.stat().st_size


def test_a_text_with_a_mistake_is_an_entry_with_a_problem(tmp_path: Path) -> None:
    """If a text form has a wrong line, `list` shows the file with the number of the line."""
    text = write_text(tmp_path / "a.jsonl", "story")
    text.write_bytes(text.read_bytes() + b"{}\n")
    entry = read_listed(text)
    assert entry.recording is None
    assert "line 25: expected one of 'stream'" in str(entry.problem)


def test_a_frame_of_no_stream_is_passed_over(tmp_path: Path) -> None:
    """`list` shows a recording even if its frames name an unknown stream."""
    path = alter(
        record_conversation(tmp_path / "x.db"),
        "UPDATE recording SET redaction = NULL",
        "UPDATE frame_rows SET flags = flags & ~3 WHERE seq < 6",
    )
    assert read_listed(path).problem is None


def age(path: Path, seconds: float) -> None:
    """Sets the modification times of a recording's files."""
    for entry in path.parent.glob(f"{path.name}*"):
        os.utime(entry, (time.time() - seconds, time.time() - seconds))


def names(directory: Path) -> list[str]:
    """Returns the names of the files in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def prune(
    directory: Path, *, age: float | None = None, size: float | None = None, spare: Path
) -> list[Path]:
    """Deletes recordings that are too old or too large in total, and returns their paths."""
    old_ones = prunable(directory, older_than=age, larger_than=size, spare=spare)
    return [old.path for old in old_ones if delete(old.path)]


def test_pruning_by_age_deletes_older_recordings(tmp_path: Path) -> None:
    """`prune` by age deletes recordings that were last written before the limit."""
    for name, days in (("a", 10), ("b", 3), ("c", 0)):
        age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
    assert prune(tmp_path, age=5 * DAY, spare=tmp_path / "new.db") == [tmp_path / "a.db"]
    assert names(tmp_path) == ["b.db", "c.db"]


def test_pruning_by_size_deletes_the_oldest(tmp_path: Path) -> None:
    """`prune` by size deletes the oldest recordings until those left are small enough."""
    for name, days in (("a", 1), ("b", 3), ("c", 2)):
        age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
    single = disk_size(tmp_path / "a.db")
    with LogWriter(tmp_path / "new.db") as recorder:
        limit = 2 * single + disk_size(recorder.path)
        assert prune(tmp_path, size=limit, spare=recorder.path) == [tmp_path / "b.db"]
        assert prune(tmp_path, size=limit, spare=recorder.path) == []
        assert prune(tmp_path, size=0, spare=recorder.path) == [
            tmp_path / "c.db",
            tmp_path / "a.db",
        ]
    assert names(tmp_path) == ["new.db.log"]


@pytest.mark.parametrize("limit", [{"age": 0.0}, {"size": 0.0}], ids=["age", "size"])
def test_a_running_recording_is_never_pruned(tmp_path: Path, limit: dict[str, float]) -> None:
    """`prune` keeps a recording whose recorder is running."""
    with LogWriter(tmp_path / "a.db") as unindexed, LogWriter(tmp_path / "b.db") as indexed:
        handshake(indexed)
        indexed.index()
        age(unindexed.path, 100 * DAY)
        age(indexed.path, 100 * DAY)
        assert prune(tmp_path, **limit, spare=tmp_path / "new.db") == []
        assert {"a.db.log", "b.db", "b.db.log"} <= set(names(tmp_path))


def test_a_file_that_stays_does_not_count_as_deleted(tmp_path: Path) -> None:
    """`prune` by size keeps a running recording, and deletes older ones until the size fits."""
    with LogWriter(tmp_path / "a.db") as running:
        write_conversation(running)
        running.index()
        age(running.path, 3 * DAY)
        for name, days in (("b", 2), ("c", 1)):
            age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
        limit = disk_size(running.path) + disk_size(tmp_path / "c.db")
        assert prune(tmp_path, size=limit, spare=tmp_path / "new.db") == [tmp_path / "b.db"]


def test_side_files_go_with_their_recording(tmp_path: Path) -> None:
    """If `prune` deletes a recording, it also deletes its capture log."""
    with LogWriter(tmp_path / "a.db") as recorder:
        write_conversation(recorder)
        recorder.index()
    age(recorder.path, 10 * DAY)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == [recorder.path]
    assert names(tmp_path) == []


def test_an_unreadable_file_is_not_deleted(tmp_path: Path) -> None:
    """`prune` keeps files that it cannot read, such as text files or damaged databases."""
    (tmp_path / "a.db").write_text("somebody's")
    (tmp_path / "b.db").touch()
    (tmp_path / "c.db.log").write_text("somebody's log, longer than a first record is")
    record_conversation(tmp_path / "new.db")
    damaged = record_conversation(tmp_path / "d.db")
    damaged.write_bytes(damaged.read_bytes().replace(b"CREATE TABLE", b"CREATE TEXTS"))
    cut = record_conversation(tmp_path / "e.db")
    cut.write_bytes(cut.read_bytes()[:2000])
    for name in "abcde":
        age(tmp_path / f"{name}.db", 10 * DAY)
    age(tmp_path / "new.db", 10 * DAY)
    before = names(tmp_path)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == []
    assert prune(tmp_path, size=0, spare=tmp_path / "new.db") == []
    assert names(tmp_path) == before


def test_old_texts_are_pruned(tmp_path: Path) -> None:
    """`prune` deletes old recordings in text form."""
    text = write_text(tmp_path / "a.jsonl", "story")
    foreign = tmp_path / "b.jsonl"
    foreign.write_text("{}\n")
    beside = tmp_path / "a.jsonl.log"
    beside.touch()
    for path in (text, foreign):
        age(path, 2 * DAY)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == [text]
    assert names(tmp_path) == ["a.jsonl.log", "b.jsonl"]
