"""Long output goes to the user's pager on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from acp_proxy.cli.screens.output import progress
from acp_proxy.cli.screens.pager import pages
from tests.support.command_line import run

TOUR = Path(__file__).parents[4] / "recordings" / "tour.db"


class Terminal:
    """Stands for a terminal with a pager that writes its input into a file."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "page"

    @property
    def command(self) -> str:
        """Returns the shell command that stands for the pager."""
        return f"sh -c 'cat > {self.file}'"

    @property
    def shown(self) -> str | None:
        """Returns the text that the pager has read, or None if the pager was not started."""
        return self.file.read_text(encoding="utf-8") if self.file.exists() else None


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes stdout a terminal for every command that the test runs."""
    from click import testing

    monkeypatch.setattr(testing._NamedTextIOWrapper, "isatty", lambda _: True)
    monkeypatch.setenv("PAGER", "cat")  # a command sets both, in this process
    monkeypatch.setenv("LESS", "FRX")
    return Terminal(tmp_path)


@pytest.mark.parametrize("command", ["show", "log", "stats", "audit", "transcript", "list"])
def test_commands_for_people_use_it(terminal: Terminal, command: str) -> None:
    """On a terminal, commands such as `show`, `log` and `list` write their output to a pager."""
    what = TOUR.parent if command == "list" else TOUR
    shown = run("inspect", command, what, ACP_PROXY_PAGER=terminal.command, COLUMNS="80")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert terminal.shown is not None
    assert "tour" in terminal.shown
    direct = run("inspect", "--no-pager", command, what, ACP_PROXY_PAGER="no", COLUMNS="80")
    assert direct.stdout == terminal.shown
    assert "\x1b[" in terminal.shown


@pytest.mark.parametrize(
    "words",
    [
        ["inspect", "log", "--json", TOUR],
        ["inspect", "log", "--raw", TOUR],
        ["inspect", "log", "--follow", TOUR],
        ["inspect", "show", "--json", TOUR],
        ["inspect", "--no-pager", "log", TOUR],
        ["--no-pager", "inspect", "log", TOUR],
        ["--no-pager", "faults", "list"],
        ["inspect", "export", TOUR],
    ],
    ids=lambda words: " ".join(map(str, words[:3])),
)
def test_programs_get_none(terminal: Terminal, words: list[str | Path]) -> None:
    """A command starts no pager for `--json` or `--raw`, with `--no-pager`, or for `export`."""
    shown = run(*words, ACP_PROXY_PAGER=terminal.command)
    assert shown.exit_code == 0
    assert shown.stdout
    assert terminal.shown is None


def test_a_pipe_has_none(tmp_path: Path) -> None:
    """If stdout is a pipe, a command starts no pager, even if PAGER is set."""
    page = Terminal(tmp_path)
    assert run("inspect", "log", TOUR, ACP_PROXY_PAGER=page.command).stdout
    assert page.shown is None


def test_a_failure_starts_none(terminal: Terminal) -> None:
    """A command that fails before its first output starts no pager."""
    failed = run("inspect", "log", "nowhere", ACP_PROXY_PAGER=terminal.command)
    assert failed.exit_code == 2
    assert terminal.shown is None


def test_who_quits_early_sees_no_error(terminal: Terminal) -> None:
    """If the user quits the pager of `log` early, `log` prints no error and exits with 0."""
    assert terminal.shown is None
    shown = run("inspect", "log", TOUR, ACP_PROXY_PAGER="true")
    assert (shown.exit_code, shown.output) == (0, "")


def test_a_pager_does_not_change_the_exit_code(terminal: Terminal) -> None:
    """`diff` with a pager exits with 1 for a difference, even if the user quits the pager early."""
    other = TOUR.with_name("hello.db")
    for pager in (terminal.command, "true"):
        assert run("inspect", "diff", TOUR, other, ACP_PROXY_PAGER=pager).exit_code == 1
    assert terminal.shown is not None
    assert "only in A" in terminal.shown


@pytest.mark.parametrize("pager", ["", "cat", "'", "no-such-pager -x"])
def test_an_empty_or_missing_pager_is_none(terminal: Terminal, pager: str) -> None:
    """If ACP_PROXY_PAGER is empty, `cat` or no program, a command prints its output directly."""
    shown = run("inspect", "show", TOUR, ACP_PROXY_PAGER=pager, PAGER=terminal.command)
    assert "tour" in shown.stdout
    assert terminal.shown is None


def test_no_progress_bar_is_drawn_beside_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After a command has started the pager, it draws no progress bar."""
    times = iter(range(1000))
    before = ""

    def command() -> None:
        nonlocal before
        for item in progress(range(20), 20, "reading", clock=lambda: float(next(times))):
            if item == 10:
                sys.stdout.write("first\n")
                sys.stdout.flush()
                before = capsys.readouterr().err

    for stream in (sys.stdin, sys.stdout, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: True)
    monkeypatch.setenv("PAGER", terminal.command)
    pages(command)()
    assert "reading" in before
    assert "reading" not in capsys.readouterr().err


def test_the_pager_of_a_real_terminal(tmp_path: Path) -> None:
    """On a terminal, the pager of `log` gets colours, and LESS is set so that `less` shows them."""
    leader, follower = pty.openpty()
    page = tmp_path / "page"
    environment = {name: value for name, value in os.environ.items() if name != "LESS"}
    subprocess.run(
        [sys.executable, "-m", "acp_proxy", "inspect", "log", TOUR],
        stdin=follower,
        stdout=follower,
        check=True,
        env={**environment, "PAGER": f"sh -c 'cat > {page}; echo $LESS'", "COLUMNS": "80"},
    )
    os.close(follower)
    assert os.read(leader, 65536) == b"FRX\r\n"
    os.close(leader)
    assert "\x1b[" in page.read_text(encoding="utf-8")
