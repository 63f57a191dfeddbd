"""Runs the steps of our GitHub action locally, as far as the action needs it.

Bash runs a step with ``run``. A step with ``uses`` is not run; its inputs are noted. Expressions
that our action does not use are errors.
"""

from __future__ import annotations

import os
import re
import subprocess
from typing import TYPE_CHECKING, Any

from attrs import define, field

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")
_TERM = re.compile(r"(inputs|github)\.([\w-]+)|steps\.(\w+)\.outputs\.([\w-]+)|'([^']*)'")
_CONDITION = re.compile(
    r"(always\(\) && )?(?:(steps\.\w+\.outcome|inputs\.\w+) (==|!=) '(\w*)')?|always\(\)"
)
_OUTPUT = re.compile(r"([\w-]+)=(.*)")


@define
class ActionRun:
    """One run of the GitHub action in a job.

    Attributes:
        action: the contents of the action's file.
        inputs: the inputs from the workflow.
        workspace: the directory of the job.
        temporary: a directory for the runner.
        path: a directory of programs that precedes the system's PATH.
        outputs: the outputs of each step, by its id.
        outcomes: ``success``, ``failure`` or ``skipped`` for each step, by its id.
        used: the steps that would run other actions, with their inputs.
        log: what the steps have printed.
    """

    action: dict[str, Any]
    inputs: Mapping[str, str]
    workspace: Path
    temporary: Path
    path: str = ""
    github: dict[str, str] = field(factory=dict)
    outputs: dict[str, dict[str, str]] = field(factory=dict)
    outcomes: dict[str, str] = field(factory=dict)
    used: list[tuple[str, dict[str, str]]] = field(factory=list)
    log: str = ""
    has_failed: bool = False

    def run(self) -> dict[str, str]:
        """Runs the steps whose condition is true; returns the outputs of the action."""
        for step in self.action["runs"]["steps"]:
            self.step(step)
        outputs = self.action.get("outputs", {})
        return {name: self._value(output["value"]) for name, output in outputs.items()}

    def step(self, step: dict[str, Any]) -> None:
        """Runs a step if its condition is true."""
        name = step.get("id", "")
        self.outcomes[name] = "skipped"
        if not self._holds(step.get("if", "")):
            return
        self.outcomes[name] = "success"
        if "uses" in step:
            given = {key: self._value(str(value)) for key, value in step.get("with", {}).items()}
            self.used.append((step["uses"], given))
            return
        assert step["shell"] == "bash"
        if self._bash(name, step) != 0:
            self.outcomes[name] = "failure"
            self.has_failed = True

    @property
    def summary(self) -> str:
        """Returns the text that the steps wrote for the job's web page."""
        path = self.temporary / "summary"
        return path.read_text("utf-8") if path.exists() else ""

    def _bash(self, name: str, step: dict[str, Any]) -> int:
        script, output = self.temporary / "step.sh", self.temporary / "output"
        script.write_text(step["run"], "utf-8")
        output.write_text("", "utf-8")
        given = {key: self._value(value) for key, value in step.get("env", {}).items()}
        environment = {
            "PATH": f"{self.path}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.temporary),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "summary"),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temporary),
        }
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=self.workspace,
            env=environment | given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        self.log += result.stdout.decode()
        lines = output.read_text("utf-8").splitlines()
        results = [match for line in lines if (match := _OUTPUT.fullmatch(line))]
        assert len(results) == len(lines), lines
        self.outputs[name] = {match[1]: match[2] for match in results}
        return result.returncode

    def _value(self, text: str) -> str:
        return _EXPRESSION.sub(lambda match: self._evaluated(match[1]), text)

    def _evaluated(self, expression: str) -> str:
        values = (self._term(term) for term in expression.split(" || "))
        return next((value for value in values if value), "")

    def _term(self, term: str) -> str:
        match = _TERM.fullmatch(term)
        assert match, term
        context, key, step, output, literal = match.groups()
        if literal is not None:
            return str(literal)
        if step is not None:
            return self.outputs.get(step, {}).get(output, "")
        if context == "github":
            return self.github[key]
        return self.inputs.get(key, self.action["inputs"][key].get("default", ""))

    def _holds(self, condition: str) -> bool:
        match = _CONDITION.fullmatch(condition)
        assert match, condition
        always, left, sign, right = match.groups()
        if self.has_failed and not always and condition != "always()":
            return False
        if left is None:
            return True
        kind, name, *_ = left.split(".")
        value = self._term(left) if kind == "inputs" else self.outcomes[name]
        return bool((value == right) is (sign == "=="))
