"""The workflows for GitHub call only files and targets that exist, at pinned versions."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / ".github/workflows").glob("*.yml"))
WORKFLOWS: dict[str, dict[Any, Any]] = {
    path.stem: yaml.safe_load(path.read_text("utf-8")) for path in PATHS
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
each = pytest.mark.parametrize("name", WORKFLOWS)


def steps(name: str, job: str | None = None) -> Iterator[dict[str, Any]]:
    """Returns the steps of a workflow, or of one of its jobs."""
    for word, item in WORKFLOWS[name]["jobs"].items():
        if job in (None, word):
            yield from item["steps"]


def commands(name: str, job: str | None = None) -> list[str]:
    """Returns the commands that the steps run."""
    return [step["run"] for step in steps(name, job) if "run" in step]


def test_there_are_two() -> None:
    """The repository has exactly two GitHub workflows, `ci` and `release`."""
    assert sorted(WORKFLOWS) == ["ci", "release"]


@each
def test_what_is_run_exists(name: str) -> None:
    """Each GitHub workflow runs only make targets and files that exist in the repository."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = {*re.findall(r"^([a-z]+):", makefile, re.MULTILINE)}
    assert commands(name)
    for command in commands(name):
        assert {*re.findall(r"\bmake (\w+)", command)} <= targets
        files = re.findall(r"(?<![\w/])(?:tests|recordings|requirements)/\S+", command)
        assert all((ROOT / file).is_file() for file in files), files
        assert "${{" not in command  # what others may choose becomes no part of a script


@each
def test_every_action_is_pinned(name: str) -> None:
    """Each action in a GitHub workflow is pinned by a commit hash."""
    used = [step["uses"] for step in steps(name) if step.get("uses", "./") != "./"]
    text = "".join(path.read_text("utf-8") for path in PATHS)
    for action in used:
        place, _, commit = action.partition("@")
        assert re.fullmatch("[0-9a-f]{40}", commit), action
        versions = {*re.findall(rf"{re.escape(action)} # (v\d+\.\d+\.\d+)$", text, re.MULTILINE)}
        assert len(versions) == 1, action
        assert {*re.findall(rf"uses: {place}@(\w+)", text)} == {commit}


@each
def test_jobs_may_read_alone(name: str) -> None:
    """In a GitHub workflow, only the job that publishes may write."""
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    more = {word for word, job in WORKFLOWS[name]["jobs"].items() if "permissions" in job}
    assert more == ({"publish"} if name == "release" else set())
    for word, job in WORKFLOWS[name]["jobs"].items():
        assert {*[job.get("needs", word)]} <= {*WORKFLOWS[name]["jobs"]}


def test_every_supported_python_is_tested() -> None:
    """CI tests each Python version that the classifiers of the package name."""
    matrix = WORKFLOWS["ci"]["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["system"] == ["ubuntu-latest", "macos-latest"]
    prefix = "Programming Language :: Python :: "
    named = [
        classifier.removeprefix(prefix)
        for classifier in PROJECT["classifiers"]
        if classifier.startswith(prefix)
    ]
    assert [version for version in named if "." in version] == matrix["python"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    assert commands("ci", "test") == ["make test"]


def test_the_action_of_this_repository_is_tried() -> None:
    """The workflow `ci` runs acp-proxy's own GitHub action with inputs that the action has."""
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    (step,) = [item for item in steps("ci", "action") if item.get("uses") == "./"]
    assert {*step["with"]} <= {*action["inputs"]}
    assert all((ROOT / path).is_file() for path in step["with"]["recordings"].split())


def test_windows_gets_the_wheel() -> None:
    """The GitHub job for Windows installs the wheel and tries it on a recording."""
    job = WORKFLOWS["ci"]["jobs"]["windows"]
    assert (job["runs-on"], job["needs"]) == ("windows-latest", "build")
    install, trial = commands("ci", "windows")
    assert install == "python -m pip install dist/*.whl"
    assert trial.startswith("python tests/tools/try_installed.py recordings/hello.db ")


def test_linux_and_macos_get_the_wheel() -> None:
    """The GitHub job for Linux and macOS installs the wheel and records with it."""
    job = WORKFLOWS["ci"]["jobs"]["wheel"]
    assert (job["needs"], job["strategy"]["matrix"]) == (
        "build", {"system": ["ubuntu-latest", "macos-latest"]}
    )  # fmt: skip
    install, trial, record = commands("ci", "wheel")
    assert [install, trial] == commands("ci", "windows")
    assert "acp-proxy record" in record


def test_what_is_published_was_tested_and_attested() -> None:
    """The release workflow checks and attests the package before it publishes it."""
    assert commands("release", "build")[0] == "make check"
    assert "make dist" in commands("release", "build")[1]
    names = [step["uses"].partition("@")[0] for step in steps("release", "publish")]
    assert names == [
        "actions/download-artifact",
        "actions/attest-build-provenance",
        "pypa/gh-action-pypi-publish",
    ]
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert WORKFLOWS["release"][True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as true
