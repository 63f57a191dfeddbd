"""Tests the HTML page of `report --against` in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.hostile import TAGS, Hostile
from tests.browser.watching import NARROW
from tests.support.command_line import run
from tests.support.log_writer import LogWriter
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.watching import Visit

IN_SIGHT = """() => {
  const box = document.querySelector(':target').getBoundingClientRect();
  return box.top >= 0 && box.top < innerHeight;
}"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the page of two recordings with five differences."""
    page = tmp_path_factory.mktemp("comparison") / "page.html"
    a, b = (DIRECTORY / f"edit-{name}.db" for name in ("allowed", "rejected"))
    assert run("inspect", "report", a, "--against", b, "-o", page).exit_code == 0
    return page


def test_links_lead_from_difference_to_difference(plain_window: Visit, compared: Path) -> None:
    """On the page of `report --against`, each difference links to the previous and next one."""
    page = plain_window.open(compared, "#change-1", ready=None).page
    assert page.locator(":target [aria-label='Previous difference']").count() == 0
    for number in (2, 3, 4, 5):
        page.click(":target [aria-label='Next difference']")
        assert page.url.endswith(f"#change-{number}")
        assert plain_window.ask(IN_SIGHT)
    assert "5 of 5" in page.inner_text(":target h3")
    assert page.locator(":target [aria-label='Next difference']").count() == 0
    page.click(":target [aria-label='Previous difference']")
    assert page.url.endswith("#change-4")


def test_it_fits_a_narrow_window_and_needs_no_script(
    window: Visit, plain_window: Visit, resize: Callable[[int, int], None], compared: Path
) -> None:
    """The page of `report --against` fits into a narrow window, and needs no JavaScript."""
    resize(NARROW["width"], NARROW["height"])
    narrow = window.open(compared, ready=None)
    assert narrow.ask("() => document.documentElement.scrollWidth") <= NARROW["width"]
    still = plain_window.open(compared, ready=None)
    assert still.page.locator("article").count() == 5
    assert still.page.is_visible("text=5 differences: 3 changed, 2 only in A")


def test_hostile_recordings_stay_text(window: Visit, tmp_path: Path) -> None:
    """If recordings contain HTML or scripts, the page of `report --against` shows them as text."""
    for name, end in (("a", ""), ("b", "</ins><script>alert(40)</script>")):
        with LogWriter(tmp_path / f"{name}.db") as recorder:
            hostile = Hostile(recorder)
            for payload in TAGS.values():
                hostile.converse(payload + end)
    compare = ("inspect", "report", tmp_path / "a.db", "--against", tmp_path / "b.db")
    assert run(*compare, "-o", tmp_path / "page.html").exit_code == 0
    window.open(tmp_path / "page.html", ready=None)
    assert window.ask("() => document.querySelectorAll('del, ins').length") > 10
    assert window.ask("() => document.querySelectorAll('script, style').length") == 1
    window.assert_quiet()
