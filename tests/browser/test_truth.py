"""A page has exactly what the recording has: each frame, each byte, each number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser.truth import assert_truth, database_of, report, told
from tests.browser.watching import WIDE
from tests.browser.whole import assert_whole
from tests.captures import ROOT, all_captures, all_text_forms
from tests.commands import run
from tests.shipped import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import ViewportSize

    from tests.browser.watching import Visit


def name(path: Path) -> str:
    """The agent and the scenario of a conversation."""
    return str(path.relative_to(ROOT))


LIST = """() => [...document.querySelectorAll(".view-list [role=row]")].map((row) =>
  [".list-number", ".list-text"].map((name) => row.querySelector(name)?.textContent ?? null)
).filter(([number, text]) => number !== null && number !== "Frame")"""
ALL_ROWS = """() => {
  const list = document.querySelector(".view-list [aria-rowcount]");
  const count = list.querySelectorAll("[role=row]").length;
  return count >= Number(list.ariaRowCount) && document.querySelector(".list-pending") === null;
}"""
TALL: ViewportSize = {"width": 1280, "height": 3_000}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_page_has_what_the_recording_has(window: Visit, path: Path, tmp_path: Path) -> None:
    """As the command line says it, and as it is found in the file with SQLite alone."""
    page = window.open(report(path, tmp_path))
    has = told(page)
    assert_truth(has, path)
    assert_whole(has, path)
    page.page.set_viewport_size(TALL)
    page.page.wait_for_function(ALL_ROWS)
    assert_list(page.ask(LIST), run("inspect", "log", path).stdout.splitlines())
    page.page.set_viewport_size(WIDE)
    page.assert_quiet()


def assert_list(rows: list[list[str]], lines: list[str]) -> None:
    """Asserts that the list has the lines of `inspect log`, chunks folded in the same way."""
    assert len(rows) == len(lines)
    for (number, text), line in zip(rows, lines, strict=True):
        assert re.sub("^[^0-9]+", "", number) == line.split()[0]
        assert line.endswith(text.rstrip())


@pytest.mark.parametrize("path", [*all_text_forms(), *all_captures()], ids=name)
def test_conversations_of_real_agents_are_read_as_well(
    window: Visit, path: Path, tmp_path: Path
) -> None:
    """Their blocks are read by the script of a page that is open already."""
    if window.url == "about:blank":
        window.open(report(SHIPPED[0], tmp_path))
    database = database_of(path, tmp_path)
    has = told(window, report(database, tmp_path))
    assert_truth(has, database)
    assert_whole(has, database)
    window.assert_quiet()
