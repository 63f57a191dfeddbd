"""The report page of a long recording keeps few elements and data blocks in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.support.million_frames import FRAMES, record_million

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

MOST_NODES = 600
"""The largest number of elements in a shown view; hidden views may keep as many."""
MOST_BLOCKS = 8
"""The most blocks of cells or of payloads: those of the chosen frame, and of calls in a print."""
JUST_TWO_BLOCKS = 66_000
"""A number of frames whose columns need just two blocks, which a filter reads in two ranges."""
LOOK = """async () => {
  const { state, recording } = window.acpReport;
  const drawn = async () => {
    for (let n = 0; n < 3; n++) {
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    }
  };
  const blocks = () => [recording.cellBlocks.entries.size, recording.payloadBlocks.entries.size];
  const nodes = {};
  await drawn();
  const conversation = blocks();
  state.set("view", "list");
  await drawn();
  const first = blocks();
  await state.setFilter("kind:request latency:>1ns");
  const asked = state.shown.length;
  await drawn();
  const filtered = blocks();
  await state.setFilter("");
  for (const view of ["conversation", "list", "sequence", "waterfall", "calls"]) {
    state.set("view", view);
    for (const part of [0, 0.5, 0.99]) {
      state.select(Math.floor(recording.rows * part));
      await drawn();
      const all = [...document.querySelectorAll("#app *:not(dialog *, datalist *)")];
      const shown = all.filter((element) => element.closest("[hidden]") === null);
      nodes[`${view} ${part}`] = [shown.length, all.length];
    }
  }
  const { rows } = recording;
  const found = { rows, asked, conversation, first, filtered, last: blocks(), nodes };
  return { ...found, count: recording.meta.rows };
}"""


@pytest.mark.parametrize(
    "frames",
    [10_000, *(pytest.param(n, marks=pytest.mark.soak) for n in (JUST_TWO_BLOCKS, FRAMES))],
)
def test_a_long_recording_needs_few_elements(window: Visit, tmp_path: Path, frames: int) -> None:
    """Whatever a recording's length, a view of its report page has at most 1,200 HTML elements."""
    path = record_million(tmp_path / "long.db", frames)
    window.page.set_viewport_size({"width": 1440, "height": 900})
    page = window.open(report(path, tmp_path))
    actual: dict[str, Any] = page.ask(LOOK)
    assert actual["rows"] == actual["count"] >= frames
    assert actual["asked"] > frames / 150
    for view, (shown, all_of_them) in actual["nodes"].items():
        assert shown <= MOST_NODES, view
        assert all_of_them <= 2 * MOST_NODES, view
    assert max(*actual["conversation"], *actual["first"]) <= MOST_BLOCKS
    assert actual["filtered"][1] <= MOST_BLOCKS
    assert actual["last"][0] <= 2 * MOST_BLOCKS
    page.assert_quiet()
