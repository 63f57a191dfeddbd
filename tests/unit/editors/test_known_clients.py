"""`setup` finds each client by its files, and prints an entry with the client's agent."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.agents import (
    ConfiguredAgent,
    Machine,
    RecordedAgent,
    known_agent,
    known_id,
    recorded,
)
from acp_proxy.editors.hiding import Masker, hidden_agent, hidden_settings
from acp_proxy.editors.known_clients import CLIENTS, find_clients, look_at
from tests.support.client_homes import AGENTS, KEY, VALUE, make_home

if TYPE_CHECKING:
    from acp_proxy.editors.acp_client import AcpClient

BY_NAME: dict[str, AcpClient] = {client.name: client for client in CLIENTS}
OWN = ("/home/me/.local/bin/acp-proxy",)
PLAIN = Masker(lambda text: text, lambda words: words)
NOBODY = Machine({"HOME": "/nowhere", "PATH": ""}, "linux", Path("/nowhere"))


@pytest.mark.parametrize("is_mac", [False, True], ids=["linux", "macos"])
def test_every_client_is_found(tmp_path: Path, is_mac: bool) -> None:
    """`setup` finds the settings of each supported client."""
    actual = {
        client.client.name: client for client in find_clients(make_home(tmp_path, is_mac=is_mac))
    }
    assert {
        name: {a.name: a.command for a in client.agents} for name, client in actual.items()
    } == AGENTS
    assert [name for name, client in actual.items() if client.problems] == []
    (goose,) = actual["avante"].recorded
    assert (goose.proxy, goose.agent) == (("/opt/acp-proxy",), ("goose", "acp"))
    assert actual["zed"].agents[0].env == {"OPENAI_API_KEY": VALUE}
    assert actual["obsidian"].agents[1].env == {"A": VALUE}
    assert actual["jetbrains"].agents[0].header_names == ("X-Key",)


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    """If no client has settings that name an agent, `setup` lists none."""
    machine = Machine({"HOME": str(tmp_path), "PATH": ""}, "linux", tmp_path)
    (tmp_path / ".config/nvim").mkdir(parents=True)
    (tmp_path / ".config/nvim/init.lua").write_text("-- nothing")
    (tmp_path / ".emacs").write_text(";; nothing")
    assert list(find_clients(machine)) == []
    for client in CLIENTS:
        assert look_at(client, machine).path.is_relative_to(tmp_path)


def test_directories_of_the_environment_count(tmp_path: Path) -> None:
    """`setup` looks for settings in the directory that XDG_CONFIG_HOME names."""
    environ = {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
        "XDG_DATA_HOME": "relative",
        "NVIM_APPNAME": "other",
    }
    machine = Machine(environ, "linux", tmp_path)
    assert look_at(BY_NAME["zed"], machine).path == tmp_path / "c/zed/settings.json"
    (tmp_path / ".local/share/other/lazy/avante.nvim").mkdir(parents=True)
    (client,) = find_clients(machine)
    assert (client.client.name, client.path) == ("avante", tmp_path / "c/other/init.lua")


@pytest.mark.parametrize(
    "text", ["{", "[1]", '{"agent_servers": 1}', '{"agent_servers": {}, "agent_servers": {}}']
)
def test_settings_that_cannot_be_read_are_a_problem(tmp_path: Path, text: str) -> None:
    """`setup` reports settings that it cannot read, and still lists the other clients."""
    machine = make_home(tmp_path)
    (tmp_path / ".jetbrains/acp.json").write_text(text)
    actual = {client.client.name: client for client in find_clients(machine)}
    (problem,) = actual["jetbrains"].problems
    assert problem.startswith(f"cannot read {tmp_path}/.jetbrains/acp.json: ")
    assert actual["zed"].agents


@pytest.mark.parametrize("name", BY_NAME)
def test_what_is_printed_starts_the_agent(tmp_path: Path, name: str) -> None:
    """For each client, the settings entry that `setup` prints starts acp-proxy with the agent."""
    machine = make_home(tmp_path)
    agent = recorded(known_agent("opencode", machine), OWN, machine, is_graphical=True)
    assert agent.command == (*OWN, "record", "--", f"{tmp_path}/bin/opencode", "acp")
    text = BY_NAME[name].snippet([agent])
    assert all(word in text for word in agent.command)


@pytest.mark.parametrize("name", ["zed", "jetbrains", "vscode", "acpx"])
def test_settings_are_read_as_they_were_printed(tmp_path: Path, name: str) -> None:
    """`setup` recognizes the agent in a settings entry that it printed."""
    client = BY_NAME[name]
    agent = RecordedAgent("é \u2028", (*OWN, "record", "--", "a b", '"\\'), {"A": "b c"})
    (actual,) = client.agents(tmp_path, client.snippet([agent]).encode())
    env = () if name != "acpx" else ("env", "A=b c")
    assert actual.command == (*env, *agent.command)
    assert actual.proxy == (*env, *OWN)
    assert actual.agent == ("a b", '"\\')


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=8), max_size=3))
def test_strings_are_quoted(words: list[str]) -> None:
    """`setup` quotes each word of a command in Lua and Lisp, and can read the words back."""
    agent = RecordedAgent("x", (*OWN, "record", "--", "opencode", *words), id="opencode")
    for name in ("codecompanion", "avante", "agent-shell"):
        path = Path("x.el" if name == "agent-shell" else "x.lua")
        text = BY_NAME[name].snippet([agent])
        (actual,) = BY_NAME[name].agents(path, text.encode())
        escapes = {f"\\{ord(c):03{'o' if path.suffix == '.el' else 'd'}}": c for c in CONTROLS}
        for escape, character in escapes.items():
            assert character not in text
            words = [word.replace(character, escape[1:]) for word in words]
        assert actual.command == (*OWN, "record", "--", "opencode", *words)
        words = [*agent.command[4:]]
    for name in ("toad", "marimo"):
        assert tuple(shlex.split(shlex.split(BY_NAME[name].snippet([agent]))[2])) == agent.command


CONTROLS = [chr(n) for n in (*range(32), 127) if chr(n) != "\n"]


def test_each_known_agent_has_a_snippet() -> None:
    """`setup` prints an entry even for an agent that is not installed, and notes that it is not."""
    agent = recorded(known_agent("gemini", NOBODY), OWN, NOBODY, is_graphical=True)
    assert agent.notes == ("npx was not found in PATH; put its absolute path there",)
    agent = recorded(known_agent("nova", NOBODY), OWN, NOBODY, is_graphical=True)
    assert agent.command == (*OWN, "record", "--", "nova", "acp")  # its package was not compared
    assert agent.notes[0].endswith("; if you trust it, type: npx -y @compass-ai/nova acp")
    assert 'extend("opencode", {' in BY_NAME["codecompanion"].snippet([agent])
    with pytest.raises(BadSettings, match="has Lisp variables for auggie, claude-acp"):
        BY_NAME["agent-shell"].snippet([agent])
    other = recorded(known_agent("goose", NOBODY), OWN, NOBODY, is_graphical=True)
    assert ";; there is no variable for nova-recorded" in BY_NAME["agent-shell"].snippet(
        [agent, other]
    )


def test_a_script_gets_a_path_with_its_interpreter(tmp_path: Path) -> None:
    """If an agent needs npx, the settings of `setup` for a graphical editor have npx in PATH."""
    machine = make_home(tmp_path)
    npx = ConfiguredAgent("x", ("npx", "x"), tmp_path / "settings.json")
    path = {"PATH": f"{tmp_path}/bin:/usr/local/bin:/usr/bin:/bin"}
    assert recorded(npx, OWN, machine, is_graphical=True).env == path
    assert recorded(npx, OWN, machine, is_graphical=False).env == {}
    own = ConfiguredAgent("x", ("npx", "x"), tmp_path, {"PATH": "/x"})
    assert recorded(own, OWN, machine, is_graphical=True).env == {"PATH": "/x"}
    program = ConfiguredAgent("x", ("~/bin/opencode",), tmp_path)
    assert recorded(program, OWN, machine, is_graphical=True).command[-1] == (
        f"{tmp_path}/bin/opencode"
    )


def test_agents_are_recognized() -> None:
    """`setup` recognizes a known agent in settings by its program."""
    assert known_id(["/opt/bin/opencode", "acp"]) == "opencode"
    assert known_id(["npx", "-y", "@google/gemini-cli@1.2", "--acp"]) == "gemini"
    assert known_id(["uvx", "fast-agent-acp==1", "-x"]) == "fast-agent"
    assert known_id(["npx", "-y", "@google/gemini-cli-other"]) is None
    assert known_id([]) is None


def test_acp_proxy_is_recognized() -> None:
    """`setup` recognizes settings that already start acp-proxy, also by `env` or `python -m`."""
    for words, proxy in (
        (("env", "A=b", "/x/acp-proxy", "record", "--", "a"), ("env", "A=b", "/x/acp-proxy")),
        (("python3", "-m", "acp_proxy", "record", "a"), ("python3", "-m", "acp_proxy")),
        (("a", "--", "acp-proxy"), ()),
        ((), ()),
    ):
        assert ConfiguredAgent("x", words, Path()).proxy == proxy


def test_values_are_hidden(tmp_path: Path) -> None:
    """`setup` prints settings without the values of environment variables and without secrets."""
    machine = make_home(tmp_path)
    mask = Masker(
        lambda text: text.replace(KEY, "*"), lambda words: [w.replace(KEY, "*") for w in words]
    )
    for name in ("zed", "jetbrains", "obsidian"):
        actual = look_at(BY_NAME[name], machine)
        data = actual.path.read_bytes()
        shown = hidden_settings(data, mask)
        assert VALUE not in shown
        assert KEY not in shown
        assert "…" in shown
        agent = recorded(actual.agents[0], OWN, machine, is_graphical=True)
        text = BY_NAME[name].snippet([hidden_agent(agent, mask)])
        assert VALUE not in text
        assert KEY not in text
    assert (
        hidden_settings(b'{"args": [1, "a"], "env": [1]', PLAIN) == '{"args": [1, "a"], "env": [1]'
    )
    assert json.loads(hidden_settings(b'{"a": {"env": {"x": 1}}}', PLAIN)) == {
        "a": {"env": {"x": "…"}}
    }
