"""Filters and searches typed into a report page find the same as on the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.filters.filter_terms import TERMS
from tests.browser.truth import database_of, report, said
from tests.support.captures import ROOT
from tests.support.command_line import run
from tests.support.log_writer import record_conversation
from tests.support.planted_secrets import record_planted
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.watching import Visit

FILTERS = (
    "dir:to-client",
    "kind:banana",
    "(kind:event",
    "method:fs/*",
    "latency:>1ms",
    "turn:1..2",
    "text:GREETING",
    "params.update.sessionUpdate=agent_*",
    "(kind:request or kind:response) and not (method:fs/* or method:terminal/*)",
)
QUERIES = ("greeting", "e", "café, 你好, 😀", '"method"', "nowhere to be found", "the agent exited")
TYPE = """async (texts) => {
  const { state, recording } = window.acpReport;
  const field = document.getElementById("filter");
  const answers = [];
  let answered = () => {};
  for (const name of ["shown", "error"]) state.on(name, () => answered());
  const type = (text) => text !== state.filter && new Promise((done) => {
    answered = done;
    field.value = text;
    field.dispatchEvent(new Event("input"));
  });
  for (const text of texts) {
    await type("");
    await type(text);
    const shown = document.querySelector("#app .message").textContent;
    const seqs = [...state.shown].map((row) => recording.numbers("seq").at(row));
    answers.push(state.error === "" ? seqs : shown);
  }
  return answers;
}"""
SEARCH = """async (texts) => {
  const { state, recording } = window.acpReport;
  const answers = [];
  await state.setFilter("");
  for (const text of texts) {
    await state.setQuery(text);
    const seqs = [...state.matched].map((row) => recording.numbers("seq").at(row));
    answers.push([seqs, document.querySelector("output[for=search]").textContent, state.error]);
  }
  return answers;
}"""
ENTER_AT_ONCE = """() => {
  const field = document.getElementById("search");
  field.value = "greet";
  field.dispatchEvent(new Event("input"));
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  return acpReport.state.matched.length;
}"""
SOURCES: dict[str, Callable[[Path], Path]] = {
    "shipped": lambda _: DIRECTORY / "tour.db",
    "written": lambda directory: record_conversation(directory / "written.db"),
    "planted": lambda directory: record_planted(directory / "planted.db"),
    "captured": lambda directory: database_of(ROOT / "opencode-1.18.33.jsonl", directory),
}


@pytest.fixture(
    scope="module",
    params=[
        "shipped",
        "planted",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("written", "captured")),
    ],
)
def opened(
    request: pytest.FixtureRequest, window: Visit, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Visit, Path]]:
    """Yields a report page and its recording."""
    directory = tmp_path_factory.mktemp("answers")
    recording = SOURCES[request.param](directory)
    page = window.open(report(recording, directory))
    yield page, recording
    page.assert_quiet()


def test_a_filter_finds_the_same_frames(opened: tuple[Visit, Path]) -> None:
    """A filter typed into a report page finds the same frames as `log`."""
    page, recording = opened
    answers = page.ask(TYPE, FILTERS)
    for text, answer in zip(FILTERS, answers, strict=True):
        result = run("inspect", "log", recording, "--json", text)
        if result.exit_code == 0:
            assert answer == [json.loads(line)["seq"] for line in result.stdout.splitlines()], text
        else:
            mistake, _, _ = answer.partition("'")
            assert result.stderr.startswith(f"acp-proxy: {mistake}"), text
    assert len({str(answer) for answer in answers}) > len(FILTERS) / 3


def test_a_search_finds_the_same_frames(opened: tuple[Visit, Path]) -> None:
    """A search typed into a report page finds the same frames as `search`."""
    page, recording = opened
    for text, (seqs, count, error) in zip(QUERIES, page.ask(SEARCH, QUERIES), strict=True):
        assert error == "", text
        assert seqs == [match["seq"] for match in said("search", text, recording)], text
        assert count.startswith(f"{len(seqs):,} hit") or count.endswith(f" of {len(seqs):,}"), text


def test_an_empty_answer_says_why_and_leads_out(window: Visit, tmp_path: Path) -> None:
    """If no frame matches a filter or search of a report page, the page says so and quotes it.

    Buttons clear the filter or the search.
    """
    page = window.open(report(DIRECTORY / "hang.db", tmp_path), "#view=list&f=call:pytest")
    message = page.page.locator("#app .message")
    message.get_by_text("No frame matches the filter “call:pytest”.").wait_for()
    count = page.page.locator("output[for=filter]")
    assert count.inner_text() == "0 of 15"
    assert page.page.locator("output[for=search]").inner_text() == "0 of 1 finding"
    message.get_by_role("button", name="Clear filter").click()
    page.page.wait_for_function("() => acpReport.state.shown.length === 15")
    assert count.inner_text() == "15 frames"
    page.page.locator("#search").fill("nowhere to be found")
    message.get_by_text("No frame has the text “nowhere to be found”.").wait_for()
    message.get_by_role("button", name="Clear search").click()
    page.page.wait_for_function("() => document.querySelector('#search').value === ''")
    page.assert_quiet()


def test_the_detail_is_about_a_frame_that_the_filter_shows(window: Visit, tmp_path: Path) -> None:
    """The detail of a report page is never about a frame that the filter hides.

    If the filter is cleared, the frame that was selected before comes back.
    """
    path = report(DIRECTORY / "hang.db", tmp_path)
    page = window.open(path, "#view=list")
    title = page.page.locator(".detail-title")
    chosen = title.inner_text()
    page.page.locator("#filter").fill("method:cancel")
    title.get_by_text("#10 session/cancel").wait_for()
    assert page.page.locator(".list-body [aria-selected=true]").count() == 1
    page.page.locator("#filter").fill("")
    title.get_by_text(chosen.split()[0]).wait_for()
    page.open(path, "#view=list&f=method:cancel")
    title.get_by_text("#10 session/cancel").wait_for()
    page.assert_quiet()


def test_every_explained_filter_is_one(window: Visit, tmp_path: Path) -> None:
    """The help of a report page has a valid example for each filter key, and no invalid one."""
    page = window.open(report(DIRECTORY / "hang.db", tmp_path))
    explained = page.page.locator(".help code").all_text_contents()
    for term in explained:
        page.ask("(term) => acpReport.state.setFilter(term)", term)
        assert page.ask("() => acpReport.state.error") == "", term
    assert {term.partition(":")[0] for term in explained} == {*TERMS}


def test_enter_in_the_search_waits_for_the_first_hit(window: Visit, tmp_path: Path) -> None:
    """Enter during a search on a report page selects the first match as soon as it is found."""
    page = window.open(report(DIRECTORY / "hello.db", tmp_path), "#seq=1")
    assert page.ask(ENTER_AT_ONCE) == 0
    page.page.wait_for_function(
        "() => { const { matched, row } = acpReport.state; return matched[0] === row; }"
    )
    assert page.ask("() => acpReport.state.row") > 0


@pytest.mark.parametrize("width", [375, 800, 1024, 1280, 1440])
def test_the_filter_field_stays_wide_enough(
    window: Visit, resize: Callable[[int, int], None], tmp_path: Path, width: int
) -> None:
    """At any width of the window, the filter field of a report page is 110 pixels wide or more."""
    resize(width, 800)
    page = window.open(report(DIRECTORY / "hello.db", tmp_path))
    page.page.fill("#filter", "kind:banana")
    box = page.page.locator("#filter").bounding_box()
    assert box is not None
    assert box["width"] >= 110
    fits = "() => { const { scrollWidth, clientWidth } = document.querySelector('.field');"
    assert page.ask(f"{fits} return scrollWidth <= clientWidth; }}")
