"""`doctor` shows a line for each result, and changes no file."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.cli.editors import doctor as command
from acp_proxy.cli.editors import setup
from tests.support.client_homes import VALUE
from tests.support.command_line import run
from tests.support.doctor_machine import RECORDINGS, SETTINGS, configure, machine, program
from tests.support.log_writer import LogWriter, handshake, record_conversation, request, text
from tests.support.planted_secrets import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(autouse=True)
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets clients keep their settings where they do on Linux."""
    monkeypatch.setattr(sys, "platform", "linux")


def variables(home: Path, **more: str) -> dict[str, Any]:
    """Returns the environment of a user with a home directory, without variables of acp-proxy."""
    unset = {name: None for name in os.environ if name.startswith(("ACP_PROXY_", "XDG_"))}
    return {**unset, "HOME": str(home), "PATH": f"{home}/bin:/usr/bin:/bin", **more}


def doctor(home: Path, *words: str, **more: str) -> Result:
    """Runs ``doctor`` on a machine with an agent and a recordings directory.

    Args:
        home: the home directory of the user.
        *words: the arguments of ``doctor``.
        **more: variables of the environment.
    """
    machine(home)
    return run("doctor", *words, **variables(home, **more))


def answering(home: Path, how: str = "echo acp-proxy, version 0.1.0") -> Path:
    """Makes an acp-proxy that runs a shell command for ``--version``, and fails otherwise."""
    return program(home / "its/acp-proxy", f'#!/bin/sh\n[ "$*" = --version ] || exit 9\n{how}\n')


def test_nothing_is_wrong_on_a_healthy_machine(tmp_path: Path) -> None:
    """If settings and recordings are all right, `doctor` prints "no problems" and exits with 0."""
    configure(tmp_path, str(answering(tmp_path)), "record", "--", f"{tmp_path}/bin/agent")
    record_conversation(tmp_path / "x.db")
    result = doctor(tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "✗" not in result.stdout
    assert f"✓ clients     Zed 'Mine': acp-proxy 0.1.0 records {tmp_path}/bin/agent\n" in (
        result.stdout
    )
    last = result.stdout.splitlines()[-1]
    assert last.startswith("✓ no problems")


def test_a_problem_is_printed_with_its_remedy(tmp_path: Path) -> None:
    """If settings or variables are wrong, `doctor` prints commands that help below each problem."""
    configure(tmp_path, f"{tmp_path}/gone/acp-proxy", "--", "gone")
    machine(tmp_path).recordings.chmod(0o777)
    result = doctor(tmp_path, ACP_PROXY_OFF="1", ACP_PROXY_KEEP="30")
    assert result.exit_code == 1
    assert (
        "✗ variables   ACP_PROXY_KEEP: '30' is neither an age (30s, 10m, 8h, 30d, 4w) nor a size"
        " (500kB, 500MB, 2GB, 2GiB); nothing is deleted\n              this is for the shell; also"
        " change the file that sets it, such as ~/.profile\n              unset ACP_PROXY_KEEP\n"
        "✗             ACP_PROXY_OFF=1: agents started from here are not recorded\n"
    ) in result.stdout
    assert f"              chmod 700 {tmp_path}/{RECORDINGS}\n" in result.stdout
    assert f"              in {tmp_path}/{SETTINGS}, put " in result.stdout
    assert result.stdout.splitlines()[-1].startswith("✗ 5 problems")


def test_json_has_the_same_results(tmp_path: Path) -> None:
    """`doctor --json` prints one object with the text, advice and commands of each result."""
    result = doctor(tmp_path, "--json", ACP_PROXY_OFF="1")
    assert result.exit_code == 1
    data = json.loads(result.stdout)
    assert data["status"] == "error"
    assert data["recordings"] == f"{tmp_path}/{RECORDINGS}"
    (wrong,) = [item for item in data["results"] if item["status"] == "error"]
    assert wrong == {
        "check": "variables",
        "status": "error",
        "text": "ACP_PROXY_OFF=1: agents started from here are not recorded",
        "advice": "this is for the shell; also change the file that sets it, such as ~/.profile",
        "commands": ["unset ACP_PROXY_OFF"],
    }


def test_what_setup_writes_is_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` accepts the settings that `setup` wrote, also for an agent that is a script."""
    own = (str(answering(tmp_path)),)
    monkeypatch.setattr(setup, "own_command", lambda _: own)
    monkeypatch.setattr(setup, "is_temporary", lambda _: False)
    (tmp_path / SETTINGS).parent.mkdir(parents=True)
    program(tmp_path / "bin/node")
    script = program(tmp_path / "bin/opencode", "#!/usr/bin/env node\n")
    words = ("setup", "zed", "--agent", "opencode", "--write", "--yes")
    assert run(*words, **variables(tmp_path)).exit_code == 0
    actual = json.loads(doctor(tmp_path, "--json").stdout)["results"]
    assert [item["text"] for item in actual if item["check"] == "clients"] == [
        f"Zed 'OpenCode (recorded)': acp-proxy 0.1.0 records {script}"
    ]


def test_secrets_are_masked(tmp_path: Path) -> None:
    """`doctor` masks secrets unless `--unredacted` is given."""
    configure(tmp_path, f"{tmp_path}/acp-proxy", "record", "--", KEY, ACP_PROXY_GRACE=VALUE)
    with LogWriter(machine(tmp_path).recordings / "x.db") as running:
        handshake(running)
        prompt = request(3, "session/prompt", sessionId=KEY, prompt=[text(KEY)])
        running.to_agent(prompt, request(4, f"x/{KEY}"))
        for words in ([], ["--json"]):
            shown = doctor(tmp_path, *words, ACP_PROXY_NAME=KEY).output
            assert KEY not in shown
            assert VALUE not in shown
            assert "[redacted:key:" in shown
        shown = doctor(tmp_path, "--unredacted", ACP_PROXY_NAME=KEY).output
        assert KEY in shown
        assert VALUE not in shown


def test_many_results_of_one_check_are_counted(tmp_path: Path) -> None:
    """If one check of `doctor` has many results, it prints the first ones and names `--json`."""
    entry = {"type": "custom", "command": "/gone/acp-proxy", "args": ["record", "--", "/gone/a"]}
    path = configure(tmp_path, "x")
    path.write_text(json.dumps({"agent_servers": {f"{n}": entry for n in range(8)}}), "utf-8")
    shown = doctor(tmp_path).stdout
    assert shown.count("/gone/") == 10
    assert "              ... --json prints all\n" in shown
    assert doctor(tmp_path, "--json").stdout.count("/gone/") == 16


def test_arguments_are_read_without_variables_of_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` reads a `record` command in settings even if ACP_PROXY_GRACE has a wrong value."""
    monkeypatch.setenv("ACP_PROXY_GRACE", "x")
    assert command.read_record(["--check", "-o", "a", "--", "x", "--", "y"]) == ["x", "--", "y"]


def test_another_word_for_it_is_answered() -> None:
    """The error about the mistyped command `acp-proxy diagnose` suggests `acp-proxy doctor`."""
    assert "did you mean `acp-proxy doctor`?" in run("diagnose").stderr
