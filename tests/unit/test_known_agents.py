"""`@NAME` stands for the command of a known agent; the table of them costs nothing otherwise."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from acp_proxy import known_agents
from acp_proxy.cli.known_agents import agent_command
from acp_proxy.known_agents import (
    AGENTS,
    ROWS_SHA256,
    advice,
    agent_id,
    command_of,
    expanded,
    known_names,
)
from tests.commands import complaint
from tests.known_agents import (
    MANUAL,
    checksum,
    manual_rows,
    named_repositories,
    plain_repository,
    row,
    with_rows,
)

SOURCE = Path(known_agents.__file__).read_text("utf-8")
ROOT = Path(__file__).parents[2]


def test_the_table_is_as_it_was_made() -> None:
    """Nobody has changed a row by hand."""
    assert checksum(AGENTS) == ROWS_SHA256


def test_the_manual_has_every_agent() -> None:
    """With its names and both of its commands."""
    lines = MANUAL.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `@")] == manual_rows(AGENTS)


def test_it_imports_nothing() -> None:
    """But names for types, which no running program imports."""
    for node in ast.parse(SOURCE).body:
        assert not isinstance(node, ast.Import | ast.ImportFrom)


def test_each_name_leads_to_an_agent() -> None:
    """Ids, ids without ``-acp`` and programs, in any case; each name has one agent."""
    assert {agent_id(name) for name in known_names()} == {*AGENTS}
    assert agent_id("Claude") == agent_id("claude-agent-acp") == "claude-acp"
    assert agent_id("copilot") == "github-copilot-cli"
    assert agent_id("nosuch") is None


def test_an_installed_agent_is_preferred() -> None:
    """Without it its package is run, if that was compared; else the error is that of a program."""
    assert command_of("gemini", lambda name: name == "gemini") == ["gemini", "--acp"]
    package = ["npx", "-y", "@google/gemini-cli", "--acp"]
    assert command_of("gemini", lambda _: False) == package
    for id_ in ("goose", "opencode"):
        assert command_of(id_, lambda _: False) == [AGENTS[id_][1][0], "acp"]


def test_a_package_that_was_not_compared_is_only_named() -> None:
    """The command that runs it is printed, for a person to type, unless the agent is there."""
    assert advice("opencode", lambda _: False) == (
        "opencode is not in PATH, and nobody has compared the package @opencode/cli with the"
        " project of the agent; if you trust it, type: npx -y @opencode/cli acp"
    )
    assert advice("opencode", lambda _: True) == ""
    assert advice("gemini", lambda _: False) == advice("goose", lambda _: False) == ""


def test_a_row_with_a_package_has_the_day_of_its_comparison() -> None:
    """The day and the repository, in the form in which repositories are compared."""
    for _, _, runner, _, facts in AGENTS.values():
        if len(facts.split()) > 2:
            _, _, day, repository = facts.split()
            assert runner
            assert date.fromisoformat(day)
            assert plain_repository(repository) == repository


@pytest.mark.soak
@pytest.mark.parametrize("id_", [id_ for id_, row in AGENTS.items() if len(row[-1].split()) > 2])
def test_a_compared_package_is_still_of_its_project(id_: str) -> None:
    """The repository that it names today, on npm or PyPI, is the one of its row."""
    row = AGENTS[id_]
    assert row[-1].split()[3] in named_repositories(row[2])


def test_only_the_first_word_is_replaced() -> None:
    """What follows is passed on."""
    found = expanded(["@opencode", "--x", "@gemini"], lambda _: True)
    assert found == (["opencode", "acp", "--x", "@gemini"], {}, "")
    assert expanded(["@nosuch"], lambda _: True) is None


def test_rows_are_made_of_the_registry() -> None:
    """Packages lose their versions; of a binary the program counts; updates are its own affair."""
    agent = {
        "id": "x",
        "name": "X",
        "version": "1",
        "commit": "f" * 40,
        "distribution": {
            "npx": {"package": "@a/b@1.2", "args": ["--acp"], "env": {"NO_UPDATE": "1", "A": "b"}}
        },
    }
    made = ("X", ("b", "--acp"), ("npx", "-y", "@a/b"), {"A": "b"}, f"1 {'f' * 12}")
    assert row(agent, lambda _: []) == made
    agent["distribution"] = {"binary": {"darwin-aarch64": {"cmd": "./dir\\x.exe"}}}
    assert row(agent, lambda _: [])[1:3] == (("x",), ())
    agent["distribution"] = {"uvx": {"package": "a==1"}}
    assert row(agent, lambda _: [])[1:3] == (("a",), ("uvx", "a"))


def test_a_package_is_compared_by_its_repository() -> None:
    """However that is spelled; an agent whose project is not known has nothing to compare."""
    agent = {"id": "x", "name": "X", "version": "1", "distribution": {"uvx": {"package": "a"}}}
    named = [plain_repository("git+https://github.com/Them/x.git")]
    assert row(agent, lambda _: named)[-1] == "1 -"
    for spelling in (
        "https://github.com/them/X",
        "git@github.com:them/x.git",
        "github.com/them/x/",
    ):
        agent["repository"] = spelling
        assert row(agent, lambda _: named, "2026-01-02")[-1] == "1 - 2026-01-02 github.com/them/x"
    agent["repository"] = "https://github.com/us/x"
    assert row(agent, lambda _: named)[-1] == "1 -"


def test_the_table_is_written_anew() -> None:
    """Only rows and checksums change, and what is written is Python."""
    made = with_rows(SOURCE, {"x": ("X", ("x",), (), {}, "1")}, "abc")
    assert made.partition(" = {")[2].startswith("\n    'x': ('X', ('x',), (), {}, '1'),\n}\n")
    assert made.partition("\n}\n")[2] == SOURCE.partition("\n}\n")[2]
    ast.parse(made)


@pytest.mark.parametrize("words", [["record", "--"], ["verify", "-", "--"]])
def test_an_unknown_name_is_refused(words: list[str], tmp_path: Path) -> None:
    """With the nearest ones, and before anything is started or recorded."""
    said = complaint(*words, "@opencod", home=tmp_path)
    assert said == "no known agent '@opencod'; did you mean @opencode?"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["record", "-o", "x.db", "--"], 127),
        (["record", "-ox.db", "--"], 127),
        (["verify", str(ROOT / "recordings/hello.db"), "--"], 2),
    ],
)
def test_an_agent_whose_package_was_not_compared_is_not_run(
    words: list[str], code: int, tmp_path: Path
) -> None:
    """Not even where npx is there; the command to type is printed."""
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\ntouch ran\n")
    npx.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "acp_proxy", *words, "@opencode"],
        env={
            "PATH": str(tmp_path),
            "PYTHONPATH": str(ROOT),
            "ACP_PROXY_RECORDINGS": str(tmp_path / "recordings"),
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == code
    assert "@opencode: opencode is not in PATH" in done.stderr
    assert "type: npx -y @opencode/cli acp\n" in done.stderr
    assert not (tmp_path / "ran").exists()


def test_a_recorded_name_is_expanded(tmp_path: Path) -> None:
    """The starter executes the agent's own program, and imports nothing else for it."""
    agent = tmp_path / "opencode"
    agent.write_text('#!/bin/sh\necho "$0 $@"\n')
    agent.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/bin:/usr/bin", "ACP_PROXY_RECORDINGS": str(tmp_path / "rec")}
    script = (
        "import sys; from acp_proxy import entry; from acp_proxy.capture import starter\n"
        "def record(given, *_): print(*given.command, 'acp_proxy.known_agents' in sys.modules)\n"
        "starter.record = record; entry.main()"
    )
    for words, expected in (
        (["@opencode", "-x"], "opencode acp -x True"),
        (["opencode", "@gemini"], "opencode @gemini False"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script, "record", "--", *words],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.stdout.splitlines()[:1] == [expected], done.stderr


def test_the_command_line_expands_names_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For `verify`, and for `record` where click reads the options; variables that are set stay."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VT_ACP_ENABLED", "0")
    monkeypatch.delenv("VT_ACP_ZED_ENABLED", raising=False)
    package = ("npx", "-y", "@agentclientprotocol/claude-agent-acp", "-x")
    assert agent_command(("@claude", "-x")) == package
    assert agent_command(("claude", "@x")) == ("claude", "@x")
    assert agent_command(("@vtcode",)) == ("vtcode", "acp")
    assert [os.environ[name] for name in AGENTS["vtcode"][3]] == ["0", "1"]
    monkeypatch.delenv("VT_ACP_ZED_ENABLED")
