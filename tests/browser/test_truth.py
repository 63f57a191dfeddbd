"""A page has exactly what the recording has: each frame, each byte, each number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.truth import assert_truth, database_of, report, told
from tests.captures import ROOT, all_captures, all_text_forms
from tests.shipped import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit


def name(path: Path) -> str:
    """The agent and the scenario of a conversation."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_page_has_what_the_recording_has(window: Visit, path: Path, tmp_path: Path) -> None:
    """As the command line says it, and as it is found in the file with SQLite alone."""
    page = window.open(report(path, tmp_path))
    assert_truth(told(page), path)
    page.assert_quiet()


@pytest.mark.parametrize("path", [*all_text_forms(), *all_captures()], ids=name)
def test_conversations_of_real_agents_are_read_as_well(
    window: Visit, path: Path, tmp_path: Path
) -> None:
    """Their blocks are read by the script of a page that is open already."""
    if window.url == "about:blank":
        window.open(report(SHIPPED[0], tmp_path))
    database = database_of(path, tmp_path)
    assert_truth(told(window, report(database, tmp_path)), database)
    window.assert_quiet()
