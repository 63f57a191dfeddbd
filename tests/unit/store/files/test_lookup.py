"""Recordings are found by the words that users give."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import NoSuchRecording
from acp_proxy.store.copies.text_import import import_text_form
from acp_proxy.store.files.directory import paths, read_recording
from acp_proxy.store.files.lookup import latest, latest_running, resolve
from acp_proxy.store.files.newest import may_have, newest_first
from tests.support.log_writer import LogWriter, record_conversation
from tests.support.text_recordings import text_of

if TYPE_CHECKING:
    from acp_proxy.recording.recording import Recording

HERE = Path("/srv/project")
"""Where every recording of a recorder was made, unless it says otherwise."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A directory with three recordings. The newest of them was made in another directory."""
    directory = tmp_path / "recordings"
    directory.mkdir()
    record_conversation(directory / "first.db", id="aaaa11", wall=10**18)
    record_conversation(directory / "second.db", id="aabb22", wall=2 * 10**18)
    record_conversation(directory / "third.db", id="ccdd33", wall=3 * 10**18, cwd="/elsewhere")
    return directory


@pytest.mark.parametrize(
    "word", ["second", "second.db", "aabb22", "aab", "sec", "second.d", "con", "cond"]
)
def test_a_part_of_a_name_or_the_start_of_an_id_finds_it(library: Path, word: str) -> None:
    """A command finds a recording by a part of its name or the start of its id."""
    assert resolve(word, library, HERE) == library / "second.db"


def test_a_path_finds_it(library: Path, tmp_path: Path) -> None:
    """A command finds a recording by its path, with or without its suffix."""
    with LogWriter(tmp_path / "x.db") as recorder:
        assert resolve(str(recorder.log_path), library, HERE) == recorder.path
        assert resolve(str(recorder.path), library, HERE) == recorder.path
    path = record_conversation(tmp_path / "y.db")
    assert resolve(str(path), library, HERE) == path
    assert resolve(str(tmp_path / "y"), library, HERE) == path


def test_a_file_here_has_precedence_over_a_name_in_the_directory(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If two recordings have one name, a command reads the one in the current directory."""
    record_conversation(tmp_path / "second.db")
    monkeypatch.chdir(tmp_path)
    assert resolve("second", library, HERE) == Path("second.db")


def test_a_file_of_another_tool_hides_no_recording(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of another tool with the same name does not hide a recording from a command."""
    monkeypatch.chdir(tmp_path)
    for name in ("second.log", "third.jsonl", "app.log", "x.db.log"):
        (tmp_path / name).write_text("IN: {}\n")
    assert resolve("second", library, HERE) == library / "second.db"
    assert resolve("third", library, HERE) == library / "third.db"
    assert resolve("app", library, HERE) == Path("app")
    assert resolve("second.log", library, HERE) == Path("second")
    assert resolve("x", library, HERE) == resolve("x.db", library, HERE) == Path("x.db")


def test_a_name_given_by_option_finds_it(library: Path) -> None:
    """A command finds a recording by the name given with `record --name`."""
    record_conversation(library / "file.db", id="eeff44", name="given")
    assert resolve("given", library, HERE) == library / "file.db"


def test_latest_prefers_recordings_of_this_directory(library: Path) -> None:
    """The name `latest` means the newest recording that was made in the current directory."""
    assert resolve("latest", library, HERE) == library / "second.db"
    assert resolve("latest", library, Path("/elsewhere")) == library / "third.db"
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"


def test_latest_with_a_number_counts_back(library: Path) -> None:
    """The name `latest~1` means the recording before the latest one."""
    assert resolve("latest~0", library, HERE) == library / "second.db"
    assert resolve("latest~1", library, HERE) == library / "first.db"
    assert resolve("latest~1", library, Path("/nowhere")) == library / "second.db"
    with pytest.raises(NoSuchRecording, match="there are fewer than 3 recordings"):
        resolve("latest~2", library, HERE)


def test_an_import_counts_as_latest_from_when_it_was_made(library: Path, tmp_path: Path) -> None:
    """For `latest`, an imported recording is as new as its import."""
    lines = text_of(record_conversation(tmp_path / "old.db", cwd="/theirs", wall=10**18))
    made = import_text_form(lines.splitlines(keepends=True), tmp_path, library, stem="theirs")
    for when, expected in ((5 * 10**9, made), (10**9 + 1000, library / "second.db")):
        os.utime(made, (when, when))
        assert resolve("latest", library, HERE) == expected


def test_a_recording_without_a_directory_counts_as_latest(library: Path) -> None:
    """If it is unknown where a recording was made, it can be `latest` in any directory."""
    record_conversation(library / "newest.db", id="ffff11", wall=4 * 10**18, cwd="")
    os.utime(library / "newest.db", (4 * 10**9, 4 * 10**9))
    assert resolve("latest", library, HERE) == library / "newest.db"


def test_latest_passes_over_runs_of_verify(library: Path) -> None:
    """The name `latest` means a recording made by `verify` only if there are no others."""
    for name, cwd in (("run", "/elsewhere"), ("own", str(HERE))):
        record_conversation(library / f"{name}.db", wall=4 * 10**18, cwd=cwd, made_by="verify")
    assert resolve("latest", library, HERE) == library / "second.db"
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"
    record_conversation(library / "note.db", wall=5 * 10**18, name='"made_by"', cwd="/elsewhere")
    assert resolve("latest", library, Path("/nowhere")) == library / "note.db"
    for name in ("first", "second", "third", "note"):
        (library / f"{name}.db").unlink()
    (library / "broken.db").write_text("hello")
    assert resolve("latest", library, HERE) in (library / "run.db", library / "own.db")


def test_latest_names_the_newer_one_that_it_passes_over(library: Path) -> None:
    """If `latest` skips a newer recording that was made elsewhere, a message names it."""
    passed_over = latest(library, HERE).passed_over
    assert passed_over is not None
    assert (passed_over[0], passed_over[1].cwd) == (library / "third.db", "/elsewhere")
    assert latest(library, Path("/nowhere")).passed_over is None


def test_only_recordings_with_a_recorder_run(library: Path) -> None:
    """For a command with `--follow`, `latest` means the newest recording that is running."""
    with LogWriter(library / "dead.db"):
        pass
    assert latest_running(library, HERE) is None
    with LogWriter(library / "live.db") as live:
        running = latest_running(library, Path("/elsewhere"))
        assert running is not None
        assert running.path == live.path
        assert running.passed_over is not None
        assert running.passed_over[0] == library / "third.db"


def test_latest_skips_unreadable_recordings(library: Path) -> None:
    """The name `latest` never means a broken file."""
    (library / "zzz.db").write_text("no database")
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"


def test_a_start_that_fits_several_names_them(library: Path) -> None:
    """If a command is given the start of several ids, the error lists the recordings."""
    with pytest.raises(NoSuchRecording) as caught:
        resolve("aa", library, HERE)
    assert str(caught.value) == (
        "'aa' matches 2 recordings: second.db (aabb22), first.db (aaaa11); give more of the name or"
        " the id, or the file"
    )


@pytest.mark.parametrize("length", [10, 300, 3000])
@pytest.mark.parametrize("arguments", [1, 900, 1000])
def test_a_look_at_the_bytes_misses_no_text(tmp_path: Path, length: int, arguments: int) -> None:
    """The quick look for a name or id in a file misses no recording that contains it."""
    here = "/" + "abcdefghij" * (length // 10)
    command = ["x" * 3] * arguments
    path = record_conversation(tmp_path / "x.db", cwd=here, arg=command, id="feedbeef0001")
    assert may_have(path, here)
    assert may_have(path, "feedbeef")
    assert not may_have(path, "/no/such/directory")
    assert may_have(write_text(tmp_path / "t.jsonl", "t"), "/no/such/directory")


def test_an_unknown_word_is_answered_with_the_nearest_name(library: Path) -> None:
    """The error about an unknown recording suggests the most similar name."""
    with pytest.raises(NoSuchRecording, match=r"did you mean second\?"):
        resolve("secnod", library, HERE)


def test_a_beginning_is_before_a_part(library: Path) -> None:
    """For a command, a name that begins with the given word precedes a name that contains it."""
    for number, name in enumerate(("2026-echo-2-ab12", "2026-echo-1-cd34", "echo-3")):
        record_conversation(library / f"{name}.db", id=f"ee0{number}", wall=(4 + number) * 10**18)
    assert resolve("echo", library, HERE) == library / "echo-3.db"
    with pytest.raises(NoSuchRecording) as caught:
        resolve("cho-", library, HERE)
    assert str(caught.value).startswith(
        "'cho-' matches 3 recordings: echo-3.db (ee02), 2026-echo-1-cd34.db (ee01),"
    )


def test_a_whole_name_is_before_a_beginning(library: Path) -> None:
    """For a command, a recording of the given name precedes one whose id begins with it."""
    record_conversation(library / "x.db", id="eeff44", name="aa")
    assert resolve("aa", library, HERE) == library / "x.db"


def test_recordings_with_one_name_are_told_apart_by_their_files(library: Path) -> None:
    """If two recordings have the same name and id, a command can name them by their files."""
    lines = text_of(library / "first.db").splitlines(keepends=True)
    import_text_form(lines, library, library, stem="exp2")
    with pytest.raises(NoSuchRecording, match=r"exp2\.db \(aaaa11\)"):
        resolve("aaaa", library, HERE)
    assert resolve("exp2", library, HERE) == library / "exp2.db"
    assert resolve("fir", library, HERE) == library / "first.db"


def test_few_recordings_are_read_to_find_the_newest(
    library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find `latest`, acp-proxy opens only files that may be newer than the newest so far."""
    for name, began in (("first", 10**9), ("second", 2 * 10**9), ("third", 3 * 10**9)):
        os.utime(library / f"{name}.db", (began, began))
    opened = []

    def read(path: Path) -> Recording:
        opened.append(path.stem)
        return read_recording(path)

    monkeypatch.setattr("acp_proxy.store.files.newest.read_recording", read)
    assert resolve("latest", library, Path("/elsewhere")) == library / "third.db"
    assert opened == ["first", "third"]  # the time of the first file is too early for a recording
    assert [path.stem for path, _ in newest_first(library)] == ["third", "second", "first"]


def test_latest_lists_the_directory_once(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find `latest`, acp-proxy lists the recordings directory only once."""
    listed = []

    def list_once(directory: Path) -> list[Path]:
        listed.append(directory)
        return paths(directory)

    monkeypatch.setattr("acp_proxy.store.files.newest.paths", list_once)
    assert resolve("latest", library, Path("/nowhere")) == library / "third.db"
    assert listed == [library]


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        (
            "nope",
            "no recording named 'nope' in {}: expected a path, a part of a name, the start of an",
        ),
        ("nope.db", "no recording at nope.db; `acp-proxy list` shows all recordings"),
        ("no/where", "no recording at no/where; `acp-proxy list` shows all recordings"),
    ],
)
def test_an_unknown_word_is_an_error(library: Path, word: str, answer: str) -> None:
    """The error about an unknown recording names the directory that was searched."""
    with pytest.raises(NoSuchRecording) as caught:
        resolve(word, library, HERE)
    assert str(caught.value).startswith(answer.format(library))


def test_latest_without_recordings_explains_how_to_begin(tmp_path: Path) -> None:
    """If there are no recordings, the error about `latest` explains how to make one."""
    with pytest.raises(
        NoSuchRecording, match="put `acp-proxy record --` before an agent's command"
    ):
        resolve("latest", tmp_path, HERE)


# Pruning


def write_text(path: Path, name: str, **start: str) -> Path:
    """Makes the text form of a recording without its database."""
    database = record_conversation(path.with_suffix(".db"), name=name, **start)
    path.write_bytes(text_of(database))
    database.unlink()
    return path


def test_texts_are_found_as_databases_are(tmp_path: Path) -> None:
    """If a database and a text form have one name, a command prefers the database."""
    home = tmp_path / "home"
    home.mkdir()
    text = write_text(home / "a.jsonl", "story", id="abc000000000")
    record_conversation(home / "b.db", id="def000000000")
    for word in ("a", "a.jsonl", str(text), str(home / "a"), "story", "abc", "latest"):
        assert resolve(word, home, HERE) == text, word
    record_conversation(home / "a.db", id="fff000000000")
    assert resolve("a", home, HERE) == home / "a.db"
    assert resolve("a.jsonl", home, HERE) == text


def test_a_text_beside_its_database_makes_nothing_ambiguous(tmp_path: Path) -> None:
    """If a name fits a database and its text form, a command reads the database."""
    path = record_conversation(tmp_path / "x.db", name="story")
    (tmp_path / "exported.jsonl").write_bytes(text_of(path))
    for word in ("story", "c0ffee"):
        assert resolve(word, tmp_path, HERE) == path
