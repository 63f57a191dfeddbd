"""The manual describes exactly the members of the report of `verify`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from acp_proxy.cli.playback.verify_screen import UnstableRun, VerifyReport
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind
from acp_proxy.playback.verify.verify_report import PlayReport
from tests.unit.test_docs import first_cells, page, section


@pytest.mark.parametrize(
    ("value", "title"),
    [
        (VerifyReport, "The report of verify"),
        (UnstableRun, "Unstable run"),
        (PlayReport, "Conversation"),
        (Divergence, "Divergence"),
    ],
)
def test_every_member_of_the_report_is_documented(value: Any, title: str) -> None:
    """The manual lists the JSON members of the report of `verify`."""
    text = section(page("json.md"), title).partition("\n### ")[0]
    assert first_cells(text) == [
        field.name for field in fields(value) if "hidden" not in field.metadata
    ]


def test_every_kind_of_divergence_is_documented() -> None:
    """The manual lists exactly the kinds of divergence that `verify` reports."""
    package = Path(__file__).parents[4] / "acp_proxy" / "playback" / "verify"
    source = "".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
    reported = {kind.value for kind in DivergenceKind if f"DivergenceKind.{kind.name}" in source}
    reported.add(DivergenceKind.MASKED.value)  # both engines leave this to their log
    text = section(page("verify.md"), "Where the conversation diverges")
    assert set(first_cells(text)) == reported
