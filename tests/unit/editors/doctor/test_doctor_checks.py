"""The checks of `doctor` run in a fixed order; the overall result is the worst status."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import evolve

from acp_proxy.editors.doctor.context import CheckStatus
from acp_proxy.editors.doctor.doctor_checks import CHECKS, examine
from tests.support.doctor_machine import machine, program, with_environment

MANUAL = Path(__file__).parents[4] / "docs/commands/doctor.md"


def test_the_worst_result_is_that_of_the_whole(tmp_path: Path) -> None:
    """If a check of `doctor` is an error and another a warning, the overall status is an error."""
    context = machine(tmp_path)
    assert examine(context).status is CheckStatus.WARNING
    assert examine(with_environment(context, ACP_PROXY_OFF="1")).status is CheckStatus.ERROR
    assert examine(evolve(context, own=("a", "-m", "b"))).status is CheckStatus.WARNING


def test_every_check_is_in_the_manual(tmp_path: Path) -> None:
    """The manual lists all checks of `doctor`."""
    names = [result.check for result in examine(machine(tmp_path)).results]
    listed = re.findall(r"^\| `(\w+)` \|", MANUAL.read_text(encoding="utf-8"), re.MULTILINE)
    assert [*dict.fromkeys(names)] == [*CHECKS] == listed


def test_suggested_commands_can_be_pasted(tmp_path: Path) -> None:
    """A command that `doctor` suggests names the running acp-proxy, and its paths are quoted."""
    context = machine(tmp_path)
    assert context.command("show", Path("/a b.db")) == "acp-proxy show '/a b.db'"
    other = program(tmp_path / "other/acp-proxy")
    assert evolve(context, own=(str(other),)).command("setup") == f"{other} setup"
