"""Old recordings are found and deleted, and no other file is."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.directory import disk_size
from acp_proxy.store.library import delete, prunable
from tests.log_writer import LogWriter, handshake, record_conversation, write_conversation
from tests.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86400.0


def age(path: Path, seconds: float) -> None:
    """Makes the files of a recording look so old."""
    for entry in path.parent.glob(f"{path.name}*"):
        os.utime(entry, (time.time() - seconds, time.time() - seconds))


def names(directory: Path) -> list[str]:
    """Returns the names of the files of a directory."""
    return sorted(entry.name for entry in directory.iterdir())


# Listing


def prune(
    directory: Path, *, age: float | None = None, size: float | None = None, spare: Path
) -> list[Path]:
    """Deletes what is too old, or too much, and returns it."""
    found = prunable(directory, older_than=age, larger_than=size, spare=spare)
    return [old.path for old in found if delete(old.path)]


def test_pruning_by_age_deletes_older_recordings(tmp_path: Path) -> None:
    """Recordings that were last written before the age are deleted, the others stay."""
    for name, days in (("a", 10), ("b", 3), ("c", 0)):
        age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
    assert prune(tmp_path, age=5 * DAY, spare=tmp_path / "new.db") == [tmp_path / "a.db"]
    assert names(tmp_path) == ["b.db", "c.db"]


def test_pruning_by_size_deletes_the_oldest(tmp_path: Path) -> None:
    """The oldest go until what is left, the new recording included, is no larger than the size."""
    for name, days in (("a", 1), ("b", 3), ("c", 2)):
        age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
    one = disk_size(tmp_path / "a.db")
    with LogWriter(tmp_path / "new.db") as recorder:
        limit = 2 * one + disk_size(recorder.path)
        assert prune(tmp_path, size=limit, spare=recorder.path) == [tmp_path / "b.db"]
        assert prune(tmp_path, size=limit, spare=recorder.path) == []
        assert prune(tmp_path, size=0, spare=recorder.path) == [
            tmp_path / "c.db",
            tmp_path / "a.db",
        ]
    assert names(tmp_path) == ["new.db.log"]


@pytest.mark.parametrize("limit", [{"age": 0.0}, {"size": 0.0}], ids=["age", "size"])
def test_a_running_recording_is_never_pruned(tmp_path: Path, limit: dict[str, float]) -> None:
    """However old or large it is, a recording whose recorder lives stays."""
    with LogWriter(tmp_path / "a.db") as unindexed, LogWriter(tmp_path / "b.db") as indexed:
        handshake(indexed)
        indexed.index()
        age(unindexed.path, 100 * DAY)
        age(indexed.path, 100 * DAY)
        assert prune(tmp_path, **limit, spare=tmp_path / "new.db") == []
        assert {"a.db.log", "b.db", "b.db.log"} <= set(names(tmp_path))


def test_a_file_that_stays_does_not_count_as_deleted(tmp_path: Path) -> None:
    """Where the oldest is running, the next oldest goes in its place."""
    with LogWriter(tmp_path / "a.db") as running:
        write_conversation(running)
        running.index()
        age(running.path, 3 * DAY)
        for name, days in (("b", 2), ("c", 1)):
            age(record_conversation(tmp_path / f"{name}.db"), days * DAY)
        limit = disk_size(running.path) + disk_size(tmp_path / "c.db")
        assert prune(tmp_path, size=limit, spare=tmp_path / "new.db") == [tmp_path / "b.db"]


def test_side_files_go_with_their_recording(tmp_path: Path) -> None:
    """The log, and what SQLite put beside the database, are deleted with it."""
    with LogWriter(tmp_path / "a.db") as recorder:
        write_conversation(recorder)
        recorder.index()
    age(recorder.path, 10 * DAY)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == [recorder.path]
    assert names(tmp_path) == []


def test_an_unreadable_file_is_not_deleted(tmp_path: Path) -> None:
    """Another program's files, broken ones and the new recording itself are left alone."""
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


# The text form


def write_text(path: Path, name: str, **start: str) -> Path:
    """Makes a recording's text form, and only that."""
    database = record_conversation(path.with_suffix(".db"), name=name, **start)
    path.write_bytes(text_of(database))
    database.unlink()
    return path


def test_old_texts_are_pruned(tmp_path: Path) -> None:
    """A text is deleted alone, and what only has its ending is not ours to delete."""
    text = write_text(tmp_path / "a.jsonl", "story")
    foreign = tmp_path / "b.jsonl"
    foreign.write_text("{}\n")
    beside = tmp_path / "a.jsonl.log"
    beside.touch()
    for path in (text, foreign):
        age(path, 2 * DAY)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == [text]
    assert names(tmp_path) == ["a.jsonl.log", "b.jsonl"]
