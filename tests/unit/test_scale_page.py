"""The commands on docs/scale.md are valid, and a batch can be continued as described."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from acp_proxy.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
(WORKFLOW,) = (
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
)
SHELL = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
(AGAIN,) = (text for text in SHELL if "JOB_COMPLETION_INDEX" in text)
STUB = '#!/bin/sh\nprintf "%s\\n" "$@"\nexit "$CODE"\n'


@pytest.mark.parametrize(
    ("code", "ended"), [(0, 0), (1, 0), (2, 0), (3, 0), (137, 137), (143, 143)]
)
def test_a_job_fails_only_without_a_verdict(tmp_path: Path, code: int, ended: int) -> None:
    """The Kubernetes job in docs/scale.md fails only if `verify` was killed without a verdict."""
    stub = tmp_path / "acp-proxy"
    stub.write_text(STUB)
    stub.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "JOB_COMPLETION_INDEX": "2",
        "CODE": str(code),
    }
    result = subprocess.run(
        ["sh", "-c", AGAIN], env=environment, capture_output=True, text=True, check=False
    )
    assert result.returncode == ended, result.stderr
    words = result.stdout.splitlines()
    assert words[:4] == ["verify", "/recordings/2", "--results", "/results/2.jsonl"]


def commands() -> list[str]:
    """Returns the commands of acp-proxy in docs/scale.md, one a line."""
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step]
    text = "\n".join([*SHELL, *runs]).replace("\\\n", " ")
    text = re.sub(r"\$\{\{.*?\}\}|\$\(.*?\)", "3", text)
    return [line for line in text.splitlines() if line.strip().startswith("acp-proxy ")]


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_page_is_ours(line: str) -> None:
    """acp-proxy accepts the commands in docs/scale.md."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        actual = command.get_command(click.Context(command), words.pop(0))
        assert actual is not None, line
        command = actual
    command.make_context(line, [*words], resilient_parsing=True)
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    ours = words[: words.index("--")] if "--" in words else words
    assert {word for word in ours if word.startswith("--")} <= flags


def test_the_parts_of_a_matrix_are_all_recordings(tmp_path: Path) -> None:
    """The CI matrix in docs/scale.md gives each of 21 recordings to exactly one job."""
    job = WORKFLOW["jobs"]["verify"]
    parts = job["strategy"]["matrix"]["part"]
    (run,) = (step["run"] for step in job["steps"] if "split" in step.get("run", ""))
    (tmp_path / "tests/recordings").mkdir(parents=True)
    names = [f"tests/recordings/{number}.jsonl" for number in range(21)]
    for name in names:
        (tmp_path / name).touch()
    actual = []
    for part in parts:
        subprocess.run(
            ["sh", "-c", re.sub(r"\$\{\{.*?\}\}", str(part), run)], cwd=tmp_path, check=True
        )
        actual += (tmp_path / "part.txt").read_text().split()
    assert sorted(actual) == sorted(names)
