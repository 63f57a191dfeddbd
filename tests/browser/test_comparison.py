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

CURRENT = "() => document.querySelector('[aria-current]')?.id"
IN_SIGHT = """() => {
  const box = document.querySelector('[aria-current]').getBoundingClientRect();
  return box.top >= 0 && box.top < innerHeight;
}"""


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the page of two recordings with five differences."""
    page = tmp_path_factory.mktemp("comparison") / "page.html"
    a, b = (DIRECTORY / f"edit-{name}.db" for name in ("allowed", "rejected"))
    assert run("inspect", "report", a, "--against", b, "-o", page).exit_code == 0
    return page


def test_keys_buttons_and_links_lead_to_differences(window: Visit, compared: Path) -> None:
    """On the page of `report --against`, keys, buttons and links lead to each difference."""
    page = window.open(compared, ready=None).page
    assert page.inner_text("#place") == "5 shown"
    page.keyboard.press("p")
    assert window.ask(CURRENT) is None
    for number in (1, 2, 3):
        page.keyboard.press("n")
        assert window.ask(CURRENT) == f"change-{number}"
    page.click("#next")
    page.click("#next")
    page.keyboard.press("n")
    assert window.ask(CURRENT) == "change-5"
    assert page.inner_text("#place") == "5 of 5"
    assert page.url.endswith("#change-5")
    page.click("#previous")
    page.keyboard.press("p")
    assert window.ask(CURRENT) == "change-3"
    assert window.ask(IN_SIGHT)
    page.click("a[href='#change-2'] >> nth=0")
    page.wait_for_function("() => document.querySelector('[aria-current]')?.id === 'change-2'")
    window.open(compared, "#change-4", ready=None)
    assert window.ask(CURRENT) == "change-4"
    assert window.ask(IN_SIGHT)
    window.assert_quiet()


def test_it_fits_a_narrow_window_and_needs_no_script(
    window: Visit, plain_window: Visit, resize: Callable[[int, int], None], compared: Path
) -> None:
    """The page of `report --against` fits into a narrow window, and needs no JavaScript."""
    resize(NARROW["width"], NARROW["height"])
    narrow = window.open(compared, ready=None)
    assert narrow.ask("() => document.documentElement.scrollWidth") <= NARROW["width"]
    still = plain_window.open(compared, ready=None)
    assert still.page.locator("article").count() == 5
    assert not still.page.is_visible("#steps")
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
    window.page.keyboard.press("n")
    assert window.ask(CURRENT) == "change-1"
    assert window.ask("() => document.querySelectorAll('del, ins').length") > 10
    assert window.ask("() => document.querySelectorAll('script, style').length") == 2
    window.assert_quiet()
