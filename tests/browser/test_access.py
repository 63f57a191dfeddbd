"""Report pages work with a screen reader, with a keyboard and in a narrow window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.browser.watching import NARROW, WIDE
from tests.support.npm_packages import MissingPackages, installed_packages
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

VIEWS = ("conversation", "list", "sequence", "waterfall", "calls")
RUN_AXE = """async (isHeadKnown) => {
  const options = { resultTypes: ["violations"], elementRef: false };
  const { violations } = await axe.run(isHeadKnown ? "#app" : document, options);
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return serious.map(({ help, nodes }) => [help, nodes.slice(0, 3).map((node) => node.html)]);
}"""

OUTCOME = """(it) => {
  const [name, outcome] = [it.querySelector("b"), it.querySelector("b ~ .note")];
  const [above, below] = [name.getBoundingClientRect(), outcome.getBoundingClientRect()];
  return [outcome.textContent, below.top >= above.bottom, outcome.scrollWidth <= below.width + 1];
}"""
PLACES = """() => [...document.querySelectorAll(".tools > *")].map((it) => {
  const { left, top, width, height } = it.getBoundingClientRect();
  return [it.className, left, width, Math.round(top + height / 2)];
})"""


@pytest.fixture(scope="module")
def axe() -> str:
    """Returns the script of the accessibility checker axe."""
    try:
        return (installed_packages() / "axe-core/axe.min.js").read_text(encoding="utf-8")
    except MissingPackages as e:
        pytest.skip(str(e))


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Makes the report pages of a healthy recording and of a failed one."""
    directory = tmp_path_factory.mktemp("access")
    names = ("tour", "lost-permission")
    return {name: report(DIRECTORY / f"{name}.db", directory) for name in names}


def show(page: Visit, view: str, row: int = 20) -> None:
    """Chooses a view and a frame of a report page, and waits until both are shown."""
    page.ask("""async ([view, row]) => {
      const { state, recording } = window.acpReport;
      state.set("view", view);
      state.select(Math.min(row, recording.rows - 1));
      const seq = `#${recording.numbers("seq").at(state.row)} `;
      while (!document.querySelector(".detail-title")?.textContent.startsWith(seq)) {
        await new Promise((done) => setTimeout(done, 5));
      }
      await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    }""", [view, row])  # fmt: skip


@pytest.mark.parametrize(
    ("name", "looks"),
    [
        ("tour", [("light", WIDE)]),
        ("lost-permission", [("dark", NARROW)]),
        pytest.param("tour", [("dark", NARROW)], marks=pytest.mark.soak),
        pytest.param(
            "lost-permission", [("dark", WIDE), ("light", NARROW)], marks=pytest.mark.soak
        ),
    ],
    ids=["tour", "lost-permission", "tour-otherwise", "lost-permission-otherwise"],
)
def test_axe_finds_nothing_serious(
    window: Visit, axe: str, paths: dict[str, Path], name: str, looks: list[Any]
) -> None:
    """The accessibility checker axe finds no serious problem in any view of a report page."""
    page = window.open(paths[name])
    page.page.evaluate(axe + ";() => 0")
    page.ask("() => { for (const it of document.querySelectorAll('details')) it.open = true; }")
    actual: dict[str, Any] = {}
    for scheme, size in looks:
        page.page.emulate_media(color_scheme=scheme)
        page.page.set_viewport_size(size)
        for view in VIEWS:
            show(page, view)
            if serious := page.ask(RUN_AXE, view != VIEWS[0]):
                actual[f"{view}, {scheme}, {size['width']}"] = serious
    page.page.set_viewport_size(WIDE)
    page.page.emulate_media(color_scheme="light")
    assert actual == {}


def test_no_page_is_wider_than_its_window(
    window: Visit, paths: dict[str, Path], hostile_report: Path
) -> None:
    """At a width of 320 pixels, no view of a report page has to be scrolled sideways."""
    wide = {}
    for path in (paths["tour"], hostile_report):
        page = window.open(path)
        page.page.set_viewport_size(NARROW)
        for view in VIEWS:
            show(page, view)
            width = page.ask("() => document.documentElement.scrollWidth")
            if width > NARROW["width"]:
                wide[path.stem, view] = width
    page.page.set_viewport_size(WIDE)
    assert wide == {}


@pytest.mark.parametrize(("seq", "words"), [(15, "2 lines"), (17, "granted (Allow)"), (55, "é")])
def test_a_phone_shows_how_each_entry_ended(
    window: Visit, paths: dict[str, Path], seq: int, words: str
) -> None:
    """At a width of 375 pixels, the conversation of a report page shows each outcome in full.

    The outcome stands below the name of its step.
    """
    window.page.set_viewport_size({"width": 375, "height": 812})
    try:
        page = window.open(paths["tour"], f"#view=conversation&seq={seq}").page
        line = page.locator(".entry[aria-current] summary")
        line.locator(f".note:has-text('{words}')").wait_for()
        shown, is_below, is_whole = line.evaluate(OUTCOME)
        assert words in shown
        assert is_below
        assert is_whole
    finally:
        window.page.set_viewport_size(WIDE)


@pytest.mark.parametrize("width", [720, 800, 920, 1000])
def test_the_toolbar_stays_in_place_when_the_tab_changes(
    window: Visit, paths: dict[str, Path], width: int
) -> None:
    """In a narrow window, the toolbar of a report page stays in place when the tab changes."""
    page = window.open(paths["lost-permission"])
    page.page.set_viewport_size({"width": width, "height": 800})
    try:
        places = []
        for view in VIEWS:
            show(page, view)
            places.append(page.ask(PLACES))
        assert places == places[:1] * len(VIEWS)
        tops = {name: middle for name, *_, middle in places[0]}
        assert tops["tabs"] == tops["help-opener"] < tops["field"] == tops["steps"]
    finally:
        page.page.set_viewport_size(WIDE)
