"""Recordings are found the way people name them, listed whatever their state, and pruned safely."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from acp_proxy.errors import NoSuchRecording
from acp_proxy.store.library import (
    delete,
    disk_size,
    entries,
    latest,
    latest_running,
    paths,
    prunable,
    read_entry,
    resolve,
)
from tests.scribe import Scribe, handshake, record_story, tell_story
from tests.texts import text_of

HERE = Path("/srv/project")
"""Where every recording of a scribe was made, unless it says otherwise."""
DAY = 86400.0


def age(path: Path, seconds: float) -> None:
    """Makes the files of a recording look so old."""
    for entry in path.parent.glob(f"{path.name}*"):
        os.utime(entry, (time.time() - seconds, time.time() - seconds))


def names(directory: Path) -> list[str]:
    """Returns the names of the files of a directory."""
    return sorted(entry.name for entry in directory.iterdir())


# Listing


def test_a_log_alone_counts(tmp_path: Path) -> None:
    """A directory's recordings are its databases, and the logs that have none yet."""
    record_story(tmp_path / "b.db")
    with Scribe(tmp_path / "a.db"):
        pass
    (tmp_path / "notes.txt").touch()
    (tmp_path / "server.log").touch()
    (tmp_path / "old.db").mkdir()
    assert paths(tmp_path) == [tmp_path / "a.db", tmp_path / "b.db"]


def test_what_is_no_directory_has_no_recordings(tmp_path: Path) -> None:
    """A directory that is not there, or is none, holds nothing."""
    (tmp_path / "file").touch()
    assert paths(tmp_path / "nowhere") == paths(tmp_path / "file") == []


def test_an_entry_says_what_a_list_shows(tmp_path: Path) -> None:
    """Frames, turns, the first prompt and the bytes on the disk are in an entry."""
    path = record_story(tmp_path / "x.db")
    entry = read_entry(path)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.recording is not None
    assert entry.recording.exit_code == 3
    assert entry.first_prompt is not None
    assert "hello 你好" in entry.first_prompt.decode()
    assert entry.size == path.stat().st_size == disk_size(path)


def test_a_running_recording_is_counted_to_its_last_frame(tmp_path: Path) -> None:
    """What is only in the log counts: frames, turns, the first prompt and the log's own size."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
        scribe.index()
        tell_story(scribe)
        entry = read_entry(scribe.path)
        assert (entry.live, entry.frames, entry.turns) == (True, 20, 1)
        assert entry.first_prompt is not None
        assert entry.size == sum(found.stat().st_size for found in tmp_path.glob("x.db*"))


def test_a_size_is_that_after_reading(tmp_path: Path) -> None:
    """A log that reading turns into a database is listed with the database's size."""
    with Scribe(tmp_path / "x.db") as scribe:
        handshake(scribe)
    assert read_entry(scribe.path).size == scribe.path.stat().st_size


def test_what_cannot_be_read_is_listed_with_its_problem(tmp_path: Path) -> None:
    """A broken file neither hides nor spoils the list; it is at its end, and says what is wrong."""
    (tmp_path / "b.db").write_text("no database")
    record_story(tmp_path / "a.db")
    good, bad = entries(tmp_path)
    assert (good.path.name, good.problem) == ("a.db", None)
    assert bad.recording is None
    assert bad.problem == f"cannot read {bad.path} as a recording: it is not a SQLite database"
    assert bad.size == len("no database")


def test_the_newest_is_first(tmp_path: Path) -> None:
    """A list is ordered by when the recordings began."""
    for number in (2, 3, 1):
        record_story(tmp_path / f"{number}.db", wall=number * 10**18)
    assert [entry.path.stem for entry in entries(tmp_path)] == ["3", "2", "1"]


# Finding


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A directory with three recordings, the newest made somewhere else."""
    directory = tmp_path / "recordings"
    directory.mkdir()
    record_story(directory / "first.db", id="aaaa11", wall=10**18)
    record_story(directory / "second.db", id="aabb22", wall=2 * 10**18)
    record_story(directory / "third.db", id="ccdd33", wall=3 * 10**18, cwd="/elsewhere")
    return directory


@pytest.mark.parametrize("word", ["second", "second.db", "aabb22", "aab"])
def test_a_name_or_the_start_of_an_id_finds_it(library: Path, word: str) -> None:
    """A recording goes by its name, its file's name and any start of its id that is its alone."""
    assert resolve(word, library, HERE) == library / "second.db"


def test_a_path_finds_it(library: Path, tmp_path: Path) -> None:
    """A path is taken for what it is, the log's and one without its suffix included."""
    with Scribe(tmp_path / "x.db") as scribe:
        assert resolve(str(scribe.log_path), library, HERE) == scribe.path
        assert resolve(str(scribe.path), library, HERE) == scribe.path
    path = record_story(tmp_path / "y.db")
    assert resolve(str(path), library, HERE) == path
    assert resolve(str(tmp_path / "y"), library, HERE) == path


def test_a_file_here_comes_before_a_name_there(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in the current directory is meant before what is in the recordings directory."""
    record_story(tmp_path / "second.db")
    monkeypatch.chdir(tmp_path)
    assert resolve("second", library, HERE) == Path("second.db")


def test_a_name_given_by_option_finds_it(library: Path) -> None:
    """The name in the recording counts as well as the file's."""
    record_story(library / "file.db", id="eeff44", name="given")
    assert resolve("given", library, HERE) == library / "file.db"


def test_latest_prefers_what_was_made_here(library: Path) -> None:
    """`latest` is the newest of the current directory, or of all if it has none."""
    assert resolve("latest", library, HERE) == library / "second.db"
    assert resolve("latest", library, Path("/elsewhere")) == library / "third.db"
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"


def test_latest_names_the_newer_one_that_it_passes_over(library: Path) -> None:
    """One that was made in another directory; where it is the newest itself, there is none."""
    passed_over = latest(library, HERE).passed_over
    assert passed_over is not None
    assert (passed_over[0], passed_over[1].cwd) == (library / "third.db", "/elsewhere")
    assert latest(library, Path("/nowhere")).passed_over is None


def test_only_recordings_with_a_recorder_run(library: Path) -> None:
    """A log that its recorder has left is no running recording; the newest that runs is meant."""
    with Scribe(library / "dead.db"):
        pass
    assert latest_running(library, HERE) is None
    with Scribe(library / "live.db") as live:
        found = latest_running(library, Path("/elsewhere"))
        assert found is not None
        assert found.path == live.path
        assert found.passed_over is not None
        assert found.passed_over[0] == library / "third.db"


def test_latest_passes_over_what_cannot_be_read(library: Path) -> None:
    """A broken file is not the latest recording."""
    (library / "zzz.db").write_text("no database")
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"


def test_a_start_that_fits_several_names_them(library: Path) -> None:
    """An ambiguous start of an id is answered with the recordings it fits."""
    with pytest.raises(NoSuchRecording) as caught:
        resolve("aa", library, HERE)
    assert str(caught.value) == (
        "'aa' fits 2 recordings: aabb22 (second.db), aaaa11 (first.db); give more of the id"
    )


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (
            "nope",
            "no recording named 'nope' in {}: expected a path, a name, the start of an id, or",
        ),
        ("nope.db", "no recording at nope.db; `acp-proxy inspect list` shows them"),
        ("no/where", "no recording at no/where; `acp-proxy inspect list` shows them"),
    ],
)
def test_an_unknown_word_is_told(library: Path, word: str, answer: str) -> None:
    """What is not found is named, with what was expected and where to look."""
    with pytest.raises(NoSuchRecording) as caught:
        resolve(word, library, HERE)
    assert str(caught.value).startswith(answer.format(library))


def test_latest_of_nothing_says_how_to_begin(tmp_path: Path) -> None:
    """Where there is no recording, the answer says how to make one."""
    with pytest.raises(
        NoSuchRecording, match="put `acp-proxy record --` before an agent's command"
    ):
        resolve("latest", tmp_path, HERE)


# Pruning


def prune(
    directory: Path, *, age: float | None = None, size: float | None = None, spare: Path
) -> list[Path]:
    """Deletes what is too old, or too much, and returns it."""
    found = prunable(directory, older_than=age, larger_than=size, spare=spare)
    return [old.path for old in found if delete(old.path)]


def test_pruning_by_age_deletes_what_is_older(tmp_path: Path) -> None:
    """Recordings that were last written before the age are deleted, the others stay."""
    for name, days in (("a", 10), ("b", 3), ("c", 0)):
        age(record_story(tmp_path / f"{name}.db"), days * DAY)
    assert prune(tmp_path, age=5 * DAY, spare=tmp_path / "new.db") == [tmp_path / "a.db"]
    assert names(tmp_path) == ["b.db", "c.db"]


def test_pruning_by_size_deletes_the_oldest(tmp_path: Path) -> None:
    """The oldest go until what is left, the new recording included, is no larger than the size."""
    for name, days in (("a", 1), ("b", 3), ("c", 2)):
        age(record_story(tmp_path / f"{name}.db"), days * DAY)
    one = disk_size(tmp_path / "a.db")
    with Scribe(tmp_path / "new.db") as scribe:
        limit = 2 * one + disk_size(scribe.path)
        assert prune(tmp_path, size=limit, spare=scribe.path) == [tmp_path / "b.db"]
        assert prune(tmp_path, size=limit, spare=scribe.path) == []
        assert prune(tmp_path, size=0, spare=scribe.path) == [
            tmp_path / "c.db",
            tmp_path / "a.db",
        ]
    assert names(tmp_path) == ["new.db.log"]


@pytest.mark.parametrize("limit", [{"age": 0.0}, {"size": 0.0}], ids=["age", "size"])
def test_a_running_recording_is_never_pruned(tmp_path: Path, limit: dict[str, float]) -> None:
    """However old or large it is, a recording whose recorder lives stays."""
    with Scribe(tmp_path / "a.db") as unindexed, Scribe(tmp_path / "b.db") as indexed:
        handshake(indexed)
        indexed.index()
        age(unindexed.path, 100 * DAY)
        age(indexed.path, 100 * DAY)
        assert prune(tmp_path, **limit, spare=tmp_path / "new.db") == []
        assert {"a.db.log", "b.db", "b.db.log"} <= set(names(tmp_path))


def test_what_stays_does_not_count_as_deleted(tmp_path: Path) -> None:
    """Where the oldest is running, the next oldest goes in its place."""
    with Scribe(tmp_path / "a.db") as running:
        tell_story(running)
        running.index()
        age(running.path, 3 * DAY)
        for name, days in (("b", 2), ("c", 1)):
            age(record_story(tmp_path / f"{name}.db"), days * DAY)
        limit = disk_size(running.path) + disk_size(tmp_path / "c.db")
        assert prune(tmp_path, size=limit, spare=tmp_path / "new.db") == [tmp_path / "b.db"]


def test_side_files_go_with_their_recording(tmp_path: Path) -> None:
    """The log, and what SQLite put beside the database, are deleted with it."""
    with Scribe(tmp_path / "a.db") as scribe:
        tell_story(scribe)
        scribe.index()
    age(scribe.path, 10 * DAY)
    assert prune(tmp_path, age=DAY, spare=tmp_path / "new.db") == [scribe.path]
    assert names(tmp_path) == []


def test_what_cannot_be_read_is_not_ours_to_delete(tmp_path: Path) -> None:
    """Another program's files, broken ones and the new recording itself are left alone."""
    (tmp_path / "a.db").write_text("somebody's")
    (tmp_path / "b.db").touch()
    (tmp_path / "c.db.log").write_text("somebody's log, longer than a first record is")
    record_story(tmp_path / "new.db")
    damaged = record_story(tmp_path / "d.db")
    damaged.write_bytes(damaged.read_bytes().replace(b"CREATE TABLE", b"CREATE TEXTS"))
    cut = record_story(tmp_path / "e.db")
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
    database = record_story(path.with_suffix(".db"), name=name, **start)
    path.write_bytes(text_of(database))
    database.unlink()
    return path


def test_texts_are_recordings(tmp_path: Path) -> None:
    """A file named and begun like the text form counts; one that is only named so does not."""
    text = write_text(tmp_path / "a.jsonl", "story")
    record_story(tmp_path / "b.db")
    (tmp_path / "c.jsonl").write_text('{"some": "thing"}\n')
    (tmp_path / "d.jsonl").mkdir()
    assert paths(tmp_path) == [text, tmp_path / "b.db"]
    entry = read_entry(text)
    assert (entry.frames, entry.turns, entry.live, entry.problem) == (18, 1, False, None)
    assert entry.size == text.stat().st_size


def test_a_text_with_a_mistake_is_an_entry_with_a_problem(tmp_path: Path) -> None:
    """A list goes on, and says which line is wrong."""
    text = write_text(tmp_path / "a.jsonl", "story")
    text.write_bytes(text.read_bytes() + b"{}\n")
    entry = read_entry(text)
    assert entry.recording is None
    assert "line 25: expected one of stream" in str(entry.problem)


def test_texts_are_found_as_databases_are(tmp_path: Path) -> None:
    """By path, with and without its ending, by name and by id; a database of that name is first."""
    home = tmp_path / "home"
    home.mkdir()
    text = write_text(home / "a.jsonl", "story", id="abc000000000")
    record_story(home / "b.db", id="def000000000")
    for word in ("a", "a.jsonl", str(text), str(home / "a"), "story", "abc", "latest"):
        assert resolve(word, home, HERE) == text, word
    record_story(home / "a.db", id="fff000000000")
    assert resolve("a", home, HERE) == home / "a.db"
    assert resolve("a.jsonl", home, HERE) == text


def test_a_text_beside_its_database_makes_nothing_ambiguous(tmp_path: Path) -> None:
    """One recording in two forms is one recording, and the database is quicker."""
    path = record_story(tmp_path / "x.db", name="story")
    (tmp_path / "exported.jsonl").write_bytes(text_of(path))
    for word in ("story", "c0ffee"):
        assert resolve(word, tmp_path, HERE) == path


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
