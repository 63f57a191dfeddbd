"""A printed report page has all that its reader needs, and says what it leaves out."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.browser.watching import WIDE
from tests.support.log_writer import LogWriter, notification, request, result, text
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.browser.watching import Visit

TURNS, CALLS, LINES = 30, 6, 120
LINES_OF_TURN = CALLS + len(("heading", "prompt", "end"))
COUNT = "() => document.querySelector('.paper b').textContent"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the report page of many turns; each has a long edit and a call that fails."""
    directory = tmp_path_factory.mktemp("prints")
    with LogWriter(directory / "long.db") as recorder:

        def update(**members: Any) -> None:
            recorder.t_ns += 300_000_000
            recorder.to_client(notification("session/update", sessionId="s", update=members))

        for turn in range(TURNS):
            words = f"A rather long prompt, so that the table of turns is wide: number {turn}"
            recorder.to_agent(request(turn, "session/prompt", sessionId="s", prompt=[text(words)]))
            for number in range(CALLS):
                call = {"toolCallId": f"c{turn}-{number}", "title": f"call {number}"}
                update(sessionUpdate="tool_call", **call, kind="edit", status="pending")
                output = text(f"told {number}\nin full")
                content: dict[str, Any] = {"type": "content", "content": output}
                if number == 0:
                    lines = "".join(f"line {line}\n" for line in range(LINES))
                    content = {"type": "diff", "path": "/x", "oldText": None, "newText": lines}
                state = "failed" if number == 1 else "completed"
                update(sessionUpdate="tool_call_update", **call, status=state, content=[content])
            usage = {"totalTokens": 1500, "inputTokens": 1000, "outputTokens": 500}
            recorder.to_client(result(turn, stopReason="end_turn", usage=usage))
        recorder.finish()
    return report(recorder.path, directory)


@contextmanager
def printing(visit: Visit) -> Iterator[None]:
    """Shows a page in the form in which it is printed."""
    visit.page.emulate_media(media="print")
    try:
        visit.ask("() => { dispatchEvent(new Event('beforeprint')); }")
        yield
        visit.ask("() => { dispatchEvent(new Event('afterprint')); }")
    finally:
        visit.page.emulate_media(media="screen")


def test_an_edit_is_printed_with_its_diff(window: Visit, tmp_path: Path) -> None:
    """A printed report page contains diffs of tool calls that the reader has not opened."""
    page = window.open(report(DIRECTORY / "edit-allowed.db", tmp_path)).page
    with printing(window):
        rows = page.locator(".paper .diff-row:visible").all_inner_texts()
        assert any("ACP" in row for row in rows)
        assert page.locator(".paper .statuses:visible").count() == 0
        assert window.ask(COUNT) == "14 of 14 lines of the conversation"
    assert page.locator(".paper-lines *").count() == 0
    window.assert_quiet()


def test_a_long_print_is_cut_and_says_so(window: Visit, long: Path) -> None:
    """A printed report page says how many lines of the conversation and of diffs it leaves out."""
    page = window.open(long).page
    with printing(window):
        length = TURNS * LINES_OF_TURN
        assert window.ask(COUNT).startswith(f"200 of {length} lines of the conversation")
        assert page.locator(".paper article").count() == 200
        left = page.locator(".paper-lines > .note").inner_text()
        assert left == f"{length - 200} more lines of the conversation not printed"
        diff = page.locator(".paper .block:has(> .diff)").first
        assert diff.locator(".diff-row:visible").count() == 40
        assert f"{LINES - 40} more lines not printed" in diff.inner_text()
        assert page.locator(".paper >> text=told 1").first.is_visible()
        assert page.locator(".paper >> text=told 2").first.is_hidden()


def test_a_filter_changes_what_is_printed(window: Visit, long: Path) -> None:
    """A printed report page with a filter names the filter, and counts the lines that match it."""
    page = window.open(long, "#f=turn:29").page
    page.wait_for_function("() => acpReport.state.applied.text === 'turn:29'")
    page.locator(".view-conversation >> text=number 28").wait_for()
    with printing(window):
        lines = f"{LINES_OF_TURN} of {LINES_OF_TURN} lines"
        said = f"{lines} of the conversation that match the filter “turn:29”"
        assert window.ask(COUNT) == said


def test_an_opened_call_is_printed_whole(window: Visit, long: Path) -> None:
    """A printed report page contains the content of each tool call that the reader has opened."""
    page = window.open(long, "#seq=2").page
    call = page.locator(".view-conversation .entry-tool_call").first
    call.locator("summary").click()
    call.locator(".diff-row").first.wait_for()
    with printing(window):
        diff = page.locator(".paper .block:has(> .diff)").first
        assert diff.locator(".diff-row:visible").count() == LINES
        assert "not printed" not in diff.inner_text()
    call.locator(".diff-row").last.wait_for()
    assert call.locator(".diff-row").count() == LINES


def test_the_table_of_turns_fits_on_paper(window: Visit, long: Path) -> None:
    """On A4 paper, no part of a report page is wider than the page.

    Long texts in its tables are shortened.
    """
    window.page.set_viewport_size({"width": 680, "height": 1000})
    try:
        window.open(long)
        with printing(window):
            wide = """() => [...document.querySelectorAll("#head *, #foot *, .paper *")]
              .filter((one) => one.getBoundingClientRect().right > innerWidth + 1)
              .map((one) => one.outerHTML.slice(0, 80))"""
            assert window.ask(wide) == []
            lines = """(all) => [...document.querySelectorAll(all)].map((one) =>
              Math.round(one.offsetHeight / parseFloat(getComputedStyle(one).lineHeight)))"""
            assert max(window.ask(lines, "#turns td.text bdi")) == 2
            assert {*window.ask(lines, "#calls .findings li")} == {1}
            assert "told 1 in full" in window.page.locator("#calls .findings").inner_text()
    finally:
        window.page.set_viewport_size(WIDE)
