"""`doctor` reports what would happen if a client started the acp-proxy in its settings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.editors.doctor import doctor_checks as module
from acp_proxy.editors.doctor.context import VersionAnswer
from acp_proxy.editors.doctor.doctor_checks import client_settings
from tests.support.client_homes import VALUE, make_home
from tests.support.doctor_machine import SETTINGS, configure, healthy, lines, machine, program

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


@pytest.fixture(autouse=True)
def system_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a directory of the test the PATH of graphical editors."""
    monkeypatch.setattr(module, "SYSTEM_PATH", f"{tmp_path}/usr/bin")


def checked(home: Path, *words: str, **env: str) -> list[str]:
    """Returns what `doctor` says if Zed's settings have an agent with these words and variables."""
    words = tuple(word.replace("HOME", str(home)) for word in words)
    configure(home, *words, **env)
    results = [*client_settings(machine(home))]
    assert all(
        str(home / SETTINGS) in result.advice for result in results if result.status == "error"
    )
    return [line.replace(str(home), "HOME") for line in lines(results)]


def test_no_client_names_acp_proxy(tmp_path: Path) -> None:
    """If no client's settings name acp-proxy, `doctor` suggests `acp-proxy setup`."""
    (result,) = client_settings(machine(tmp_path))
    assert lines([result]) == ["! no settings of an ACP client were found that name acp-proxy"]
    assert result.commands == ["acp-proxy setup"]
    assert checked(tmp_path, "HOME/bin/agent") == lines([result])


@pytest.mark.parametrize(
    "words",
    [
        ("record", "--", "HOME/bin/agent", "acp"),
        ("record", "--keep", "30d", "--fault", "drop where=kind:request", "--", "HOME/bin/agent"),
        ("record", "--faults", "here.toml", "--", "HOME/bin/agent"),
    ],
)
def test_a_correct_entry_is_accepted(tmp_path: Path, words: tuple[str, ...]) -> None:
    """If a client's settings are right, `doctor` prints acp-proxy's version and the agent."""
    assert checked(tmp_path, "HOME/bin/acp-proxy", *words, A=VALUE) == [
        "✓ Zed 'Mine': acp-proxy 0.1.0 records HOME/bin/agent"
    ]


def test_a_recording_may_be_played(tmp_path: Path) -> None:
    """`doctor` accepts settings of a client that start `acp-proxy replay`."""
    assert checked(tmp_path, "HOME/bin/acp-proxy", "replay", "tour") == [
        "✓ Zed 'Mine': acp-proxy 0.1.0 plays a recording"
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("", "it starts acp-proxy without record"),
        ("-- HOME/bin/agent", "record is not the first argument of acp-proxy"),
        ("inspect list", "record is not the first argument of acp-proxy"),
        ("record", "there is no agent after record"),
        ("record --", "there is no agent after record"),
        ("record --kep 3d -- HOME/bin/agent",
         "`record` has no option '--kep'; did you mean --keep?"),
        ("record --grace x -- HOME/bin/agent",
         "'x' is not a time: expected seconds, such as 5 or 0.5"),
        ("record --keep 30 -- HOME/bin/agent",
         "--keep: '30' is neither an age (30s, 10m, 8h, 30d, 4w) nor a size (500kB, 500MB, 2GB,"
         " 2GiB); nothing is deleted"),
        ("record --fault nope -- HOME/bin/agent",
         "--fault 'nope': kind: there is no 'nope'; did you mean noop?"),
        ("record -- HOME/bin/gone", "the agent HOME/bin/gone was not found"),
        ("record -- HOME/data", "the agent HOME/data cannot be executed"),
        ("record -- gone", "the agent gone was not found"),
        ("record -- ~/bin/agent",
         "the agent ~/bin/agent cannot be found: ~ and variables are not expanded"),
        ("record -- @opencod", "no known agent '@opencod'; did you mean @opencode?"),
        ("record -- @opencode", "the agent opencode was not found"),
    ],
)  # fmt: skip
def test_wrong_arguments_of_record_are_reported(tmp_path: Path, words: str, text: str) -> None:
    """`doctor` reports a wrong argument of `record` in a client's settings, such as `--kep`."""
    (tmp_path / "data").touch()
    assert checked(tmp_path, "HOME/bin/acp-proxy", *words.split()) == [f"✗ Zed 'Mine': {text}"]


def test_arguments_in_one_string(tmp_path: Path) -> None:
    """If settings have all arguments in one string, `doctor` suggests splitting the string."""
    assert checked(tmp_path, "HOME/bin/acp-proxy", "record -- agent") == [
        "✗ Zed 'Mine': its arguments are one string"
    ]


def test_a_program_that_is_only_in_the_path_of_a_shell(tmp_path: Path) -> None:
    """`doctor` warns if settings name a program that is only in the PATH of the user's shell."""
    fine, *rest = checked(tmp_path, "acp-proxy", "record", "agent")
    assert fine == "✓ Zed 'Mine': acp-proxy 0.1.0 records"
    assert rest == [
        "! Zed 'Mine': acp-proxy is in your PATH; a graphical client may have a shorter one",
        "! Zed 'Mine': there is no -- before the agent's command",
        "! Zed 'Mine': the agent agent is in your PATH; a graphical client may have a shorter one",
    ]
    entry = ("acp-proxy", "record", "--", "agent")
    assert checked(tmp_path, *entry, PATH=f"{tmp_path}/bin") == [
        "✓ Zed 'Mine': acp-proxy 0.1.0 records agent"
    ]
    assert checked(tmp_path, *entry, PATH="/nowhere")[0] == "✗ Zed 'Mine': acp-proxy was not found"
    for name in ("acp-proxy", "agent"):
        program(tmp_path / "usr/bin" / name)
    assert checked(tmp_path, *entry) == ["✓ Zed 'Mine': acp-proxy 0.1.0 records agent"]


def test_an_interpreter_may_not_be_found(tmp_path: Path) -> None:
    """If an agent needs node, `doctor` warns that a graphical editor may not find node."""
    program(tmp_path / "bin/node")
    program(tmp_path / "bin/script", "#!/usr/bin/env node\n")
    entry = ("HOME/bin/acp-proxy", "record", "--", "HOME/bin/script")
    fine, line = checked(tmp_path, *entry)
    assert line == (
        "! Zed 'Mine': the agent HOME/bin/script is run by HOME/bin/node, which the client may not"
        " find"
    )
    assert checked(tmp_path, *entry, PATH=f"{tmp_path}/bin") == [fine]


def test_a_relative_path_is_reported(tmp_path: Path) -> None:
    """If a client's settings start `./acp-proxy`, `doctor` reports that this path is relative."""
    program(tmp_path / "project/acp-proxy")
    context = machine(tmp_path)
    configure(tmp_path, "./acp-proxy", "record", "--", f"{tmp_path}/bin/agent")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path / "project")
        assert lines(client_settings(evolve(context, ask=never))) == [
            "✗ Zed 'Mine': ./acp-proxy is not an absolute path"
        ]


def never(_words: Sequence[str], _environ: Mapping[str, str]) -> VersionAnswer:
    """Fails the test if a program is asked for its version."""
    raise AssertionError


def test_a_home_directory_may_not_be_replaced(tmp_path: Path) -> None:
    """`doctor` warns about `~` in a client's settings."""
    fine, line = checked(tmp_path, "~/bin/acp-proxy", "record", "--", "HOME/bin/agent")
    assert fine.startswith("✓")
    assert line == ("! Zed 'Mine': ~/bin/acp-proxy begins with ~, which not every client replaces")


def test_the_acp_proxy_of_settings_is_tried(tmp_path: Path) -> None:
    """`doctor` reports an acp-proxy in settings that is missing, fails or has another version."""
    entry = ("record", "--", "HOME/bin/agent")
    assert checked(tmp_path, "HOME/gone/acp-proxy", *entry) == [
        "✗ Zed 'Mine': HOME/gone/acp-proxy was not found"
    ]
    configure(tmp_path, f"{tmp_path}/bin/acp-proxy", "record", "--", f"{tmp_path}/bin/agent")
    for answer, line in {
        VersionAnswer(None, "exits with 1"): f"✗ Zed 'Mine': {tmp_path}/bin/acp-proxy exits with 1",
        VersionAnswer("0.0.1"): f"! Zed 'Mine': {tmp_path}/bin/acp-proxy is version 0.0.1, and this"
        " is 0.1.0",
    }.items():
        assert line in lines(client_settings(machine(tmp_path, lambda *_, a=answer: a)))


def test_acp_proxy_is_asked_as_the_client_would_start_it(tmp_path: Path) -> None:
    """`doctor` asks acp-proxy for its version with the variables of a client's settings."""
    asked = []

    def ask(words: Sequence[str], environ: Mapping[str, str]) -> VersionAnswer:
        asked.append((words, environ["A"], environ["B"]))
        return healthy(words, environ)

    own = f"{tmp_path}/bin/acp-proxy"
    configure(tmp_path, "env", "B=2", own, "record", "--", f"{tmp_path}/bin/agent", A="1")
    assert len(lines(client_settings(machine(tmp_path, ask)))) == 1
    python = str(program(tmp_path / "bin/python"))
    for words in (["-m", "acp_proxy"], ["-P", "-m", "acp_proxy"]):
        entry = (*words, "record", "--", f"{tmp_path}/bin/agent")
        configure(tmp_path, python, *entry, A="1", B="2")
        assert len(lines(client_settings(machine(tmp_path, ask)))) == 1
        assert asked.pop() == ([python, *words], "1", "2")
    assert asked == [([own], "1", "2")]


def test_some_programs_are_not_started(tmp_path: Path) -> None:
    """`doctor` does not start `uvx`, or a program that a project's own settings name."""
    agent = f"{tmp_path}/bin/agent"
    configure(tmp_path, "uvx", "acp-proxy", "record", "--", agent)
    assert lines(client_settings(machine(tmp_path, never))) == [
        "! Zed 'Mine': uvx starts its acp-proxy, whose version is not known"
    ]
    (tmp_path / SETTINGS).unlink()
    own = f"{tmp_path}/bin/acp-proxy"
    (tmp_path / "project").mkdir(exist_ok=True)
    settings = {"agents": {"a": {"argv": [own, "record", "--", agent]}}}
    (tmp_path / "project/.acpxrc.json").write_text(json.dumps(settings))
    assert lines(client_settings(machine(tmp_path, never))) == [
        f"! acpx 'a': {own} was not run, since anybody may have written to this directory"
    ]


def test_variables_of_an_entry(tmp_path: Path) -> None:
    """`doctor` reports a wrong variable in a client's settings, but does not print its value."""
    entry = ("HOME/bin/acp-proxy", "record", "--", "HOME/bin/agent")
    assert checked(tmp_path, *entry, ACP_PROXY_OFF="1", ACP_PROXY_GRACE=VALUE) == [
        "✗ Zed 'Mine': ACP_PROXY_OFF switches recording off",
        "✗ Zed 'Mine': the value of ACP_PROXY_GRACE cannot be understood",
    ]
    fine, line = checked(tmp_path, *entry, ACP_PROXY_RECORDINGS=f"/{VALUE}", ACP_PROXY_OFF="no")
    assert fine.startswith("✓")
    assert line == "! Zed 'Mine': its ACP_PROXY_RECORDINGS is another directory than yours"


def test_all_clients(tmp_path: Path) -> None:
    """`doctor` checks the settings of all clients, and reports only once what two clients share."""
    make_home(tmp_path)
    (tmp_path / SETTINGS).write_text("{ broken")
    results = lines(client_settings(machine(tmp_path)))
    assert results[0].startswith(f"! Zed: cannot read {tmp_path}/{SETTINGS}: ")
    assert results[1:] == [
        "✗ CodeCompanion 'goose': /opt/acp-proxy was not found",
        "✗ CodeCompanion 'goose': the agent goose was not found",
    ]
