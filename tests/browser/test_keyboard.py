"""The keyboard can reach, use and leave everything on a report page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

MOST_TABS = 300
WATCH = """() => {
  for (const it of document.querySelectorAll("details")) it.open = true;
  window.reached = new Set();
  window.unmarked = [];
  document.addEventListener("focusin", ({ target }) => {
    window.reached.add(target);
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(target);
    const isMarked = (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
    const active = target.querySelector("[aria-selected=true], .active, [data-active]");
    if (!isMarked && active === null) window.unmarked.push(target.outerHTML.slice(0, 120));
  });
}"""
NEVER = """(where) => {
  const controls = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const isSeen = (it) => it.checkVisibility() && !it.disabled && it.tabIndex >= 0;
  const root = document.querySelector(where);
  const all = [...root.querySelectorAll(controls)].filter(isSeen);
  const never = all.filter((it) => !window.reached.has(it));
  return [all.length, never.map((it) => it.outerHTML.slice(0, 120))];
}"""
IS_IDLE = """() => {
  const { state } = acpReport;
  const boxes = [...document.querySelectorAll(".entry [open] > .entry-content")];
  const title = document.querySelector(".detail-title")?.textContent ?? "";
  const isReading = document.querySelector(".entry-pending, .list-pending") !== null
    || /^Reading/.test(document.querySelector(".calls-count")?.textContent);
  const isFilled = boxes.every((box) => box.hasChildNodes());
  const isComplete = isFilled && title.startsWith(`#${state.seq} `);
  window.calm = isComplete && !isReading ? (window.calm ?? 0) + 1 : 0;
  return window.calm > 2;
}"""
"""Whether all shown rows are read and laid out, in three frames one after the other."""
IS_OUTSIDE = "() => document.activeElement === document.body || document.activeElement === null"


@pytest.fixture
def page(window: Visit, tmp_path: Path) -> Visit:
    """Opens the report page of a recording that has entries of many kinds."""
    return window.open(report(DIRECTORY / "tour.db", tmp_path))


def state(page: Visit, name: str) -> Any:
    """Returns a member of the report page's `state`."""
    return page.ask("(name) => window.acpReport.state[name]", name)


def wait(page: Visit, condition: str) -> None:
    """Waits until a condition on the report page's `state` holds."""
    page.page.wait_for_function(f"() => {{ const {{ state }} = acpReport; return {condition}; }}")


@pytest.mark.parametrize("view", ["conversation", "list", "sequence", "waterfall", "calls"])
def test_every_control_is_reached_and_left_again(page: Visit, view: str) -> None:
    """The Tab key reaches every control of a report page, and then leaves the page."""
    page.ask("(view) => { acpReport.state.set('view', view); acpReport.state.select(20); }", view)
    page.ask("() => scrollTo(0, 0)")
    page.page.wait_for_function(IS_IDLE)
    page.ask(WATCH)
    page.ask("() => { window.calm = 0; }")
    page.page.wait_for_function(IS_IDLE)
    is_first = view == "conversation"
    if not is_first:
        page.page.locator(f"#tab-{view}").focus()
    presses = 0
    for key in ("Tab", "Shift+Tab") if is_first else ("Tab",):
        page.page.keyboard.press(key)
        while not page.ask(IS_OUTSIDE):
            presses += 1
            assert presses < MOST_TABS
            page.page.keyboard.press(key)
        if key == "Tab":
            count, never = page.ask(NEVER, "body" if is_first else "#app")
            assert never == []
            assert count > 15
    assert page.ask("() => window.unmarked") == []
    page.assert_quiet()


def test_all_is_done_by_keys(page: Visit) -> None:
    """On a report page, keys alone select frames, filter, search, and change the view."""
    keyboard = page.page.keyboard
    prompt = state(page, "row")
    keyboard.press("1")
    keyboard.press("j")
    keyboard.press("j")
    wait(page, f"state.row === {prompt + 2}")
    keyboard.press("k")
    wait(page, f"state.row === {prompt + 1}")
    keyboard.press("n")
    keyboard.press("]")
    keyboard.press("/")
    keyboard.type("kind:request")
    kind = "(row) => state.recording.text('kind', row) === 'request'"
    wait(page, f"state.filter === 'kind:request' && [...state.shown].every({kind})")
    keyboard.press("Escape")
    keyboard.press("ArrowDown")
    first = state(page, "row")
    keyboard.press("ArrowDown")
    wait(page, f"state.row > {first}")
    keyboard.press("]")
    wait(page, "state.recording.text('kind', state.row) === 'response'")
    keyboard.press("[")
    wait(page, "state.recording.text('kind', state.row) === 'request'")
    keyboard.press("Enter")
    assert page.ask("() => document.activeElement.closest('.detail') !== null")
    keyboard.press("f")
    keyboard.type("greeting")
    wait(page, "state.query === 'greeting' && !state.isSearching && state.matched.length > 5")
    keyboard.press("Escape")
    before = state(page, "row")
    keyboard.press("n")
    wait(page, f"state.row !== {before} && state.matched.includes(state.row)")
    for key, view in (
        ("2", "sequence"), ("3", "waterfall"), ("4", "calls"), ("c", "conversation"), ("1", "list"),
    ):  # fmt: skip
        keyboard.press(key)
        assert state(page, "view") == view
        assert page.ask("(view) => document.getElementById(`view-${view}`).checkVisibility()", view)
    keyboard.press("?")
    assert page.ask("() => document.querySelector('dialog').open")
    keys = page.ask(
        "() => [...document.querySelectorAll('dialog kbd')].map((it) => it.textContent)"
    )
    assert {*"np/fjk[]?1234c", "Enter", "Esc"} <= {*keys}
    characters = [key for key in keys if len(key) == 1 and key.isascii()]
    assert len(characters) == len({*characters})
    page.page.get_by_role("button", name="Close").click()
    assert not page.ask("() => document.querySelector('dialog').open")
    keyboard.press("?")
    chosen = state(page, "row")
    keyboard.press("j")
    assert state(page, "row") == chosen
    page.page.get_by_label("keys of one character").uncheck()
    keyboard.press("Escape")
    assert not page.ask("() => document.querySelector('dialog').open")
    keyboard.press("2")
    assert state(page, "view") == "list"
    page.page.get_by_role("slider").first.focus()
    for _ in range(3):
        keyboard.press("ArrowRight")
    wait(page, "state.range !== null")
    page.assert_quiet()
