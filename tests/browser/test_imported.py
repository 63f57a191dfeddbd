"""The report page of an imported recording shows no invented times."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.browser.truth import report
from tests.support.imported_recordings import log_of, text_form

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.recording.recording import Origin
    from tests.browser.watching import Visit

WORDS = """async () => {
  const { state } = window.acpReport;
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const settle = async () => { await frame(); await frame(); };
  const words = () => document.querySelector("main").innerText
    + [...document.querySelectorAll("#app [aria-label], #app [title], #app [aria-valuetext]")]
      .map((one) => `${one.ariaLabel} ${one.title} ${one.ariaValueText}`).join(" ");
  const found = [];
  const open = () => document.querySelectorAll("details").forEach((one) => { one.open = true; });
  open();
  for (const view of ["list", "sequence", "waterfall", "calls"]) {
    state.set("view", view);
    await settle();
    found.push(words());
  }
  for (const seq of [2, 8, 9, 10, 12, 16]) {
    state.select(state.recording.nearest(seq));
    await settle();
    open();
    for (const part of ["facts", "said"]) {
      document.getElementById(`tab-${part}`).click();
      await settle();
      found.push(words());
    }
  }
  return found.join(" ");
}"""
DURATION = re.compile(r"\d (µs|ms|s|min|h)\b(?!-)|\d\.\d{3}\b")


def words_of(window: Visit, directory: Path, origin: Origin | None) -> str:
    """Returns all text of a report page: its head, its views, and details of some frames."""
    place = directory / ("ours" if origin is None else "theirs")
    place.mkdir()
    page = window.open(report(text_form(place / "roof.jsonl", origin), place))
    words: str = page.ask(WORDS)
    page.assert_quiet()
    return words


def test_no_time_is_shown_that_nobody_knows(window: Visit, tmp_path: Path) -> None:
    """The report page of an imported log without times shows no times."""
    ours = words_of(window, tmp_path, None)
    assert len(DURATION.findall(ours)) > 50
    assert "never answered" in ours
    assert "no times" not in ours
    theirs = words_of(window, tmp_path, log_of("zed", "times", "ending", "stderr"))
    match = DURATION.search(theirs)
    assert match is None, theirs[max(0, match.start() - 100) : match.end() + 50]
    assert not re.search(
        r"\b(NaN|undefined|null s|(?<!wait\.)unanswered|never answered|exit)\b", theirs
    )
    assert "no times: in the order of the frames" in theirs
    assert "There are no times: the recording was imported from zed, which has none." in theirs


def test_no_time_is_shown_more_exactly_than_the_log_has_it(window: Visit, tmp_path: Path) -> None:
    """If an imported log has times in whole seconds, its report page shows only whole seconds."""
    origin = log_of("zed", "ending", "stderr", "zone", resolution_ns=10**9)
    words = words_of(window, tmp_path, origin)
    assert "<1 s" in words
    assert "2025-06-15 15:06:40, 0.301000 s after" in words  # as in the log, wherever it is read
    match = re.search(r"\b[1-9]\d* (µs|ms)\b|\d\.\d s\b", words)
    assert match is None, words[max(0, match.start() - 100) : match.end() + 50]
