"""Tests the headline, the rows and the findings that screens about one recording share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.wording import in_one_line
from acp_proxy.cli.screens.recording_page import RecordingPage, shortened, verdict
from acp_proxy.cli.screens.styled_text import Ink, Screen, piece
from acp_proxy.explain.findings import Severity
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import record_conversation

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("live", "counts", "shown"),
    [
        (False, {}, "fine"),
        (True, {"error": 1, "warning": 0, "info": 2}, "running  ✗ 1 error, 2 notes"),
        (False, {"error": 0, "warning": 1_200, "info": 0}, "1,200 warnings"),
    ],
)
def test_the_headline_has_the_state_and_what_was_found(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    live: bool,
    counts: dict[str, int],
    shown: str,
) -> None:
    """The first line of `show` has the state and the number of problems, as in "1,200 warnings"."""
    page = RecordingPage(Screen())
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        page.headline(reader.recording, *verdict(counts, "fine"), live=live)
    page.flush()
    printed = capsys.readouterr().out
    assert printed.startswith("x  (")
    assert printed.endswith(f"{shown}\n")


def test_a_long_headline_is_indented_where_it_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a narrow terminal, the first line of `show` is wrapped, and goes on after two blanks."""
    page = RecordingPage(Screen(30))
    with RecordingReader(record_conversation(tmp_path / "x.db", id="aaaaaa1")) as reader:
        page.headline(reader.recording, piece("nothing is wrong at all"), live=False)
    page.flush()
    assert capsys.readouterr().out == "x  (aaaaaa1)  nothing is\n  wrong at all\n"


def test_labels_and_findings_are_indented(capsys: pytest.CaptureFixture[str]) -> None:
    """`show` puts all values of its labels into one column, and indents findings by two blanks."""
    page = RecordingPage(Screen())
    page.row("agent", "codex ", piece("1.0", Ink.FAINT))
    page.row("note", "")
    page.row("", "more")
    page.finding(Severity.ERROR, "It failed.")
    page.finding(Severity.INFO, "It was slow.", "  [by the agent]")
    page.flush()
    assert capsys.readouterr().out.splitlines() == [
        "agent       codex 1.0",
        "            more",
        "  ✗ It failed.",
        "  - It was slow.  [by the agent]",
    ]


def test_a_text_is_shortened() -> None:
    """If `show` cuts a text, the text ends with an ellipsis."""
    assert shortened("123456789012") == "123456789012"
    assert shortened("1234567890123") == "12345678901…"
    assert shortened("1234567890123", None) == "1234567890123"


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("# Fix **it**\\n\\n## In `a.py`\\nnow", "Fix it In a.py now"),
        ("look at C:\\new and **kwargs of f", "look at C:\\new and **kwargs of f"),
        ("2 * 3 ** 4 # not a heading", "2 * 3 ** 4 # not a heading"),
    ],
)
def test_a_prompt_in_one_line_has_no_marks(prompt: str, shown: str) -> None:
    """`show` prints the beginning of a prompt on one line, without marks of Markdown."""
    assert in_one_line(prompt) == shown
