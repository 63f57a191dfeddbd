"""The URL of a report page leads back to what the page showed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.support.command_line import run
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.watching import Visit, Visitor

STATE = """() => {
  const { seq, view, filter, query, turn, range } = acpReport.state;
  return { seq, view, filter, query, turn, range };
}"""
SCROLLED = "(view) => document.querySelector(`.view-${view} .list-body`).scrollTop"
FIRST_SCREEN = """() => {
  const flow = document.querySelector(".flow");
  const { offsetTop, offsetHeight } = flow.querySelector("[aria-current]");
  return [flow.scrollTop, offsetTop + offsetHeight <= flow.clientHeight];
}"""
LATE_SIZE = """
  const RealObserver = ResizeObserver, unobserved = [];
  window.ResizeObserver = class extends RealObserver {
    observe(element) {
      if (element.matches(".flow")) unobserved.push(() => super.observe(element));
      else super.observe(element);
    }
  };
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  window.observeSize = async () => {
    for (let n = 0; n < 5; n++) await frame();  // observers of rows are called between two frames
    unobserved.forEach((observe) => observe());
    await frame();
    await frame();
  };
"""
"""Lets the conversation learn its own size only when ``observeSize`` is called."""
FIRST = {"seq": 11, "view": "conversation", "filter": "", "query": "", "turn": None, "range": None}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the report page of a recording whose first finding is at frame 11."""
    return report(DIRECTORY / "lost-permission.db", tmp_path_factory.mktemp("links"))


@pytest.fixture
def page(window: Visit, path: Path) -> Visit:
    """Opens the report page in a window."""
    return window.open(path)


def wait(page: Visit, **expected: Any) -> None:
    """Waits until the state of the report page has the given values."""
    page.page.wait_for_function(
        f"(expected) => JSON.stringify({{ ...({STATE})(), ...expected }})"
        f" === JSON.stringify(({STATE})())",
        arg=expected,
    )


def wait_for_address(page: Visit, expected: str) -> None:
    """Waits until the fragment of the page's URL has a value."""
    page.page.wait_for_function("(expected) => location.hash === expected", arg=expected)


def test_the_first_finding_is_shown_and_the_url_is_left_alone(page: Visit) -> None:
    """A report page opens with its first finding chosen, and its URL does not change."""
    page.page.wait_for_function(
        "() => document.querySelector('.detail-title')?.textContent.startsWith('#11 ')"
    )
    page.page.wait_for_timeout(400)
    assert page.ask("() => location.hash") == ""
    assert page.ask(STATE) == FIRST


def test_back_undoes_views_filters_ranges_and_links(page: Visit) -> None:
    """On a report page, the Back button undoes a followed link, or a new view, filter or range."""
    page.page.click("#head a[href='#seq=6']")
    wait(page, seq=6)
    page.page.click("#tab-list")
    wait_for_address(page, "#seq=6&view=list")
    page.page.keyboard.press("j")
    page.page.keyboard.press("j")
    wait_for_address(page, "#seq=8&view=list")
    page.page.click("#tab-sequence")
    wait_for_address(page, "#seq=8&view=sequence")
    page.page.fill("#filter", "kind:request")
    wait_for_address(page, "#seq=2&view=sequence&f=kind%3Arequest")  # the filter hides #8
    page.page.keyboard.press("Escape")
    page.ask("() => acpReport.state.setRange([0, 3.02e9])")
    wait_for_address(page, "#seq=2&view=sequence&f=kind%3Arequest&t=0-3.02")
    page.page.go_back()
    wait(page, view="sequence", filter="kind:request", range=None, seq=2)
    page.page.go_back()
    wait(page, view="sequence", filter="", seq=8)
    page.page.go_back()
    wait(page, view="list", seq=8)
    page.page.go_back()
    wait(page, view="conversation", seq=6)
    page.page.go_back()
    wait(page, **FIRST)
    page.page.wait_for_timeout(400)
    assert page.ask("() => location.hash") == ""
    for _ in range(3):
        page.page.go_forward()
    wait(page, view="sequence", seq=8)
    page.assert_quiet()


def test_back_at_once_leaves_no_filter_in_the_field(page: Visit) -> None:
    """On a report page, the Back button clears a filter that was just typed."""
    page.page.click("#tab-list")
    page.page.fill("#filter", "is:failed")
    page.page.go_back()
    wait(page, **FIRST)
    assert page.page.input_value("#filter") == ""
    assert page.page.locator("#filter").evaluate("(it) => it === document.activeElement")


def test_a_link_selects_a_range_and_the_next_link_clears_it(window: Visit, path: Path) -> None:
    """A URL of a report page can select a range of time, and a link to a frame clears the range."""
    window.open(path, "#view=sequence&t=0-0.5")
    wait(window, view="sequence", range=[0, 500_000_000])
    window.ask("() => { location.hash = '#seq=16'; }")
    wait(window, view="sequence", range=None, seq=16)
    window.open(path, "#seq=6&c=3")
    window.page.wait_for_selector("text=no other connection")


def test_a_turn_of_the_table_leads_to_its_waterfall(page: Visit) -> None:
    """In the table of turns on a report page, each row leads to the turn's waterfall."""
    page.page.locator("#turns tbody td.text").first.click(force=True)
    wait(page, view="waterfall", turn=1, seq=6)


def test_a_report_by_filter_begins_near_the_finding(window: Visit, tmp_path: Path) -> None:
    """If a filter of `report` omits the first finding's frame, its page opens at a later frame."""
    path = tmp_path / "page.html"
    words = ("report", DIRECTORY / "lost-permission.db", "kind:event", "-o", path)
    assert run(*words).exit_code == 0
    window.open(path)
    assert window.ask("() => acpReport.state.seq") > 11
    window.page.locator(".detail-title").wait_for()


@pytest.mark.parametrize("view", ["conversation", "list", "sequence", "waterfall", "calls"])
def test_a_view_opens_at_its_first_row(window: Visit, path: Path, view: str) -> None:
    """If the chosen frame is in a view's first row, a report page opens the view at its top."""
    window.open(path, f"#view={view}&seq=4")
    window.page.locator(f".view-{view} .list-drawn > *").first.wait_for()
    assert window.ask(SCROLLED, view) == 0


@pytest.mark.parametrize("name", ["crash", "hang", "lost-permission"])
@pytest.mark.parametrize("height", [700, 900, 1100])
def test_a_conversation_opens_at_its_top(
    window: Visit,
    resize: Callable[[int, int], None],
    tmp_path: Path,
    name: str,
    height: int,
) -> None:
    """If a report page can show the chosen step without scrolling, the page opens at its top."""
    resize(1440, height)
    page = window.open(report(DIRECTORY / f"{name}.db", tmp_path))
    page.page.locator(".flow [aria-current]").wait_for()
    page.page.wait_for_function("() => !document.querySelector('.entry-pending')")
    scrolled, is_first = page.ask(FIRST_SCREEN)
    assert not (scrolled and is_first)


def test_a_conversation_that_is_drawn_before_it_has_a_size_opens_at_its_top(
    visit: Visitor, tmp_path: Path
) -> None:
    """A report page opens at its top, even if the conversation is measured after it is drawn."""
    window = visit.window(viewport={"width": 1440, "height": 800})
    window.page.add_init_script(LATE_SIZE)
    page = window.open(report(DIRECTORY / "hang.db", tmp_path))
    page.page.locator(".flow article").first.wait_for()
    page.page.wait_for_function("() => !document.querySelector('.entry-pending')")
    page.ask("() => observeSize()")
    page.page.locator(".flow [aria-current]").wait_for()
    assert page.ask(FIRST_SCREEN) == [0, True]
