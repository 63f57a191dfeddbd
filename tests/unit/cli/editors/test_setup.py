"""`setup` lists clients, prints settings, adds entries to settings files and removes them."""

from __future__ import annotations

import json
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.cli.editors import setup as command
from acp_proxy.cli.editors.own_command import is_temporary
from tests.support.client_homes import AGENTS, KEY, VALUE, make_home
from tests.support.command_line import complaint, run
from tests.support.jsonc_oracle import value_of

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

ZED = ".config/zed/settings.json"
JETBRAINS = ".jetbrains/acp.json"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Returns a home directory with the settings of every client."""
    make_home(tmp_path)
    return tmp_path


def variables(home: Path) -> dict[str, Any]:
    """Returns the environment of a user with this home directory; change logs are in it too."""
    programs = home / "bin"
    return {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin", "XDG_DATA_HOME": None}


def setup(home: Path, *words: str) -> Result:
    """Runs ``setup``, asserts that it succeeds, and returns its output."""
    result = run("setup", *words, **variables(home))
    assert result.exit_code == 0, result.output
    return result


def refusal(home: Path, *words: str) -> str:
    """Runs ``setup``, asserts that it fails with one line on stderr, and returns this line."""
    return complaint("setup", *words, **variables(home))


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets clients keep their settings where they do on Linux; acp-proxy is not in a cache."""
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(command, "is_temporary", lambda _own: False)


def test_it_lists_clients_and_agents(home: Path) -> None:
    """`setup` lists the agents of each editor."""
    shown = setup(home).stdout
    for name, agents in AGENTS.items():
        assert f"\n{name} " in shown
        assert all(agent in shown for agent in agents)
    assert "opencode acp --api-key [redacted:key:" in shown
    assert "OPENAI_API_KEY" in shown
    assert "X-Key" in shown
    assert KEY not in shown
    assert VALUE not in shown
    assert shown.splitlines()[-1] == "Next: acp-proxy setup zed"


def test_the_next_step_is_a_client_whose_agents_are_not_recorded(tmp_path: Path) -> None:
    """If an editor's agent is not recorded yet, the last line of `setup` names the next command."""
    plain = {"OpenCode": {"type": "custom", "command": "opencode", "args": ["acp"]}}
    (tmp_path / ZED).parent.mkdir(parents=True)
    (tmp_path / ZED).write_text(json.dumps({"agent_servers": plain}))
    assert setup(tmp_path).stdout.splitlines()[-1] == "Next: acp-proxy setup zed"
    setup(tmp_path, "zed", "--write", "--yes")
    assert setup(tmp_path).stdout.splitlines()[-1] == "Next: acp-proxy list"


def test_it_lists_them_as_json(home: Path) -> None:
    """`setup --json` prints a JSON object for each editor, with its agents."""
    lines = [json.loads(line) for line in setup(home, "--json").stdout.splitlines()]
    assert {item["client"]: [a["name"] for a in item["agents"]] for item in lines} == {
        name: [*agents] for name, agents in AGENTS.items()
    }
    zed = lines[0]
    assert zed["agents"][0]["env"] == ["OPENAI_API_KEY"]
    assert zed["agents"][0]["command"][:3] == ["opencode", "acp", "--api-key"]
    assert KEY not in json.dumps(lines)
    assert VALUE not in json.dumps(lines)
    alone = json.loads(setup(home, "zed", "--json").stdout)
    assert {**alone, "agents": 0} == {**zed, "agents": 0}


def test_it_finds_nothing(tmp_path: Path) -> None:
    """If no editor is installed, the error of `setup` names the editors that it knows."""
    result = run("setup", HOME=str(tmp_path), PATH="", XDG_CONFIG_HOME=None)
    assert (result.exit_code, result.stdout) == (0, "")
    words = f"no ACP client was found for the home directory {tmp_path}; known clients are zed, "
    assert words in result.stderr


def test_settings_are_ready_to_paste(home: Path) -> None:
    """`setup` prints settings with absolute paths of acp-proxy and agent, and without API keys."""
    result = setup(home, "zed", "--agent", "opencode")
    actual = json.loads(result.stdout)["agent_servers"]["OpenCode (recorded)"]
    assert actual["command"].startswith("/")
    assert actual["command"].endswith("/acp-proxy")
    assert actual["args"][:4] == ["record", "--", f"{home}/bin/opencode", "acp"]
    assert actual["env"] == {"OPENAI_API_KEY": "<OPENAI_API_KEY>"}
    assert actual["default_mode"] == "ask"
    assert KEY not in result.output
    assert result.stderr == (
        "acp-proxy: secrets and values of variables are hidden; --unredacted shows them, and"
        f" --write copies them\nacp-proxy: for {home}/{ZED}:\n"
    )
    plain = json.loads(setup(home, "zed", "--agent", "opencode", "--unredacted").stdout)
    assert plain["agent_servers"]["OpenCode (recorded)"]["env"] == {"OPENAI_API_KEY": VALUE}
    assert KEY in json.dumps(plain)


def test_every_agent_is_taken_if_none_is_named(home: Path) -> None:
    """Without `--agent`, `setup` prints settings for all agents of an editor."""
    actual = json.loads(setup(home, "zed").stdout)["agent_servers"]
    assert [*actual] == ["OpenCode (recorded)", "Gemini CLI (recorded)"]
    assert actual["Gemini CLI (recorded)"]["type"] == "custom"
    assert actual["Gemini CLI (recorded)"]["env"]["A"] == "<A>"
    gemini = [f"{home}/bin/npx", "-y", "@google/gemini-cli", "--acp"]
    assert actual["Gemini CLI (recorded)"]["args"] == ["record", "--", *gemini]


def test_a_known_agent_that_is_installed_is_taken_if_none_is_configured(home: Path) -> None:
    """If no agent is configured in an editor, `setup` prints settings for an installed agent."""
    (home / JETBRAINS).unlink()
    assert [*json.loads(setup(home, "jetbrains").stdout)["agent_servers"]] == [
        "OpenCode (recorded)"
    ]
    (home / "bin/opencode").unlink()
    assert refusal(home, "jetbrains").endswith(
        "such as --agent opencode, or give a command, such as"
        " `acp-proxy setup jetbrains -- python agent.py`"
    )


def test_a_command_in_a_cache_is_not_written(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`setup --write` is refused if acp-proxy runs from a cache directory."""
    monkeypatch.setattr(command, "is_temporary", is_temporary)
    monkeypatch.setattr(command, "own_command", lambda _: ("/x/.cache/uv/bin/acp-proxy",))
    before = (home / ZED).read_bytes()
    told = (
        "/x/.cache/uv/bin/acp-proxy is in a cache or a temporary directory and may be removed some "
        "day; install acp-proxy with `uv tool install` or `pipx install`, and run the installed one"
    )
    words = ("zed", "--agent", "OpenCode")
    assert refusal(home, *words, "--write", "--yes") == told
    assert (home / ZED).read_bytes() == before
    assert told in setup(home, *words).stderr


def test_an_entry_is_written_and_taken_back(home: Path) -> None:
    """`setup --undo` removes the settings that `setup --write` added."""
    path = home / ZED
    path.chmod(0o640)
    before = path.read_bytes()
    result = setup(home, "zed", "--agent", "OpenCode", "--write", "--yes")
    assert KEY not in result.output
    assert VALUE not in result.output
    assert '+      "env": {' in result.stdout
    assert result.stdout.splitlines()[-1] == (
        f"added 'OpenCode (recorded)' to {path}; `acp-proxy setup zed --undo` removes the entry"
    )
    assert "`--keep 14d` after `record`" in result.stderr
    value = value_of(path.read_bytes())
    entry = value["agent_servers"].pop("OpenCode (recorded)")
    assert value == value_of(before)
    assert entry["env"] == {"OPENAI_API_KEY": VALUE}
    assert (entry["args"][:2], entry["args"][-1]) == (["record", "--"], KEY)  # and no --keep
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    kept = [*(home / ".local/share/acp-proxy/setup").iterdir()]
    assert [stat.S_IMODE(item.stat().st_mode) for item in kept] == [0o600]
    taken = setup(home, "zed", "--undo").stdout
    assert taken.splitlines()[-1] == f"removed 'OpenCode (recorded)' from {path}"
    assert path.read_bytes() == before
    assert [*kept[0].parent.iterdir()] == []
    assert refusal(home, "zed", "--undo") == f"{path} has no entry that --write has added"


def test_a_missing_file_is_made_and_removed(home: Path) -> None:
    """`setup --undo` removes a settings file that `setup --write` created."""
    path = home / JETBRAINS
    path.unlink()
    path.parent.rmdir()
    for name in ("opencode", "goose", "gemini"):
        setup(home, "jetbrains", "--agent", name, "--write", "--yes")
    names = ["Gemini CLI (recorded)", "goose (recorded)", "OpenCode (recorded)"]
    for number in range(3):
        assert [*value_of(path.read_bytes())["agent_servers"]] == names[number:]
        setup(home, "jetbrains", "--undo")
    assert not path.parent.exists()


def test_an_agent_is_recorded_once(home: Path) -> None:
    """`setup` refuses to add an agent that it has already added."""
    words = ("jetbrains", "--agent", "opencode", "--write", "--yes")
    setup(home, *words)
    path = home / JETBRAINS
    said = f"the entry 'OpenCode (recorded)' in {path} records this agent already"
    assert refusal(home, *words) == said
    path.write_bytes(path.read_bytes().replace(b'"record"', b'"record", "--check"'))
    setup(home, *words)
    assert next(iter(value_of(path.read_bytes())["agent_servers"])) == "OpenCode (recorded) 2"


def test_what_was_changed_since_stays(home: Path) -> None:
    """`setup --undo` keeps changes that the user made after `setup --write`."""
    path = home / ZED
    setup(home, "zed", "--agent", "opencode", "--write", "--yes")
    path.write_bytes(path.read_bytes().replace(b"One Dark", b"Other"))
    setup(home, "zed", "--undo")
    assert path.read_bytes() == (home / ZED).read_bytes()
    assert b"Other" in path.read_bytes()
    assert b"(recorded)" not in path.read_bytes()
    setup(home, "zed", "--agent", "opencode", "--write", "--yes")
    path.write_bytes(path.read_bytes().replace(b'"record"', b'"record", "--check"'))
    assert refusal(home, "zed", "--undo") == (
        f"cannot undo the change of {path}:"
        " the entry 'OpenCode (recorded)' has changed since setup wrote it"
    )


@pytest.mark.parametrize(("answer", "code"), [(True, 0), (False, 1)])
def test_it_asks_on_a_terminal(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: bool, code: int
) -> None:
    """On a terminal, `setup --write` asks first, and writes nothing if the answer is no."""

    class Terminal:
        platform = "linux"
        argv = ("acp-proxy",)
        stdin = stderr = type("", (), {"isatty": staticmethod(lambda: True)})
        exit = staticmethod(sys.exit)

    asked: list[str] = []
    monkeypatch.setattr(command, "sys", Terminal)

    def ask(question: str) -> bool:
        asked.append(question)
        return answer

    monkeypatch.setattr(command, "ask", ask)
    before = (home / ZED).read_bytes()
    result = run("setup", "zed", "--agent", "opencode", "--write", **variables(home))
    assert result.exit_code == code
    assert asked == [f"write {home}/{ZED}?"]
    assert ((home / ZED).read_bytes() == before) == (not answer)


def test_an_agent_of_ones_own_is_recorded(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`setup CLIENT -- COMMAND` records an agent of the user's own by its absolute path."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").touch()
    (tmp_path / "acp").touch()
    words = ["--", "env", "mine.py", "acp", "--flag", "-x"]
    shown = json.loads(setup(home, "zed", *words).stdout)["agent_servers"]["mine (recorded)"]
    assert shown["args"][3:] == [f"{tmp_path}/mine.py", "acp", "--flag", "-x"]
    assert "mine-recorded" in setup(home, "codecompanion", *words).stdout
    setup(home, "zed", "--write", "--yes", *words)
    written = value_of((home / ZED).read_bytes())["agent_servers"]["mine (recorded)"]
    assert written == shown


def test_settings_that_are_a_program_are_said_to_be_searched_only(home: Path) -> None:
    """If an editor's Lua settings name no known agent, `setup` says so and names the file."""
    (home / "bin/opencode").unlink()
    file = home / ".config/nvim/init.lua"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('require("codecompanion").setup({ commands = { "mine", "--acp" } })')
    actual = f"{file} names no known agent"
    assert actual in refusal(home, "codecompanion")
    file.unlink()
    assert "CodeCompanion has no agent that can be recorded" in refusal(home, "codecompanion")


def test_broken_settings_are_one_line_below_the_table(home: Path) -> None:
    """`setup` lists settings that cannot be read, and prints the reason on stderr."""
    (home / ZED).write_text("{bad")
    result = setup(home)
    (line,) = (line for line in result.stdout.splitlines() if line.startswith("zed "))
    assert line.split(maxsplit=1)[1].startswith("cannot be read")
    assert line.endswith(f"{home}/{ZED}")
    assert result.stderr.startswith(f"acp-proxy: cannot read {home}/{ZED}: line 1, column 2: ")


def test_nothing_is_written_without_a_yes(home: Path) -> None:
    """Without a terminal and without `--yes`, `setup --write` writes nothing and exits with 2."""
    before = (home / ZED).read_bytes()
    result = run("setup", "zed", "--agent", "opencode", "--write", **variables(home))
    assert result.exit_code == 2
    assert result.stderr.endswith("expected --yes, since there is no terminal to ask on\n")
    assert (home / ZED).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--write"], "expected a client, such as `acp-proxy setup zed`"),
        (["zed", "--yes"], "--yes confirms a change: expected --write, too"),
        (["zed", "--write", "--undo"], "expected --write or --undo, not both"),
        (["zed", "--write", "--json"], "--json cannot be combined with other options"),
        (["zedd"], "no known client 'zedd'; did you mean zed?"),
        (["emacs"], "no known client 'emacs'; expected one of zed, jetbrains, "),
        (["zed", "--agent", "go", "--", "a"], "a command after -- cannot be combined with --agent"),
        (
            ["zed", "--agent", "my agent"],
            "no agent 'my agent'; `acp-proxy setup zed -- my agent` takes a command of your own",
        ),
        (["zed", "--agent", "opncode"], "no agent 'opncode'; did you mean opencode?"),
        (["zed", "--write"], "several agents can be recorded; expected --agent with one of"),
        (
            ["acpx", "--agent", "a", "--write"],
            "acp-proxy does not write the settings of acpx: paste",
        ),
        (["acpx", "--undo"], "acp-proxy never writes the settings of acpx"),
        (["acpx", "--agent", "d"], "acpx does not store the command of 'd'; name a known agent"),
        (["avante", "--agent", "goose"], "'goose' is already set up to be recorded: see "),
    ],
)
def test_wrong_use_is_one_line(home: Path, words: list[str], said: str) -> None:
    """`setup` refuses wrong arguments, such as an unknown editor, by one line that names them."""
    assert refusal(home, *words).startswith(said)


def test_files_that_cannot_be_written_are_one_line(home: Path) -> None:
    """`setup --write` refuses read-only settings with an error of one line."""
    path = home / ZED
    words = ("zed", "--agent", "opencode", "--write", "--yes")
    path.chmod(0o400)
    assert refusal(home, *words) == f"cannot write {path}: it is read-only"
    path.chmod(0o600)
    (home / "second").hardlink_to(path)
    assert "it has a second name" in refusal(home, *words)
    (home / "second").unlink()
    path.write_text("{")
    assert refusal(home, *words).startswith(f"cannot read {path}: line 1, column 2: expected a")
    path.write_bytes(b"\xff{}")
    assert ": it is not UTF-8 at byte 0" in refusal(home, *words)
    path.unlink()
    path.mkdir()
    assert refusal(home, *words) == f"cannot read {path}: it is a directory"
    path.rmdir()
    path.parent.rmdir()
    path.parent.parent.chmod(0o500)
    assert refusal(home, *words) == f"cannot write {path}: {path.parent.parent} is read-only"
    path.parent.parent.chmod(0o700)


def test_a_damaged_copy_is_named(home: Path) -> None:
    """If the copy of settings for `setup --undo` is damaged, the error names the copy."""
    setup(home, "zed", "--agent", "opencode", "--write", "--yes")
    (kept,) = (home / ".local/share/acp-proxy/setup").iterdir()
    kept.write_text("{")
    assert refusal(home, "zed", "--undo") == f"cannot read {kept}: it is damaged"
