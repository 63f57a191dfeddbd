"""The commands on docs/scale.md are ours, and what a pod runs tells verdicts from failures."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from acp_proxy.cli.main import cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/scale.md").read_text(encoding="utf-8")
WORKFLOW, JOB = (
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)
)
SHELL = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S))
STUB = '#!/bin/sh\nprintf "%s\\n" "$@"\nexit "$CODE"\n'


def pod(directory: Path, code: int) -> subprocess.CompletedProcess[str]:
    """Runs what the third pod does, with a program in place of ours that ends with a code."""
    stub = directory / "acp-proxy"
    stub.write_text(STUB)
    stub.chmod(0o755)
    container = JOB["spec"]["template"]["spec"]["containers"][0]
    environment = {
        "PATH": f"{directory}:{os.environ['PATH']}",
        "JOB_COMPLETION_INDEX": "2",  # which Kubernetes counts from 0
        "CODE": str(code),
    }
    return subprocess.run(
        [*container["command"], *container["args"]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("code", "ended"), [(0, 0), (1, 0), (2, 0), (3, 0), (137, 137), (143, 143)]
)
def test_a_pod_fails_only_without_a_verdict(tmp_path: Path, code: int, ended: int) -> None:
    """Each has its shard, and its own results file, with which another one goes on."""
    done = pod(tmp_path, code)
    assert done.returncode == ended, done.stderr
    words = done.stdout.splitlines()
    assert words[words.index("--shard") + 1] == f"3/{JOB['spec']['completions']}"
    assert words[words.index("--results") + 1] == "/results/2.jsonl"


def test_what_a_job_needs_is_there() -> None:
    """An index for each pod, and the volumes that it mounts; the Job's retries are allowed."""
    spec, template = JOB["spec"], JOB["spec"]["template"]["spec"]
    assert (spec["completionMode"], template["restartPolicy"]) == ("Indexed", "Never")
    mounted = {one["name"] for one in template["containers"][0]["volumeMounts"]}
    assert mounted == {one["name"] for one in template["volumes"]}


def commands() -> list[str]:
    """Whatever the page runs of ours, a line each."""
    steps = [step for job in WORKFLOW["jobs"].values() for step in job["steps"]]
    runs = [step["run"] for step in steps if "run" in step]
    args: list[Any] = JOB["spec"]["template"]["spec"]["containers"][0]["args"]
    text = "\n".join([SHELL, *runs, *args]).replace("\\\n", " ")
    text = re.sub(r"\$\{\{.*?\}\}|\$\(\(.*?\)\)", "3", text)
    return [line for line in text.splitlines() if line.strip().startswith("acp-proxy ")]


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_page_is_ours(line: str) -> None:
    """Its words are read as the program reads them."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = cli
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words.pop(0))
        assert found is not None, line
        command = found
    command.make_context(line, [*words], resilient_parsing=True)
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    ours = words[: words.index("--")] if "--" in words else words
    assert {word for word in ours if word.startswith("--")} <= flags


def test_shards_are_counted_from_one_to_their_number() -> None:
    """The matrix has each of them once."""
    job = WORKFLOW["jobs"]["verify"]
    shards = job["strategy"]["matrix"]["shard"]
    (run,) = (step["run"] for step in job["steps"] if "--shard" in step.get("run", ""))
    assert shards == [*range(1, len(shards) + 1)]
    assert f"}}}}/{len(shards)} " in run
