"""If permission is denied, commands call the tool call rejected, not failed."""

from __future__ import annotations

import json

import pytest

from tests.support.command_line import run
from tests.support.shipped_recordings import DIRECTORY

REJECTED = DIRECTORY / "edit-rejected.db"


@pytest.mark.parametrize("name", ["show", "transcript"])
def test_a_person_who_denies_a_permission_is_no_failure(name: str) -> None:
    """If permission is denied, `show` calls the tool call rejected, not failed."""
    shown = run("inspect", name, REJECTED).stdout
    assert "rejected" in shown
    assert "failed" not in shown
    assert "✗" not in shown


def test_a_rejected_step_of_a_waterfall_has_not_failed() -> None:
    """If permission is denied, the waterfall of `stats` shows the tool call as rejected."""
    (stats,) = map(json.loads, run("stats", REJECTED, "--turn", "1", "--json").stdout.splitlines())
    steps = [step for step in stats["waterfall"]["steps"] if step["kind"] == "tool_call"]
    assert [(step["status"], step["failed"]) for step in steps] == [("rejected", False)]
