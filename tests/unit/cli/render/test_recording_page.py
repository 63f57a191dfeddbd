"""The screens about one recording share its headline, its rows and its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.render.recording_page import RecordingPage, shortened
from acp_proxy.cli.render.styled_text import Ink, Screen, piece
from acp_proxy.inspection.diagnosis.values import PROBLEM, REMARK
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("live", "problems", "shown"),
    [(False, 0, "complete  fine"), (True, 1, "running  ✗ 1 problem"), (True, 2, "✗ 2 problems")],
)
def test_the_headline_has_the_state_and_the_problems(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    live: bool,
    problems: int,
    shown: str,
) -> None:
    """Without problems, it ends with the words of the screen."""
    page = RecordingPage(Screen())
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        page.headline(reader.recording, live=live, problems=problems, otherwise=piece("fine"))
    page.flush()
    printed = capsys.readouterr().out
    assert printed.startswith("x  (")
    assert printed.endswith(f"{shown}\n")


def test_rows_and_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """Labels have one width, an empty row is left out, and a mark shows the severity."""
    page = RecordingPage(Screen())
    page.row("agent", "codex ", piece("1.0", Ink.FAINT))
    page.row("note", "")
    page.row("", "more")
    page.finding(PROBLEM, "It failed.")
    page.finding(REMARK, "It was slow.")
    page.flush()
    assert capsys.readouterr().out.splitlines() == [
        "agent       codex 1.0",
        "            more",
        "  ✗ It failed.",
        "  ! It was slow.",
    ]


def test_a_text_is_shortened() -> None:
    """An ellipsis replaces what is cut off."""
    assert shortened("123456789012") == "123456789012"
    assert shortened("1234567890123") == "12345678901…"
    assert shortened("1234567890123", None) == "1234567890123"
