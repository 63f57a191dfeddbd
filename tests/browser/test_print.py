"""A printed report page has all that its reader needs, and names a command for the rest."""

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

TURNS, CALLS = 30, 6


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the report page of many turns; in each, a call fails."""
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
                content = {"type": "content", "content": output}
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
        yield
    finally:
        visit.page.emulate_media(media="screen")


def test_a_print_has_the_head_and_names_the_command_for_the_rest(
    window: Visit, tmp_path: Path
) -> None:
    """A printed report page has its verdict and sections, and says how to print the messages."""
    page = window.open(report(DIRECTORY / "hang.db", tmp_path)).page
    with printing(window):
        assert page.is_visible(".verdict")
        assert page.is_visible("#turns td")
        assert not page.is_visible("#app")
        before = "getComputedStyle(document.querySelector('#contents'), '::before').content"
        assert "acp-proxy transcript prints them" in window.ask(f"() => {before}")
    assert page.is_visible("#app")
    window.assert_quiet()


def test_the_table_of_turns_fits_on_paper(window: Visit, long: Path) -> None:
    """On A4 paper, no part of a report page is wider than the paper.

    Long texts in its tables are shortened.
    """
    window.page.set_viewport_size({"width": 680, "height": 1000})
    try:
        window.open(long)
        with printing(window):
            wide = """() => [...document.querySelectorAll("#head *, #foot *")]
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
