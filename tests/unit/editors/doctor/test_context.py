"""`doctor` asks an acp-proxy for its version, with a time limit."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from acp_proxy.editors.doctor.context import VersionAnswer, ask_version
from tests.support.doctor_machine import program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("script", "answer"),
    [
        ("echo acp-proxy, version 1.2.3", VersionAnswer("1.2.3")),
        ('echo "acp-proxy, version $WHICH"', VersionAnswer("mine")),
        ("echo hello", VersionAnswer(None, "does not answer --version as acp-proxy does")),
        ("exit 3", VersionAnswer(None, "exits with 3 when it is asked for --version")),
        ("kill -9 $$",
         VersionAnswer(None, "was ended by signal 9 when it is asked for --version")),
        ("sleep 100 & sleep 100",
         VersionAnswer(None, "did not answer --version within 0.2 s")),
        ("exec >&-; sleep 100", VersionAnswer(None, "did not answer --version within 0.2 s")),
        ("yes", VersionAnswer(None, "did not answer --version within 0.2 s")),
    ],
)  # fmt: skip
def test_a_version_is_asked_with_a_time_limit(
    tmp_path: Path, script: str, answer: VersionAnswer
) -> None:
    """`ask_version` returns the version that a program prints, or why it prints none in time."""
    path = program(tmp_path / "acp-proxy", f'#!/bin/sh\n[ "$*" = --version ]\n{script}\n')
    timeout_s = 0.2 if "0.2" in answer.trouble else 30
    environ = {"PATH": os.environ["PATH"], "WHICH": "mine"}
    assert ask_version([str(path)], environ, timeout_s) == answer


def test_a_program_that_cannot_start(tmp_path: Path) -> None:
    """If `doctor` cannot start a program of a client's settings, it prints the system's reason."""
    gone = program(tmp_path / "a", "#!/nowhere/python\n")
    assert ask_version([str(gone)], {}).trouble == (
        "cannot start: the interpreter of its first line was not found"
    )
    assert ask_version([str(program(tmp_path / "b", ""))], {}).trouble.startswith("cannot start: ")
    assert "No such file" in ask_version([str(tmp_path / "c")], {}).trouble


def test_no_file_is_made(tmp_path: Path) -> None:
    """When `doctor` asks a program for its version, no bytecode file is written."""
    (tmp_path / "module.py").write_text("")
    text = "import module, sys; print('acp-proxy, version', sys.argv[1][2:])"
    script = program(tmp_path / "acp-proxy", f"#!{sys.executable} -S\n{text}\n")
    before = sorted(tmp_path.rglob("*"))
    assert ask_version([str(script)], {}) == VersionAnswer("version")
    assert sorted(tmp_path.rglob("*")) == before
