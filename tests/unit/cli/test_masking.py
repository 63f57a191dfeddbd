"""Commands print no secrets, except with `--unredacted`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.command_line import commands_with, complaint, run, words_for
from tests.support.log_writer import record_conversation
from tests.support.planted_secrets import ENV, KEY, SECRETS, record_planted

if TYPE_CHECKING:
    from pathlib import Path

_WITHOUT_RECORDING = {"setup", "doctor", "try", "web"}
"""Commands that open no recording: two mask the settings of editors, one makes its own, and one
serves pages."""
_WITHOUT_NOTICE = {"note"}
"""A note is all that it prints."""


@pytest.mark.parametrize("name", sorted({*commands_with("--unredacted")} - _WITHOUT_RECORDING))
def test_a_command_masks_what_it_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Each command masks secrets in its output; stderr says that `--unredacted` shows them."""
    monkeypatch.chdir(tmp_path)  # `report` writes a file
    words = words_for(name, path := record_planted(tmp_path / "x.db"))
    result = run(*words, home=tmp_path)
    assert not any(secret in result.output for secret in (*SECRETS, KEY[14:]))
    notices = 0 if name in _WITHOUT_NOTICE else max(1, words.count(path))
    assert result.stderr.count("--unredacted shows them") == notices
    assert "--unredacted" not in result.stdout


def test_the_notice_is_about_secrets_in_the_file(tmp_path: Path) -> None:
    """`show --unredacted` says that secrets were masked when recorded, so they stay masked."""
    plain = record_conversation(tmp_path / "plain.db")
    assert run("inspect", "show", plain).stderr == ""
    assert run("inspect", "show", plain, "--unredacted").stderr == ""
    path = record_planted(tmp_path / "x.db", redaction="secrets", marker_key="00" * 16)
    assert run("inspect", "show", path).stderr == ""
    shown = run("inspect", "show", path, "--unredacted")
    assert "masked when it was made" in shown.stderr
    assert "[redacted:env:" in shown.stdout


def test_unredacted_shows_what_the_file_holds(tmp_path: Path) -> None:
    """With `--unredacted`, `log` and `list` print secrets that a recording holds."""
    path = record_planted(tmp_path / "x.db")
    assert ENV in run("inspect", "log", path, "--unredacted").stdout
    assert ENV in run("inspect", "list", tmp_path, "--unredacted").stdout
    assert ENV in run("--unredacted", home=tmp_path).stdout
    assert ENV in run("inspect", "--unredacted", home=tmp_path).stdout
    assert ENV not in run(home=tmp_path).output
    assert ENV not in run("inspect", "list", "--json", tmp_path).output


def test_an_error_shows_no_secret() -> None:
    """The error of a command about a wrong argument does not repeat a secret in the argument."""
    words = complaint("inspect", "show", f"--api-key={KEY}")
    assert KEY not in words
    assert KEY not in complaint("inspect", "show", KEY)
