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

CONVERSATIONS = [*SHIPPED, *all_text_forms(), *all_captures()]


def name(path: Path) -> str:
    """The agent and the scenario of a conversation."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.stem)


@pytest.mark.parametrize("path", CONVERSATIONS, ids=name)
def test_a_page_has_what_the_recording_has(window: Visit, path: Path, tmp_path: Path) -> None:
    """As the command line says it, and as it is found in the file with SQLite alone."""
    database = database_of(path, tmp_path)
    page = window.open(report(database, tmp_path))
    assert_truth(told(page), database)
    page.assert_quiet()
