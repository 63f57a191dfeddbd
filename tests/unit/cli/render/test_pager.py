"""Long output goes to the user's pager on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from acp_proxy.cli.render.output import progress
from acp_proxy.cli.render.pager import chosen_pager, paged
from tests.commands import run

TOUR = Path(__file__).parents[4] / "recordings" / "tour.db"


class Terminal:
    """A pager that writes what it reads into a file, and a standard output that is a terminal."""

    def __init__(self, directory: Path) -> None:
        self.file = directory / "page"

    @property
    def command(self) -> str:
        """Of the pager."""
        return f"cat > {shlex.quote(str(self.file))}"

    @property
    def shown(self) -> str | None:
        """What the pager has read; None if it was not started."""
        return self.file.read_text(encoding="utf-8") if self.file.exists() else None


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes every stdout of a command a terminal."""
    from click import testing

    monkeypatch.setattr(testing._NamedTextIOWrapper, "isatty", lambda _: True)
    return Terminal(tmp_path)


@pytest.mark.parametrize("command", ["show", "log", "stats", "audit", "transcript", "list"])
def test_commands_for_people_use_it(terminal: Terminal, command: str) -> None:
    """With colours, and as wide as the terminal; nothing is printed beside it."""
    what = TOUR.parent if command == "list" else TOUR
    shown = run("inspect", command, what, ACP_PROXY_PAGER=terminal.command, COLUMNS="80")
    assert (shown.exit_code, shown.stdout) == (0, "")
    assert terminal.shown is not None
    assert "tour" in terminal.shown
    direct = run("inspect", "--no-pager", command, what, ACP_PROXY_PAGER="no", COLUMNS="80")
    assert direct.stdout == terminal.shown
    assert ("\x1b[" in terminal.shown) == (command != "transcript")


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
    """Nor does who does not want one, or waits for more."""
    shown = run(*words, ACP_PROXY_PAGER=terminal.command)
    assert shown.exit_code == 0
    assert shown.stdout
    assert terminal.shown is None


def test_a_pipe_has_none(tmp_path: Path) -> None:
    """Whatever the variables say."""
    page = Terminal(tmp_path)
    assert run("inspect", "log", TOUR, ACP_PROXY_PAGER=page.command).stdout
    assert page.shown is None


def test_a_failure_starts_none(terminal: Terminal) -> None:
    """The pager begins with the output."""
    failed = run("inspect", "log", "nowhere", ACP_PROXY_PAGER=terminal.command)
    assert failed.exit_code == 2
    assert terminal.shown is None


def test_who_quits_early_sees_no_error(terminal: Terminal) -> None:
    """The rest is not printed."""
    assert terminal.shown is None
    shown = run("inspect", "log", TOUR, ACP_PROXY_PAGER="true")
    assert (shown.exit_code, shown.output) == (0, "")


def test_it_is_waited_for_and_has_the_defaults_of_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the user has others; afterwards stdout is as it was."""
    page, before = Terminal(tmp_path), sys.stdout
    monkeypatch.delenv("LESS", raising=False)
    with paged(f'(cat; echo "$LESS") > {shlex.quote(str(page.file))}'):
        sys.stdout.write("hello\n")
        assert sys.stdout.isatty()
    assert (page.shown, sys.stdout) == ("hello\nFRX\n", before)
    monkeypatch.setenv("LESS", "-S")
    with paged(f'(cat; echo "$LESS") > {shlex.quote(str(page.file))}'):
        sys.stdout.write("again\n")
    assert page.shown == "again\n-S\n"


def test_an_error_passes(tmp_path: Path) -> None:
    """After what was printed before it."""
    page = Terminal(tmp_path)

    def interrupted() -> None:
        with paged(page.command):
            sys.stdout.write("begun\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert page.shown == "begun\n"


def test_the_variables_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours before the usual one, before less; none if that is not there."""
    monkeypatch.setattr("shutil.which", lambda word: word if word != "gone" else None)
    assert chosen_pager({}) == "less"
    assert chosen_pager({"PAGER": "more -s"}) == "more -s"
    assert chosen_pager({"PAGER": "more", "ACP_PROXY_PAGER": "X=1 less"}) == "X=1 less"
    assert chosen_pager({"PAGER": "more", "ACP_PROXY_PAGER": "cat"}) is None
    assert chosen_pager({"PAGER": ""}) is None
    assert chosen_pager({"PAGER": "'"}) is None
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert chosen_pager({}) is None


def test_a_pager_that_is_missing_is_reported(terminal: Terminal) -> None:
    """And the output printed."""
    shown = run("inspect", "show", TOUR, ACP_PROXY_PAGER="no-such-pager -x")
    assert "the pager 'no-such-pager -x' of $ACP_PROXY_PAGER was not found" in shown.stderr
    assert "tour" in shown.stdout
    assert terminal.shown is None


def test_no_progress_bar_is_drawn_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would write on the same terminal; before the first output there is one."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    times = iter(range(1000))
    with paged(Terminal(tmp_path).command):
        for item in progress(range(20), 20, "reading", clock=lambda: float(next(times))):
            if item == 10:
                sys.stdout.write("first\n")
                sys.stdout.flush()
                before = capsys.readouterr().err
    after = capsys.readouterr().err
    assert "reading" in before
    assert "reading" not in after


def test_a_real_terminal(tmp_path: Path) -> None:
    """Less shows a short page at once and ends; all is on the terminal."""
    leader, follower = pty.openpty()
    page = tmp_path / "page"
    subprocess.run(
        [sys.executable, "-m", "acp_proxy", "inspect", "log", TOUR],
        stdout=follower,
        check=True,
        env={**os.environ, "ACP_PROXY_PAGER": f"tee {page} | head -n 1", "COLUMNS": "80"},
    )
    os.close(follower)
    assert b"start" in os.read(leader, 65536)
    os.close(leader)
    assert "\x1b[" in page.read_text(encoding="utf-8")
