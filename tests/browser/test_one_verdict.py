"""A report page has the same findings as `show`, `check` and `transcript`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.wording import plain
from acp_proxy.explain.findings import Severity, alike
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.facts import head_facts
from acp_proxy.report.page import report_parts
from acp_proxy.report.report_model import ReportOptions, read_report_data
from acp_proxy.store.reader import RecordingReader
from tests.support.shipped_recordings import REPORTS, SHIPPED
from tests.unit.test_one_verdict import CONVERSATIONS, agree

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.explain.findings import Finding
    from tests.browser.watching import Visit

READ = """async () => {
  const text = (element) => element?.textContent.replace(/\\s+/g, " ").trim() ?? "";
  const { state, recording } = acpReport;
  while (recording.rows && !document.querySelector(".detail-title")) {
    await new Promise((done) => setTimeout(done, 5));
  }
  const box = document.querySelector("#head").getBoundingClientRect();
  return {
    verdict: text(document.querySelector(".verdict")),
    tone: document.querySelector(".verdict").className,
    frame: text(document.querySelector(".verdict strong a")),
    others: [...document.querySelectorAll(".others > li")].map(text),
    seq: state.seq,
    detail: text(document.querySelector(".detail-title")),
    height: box.height,
  };
}"""
SOME = [*SHIPPED[::3], *sorted(REPORTS.rglob("*.jsonl"))[::200]]
MOST_HEIGHT = 300
"""The largest height of the head, in pixels, in a window of 1280 pixels."""


def read_page(window: Visit, path: Path, page: Path) -> Any:
    """Makes the report page of a recording, and returns the verdict and findings that it shows."""
    options = ReportOptions()
    with RecordingReader(path) as reader, page.open("wb") as out:
        data = read_report_data(reader, options)
        facts = head_facts(data, data.rows_in_recording, "")
        out.writelines(report_parts(facts, report_blocks(reader, options, data)))
    return window.open(page).ask(READ)


def assert_agrees(shown: dict[str, Any], findings: list[Finding]) -> None:
    """Asserts that a report page names the first finding, shows its frame, and lists others."""
    serious = [finding for finding in findings if finding.severity is not Severity.INFO]
    tone = shown["tone"].removeprefix("verdict ")
    if serious:
        first, is_error = serious[0], serious[0].severity is Severity.ERROR
        assert tone == ("trouble" if is_error and first.by != "fault" else "caution")
        assert " ".join(plain(first.text).split()) in shown["verdict"]
        assert shown["frame"] == f"#{first.seq}"
        assert shown["seq"] == first.seq
    else:
        sign = {"good": "✓", "neutral": "–"}[tone]
        assert shown["verdict"].startswith(f"{sign} No problem was found")
    rest = [same[0] for same in alike(serious)[1:4]]
    assert len(shown["others"]) == len(rest)
    for item, finding in zip(shown["others"], rest, strict=True):
        assert f"{finding.severity}: " in item
        assert " ".join(plain(finding.text).split()) in item
    assert shown["detail"].startswith(f"#{shown['seq']} ")
    assert shown["height"] <= MOST_HEIGHT


def assert_all_agree(window: Visit, paths: list[Path], page: Path) -> None:
    """Asserts that the page of each recording has the same findings as all commands."""
    for path in paths:
        try:
            assert_agrees(read_page(window, path, page), agree(path))
        except AssertionError as e:
            raise AssertionError(f"the page of {path.name}: {e}") from e
    window.assert_quiet()


def test_pages_begin_like_the_commands(window: Visit, tmp_path: Path) -> None:
    """A report page begins with the same finding as `check` and `show`."""
    assert_all_agree(window, SOME, tmp_path / "page.html")


@pytest.mark.soak
def test_all_pages_begin_like_show(window: Visit, tmp_path: Path) -> None:
    """The report page of each recording in the tests begins with the first finding of `show`."""
    assert_all_agree(window, [*SHIPPED, *CONVERSATIONS], tmp_path / "page.html")
