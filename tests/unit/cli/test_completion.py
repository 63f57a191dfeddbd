"""Completion offers recordings and filters, quickly and whatever is in the directory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.shell_completion import BashComplete

from acp_proxy.cli.main import cli

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT = click.Context(cli)
BASH = shutil.which("bash")
PROGRAM = shutil.which("acp-proxy", path=os.path.dirname(sys.executable))  # noqa: PTH120


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with a finished, a running and a broken recording, and a text file."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    directory = tmp_path / "recordings"
    directory.mkdir()
    monkeypatch.setenv("ACP_PROXY_RECORDINGS", str(directory))
    (directory / "hello.db").touch()
    (directory / "help.db.log").touch()
    (directory / "broken.db").write_text("no database")
    (directory / "notes.txt").touch()
    return directory


def offered(monkeypatch: pytest.MonkeyPatch, *words: str) -> list[str]:
    """Returns the completions that bash gets for the last of some words."""
    monkeypatch.setenv("COMP_WORDS", "\n".join(("acp-proxy", *words)))
    monkeypatch.setenv("COMP_CWORD", str(len(words)))
    complete = BashComplete(cli, {}, "acp-proxy", "_ACP_PROXY_COMPLETE").complete()
    return [line.partition(",")[2] for line in complete.splitlines()]


def test_recordings_are_offered_by_name(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion of a recording offers `latest` and the names of recordings."""
    (home.parent / "here" / "mine.jsonl").touch()
    every = ["latest", "help", "hello", "broken", "mine.jsonl"]
    assert offered(monkeypatch, "inspect", "note", "") == every
    assert offered(monkeypatch, "inspect", "note", "hel") == ["help", "hello"]
    assert offered(monkeypatch, "inspect", "note", "l") == ["latest"]


def test_a_path_is_left_to_the_shell(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a recording is typed as a path with a slash, acp-proxy leaves completion to the shell."""
    assert offered(monkeypatch, "inspect", "note", f"{home}/he") == [f"{home}/he"]


def test_directories_are_offered_for_directory_arguments(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If an argument may be a directory, as in `search`, shell completion offers directories."""
    (home.parent / "here" / "sub").mkdir()
    assert "sub/" in offered(monkeypatch, "inspect", "search", "x", "")
    assert "sub/" not in offered(monkeypatch, "inspect", "note", "")
    assert offered(monkeypatch, "inspect", "prune", "s") == ["s"]


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        (["se"], ["session:", "seq:"]),
        (["'seq:1"], []),
        (["'nope:1"], []),
        (["n"], ["not"]),
        (["'kind:error or (di"], ["kind:error or (dir:"]),
        (["'dir:to-c"], ["dir:to-client"]),
    ],
)
def test_a_filter_is_completed(
    home: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], offers: list[str]
) -> None:
    """Shell completion of a filter offers its keys, such as `kind:`."""
    assert home.is_dir()
    assert offered(monkeypatch, "inspect", "search", "x", "-w", *typed) == offers


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        (["method", ":", "session/u"], ["session/update"]),
        (["turn", ":"], ["last"]),
        (["is", ":", "un"], ["unanswered"]),
        (["status", ":", "f"], ["failed"]),
        (["dir", ":"], ["to-agent", "to-client"]),
    ],
)
def test_bash_splits_a_filter_at_its_colon(
    home: Path, monkeypatch: pytest.MonkeyPatch, typed: list[str], offers: list[str]
) -> None:
    """In bash, shell completion of a filter such as `is:un` offers only what follows the colon."""
    assert home.is_dir()
    assert offered(monkeypatch, "log", "help", *typed) == offers
    assert offered(monkeypatch, "inspect", "log", "--json", "help", *typed) == offers


@pytest.mark.usefixtures("home")
def test_rules_and_their_groups_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion of `check --rule` offers the groups of rules and the single rules."""
    assert offered(monkeypatch, "check", "hel") == ["help", "hello"]
    for option in ("--rule", "--ignore-rule", "--explain"):
        assert offered(monkeypatch, "check", option, "ses")[0] == "session"
        assert offered(monkeypatch, "check", option, "rpc.una") == ["rpc.unanswered"]


def test_plans_and_kinds_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion offers ready plans for `--faults`, and kinds of fault for `faults list`."""
    for words in (
        ["faults", "explain"],
        ["record", "--faults"],
        ["replay", "--faults"],
        ["faults", "sweep", "x", "--plans"],
    ):
        assert offered(monkeypatch, *words, "@late-u") == ["@late-updates"]
        assert len(offered(monkeypatch, *words, "")) > 5
    assert offered(monkeypatch, "faults", "explain", "pl") == ["pl"]
    assert offered(monkeypatch, "faults", "list", "lat") == ["latency"]


def test_the_values_of_an_option_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion offers the values of an option that has a fixed set of values."""
    assert offered(monkeypatch, "record", "--redact", "") == ["secrets", "private", "none"]
    assert offered(monkeypatch, "inspect", "export", "x", "--level", "p") == ["private"]


def test_a_command_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shell completion offers the commands that begin with the typed letters."""
    assert offered(monkeypatch, "doc") == ["doctor"]
    assert offered(monkeypatch, "doctor", "--j") == ["--json"]


@pytest.mark.skipif(BASH is None or PROGRAM is None, reason="expected bash and the program")
def test_bash_completes(home: Path) -> None:
    """In bash, the completion script completes the names of recordings."""
    assert BASH is not None
    assert PROGRAM is not None
    script = f"""
        eval "$(_ACP_PROXY_COMPLETE=bash_source {PROGRAM})"
        COMP_WORDS=({PROGRAM} log hello kind : re) COMP_CWORD=5
        _acp_proxy_completion {PROGRAM} && echo "${{COMPREPLY[@]}}"
        COMPREPLY=() COMP_WORDS=({PROGRAM} inspect note hell) COMP_CWORD=3
        _acp_proxy_completion {PROGRAM} && echo "${{COMPREPLY[@]}}"
    """
    result = subprocess.run(
        [BASH, "--norc", "-c", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=home.parent / "here",
    )
    assert result.stdout == "request response\nhello\n"


def test_clients_and_known_agents_are_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shell completion of `setup` offers editors; `--agent` and `@` offer known agents."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (tmp_path / ".acpx").mkdir()
    (tmp_path / ".acpx/config.json").write_text('{"agents": {"gem": {"argv": ["x"]}}}')
    assert offered(monkeypatch, "setup", "a") == ["avante", "agent-shell", "acpx"]
    assert offered(monkeypatch, "setup", "acpx", "--agent", "gem") == ["gem", "gemini"]
    for words in (["record", "--"], ["verify", "x.db", "--"]):
        assert offered(monkeypatch, *words, "@gem") == ["@gemini"]
        assert offered(monkeypatch, *words, "gem") == []
