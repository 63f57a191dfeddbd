"""A report page has each frame, each byte and each number of its recording."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser.truth import assert_truth, database_of, report, told
from tests.browser.views import assert_sequence, assert_views
from tests.browser.watching import WIDE
from tests.browser.whole import assert_whole
from tests.support.captures import ROOT, all_text_forms, weighted, weighted_captures
from tests.support.command_line import run
from tests.support.log_writer import line, notification
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

    from tests.browser.watching import Visit


PROXY = str(Path(sys.executable).with_name("acp-proxy"))
FAULTS = (
    "drop where='method:a dir:to-client'",
    "duplicate name=twice where='method:b dir:to-client'",
    "truncate keep_bytes=3 where='method:c dir:to-client'",
    "latency latency_ms=30 where='method:d dir:to-client'",
)
DONE = (
    "agent → proxy a .*proxy → client dropped by drop",
    "agent → client b ",
    "proxy → client b .*agent → proxy made up by twice",
    'agent → proxy c .*proxy → client as 4 B: {"j .truncate.',
    "agent → proxy d .*(held|late).* \\(latency\\)",
    "agent → proxy e .*in the queue|agent → client e ",
)
"""The label of the sequence diagram for frames of the agent."""
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
    """A report page has the same frames, bytes and texts as `log` and the database."""
    page = window.open(report(path, tmp_path))
    has = told(page)
    assert_truth(has, path)
    assert_whole(has, path)
    page.ask("() => window.acpReport.state.set('view', 'list')")
    page.page.set_viewport_size(TALL)
    page.page.wait_for_function(ALL_ROWS)
    assert_list(page.ask(LIST), run("inspect", "log", path).stdout.splitlines())
    assert_views(page, path)
    page.page.set_viewport_size(WIDE)
    page.assert_quiet()


def assert_list(rows: list[list[str]], lines: list[str]) -> None:
    """Asserts that the list of a report page has the same lines as `log`."""
    assert len(rows) == len(lines)
    for (number, text), printed in zip(rows, lines, strict=True):
        assert re.sub("^[^0-9]+", "", number) == printed.split()[0]
        assert printed.endswith(text.rstrip())


@pytest.mark.parametrize(
    "path",
    [
        *weighted(all_text_forms()),
        *weighted_captures(),
    ],
)
def test_conversations_of_real_agents_are_read_as_well(
    window: Visit, path: Path, tmp_path: Path
) -> None:
    """For each captured conversation, a report page's scripts read all data of the recording."""
    if window.url == "about:blank":
        window.open(report(SHIPPED[0], tmp_path))
    database = database_of(path, tmp_path)
    has = told(window, report(database, tmp_path))
    assert_truth(has, database)
    assert_whole(has, database)
    window.assert_quiet()


@pytest.mark.parametrize(
    "capture",
    ["codex-acp-2.6.0", pytest.param("claude-agent-acp-0.101.0", marks=pytest.mark.soak)],
)
def test_views_have_all_of_a_long_conversation(window: Visit, capture: str, tmp_path: Path) -> None:
    """The views of a report page have all frames, even those that must be scrolled to."""
    database = database_of(ROOT / f"{capture}.jsonl", tmp_path)
    window.open(report(database, tmp_path))
    assert_views(window, database)
    window.assert_quiet()


def test_what_faults_did_is_all_there(window: Visit, tmp_path: Path) -> None:
    """If a fault changed a recorded frame, a report page shows it before and after the change."""
    path = tmp_path / "faults.db"
    lines = [line(notification(method, n=1)) for method in "abcde"]
    rules = [word for rule in FAULTS for word in ("--fault", rule)]
    record = [PROXY, "record", "-o", str(path), "--seed", "5", *rules, "--", "cat"]
    result = subprocess.run(record, input=b"".join(lines), capture_output=True, check=True)
    assert len(result.stdout.splitlines()) == len(lines)  # one is dropped, and one twice there
    page = window.open(report(path, tmp_path))
    has = told(page)
    assert_truth(has, path)
    assert_whole(has, path)
    words = assert_sequence(page, path)
    received = [row for row in has.frames if row.get("stream") == "to-client"]
    for row, expected in zip(received, DONE, strict=True):
        assert re.search(expected, " | ".join(words[row["seq"]])), row
    page.assert_quiet()
