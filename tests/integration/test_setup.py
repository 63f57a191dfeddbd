"""A real client starts and records its agent with the settings that `setup` prints."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.test_real_clients import GREETING_AGENT, TIMEOUT_S
from tests.support.npm_packages import NODE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def output(words: list[str], env: Mapping[str, str]) -> str:
    """Runs a program that must succeed, and returns its output."""
    result = subprocess.run(
        words, env=env, cwd=env["HOME"], capture_output=True, text=True, timeout=TIMEOUT_S
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_acpx_starts_what_was_printed(tmp_path: Path, acp_proxy: Path, npm_packages: Path) -> None:
    """With the settings that `setup acpx` prints, the client acpx starts and records its agent."""
    programs = tmp_path / "bin dir"
    programs.mkdir()
    agent = programs / "my agent"
    agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{GREETING_AGENT}" "$@"\n')
    agent.chmod(0o755)
    settings = tmp_path / ".acpx/config.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"agents": {"mine": {"argv": ["my agent", "it's one"]}}}))
    env = {
        "HOME": str(tmp_path),
        "PATH": f"{programs}:{npm_packages}/{NODE}/bin:{os.environ['PATH']}",
        "ACP_PROXY_RECORDINGS": str(tmp_path / "recordings"),
    }
    printed = output([str(acp_proxy), "setup", "acpx"], env)
    assert json.loads(printed)["agents"] == {
        "mine-recorded": {
            "argv": [str(acp_proxy), "record", "--", str(agent), "it's one"],
        }
    }
    settings.write_text(printed)
    acpx = [f"{npm_packages}/.bin/acpx", "--approve-all", "--format", "json", "--cwd", "."]
    said = output(
        [*acpx, "mine-recorded", "exec", "hello"],
        {**env, "PATH": env["PATH"][len(str(programs)) + 1 :]},
    )
    assert "it's one" in said
    shown = json.loads(output([str(acp_proxy), "inspect", "show", "latest", "--json"], env))
    assert shown["recording"]["state"] == "complete"
    assert str(agent) in shown["recording"]["command"]
    listed = [
        json.loads(line) for line in output([str(acp_proxy), "setup", "--json"], env).splitlines()
    ]
    assert [item["agents"][0]["recorded"] for item in listed if item["client"] == "acpx"] == [True]


@pytest.mark.parametrize("client", ["zed", "toad"])
def test_what_was_printed_runs_where_path_is_short(
    tmp_path: Path, acp_proxy: Path, client: str
) -> None:
    """With the settings that `setup` prints, an agent that is a script runs on a short PATH."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, line in {"goose": "/usr/bin/env goose-runs", "goose-runs": "/bin/sh"}.items():
        (programs / name).write_text(f'#!{line}\necho "hello $2"\n')
        (programs / name).chmod(0o755)
    env = {"HOME": str(tmp_path), "ACP_PROXY_RECORDINGS": str(tmp_path / "recordings")}
    path = f"{programs}:{os.environ['PATH']}"
    printed = output([str(acp_proxy), "setup", client, "--agent", "goose"], {**env, "PATH": path})
    if client == "toad":
        words, entry = ["/bin/sh", "-c", shlex.split(printed)[2]], {"PATH": path}
    else:
        result = next(iter(json.loads(printed).values()))["goose (recorded)"]
        words, entry = [result["command"], *result["args"]], result["env"]
    assert output(words, {"PATH": "/usr/bin:/bin", **env, **entry}) == "hello acp\n"
    assert any((tmp_path / "recordings").iterdir())
