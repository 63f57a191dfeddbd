"""`@NAME` stands for the command of a known agent, and costs nothing if it is not used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.options import agent_command
from acp_proxy.editors.known_agents import (
    AGENTS,
    advice,
    agent_id,
    command_of,
    expanded,
    known_names,
)
from tests.support.command_line import complaint
from tests.tools.known_agents import (
    MANUAL,
    TABLE,
    manual_rows,
    named_repositories,
    plain_repository,
    row,
    written,
)

if TYPE_CHECKING:
    from acp_proxy.editors.known_agents import KnownAgent

ROOT = Path(__file__).parents[3]


def test_the_table_is_as_it_was_made() -> None:
    """The table of known agents in the package has the format that `make agents` writes."""
    text = TABLE.read_text("utf-8")
    assert text == written(AGENTS, json.loads(text)["sha256"])


def test_the_manual_has_every_agent() -> None:
    """The manual's table of known agents has the same rows as the table in the code."""
    lines = MANUAL.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("| `@")] == manual_rows(AGENTS)


def test_each_name_leads_to_an_agent() -> None:
    """`agent_id` finds the known agent of `@NAME` by its id, its name, or its program."""
    assert {agent_id(name) for name in known_names()} == {*AGENTS}
    assert agent_id("Claude") == agent_id("claude-agent-acp") == "claude-acp"
    assert agent_id("copilot") == "github-copilot-cli"
    assert agent_id("nosuch") is None


def test_an_installed_agent_is_preferred() -> None:
    """If a known agent is installed, `command_of` returns its program, not its npm package."""
    assert command_of("gemini", lambda name: name == "gemini") == ["gemini", "--acp"]
    package = ["npx", "-y", "@google/gemini-cli", "--acp"]
    assert command_of("gemini", lambda _: False) == package
    for id_ in ("goose", "opencode"):
        assert command_of(id_, lambda _: False) == [AGENTS[id_]["command"][0], "acp"]


def test_a_package_that_was_not_compared_is_only_named() -> None:
    """For a known agent that is not in PATH, `advice` returns a command to type by hand.

    It does so only if nobody has compared the agent's npm package with the agent's project.
    """
    assert advice("opencode", lambda _: False) == (
        "opencode is not in PATH, and nobody has compared the package @opencode/cli with the"
        " project of the agent; if you trust it, type: npx -y @opencode/cli acp"
    )
    assert advice("opencode", lambda _: True) == ""
    assert advice("gemini", lambda _: False) == advice("goose", lambda _: False) == ""


def test_a_row_with_a_package_has_the_day_of_its_comparison() -> None:
    """In the table `AGENTS`, each agent with a compared package has the date and the repository."""
    for agent in AGENTS.values():
        assert bool(agent["compared"]) == bool(agent["repository"])
        if agent["compared"]:
            assert agent["runner"]
            assert date.fromisoformat(agent["compared"])
            assert plain_repository(agent["repository"]) == agent["repository"]


@pytest.mark.soak
@pytest.mark.parametrize("id_", [id_ for id_, agent in AGENTS.items() if agent["compared"]])
def test_a_compared_package_is_still_of_its_project(id_: str) -> None:
    """In npm or PyPI, each compared package in `AGENTS` still names the agent's repository."""
    agent = AGENTS[id_]
    assert agent["repository"] in named_repositories(agent["runner"])


def test_only_the_first_word_is_replaced() -> None:
    """`expanded` replaces `@NAME` in a command by a known agent only if it is the first word."""
    actual = expanded(["@opencode", "--x", "@gemini"], lambda _: True)
    assert actual == (["opencode", "acp", "--x", "@gemini"], {}, "")
    assert expanded(["@nosuch"], lambda _: True) is None


def commands(agent: KnownAgent) -> tuple[list[str], list[str]]:
    """Returns the command of an agent, and the command that runs its package."""
    return agent["command"], agent["runner"]


def comparison(agent: KnownAgent) -> tuple[str, str]:
    """Returns the day on which an agent's package was compared, and the agent's repository."""
    return agent["compared"], agent["repository"]


def test_rows_are_made_of_the_registry() -> None:
    """`row` makes an agent's command and package for the table from an entry of ACP's registry."""
    agent = {
        "id": "x",
        "name": "X",
        "version": "1",
        "commit": "f" * 40,
        "distribution": {
            "npx": {"package": "@a/b@1.2", "args": ["--acp"], "env": {"NO_UPDATE": "1", "A": "b"}}
        },
    }
    assert row(agent, lambda _: []) == {
        "name": "X",
        "command": ["b", "--acp"],
        "runner": ["npx", "-y", "@a/b"],
        "env": {"A": "b"},
        "version": "1",
        "commit": "f" * 12,
        "compared": "",
        "repository": "",
    }
    agent["distribution"] = {"binary": {"darwin-aarch64": {"cmd": "./dir\\x.exe"}}}
    assert commands(row(agent, lambda _: [])) == (["x"], [])
    agent["distribution"] = {"uvx": {"package": "a==1"}}
    assert commands(row(agent, lambda _: [])) == (["a"], ["uvx", "a"])


def test_a_package_is_compared_by_its_repository() -> None:
    """`row` accepts an agent's package only if it names the repository in ACP's registry."""
    agent = {"id": "x", "name": "X", "version": "1", "distribution": {"uvx": {"package": "a"}}}
    named = [plain_repository("git+https://github.com/Them/x.git")]
    assert comparison(row(agent, lambda _: named)) == ("", "")
    for spelling in (
        "https://github.com/them/X",
        "git@github.com:them/x.git",
        "github.com/them/x/",
    ):
        agent["repository"] = spelling
        made = row(agent, lambda _: named, "2026-01-02")
        assert comparison(made) == ("2026-01-02", "github.com/them/x")
    agent["repository"] = "https://github.com/us/x"
    assert comparison(row(agent, lambda _: named)) == ("", "")


@pytest.mark.parametrize("words", [["record", "--"], ["verify", "-", "--"]])
def test_an_unknown_name_is_refused(words: list[str], tmp_path: Path) -> None:
    """`record` and `verify` refuse an unknown `@NAME`, suggest a similar one, and start nothing."""
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
    """`record` and `verify` run no package by `@NAME` that was not compared with the registry.

    The error has the command to type instead.
    """
    npx = tmp_path / "npx"
    npx.write_text("#!/bin/sh\ntouch ran\n")
    npx.chmod(0o755)
    result = subprocess.run(
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
    assert result.returncode == code
    assert "@opencode: opencode is not in PATH" in result.stderr
    assert "type: npx -y @opencode/cli acp\n" in result.stderr
    assert not (tmp_path / "ran").exists()


def test_a_recorded_name_is_expanded(tmp_path: Path) -> None:
    """`record` replaces `@NAME` only as the first word, and loads the table of agents only then."""
    agent = tmp_path / "opencode"
    agent.write_text('#!/bin/sh\necho "$0 $@"\n')
    agent.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/bin:/usr/bin", "ACP_PROXY_RECORDINGS": str(tmp_path / "rec")}
    script = (
        "import sys; from acp_proxy import entry; from acp_proxy.record.capture import starter\n"
        "def record(given, *_):\n"
        "    print(*given.command, 'acp_proxy.editors.known_agents' in sys.modules)\n"
        "starter.record = record; entry.main()"
    )
    for words, expected in (
        (["@opencode", "-x"], "opencode acp -x True"),
        (["opencode", "@gemini"], "opencode @gemini False"),
    ):
        result = subprocess.run(
            [sys.executable, "-c", script, "record", "--", *words],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert result.stdout.splitlines()[:1] == [expected], result.stderr


def test_the_command_line_expands_names_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` replaces `@NAME` by the command of the known agent."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("VT_ACP_ENABLED", "0")
    monkeypatch.delenv("VT_ACP_ZED_ENABLED", raising=False)
    package = ("npx", "-y", "@agentclientprotocol/claude-agent-acp", "-x")
    assert agent_command(("@claude", "-x")) == package
    assert agent_command(("claude", "@x")) == ("claude", "@x")
    assert agent_command(("@vtcode",)) == ("vtcode", "acp")
    assert [os.environ[name] for name in AGENTS["vtcode"]["env"]] == ["0", "1"]
    monkeypatch.delenv("VT_ACP_ZED_ENABLED")
