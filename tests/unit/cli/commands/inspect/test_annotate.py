"""``inspect note`` and ``inspect rename``: a person's own words for a recording."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.commands import complaint, run
from tests.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with one recording, and nothing of ours in the current one."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    directory = tmp_path / "recordings"
    directory.mkdir()
    record_conversation(directory / "run.db", id="abcdef1")
    return directory


def names(directory: Path) -> list[str]:
    """Returns the names of the files of a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def test_a_note_is_written_read_and_cleared(home: Path) -> None:
    """Writing says nothing; reading prints the note and nothing else."""
    assert run("inspect", "note", "run", "it hangs", home=home).output == ""
    result = run("inspect", "note", "abc", home=home)
    assert (result.stdout, result.stderr) == ("it hangs\n", "")
    assert "it hangs" in run("inspect", "list", home=home).stdout
    listed = json.loads(run("inspect", "list", "--json", home=home).stdout)
    assert listed["recording"]["note"] == "it hangs"
    assert run("inspect", "note", "run", "--clear", home=home).output == ""
    result = run("inspect", "note", "run", home=home)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"acp-proxy: {home}/run.db has no note\n"


def test_a_secret_in_a_note_is_masked(home: Path) -> None:
    """It would go wherever the recording goes; whoever wants that has to say so."""
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    result = run("inspect", "note", "run", f"fails with {token}", home=home)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "acp-proxy: the note had a secret in it, which is masked; --unredacted keeps it\n"
    )
    assert token.encode() not in (home / "run.db").read_bytes()
    for command in ("note", "show", "export"):
        shown = run("inspect", command, "run", home=home).stdout
        assert "fails with [redacted:token:" in shown, command
        assert token not in shown
    assert run("inspect", "note", "run", "--unredacted", token, home=home).output == ""
    assert run("inspect", "note", "run", "--unredacted", home=home).stdout == f"{token}\n"


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["run", "x", "--clear"], "expected TEXT or --clear, got both"),
        (["run", " "], "expected a text for the note, got none; --clear removes a note"),
        (["nope", "x"], "no recording named 'nope' in "),
    ],
)
def test_wrong_use_of_note_is_one_line(home: Path, arguments: list[str], answer: str) -> None:
    """Wrong use is refused, and nothing is written."""
    assert complaint("inspect", "note", *arguments, home=home).startswith(answer)


def test_a_recording_of_the_directory_gets_another_name_and_file(home: Path) -> None:
    """It is found by its new name afterwards, and not by the old one."""
    result = run("inspect", "rename", "run", "login", home=home)
    assert result.output == f"run is now login: {home}/login.db\n"
    assert names(home) == ["login.db"]
    assert run("inspect", "show", "login", home=home).stdout.startswith("login ")
    assert run("inspect", "show", "run", home=home).exit_code == 2


def test_the_file_can_be_kept(home: Path) -> None:
    """With --keep-file only the name in the recording changes."""
    result = run("inspect", "rename", "run", "login", "--keep-file", home=home)
    assert result.output == f"run is now login: {home}/run.db\n"
    assert names(home) == ["run.db"]


def test_a_recording_elsewhere_keeps_its_file(home: Path, tmp_path: Path) -> None:
    """A file outside of the recordings directory is not moved."""
    path = record_conversation(tmp_path / "mine.db")
    result = run("inspect", "rename", path, "login", home=home)
    assert result.output == f"mine is now login: {path}\n"


def test_a_running_recording_keeps_its_file(home: Path) -> None:
    """The name changes at once; a line reports that the file does not."""
    with LogWriter(home / "live.db") as recorder:
        handshake(recorder)
        recorder.index()
        result = run("inspect", "rename", "live", "other", home=home)
        assert result.stdout == f"live is now other: {recorder.path}\n"
        assert result.stderr == f"acp-proxy: {recorder.path} stays while its recorder runs\n"
        assert run("inspect", "show", "other", home=home).exit_code == 0


def test_a_name_that_is_taken_is_refused(home: Path) -> None:
    """Nothing is replaced."""
    record_conversation(home / "login.db")
    answer = complaint("inspect", "rename", "run", "login", home=home)
    assert answer == f"cannot change {home}/login.db: a recording with that name exists"


@pytest.mark.parametrize(
    "name", ["", "a/b", ".hidden", "latest", "a\nb", "a\x1b[31m", "a\udcff", "x" * 300]
)
def test_an_impossible_file_name_is_refused(home: Path, name: str) -> None:
    """The names are those of `record --name`."""
    assert "cannot be a name" in complaint("inspect", "rename", "run", name, home=home)
    assert names(home) == ["run.db"]


def test_a_recording_name_stays_on_one_line(home: Path) -> None:
    """A name that another program has written may contain line ends."""
    record_conversation(home / "odd.db", id="dddd", name="a\nb\x1b[31m")
    result = run("inspect", "rename", "odd", "even", home=home)
    assert result.stdout == f"a\\nb\\x1b[31m is now even: {home}/even.db\n"


def test_a_note_is_utf8(home: Path) -> None:
    """Otherwise the note is refused; the recording is not called damaged."""
    answer = complaint("inspect", "note", "run", "a\udcff", home=home)
    assert answer == r"expected a note in UTF-8, got 'a\udcff'"


def test_a_note_keeps_its_lines(home: Path) -> None:
    """They are the person's own."""
    run("inspect", "note", "run", "one\ntwo\x1b", home=home)
    assert run("inspect", "note", "run", home=home).stdout == "one\ntwo\\x1b\n"
