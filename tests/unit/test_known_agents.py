"""`@NAME` stands for the command of a known agent; the table of them costs nothing otherwise."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_proxy import known_agents
from acp_proxy.cli.known_agents import agent_command
from acp_proxy.known_agents import AGENTS, ROWS_SHA256, agent_id, command_of, expanded, known_names
from tests.commands import complaint
from tests.known_agents import MANUAL, checksum, manual_rows, row, with_rows

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
    """Without it the package is run, if there is one; else the error is that of a program."""
    assert command_of("gemini", lambda name: name == "gemini") == ["gemini", "--acp"]
    package = ["npx", "-y", "@google/gemini-cli", "--acp"]
    assert command_of("gemini", lambda _: False) == package
    assert command_of("goose", lambda _: False) == ["goose", "acp"]


def test_only_the_first_word_is_replaced() -> None:
    """What follows is passed on."""
    found = expanded(["@opencode", "--x", "@gemini"], lambda _: True)
    assert found == (["opencode", "acp", "--x", "@gemini"], {})
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
    assert row(agent) == ("X", ("b", "--acp"), ("npx", "-y", "@a/b"), {"A": "b"}, f"1 {'f' * 12}")
    agent["distribution"] = {"binary": {"darwin-aarch64": {"cmd": "./dir\\x.exe"}}}
    assert row(agent)[1:3] == (("x",), ())
    agent["distribution"] = {"uvx": {"package": "a==1"}}
    assert row(agent)[1:3] == (("a",), ("uvx", "a"))


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
