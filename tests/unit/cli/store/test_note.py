"""``note`` writes, prints and removes a user's note."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.command_line import complaint, run
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with one recording; the current directory is elsewhere."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    directory = tmp_path / "recordings"
    directory.mkdir()
    record_conversation(directory / "run.db", id="abcdef1")
    return directory


def test_a_note_is_written_read_and_cleared(home: Path) -> None:
    """`note REC TEXT` writes a note, `note REC` prints the note, and `--clear` removes it."""
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
    """`note` masks a secret in its text unless `--unredacted` is given."""
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    result = run("inspect", "note", "run", f"fails with {token}", home=home)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "acp-proxy: a secret in the note is masked; --unredacted keeps the secret\n"
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
        (["run", "#3 "], "expected a text for the note, got none; --clear removes a note"),
        (["run", "#3 x", "--clear"], "expected TEXT or --clear, got both"),
        (["run", "fine\n#99999 x"], "no frame or event 99999 in "),
        (["nope", "x"], "no recording named 'nope' in "),
    ],
)
def test_wrong_use_of_note_is_one_line(home: Path, arguments: list[str], answer: str) -> None:
    """`note` refuses wrong arguments, such as a text with `--clear`, with an error of one line."""
    assert complaint("inspect", "note", *arguments, home=home).startswith(answer)


def test_a_note_is_utf8(home: Path) -> None:
    """`note` refuses a text that is not UTF-8."""
    answer = complaint("inspect", "note", "run", "a\udcff", home=home)
    assert answer == r"expected a note in UTF-8, got 'a\udcff'"


def test_a_note_keeps_its_lines(home: Path) -> None:
    """If a note has several lines, `note` prints all of them."""
    run("inspect", "note", "run", "one\ntwo\x1b", home=home)
    assert run("inspect", "note", "run", home=home).stdout == "one\ntwo\\x1b\n"


def test_a_note_at_a_row_is_shown_there(home: Path) -> None:
    """`log` prints a frame's note below the frame; `show` and `list` count the notes on frames."""
    run("inspect", "note", "run", "all of it", home=home)
    for text in ("#3 why \x1b[31m?\nwho", "#1 the start", "#3 why \x1b[31m?"):
        assert run("inspect", "note", "run", text, home=home).output == ""
    shown = run("inspect", "note", "run", home=home).stdout
    assert shown == "all of it\n#1 the start\n#3 why \\x1b[31m?\n"
    lines = run("inspect", "log", "run", home=home).stdout.splitlines()
    place = next(at for at, line in enumerate(lines) if line.split()[0] == "3")
    assert lines[place + 1].strip() == r"✎ why \x1b[31m?"
    assert r"why \x1b[31m?" in run("inspect", "log", "run", "--seq", "3", home=home).stdout
    rows, entries = (
        [*map(json.loads, run("inspect", name, "run", "--json", home=home).stdout.splitlines())]
        for name in ("log", "transcript")
    )
    noted = {row["seq"]: row["note"] for row in rows if "note" in row}
    assert noted == {1: "the start", 3: "why \x1b[31m?"}
    markdown = run("inspect", "transcript", "run", home=home).stdout
    assert r"**Note** `why \x1b[31m?` · `#3`" in markdown
    assert [entry["seq"] for entry in entries if entry.get("kind") == "note"] == [1, 3]
    for command in ("show", "list"):
        shown = run("inspect", command, "run" if command == "show" else home, home=home).stdout
        assert "all of it; 2 notes at #1, #3" in shown, command


def test_a_note_at_a_row_is_removed_alone(home: Path) -> None:
    """`note REC '#3' --clear` removes only the note on frame 3."""
    run("inspect", "note", "run", "all of it\n#3 why?", home=home)
    assert run("inspect", "note", "run", "#3", "--clear", home=home).output == ""
    assert run("inspect", "note", "run", home=home).stdout == "all of it\n"
    run("inspect", "note", "run", "#3 why?", home=home)
    run("inspect", "note", "run", "--clear", home=home)
    assert run("inspect", "note", "run", home=home).stdout == ""


def test_the_text_form_keeps_notes_at_rows(home: Path) -> None:
    """`export` keeps the notes on frames in the text form."""
    run("inspect", "note", "run", "#3 why?", home=home)
    (home / "text.jsonl").write_text(run("inspect", "export", "run", home=home).stdout)
    run("inspect", "note", str(home / "text.jsonl"), "#1 start", home=home)
    shown = run("inspect", "log", str(home / "text.jsonl"), home=home).stdout
    assert "✎ why?" in shown
    assert "✎ start" in shown
