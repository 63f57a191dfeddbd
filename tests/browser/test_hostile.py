"""A report page shows recorded content only as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from tests.browser.census import assert_harmless
from tests.browser.hostile import ADDRESSES, PAYLOADS, TAGS
from tests.browser.truth import report
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.browser.watching import Visit

HELPERS = r"""
  const { state, recording } = window.acpReport;
  const pause = () => new Promise((done) => {
    const channel = new MessageChannel();  // quicker than a timer, which is late on purpose
    channel.port1.onmessage = () => { channel.port1.close(); done(); };
    channel.port2.postMessage(0);
  });
  const until = async (isDone, what) => {
    for (const start = performance.now(); !isDone(); await pause()) {
      if (performance.now() > start + 20_000) throw new Error(`waited in vain for ${what}`);
    }
  };
"""
TOUR = r"""async ({ wanted, every }) => {HELPERS
  const seen = { views: [], numbers: new Set(), list: new Set(), said: new Set(), tree: new Set() };
  const look = (where, text) => {
    for (const one of wanted) if (text.includes(one)) seen[where].add(one);
  };
  const press = (buttons) => { for (const button of buttons) button.click(); };
  const showsNumber = (seq) => {
    const title = document.querySelector(".detail-title");
    return title !== null && title.textContent.startsWith(`#${seq} `);
  };

  const tabs = [...document.querySelectorAll("#app .tools [role=tab]")];
  for (const tab of [...tabs.slice(1), tabs[0]]) {
    tab.click();
    await pause();
    const panel = document.getElementById(tab.getAttribute("aria-controls"));
    press(panel.querySelectorAll("button, summary, [aria-expanded]"));
    await pause();
    seen.views.push(tab.textContent);
  }
  tabs.find((tab) => tab.textContent === "List").click();
  document.getElementById("app").style.setProperty("--head", "0px");  // as when it is scrolled to
  for (let row = 0; row < recording.rows; row++) {
    if (row % every !== 0 && row !== recording.rows - 1) continue;
    const seq = recording.numbers("seq").at(row);
    state.select(row);
    await until(() => showsNumber(seq), `the detail of ${seq}`);
    for (const cell of document.querySelectorAll("[role=row] > .list-number")) {
      const [, first, last = first] = cell.textContent.match(/(\d+)(?:–(\d+))?$/) ?? ["", "0"];
      const end = first.slice(0, -last.length) + last;  // of 140 to 143 it is "140–43"
      for (let number = Number(first); number <= Number(end); number++) seen.numbers.add(number);
    }
    look("list", document.querySelector(".view-list").textContent);
    const tabs = [...document.querySelectorAll(".detail [role=tab]")];
    const names = tabs.filter((tab) => !tab.hidden).map((tab) => tab.id);
    for (const name of [...names.slice(1), names[0]]) {
      const tab = document.getElementById(name);
      tab.click();
      await until(() => tab.getAttribute("aria-selected") === "true", `${name} of ${seq}`);
      const panel = document.getElementById("detail-panel");
      press([...panel.querySelectorAll("button")].filter((one) => !/^#/.test(one.textContent)));
      look(name.endsWith("tree") ? "tree" : "said", panel.textContent);
    }
  }
  return Object.fromEntries(Object.entries(seen).map(([name, found]) => [name, [...found]]));
}""".replace("HELPERS", HELPERS)
FOLLOW = r"""async (hashes) => {
  const messages = new Set();
  for (const hash of hashes) {
    location.hash = hash;
    await new Promise((done) => addEventListener("hashchange", done, { once: true }));
    // The page follows a link after a while; to look more often would cost more than to wait.
    while (history.state === null) await new Promise((done) => setTimeout(done, 10));
    messages.add(document.querySelector("#app .message").textContent);
  }
  location.hash = "";
  return messages.size;
}"""


@pytest.mark.parametrize("every", [31, pytest.param(1, marks=pytest.mark.soak)])
def test_every_view_shows_hostile_texts_as_text(
    window: Visit, resize: Callable[[int, int], None], hostile_report: Path, every: int
) -> None:
    """If a recording contains HTML or scripts, every view of its report page shows them as text."""
    resize(1280, 1400)  # the list shows all rows from one chosen row to the next
    page = window.open(hostile_report)
    values = page.ask(TOUR, {"wanted": [*TAGS.values()], "every": every})
    rows = page.ask("() => window.acpReport.recording.rows")
    assert len({*values["numbers"]} - {0}) == rows
    assert (
        len(values["views"]) == len(page.ask("() => [...document.querySelectorAll('.view')]")) == 5
    )
    assert {*values["list"]} == {*values["said"]} == {*TAGS.values()}
    assert {*values["tree"]} >= {tag for tag in TAGS.values() if not {*tag} & {*'"\t\n'}}
    assert_unharmed(page, hostile_report)


def test_no_link_does_more_than_choose(window: Visit, tmp_path: Path) -> None:
    """Hostile text in the URL of a report page can only choose frames and views."""
    path = report(DIRECTORY / "hello.db", tmp_path)
    page = window.open(path)
    hashes = []
    for payload in PAYLOADS.values():
        text = quote(payload, errors="replace")
        hashes.append(f"#f={text}&q={text}&view={text}&seq={text}&turn={text}")
    hashes += [f"#{quote(payload)}" for payload in (*TAGS.values(), *ADDRESSES.values())]
    assert page.ask(FOLLOW, hashes) > 3
    assert_unharmed(page, path)


def assert_unharmed(page: Visit, path: Path) -> None:
    """Asserts that a page has done nothing, and that it has only elements of its own."""
    page.assert_quiet()
    actual: dict[str, Any] = page.ask("() => ({ ...window.acpReport.state.recording.meta })")
    assert actual["rows"] == actual["rows_in_recording"]
    assert_harmless(page, path.read_bytes().count(b"<script"))
