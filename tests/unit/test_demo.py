"""``make demo`` keeps its recording, and suggests the next commands."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from tests.agents.demo import ROOT, Shell, free_name, next_commands, play, say_what_next, typed
from tests.support.command_line import run
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path


class FakeShell(Shell):
    """Notes commands in place of a shell, and runs none."""

    def __init__(self) -> None:
        super().__init__(ROOT, {})
        self.commands: list[tuple[str, ...]] = []

    def comment(self, text: str) -> None:
        """Does nothing: comments of the demo are not printed."""

    def run(self, *command: str, quiet: bool = False) -> str:
        """Notes a command, and returns what a client of the demo would print."""
        self.commands.append(command)
        return '[{"exited": 0}]' if quiet else ""


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A recordings directory with one demo."""
    shutil.copy(DIRECTORY / "tour.db", tmp_path / "demo.db")
    return tmp_path


def test_each_demo_keeps_a_recording_of_its_own(recordings: Path) -> None:
    """If a recording `demo` exists, `make demo` names its own recording `demo-2`."""
    assert free_name(recordings / "missing") == "demo"
    assert free_name(recordings) == "demo-2"
    (recordings / "demo-2.db.log").touch()
    assert free_name(recordings) == "demo-3"


def test_the_commands_that_it_shows_work(recordings: Path) -> None:
    """`make demo` records a conversation and then shows it by commands that work."""
    shell = FakeShell()
    play(shell, "acp-proxy", "demo")
    trial, client, *looks = shell.commands
    assert trial[:2] == ("acp-proxy", "try")
    assert client[client.index("acp-proxy") + 1 :][:3] == ("record", "--name", "demo")
    assert len(looks) == 3
    for command in looks:
        assert run(*command[1:], home=recordings).exit_code == 0


def test_what_to_type_next_works(
    recordings: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each command that `make demo` suggests works in the checkout."""
    monkeypatch.chdir(ROOT)
    say_what_next("acp-proxy", "demo", recordings)
    printed = capsys.readouterr().out
    assert str(recordings / "demo.db") in printed
    for words, purpose in next_commands("demo"):
        assert f"acp-proxy {' '.join(words)} " in printed
        assert purpose in printed
        result = run(*words, home=recordings, HOME=str(tmp_path), XDG_CONFIG_HOME=None)
        assert result.exit_code == 0, words
    assert (ROOT / "docs/walkthrough.md").is_file()


def test_the_program_is_named_as_it_can_be_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If PATH does not contain acp-proxy, `make demo` prints the program's path."""
    proxy = tmp_path / "checkout/.venv/bin/acp-proxy"
    proxy.parent.mkdir(parents=True)
    proxy.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert typed(proxy) == str(proxy)
    monkeypatch.chdir(tmp_path / "checkout")
    assert typed(proxy) == ".venv/bin/acp-proxy"
    monkeypatch.setenv("PATH", str(proxy.parent))
    assert typed(proxy) == "acp-proxy"
