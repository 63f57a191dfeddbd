"""The CI templates for GitHub, GitLab and pre-commit fail when acp-proxy fails."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from acp_proxy.store.copies.text_import import is_text_form
from tests.support.command_line import run
from tests.support.workflow_steps import ActionRun

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "action.yml").read_text("utf-8")
ACTION: dict[str, Any] = yaml.safe_load(TEXT)
STEPS: dict[str, dict[str, Any]] = {item.get("id", ""): item for item in ACTION["runs"]["steps"]}
GITLAB: dict[str, dict[str, Any]] = yaml.safe_load(
    (ROOT / "ci/gitlab/acp-proxy.yml").read_text("utf-8")
)
HOOKS: list[dict[str, str]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
BLOCKS = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)]
PROGRAMS = str(Path(sys.executable).parent)
HOSTILE = 'a\'b "$(touch pwned)" `touch pwned`;touch pwned #\n-x\n\n  *.db'
"""Names of recordings with shell code, which must not run."""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="expected bash")


@pytest.fixture
def gate(tmp_path: Path) -> Callable[..., ActionRun]:
    """Makes a run of the GitHub action, in which a test can replace programs."""
    for name in ("workspace", "runner"):
        (tmp_path / name).mkdir()

    def make(**inputs: str) -> ActionRun:
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        path = f"{tmp_path / 'programs'}{os.pathsep}{PROGRAMS}"
        return ActionRun(ACTION, given, tmp_path / "workspace", tmp_path / "runner", path)

    return make


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str, str], None]:
    """Replaces a program by a shell script."""

    def make(name: str, text: str) -> None:
        path = tmp_path / "programs" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
        path.chmod(0o755)

    return make


RECORDER = """
printf '%s\\n' "$@" >>"$ARGUMENTS"
exit "$CODE"
"""
"""A script in place of acp-proxy, which notes its arguments."""


def recorded(program: Callable[[str, str], None], tmp_path: Path, code: int) -> Path:
    """Replaces acp-proxy by a script that notes its arguments; returns the file of the notes."""
    path = tmp_path / "arguments"
    quoted = shlex.quote(str(path))
    program("acp-proxy", f"ARGUMENTS={quoted} CODE={code}{RECORDER}")
    return path


# What the files say


def test_no_input_becomes_part_of_a_script() -> None:
    """The inputs of the GitHub action reach scripts only as environment variables."""
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert {*step} <= {"id", "if", "shell", "env", "run", "uses", "with"}


def test_other_actions_are_pinned() -> None:
    """The GitHub action uses other actions at the same commits as the repository's workflows."""
    workflows = "".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
    used = re.findall(r"uses: (.*)$", TEXT + PAGE, re.M)
    others = {item for item in used if f"uses: {item}\n" not in workflows}
    assert others == {"OWNER/acp-proxy@COMMIT"}


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_what_goes_in_and_comes_out_is_documented(kind: str) -> None:
    """The manual page about CI has a row for each input and output of the GitHub action."""
    section = PAGE.partition("## The action")[2].partition(f"| {kind[:-1]} | |")[2]
    rows = [line.split("|")[1] for line in section.split("\n\n")[0].splitlines()[2:]]
    assert {name for row in rows for name in re.findall("`(.+?)`", row)} == {*ACTION[kind]}


def test_the_page_uses_what_there_is() -> None:
    """The examples on the manual page about CI use only existing inputs and variables."""
    workflows = [block for block in BLOCKS if "jobs" in block]
    steps = [
        step for workflow in workflows for job in workflow["jobs"].values() for step in job["steps"]
    ]
    ours = [step["with"] for step in steps if step.get("uses") == "OWNER/acp-proxy@COMMIT"]
    assert len(ours) == 3
    assert all({*given} <= {*ACTION["inputs"]} for given in ours)
    assert all("${{" not in step.get("run", "") for step in steps)
    (hooks,) = [block["repos"][0]["hooks"] for block in BLOCKS if "repos" in block]
    assert [hook["id"] for hook in hooks] == [hook["id"] for hook in HOOKS]
    variables = {name for name in GITLAB[".acp-proxy"]["variables"] if name != "GATE_REPORTS"}
    rows = PAGE.partition("| variable | |")[2].partition("\n\n")[0]
    assert variables <= {*re.findall(r"^\| `(\w+)`", rows, re.M)}
    (template,) = [block for block in BLOCKS if "include" in block]
    assert {*template["verify"]["variables"]} <= variables
    assert {template["verify"]["extends"]} == {*GITLAB}


# The action


def test_it_is_installed_once(
    gate: Callable[..., ActionRun], program: Callable[[str, str], None], tmp_path: Path
) -> None:
    """If a job runs the GitHub action twice with one version, acp-proxy is installed only once."""
    python = tmp_path / "programs/python"
    program(
        "python",
        'if [ "$2" = venv ]; then mkdir -p "$3/bin"; cp "$0" "$3/bin/python"\n'
        f'else echo "$*" >>{tmp_path}/pip; touch "$(dirname "$0")/acp-proxy"; fi',
    )
    pip = tmp_path / "pip"
    wheel = "vendor/acp_proxy-1.2-py3-none-any.whl"
    for version, count in (("", 1), ("", 1), (wheel, 2)):
        job = gate(version=version)
        job.github["action_path"] = "/actions/acp proxy"
        job.outputs["python"] = {"python-path": str(python)}
        name = re.sub(r"[^\w.]", "_", version) or "own"
        installed = tmp_path / f"runner/acp-proxy/{name}/bin/acp-proxy"
        job.step(STEPS["install"])
        assert not job.has_failed, job.log
        assert job.outputs["install"] == {"program": str(installed)}
        assert len(pip.read_text().splitlines()) == count
    first, second = pip.read_text().splitlines()
    assert first == "-m pip install --quiet --disable-pip-version-check /actions/acp proxy"
    assert second == f"-m pip install --quiet --disable-pip-version-check {wheel}"
    job = gate(version="1.2")
    job.github["action_path"] = "/actions/acp proxy"
    job.outputs["python"] = {"python-path": str(python)}
    job.step(STEPS["install"])
    assert job.has_failed
    assert len(pip.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        (
            {"agent": "./my-agent '--mode=a b' \"c d\" $HOME\n$(touch pwned) ;", "name": "a/b"},
            ["verify", "--expect=frames", "--results", "RESULTS", "--junit", "JUNIT",
             "a'b \"$(touch pwned)\" `touch pwned`;touch pwned #", "./-x", "*.db", "--",
             "./my-agent", "--mode=a b", "c d", "$HOME", "$(touch", "pwned)", ";"],
        ),
        (
            {"command": "check", "fail_on": "warning"},
            ["check", "--fail-on=warning", "--github", "--junit", "JUNIT",
             "a'b \"$(touch pwned)\" `touch pwned`;touch pwned #", "./-x", "*.db"],
        ),
    ],
)  # fmt: skip
def test_inputs_are_words(
    gate: Callable[..., ActionRun],
    program: Callable[[str, str], None],
    tmp_path: Path,
    inputs: dict[str, str],
    expected: list[str],
) -> None:
    """The GitHub action splits its inputs into words, and runs no command in them."""
    arguments = recorded(program, tmp_path, 3)
    job = gate(recordings=HOSTILE, version="installed", **inputs)
    outputs = job.run()
    result = arguments.read_text().splitlines()
    places = {"RESULTS": outputs["results"], "JUNIT": outputs["junit"]}
    assert result == [places.get(word, word) for word in expected]
    assert outputs["verdict"] == "incomplete"
    assert job.has_failed
    assert [*job.workspace.iterdir()] == []
    (_, upload), *_ = job.used
    name = "acp-proxy-a-b" if "name" in inputs else "acp-proxy-check"
    assert (upload["name"], upload["path"]) == (name, str(Path(outputs["results"]).parent))


@pytest.mark.parametrize(
    ("code", "verdict_", "passes"),
    [(0, "clean", True), (1, "failed", True), (3, "incomplete", True), (2, "error", False),
     (127, "error", False), (143, "incomplete", False)],
)  # fmt: skip
def test_with_never_no_verdict_fails_the_job(
    gate: Callable[..., ActionRun],
    program: Callable[[str, str], None],
    tmp_path: Path,
    code: int,
    verdict_: str,
    passes: bool,
) -> None:
    """With `fail-on: never`, the GitHub action fails only if a recording cannot be read."""
    recorded(program, tmp_path, code)
    job = gate(recordings="x", agent="y", version="installed", fail_on="never")
    assert job.run()["verdict"] == verdict_
    assert job.has_failed is not passes


def test_wrong_use_fails_early(gate: Callable[..., ActionRun]) -> None:
    """If the GitHub action gets an unknown command, the action prints the error and fails."""
    job = gate(recordings="x", command="rm", version="installed")
    job.run()
    assert job.has_failed
    assert job.log == "::error::acp-proxy: expected verify or check as command\n"
    assert job.used == []


def test_an_agent_that_is_no_command_is_an_error(gate: Callable[..., ActionRun]) -> None:
    """If the `agent` input of the GitHub action has an unclosed quote, the action fails."""
    job = gate(recordings="x", agent="./my-agent 'a b", version="installed")
    assert job.run()["verdict"] == "error"
    assert "::error::acp-proxy: expected the agent's command with closed quotes\n" in job.log
    assert "::error::acp-proxy: there is no report" in job.log
    assert job.has_failed


def test_an_agent_that_differs_fails_the_job(gate: Callable[..., ActionRun]) -> None:
    """If the agent differs from the recording, the GitHub action fails."""
    job = gate(recordings=str(ROOT / "recordings/hello.db"), agent="true", version="installed")
    outputs = job.run()
    assert outputs["verdict"] == "failed"
    assert job.has_failed
    directory = Path(outputs["results"]).parent
    (recording,) = (directory / "recordings").iterdir()
    assert is_text_form(recording)
    files = ["recordings", "report.txt", "junit.xml", "results.jsonl"]
    assert {path.name for path in directory.iterdir()} == {*files}
    assert "the agent left before it had answered initialize" in job.summary
    assert job.summary == f"```\n{(directory / 'report.txt').read_text()}```\n"


def test_recordings_with_secrets_are_not_stored(
    gate: Callable[..., ActionRun], program: Callable[[str, str], None], tmp_path: Path
) -> None:
    """If a recording contains a secret, the GitHub action stores no recording."""
    job = gate(version="installed")
    for name in ("results.runs", "recordings"):
        (tmp_path / name).mkdir()
    (tmp_path / "results.runs/run.db").touch()
    program("acp-proxy", 'if [ "$2" = export ]; then echo secret >"$5"; else exit 1; fi')
    job.outputs["start"] = {"directory": str(tmp_path)}
    job.outcomes["start"] = "success"
    job.step(STEPS["recordings"])
    assert not job.has_failed, job.log
    assert [*tmp_path.rglob("run.*")] == []
    assert "::warning::acp-proxy: the new recordings hold secrets and are not uploaded" in job.log


# GitLab


def gitlab(job: str, tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs the script of a job of the GitLab template as GitLab's runner does."""
    (script,) = GITLAB[job]["script"]
    given = {name: str(value) for name, value in GITLAB[job]["variables"].items()} | variables
    path = f"{tmp_path / 'programs'}{os.pathsep}{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path / "workspace",
        env={"PATH": path} | given,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        (
            {"GATE_AGENT": "./my-agent '--mode=a b' $(touch pwned)", "CI_NODE_TOTAL": "7",
             "CI_NODE_INDEX": "3"},
            ["verify", "--expect=frames", "--results", "acp-proxy/3/results.jsonl",
             "--junit", "acp-proxy/3/junit.xml",
             "a'b \"$(touch pwned)\" `touch pwned`;touch pwned #", "./-x", "*.db", "--",
             "./my-agent", "--mode=a b", "$(touch", "pwned)"],
        ),
        (
            {"GATE_COMMAND": "check", "CI_NODE_TOTAL": "1", "GATE_FAIL_ON": "never"},
            ["check", "--fail-on=never", "--junit", "acp-proxy/1/junit.xml",
             "a'b \"$(touch pwned)\" `touch pwned`;touch pwned #", "./-x", "*.db"],
        ),
    ],
)  # fmt: skip
def test_variables_are_words(
    gate: Callable[..., ActionRun],
    program: Callable[[str, str], None],
    tmp_path: Path,
    variables: dict[str, str],
    expected: list[str],
) -> None:
    """The GitLab template splits its variables into words, and runs no command in them."""
    gate()
    arguments = recorded(program, tmp_path, 1)
    result = gitlab(".acp-proxy", tmp_path, GATE_RECORDINGS=HOSTILE, **variables)
    assert arguments.read_text().splitlines() == expected, result.stderr
    assert result.returncode == (0 if "GATE_FAIL_ON" in variables else 1)
    assert [path.name for path in (tmp_path / "workspace").iterdir()] == ["acp-proxy"]


def test_a_failed_job_keeps_its_reports() -> None:
    """A failed job of the GitLab template uploads its reports."""
    for job in GITLAB.values():
        assert job["artifacts"]["when"] == "always"
        assert job["artifacts"]["paths"] == ["$GATE_REPORTS/"]
        assert job["artifacts"]["reports"]["junit"].endswith("/junit.xml")


# Hooks


def test_hooks_look_at_recordings() -> None:
    """The pre-commit hook for `check` fails if a changed recording breaks a rule."""
    files = ["recordings/crash.db", "tests/recordings/x/a.jsonl", "acp_recordings/a.jsonl"]
    others = ["recordings/README.md", "a.jsonl", "myrecordings/a.db"]
    for hook in HOOKS:
        assert [path for path in files + others if re.search(hook["files"], path)] == files
        program_, *words = shlex.split(hook["entry"])
        assert (program_, hook["language"]) == ("acp-proxy", "python")
        code = 1 if hook["id"] == "acp-proxy-check" else 0
        assert run(*words, ROOT / "recordings/crash.db").exit_code == code
