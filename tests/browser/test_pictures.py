"""The timeline of a report page shows who was waited for, and where findings are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.browser.truth import report
from tests.browser.watching import WIDE
from tests.support.log_writer import MS, LogWriter, notification, request, result
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.watching import Visit

SIZES = [(1440, 900), (1024, 768), (768, 1024), (375, 700)]
GAPS = """() => {
  const strip = document.querySelector(".overview-strip").getBoundingClientRect();
  const boxes = (name) => [...document.querySelectorAll(name)].map((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return [left, right, top, bottom];
  });
  const part = ([left, right]) => (right - left) / strip.width;
  const isSeen = ([left, right, top, bottom]) => right > left && bottom > top;
  const texts = [".overview-turn span", ".overview-gap span", ".overview-tick"];
  const inside = (name) => [...document.querySelectorAll(name)].filter((one) => {
    const [own, around] = [one, one.parentElement].map((it) => it.getBoundingClientRect());
    return name === ".overview-tick" || own.top < around.bottom;
  }).map((one) => { const { left, right, top, bottom } = one.getBoundingClientRect();
    return [left, right, top, bottom]; });
  return {
    waits: boxes(".overview-gap.debt-1, .overview-gap.debt-2").map(part),
    never: document.querySelectorAll(".overview-gap.debt-2").length,
    titles: [...document.querySelectorAll(".overview-gap")].map(({ title }) => title),
    labels: texts.flatMap((name) => inside(name).filter(isSeen)),
  };
}"""
CUT = """() => {
  const box = (one) => one.getBoundingClientRect();
  const spans = [...document.querySelectorAll(".overview-gap span")];
  const shown = spans.filter((one) => box(one).top < box(one.parentElement).bottom);
  const cut = shown.filter((one) => one.scrollWidth > one.clientWidth + 1
    || box(one).right > box(one.parentElement).right + 1);
  const tools = [...document.querySelectorAll(".tools > *")].filter((one) => one.offsetHeight);
  const rows = new Set(tools.map((one) => Math.round((box(one).top + box(one).bottom) / 20)));
  return { cut: cut.map((one) => one.textContent), rows: rows.size };
}"""
EDGES = """(view) => {
  const list = document.querySelector(`.view-${view} [aria-rowcount]`);
  const [head, row] = [".list-head .list-row", ".list-drawn [aria-selected=true]"].map((name) =>
    [...list.querySelector(name).children].flatMap((cell) => {
      const { left, right } = cell.getBoundingClientRect();
      return cell.checkVisibility() ? [left, right] : [];
    }));
  return head.map((edge, at) => [edge, row[at]]);
}"""
CALLS = """() => [...document.querySelectorAll(".view-calls .list-drawn [role=row]")].map((row) =>
  [...row.children].map((cell) => cell.textContent).slice(3, 6).join(" "))"""

STDERR = """() => {
  const { state, recording } = acpReport;
  state.select(state.everyRow.find((row) => recording.text("stream", row) === "stderr"));
}"""


@pytest.fixture
def terminals(tmp_path: Path) -> Path:
    """Makes a recording of two tool calls; the first gets its terminal after it began."""

    def update(**members: object) -> dict[str, object]:
        return notification("session/update", sessionId="s", update=members)

    path = tmp_path / "terminals.db"
    with LogWriter(path) as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[]))
        call = {"toolCallId": "c1", "title": "run", "kind": "execute"}
        recorder.to_client(update(sessionUpdate="tool_call", status="pending", **call))
        recorder.to_client(request(7, "terminal/create", sessionId="s", command="pytest"))
        recorder.to_agent(result(7, terminalId="t"))
        content = [{"type": "terminal", "terminalId": "t"}]
        changed = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "content": content}
        recorder.to_client(update(**changed, status="failed"))
        recorder.to_client(request(8, "terminal/output", sessionId="s", terminalId="t"))
        recorder.to_agent(result(8, output="no test", exitStatus={"exitCode": 5}))
        recorder.to_client(update(sessionUpdate="tool_call", toolCallId="c2", title="look"))
        recorder.t_ns += 20_000 * MS
        recorder.to_agent(notification("session/cancel", sessionId="s"))
        recorder.stderr("no JSON\n")
        recorder.close()
        recorder.finish()
    return path


@pytest.fixture
def opened(window: Visit, terminals: Path, tmp_path: Path) -> Iterator[Visit]:
    """Opens the report page of the recording `terminals`."""
    page = window.open(report(terminals, tmp_path))
    yield page
    page.assert_quiet()


@pytest.mark.parametrize("name", ["hang", "lost-permission"])
def test_waits_are_the_largest_part_of_the_timeline(
    window: Visit, resize: Callable[[int, int], None], name: str, tmp_path: Path
) -> None:
    """If an agent hung, waits take at least half of the width of a report page's timeline."""
    page = window.open(report(DIRECTORY / f"{name}.db", tmp_path))
    for width, height in SIZES:
        resize(width, height)
        page.page.wait_for_selector(".overview-gap")
        actual = page.ask(GAPS)
        assert sum(actual["waits"]) >= 0.5
        assert max(actual["waits"]) >= 0.25
        assert actual["never"] > 0
        who = "call pytest -q" if name == "hang" else "a person: permission"
        assert any(title.startswith(f"3.0 s {who}") for title in actual["titles"])
        labels = actual["labels"]
        assert len(labels) > 4
        for at, (left, right, top, bottom) in enumerate(labels):
            for other in labels[:at]:
                is_beside = left >= other[1] - 1 or right <= other[0] + 1
                assert is_beside or top >= other[3] - 1 or bottom <= other[2] + 1, (width, other)
    page.assert_quiet()


@pytest.mark.parametrize("name", ["tour", "edit-allowed", "hang", "late-updates"])
def test_no_label_of_the_timeline_is_cut(
    window: Visit, resize: Callable[[int, int], None], name: str, tmp_path: Path
) -> None:
    """Whatever the width of the window, no label in the timeline of a report page is cut off."""
    page = window.open(report(DIRECTORY / f"{name}.db", tmp_path))
    for width, height in SIZES:
        resize(width, height)
        page.page.wait_for_function("() => document.querySelector('.overview-gap')")
        actual = page.ask(CUT)
        assert actual["cut"] == []
        # On a phone, the buttons that step through findings have a line of their own.
        assert actual["rows"] <= (1 if width >= 1000 else 2 if width > 700 else 3), width


def test_only_errors_are_red_in_the_timeline(window: Visit, tmp_path: Path) -> None:
    """If a recording has only warnings, the marks in its report page's timeline are amber."""
    page = window.open(report(DIRECTORY / "late-updates.db", tmp_path), "#view=list")
    page.page.wait_for_function("() => document.querySelector('.sign-warning') !== null")
    drawn = ["problem", "warning"]
    marks = "(name) => document.querySelector(`.mark-${name}`) !== null"
    page.page.wait_for_function(marks, arg="warning")
    assert [page.ask(marks, name) for name in drawn] == [False, True]
    assert page.page.locator(".sign-problem").count() == 0
    page.assert_quiet()


def test_the_time_until_a_late_update_is_labelled(window: Visit, tmp_path: Path) -> None:
    """If updates follow the end of a turn, a report page's timeline labels the gaps before them."""
    page = window.open(report(DIRECTORY / "late-updates.db", tmp_path))
    gaps = page.page.locator(".overview-gap.debt-0")
    assert [text for text in gaps.all_inner_texts() if text] == ["208 ms", "516 ms"]
    width = "(title) => document.querySelector(`.overview-gap[title='${title}']`).offsetWidth"
    assert page.ask(width, "208 ms") > 5 * page.ask(width, "589 µs")
    assert "0.5 s" in page.page.locator(".overview-tick").all_inner_texts()
    page.assert_quiet()


def test_a_wait_before_the_first_turn_is_named(window: Visit, tmp_path: Path) -> None:
    """The timeline of a report page says who was waited for before the first turn."""
    page = window.open(report(DIRECTORY / "tour.db", tmp_path))
    gap = page.page.locator(".overview-gap.debt-1").first
    assert gap.inner_text().split("\n") == ["507 ms", "the agent: initialize"]
    assert page.ask("() => document.querySelector('.overview-tear').getAttribute('d') !== ''")
    ticks = page.page.locator(".overview-tick").all_inner_texts()
    assert {"0.003 s", "0.51 s"} <= {*ticks}
    assert page.page.locator(".overview-unchecked").count() == 0
    page.assert_quiet()


def test_findings_that_would_touch_are_one_mark(window: Visit, tmp_path: Path) -> None:
    """If findings are close together, the timeline of a report page has one mark for them."""
    path = tmp_path / "reads.db"
    with LogWriter(path) as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[]))
        for number in range(100, 400):
            recorder.to_client(request(number, "fs/read_text_file", sessionId="s", path="/a"))
            recorder.to_agent(result(number, content=""))
        recorder.to_agent(result(1, stopReason="end_turn"))
        recorder.close()
        recorder.finish()
    page = window.open(report(path, tmp_path))
    marks = page.page.locator(".overview-mark")
    marks.first.wait_for()
    numbers = [int(text or 1) for text in marks.all_inner_texts()]
    assert sum(numbers) == page.ask("() => acpReport.state.problems.length")
    assert 1 < len(numbers) < sum(numbers)
    page.page.evaluate("() => acpReport.state.select(acpReport.recording.rows - 1)")
    marks.first.click()
    assert page.ask("() => acpReport.state.row === acpReport.state.problems[0]")
    page.assert_quiet()


def test_calls_are_filtered_and_shown(opened: Visit) -> None:
    """On a report page, a filter applies to the table of tool calls; a row opens its call."""
    page = opened.page
    page.locator("#tab-calls").click()
    page.wait_for_function(f"() => ({CALLS})().length === 2")
    assert opened.ask(CALLS) == ["execute run ✗ failed", "other look ✗ never ended"]
    assert "failed" in page.locator(".view-calls [aria-selected=true]").inner_text()
    page.locator("#filter").fill("status:failed")
    page.wait_for_function(f"() => ({CALLS})().length === 1")
    assert opened.ask(CALLS) == ["execute run ✗ failed"]
    page.locator(".view-calls .list-drawn [role=row]").click()
    card = page.locator(".detail .card")
    card.locator(".terminal").wait_for()
    text = card.inner_text()
    assert "$ pytest" in text
    assert "exit 5" in text
    assert page.locator(".view-calls .card").count() == 0


def test_numbers_in_the_detail_are_links_and_empty_tabs_are_hidden(opened: Visit) -> None:
    """In the details of a frame on a report page, numbers of frames are links.

    Tabs without content are hidden.
    """
    page = opened.page
    opened.ask("() => acpReport.state.select(acpReport.recording.nearest(4))")
    page.locator(".detail-title", has_text="#4 terminal/create").wait_for()
    page.locator(".detail p .seq", has_text="#5").click()
    page.locator(".detail-title", has_text="#5 terminal/create").wait_for()
    parts = page.locator(".detail [role=tab]:visible")
    assert parts.all_inner_texts() == ["Said", "Tree", "Bytes", "Facts"]
    opened.ask(STDERR)
    page.locator(".detail-title", has_text="stderr").wait_for()
    assert parts.all_inner_texts() == ["Said", "Bytes", "Facts"]


def test_a_narrow_screen_has_text_below_the_timeline_only_for_a_range(
    window: Visit, resize: Callable[[int, int], None], tmp_path: Path
) -> None:
    """A narrow report page has a text below its timeline only if a range of time is chosen."""
    resize(375, 700)
    page = window.open(report(DIRECTORY / "hang.db", tmp_path))
    foot = page.page.locator(".overview-foot")
    everything = foot.locator("> button")
    assert (foot.is_visible(), everything.is_visible()) == (False, False)
    page.ask("() => acpReport.state.setRange([0, 1e9])")
    assert everything.is_visible()
    everything.click()
    assert (foot.is_visible(), everything.is_visible()) == (False, False)


def test_a_waterfall_marks_a_cancel_and_steps_that_never_ended(opened: Visit) -> None:
    """The waterfall of a report page marks a cancel, and labels a step that never ended."""
    page = opened.page
    page.locator("#tab-waterfall").click()
    open_rows = page.locator(".waterfall-open .waterfall-outcome")
    open_rows.first.wait_for()
    assert open_rows.all_inner_texts() == ["never ended"]
    assert page.locator(".waterfall-cancel").is_visible()
    assert page.locator(".waterfall-keys").inner_text().split("\n")[0].startswith("agent")


def test_a_waterfall_greys_steps_that_the_filter_leaves_out(window: Visit, tmp_path: Path) -> None:
    """With a filter, the waterfall of a report page shows the steps that do not match in grey."""
    page = window.open(report(DIRECTORY / "tour.db", tmp_path), "#view=waterfall")
    rows = page.page.locator(".waterfall-row")
    rows.first.wait_for()
    greyed = page.page.locator(".waterfall-row.waterfall-left-out")
    assert greyed.count() == 0
    every = rows.count()
    page.page.locator("#filter").fill("call:call-2")
    greyed.first.wait_for()
    assert rows.count() >= every - 1  # the chip of the filter takes a line
    left = page.page.locator(".waterfall-row:not(.waterfall-left-out) b").all_inner_texts()
    assert left
    assert all("agent" not in name for name in left)
    page.page.locator("#filter").fill("")
    greyed.first.wait_for(state="detached")
    page.assert_quiet()


def test_a_question_for_a_permission_is_shown_once(window: Visit, tmp_path: Path) -> None:
    """A report page shows a permission request once, within its tool call."""
    page = window.open(report(DIRECTORY / "lost-permission.db", tmp_path))
    page.page.locator(".detail-title", has_text="#11 session/request_permission").wait_for()
    page.page.locator(".detail .card .permission").wait_for()
    assert page.page.locator(".detail .permission").count() == 1
    page.assert_quiet()


def test_an_answer_that_was_too_fast_for_a_person_is_not_a_persons(
    window: Visit, tmp_path: Path
) -> None:
    """If a permission request was answered in 340 µs, a report page says: hardly by a person."""
    page = window.open(report(DIRECTORY / "tour.db", tmp_path), "#seq=17")
    words = page.page.locator(".detail .permission > p", has_text="answered").inner_text()
    assert "answered in 340 µs, so hardly by a person" in words
    assert "the person took" not in words


def test_a_call_that_ends_after_its_turn_has_ended(window: Visit, tmp_path: Path) -> None:
    """If a tool call ends after its turn, a report page says so at the call."""
    page = window.open(report(DIRECTORY / "late-updates.db", tmp_path)).page
    call = page.locator(".view-conversation .entry-tool_call").first
    assert "in_progress" in call.inner_text()
    assert "ended after the turn (#11)" in call.inner_text()
    assert "never ended" not in page.locator("body").inner_text()
    page.locator("#tab-waterfall").click()
    outcome = page.locator(".waterfall-open .waterfall-outcome")
    outcome.wait_for()
    assert outcome.inner_text() == "ends after the turn"
    page.locator("#tab-calls").click()
    row = page.locator(".view-calls .list-drawn [role=row]")
    row.wait_for()
    assert [word in row.inner_text() for word in ("208 ms", "completed")] == [True, True]


def test_a_waterfall_shows_the_crash_and_highlights_words(window: Visit, tmp_path: Path) -> None:
    """The waterfall of a report page ends with the agent's crash, and highlights searched words."""
    page = window.open(report(DIRECTORY / "crash.db", tmp_path), "#view=waterfall&q=heap")
    steps = page.page.locator(".view-waterfall .list-drawn [role=row]")
    page.page.locator(".waterfall-outcome", has_text="SIGABRT").wait_for()
    kinds = [text.split()[0] for text in steps.all_inner_texts()]
    assert kinds == ["prompt", "message", "tool", "stderr", "stderr", "✗"]
    assert steps.last.get_attribute("aria-selected") == "true"
    page.page.wait_for_function("() => CSS.highlights.get('found').size > 0")
    marked = """() => [...CSS.highlights.get('found')].map(({ startContainer }) =>
      startContainer.parentElement.closest('.view') !== null)"""
    assert any(page.ask(marked))
    page.assert_quiet()


def test_a_sequence_highlights_searched_words(window: Visit, tmp_path: Path) -> None:
    """The sequence diagram of a report page highlights the words that its reader searches for."""
    page = window.open(report(DIRECTORY / "hang.db", tmp_path), "#view=sequence&q=greeting")
    marked = """() => [...CSS.highlights.get('found')].some(({ startContainer }) =>
      startContainer.parentElement.closest('.sequence-label'))"""
    page.page.wait_for_function(marked)
    page.assert_quiet()


def test_a_call_without_an_end_lasts_until_the_end(window: Visit, tmp_path: Path) -> None:
    """On a report page, a tool call that never ended lasts until the recording's end."""
    page = window.open(report(DIRECTORY / "hang.db", tmp_path), "#view=calls")
    cells = page.page.locator(".calls-row [role=gridcell]").all_inner_texts
    page.page.locator(".calls-row").wait_for()
    assert (cells()[2], cells()[5]) == ("4.0 s ✗", "✗ never ended")


@pytest.mark.parametrize(("name", "waits"), [
    ("crash", ["403 ms"]), ("hang", ["3.0 s", "1.0 s"]),
])  # fmt: skip
def test_a_wait_for_one_call_is_one_stretch(
    window: Visit, tmp_path: Path, name: str, waits: list[str]
) -> None:
    """In a report page's timeline, stderr and signals do not divide the wait for a tool call."""
    page = window.open(report(DIRECTORY / f"{name}.db", tmp_path)).page
    page.locator(".overview-gap.debt-2").first.wait_for()
    texts = page.locator(".overview-gap.debt-2").all_inner_texts()
    assert texts == [f"{wait}\ncall pytest -q" for wait in waits]


@pytest.mark.parametrize("view", ["list", "sequence", "waterfall", "calls"])
def test_headings_are_aligned_with_columns(window: Visit, tmp_path: Path, view: str) -> None:
    """In the lists of a report page, each column is aligned with its heading."""
    window.open(report(DIRECTORY / "tour.db", tmp_path), f"#view={view}&seq=6")
    window.page.locator(f".view-{view} .list-drawn [aria-selected=true]").wait_for()
    edges = window.ask(EDGES, view)
    assert len(edges) > 1
    assert all(head == row for head, row in edges)


@pytest.mark.parametrize("width", [960, 1024, 1100, 1440])
def test_a_list_shows_whole_names_and_links_of_answers(
    window: Visit, tmp_path: Path, width: int
) -> None:
    """In a narrow window, the list of a report page still shows times and whole methods.

    Each answer has a link to its request.
    """
    window.page.set_viewport_size({"width": width, "height": 900})
    try:
        page = window.open(report(DIRECTORY / "tour.db", tmp_path), "#view=list&seq=18").page
        row = page.locator(".view-list [aria-selected=true]")
        row.locator("text=session/request_permission").wait_for()
        assert row.locator(".list-asked").inner_text() == "↩17"
        verb = "(it) => it.scrollWidth <= it.clientWidth"
        assert row.locator(".list-verb").evaluate(verb)
        assert row.locator(".list-time").is_visible()
    finally:
        window.page.set_viewport_size(WIDE)


@pytest.mark.parametrize("name", ["crash", "hang"])
def test_a_wait_names_the_call_that_runs(window: Visit, tmp_path: Path, name: str) -> None:
    """In the timeline of a report page, a wait during a tool call names the call."""
    page = window.open(report(DIRECTORY / f"{name}.db", tmp_path))
    gaps = page.page.locator(".overview-gap.debt-2")
    gaps.first.wait_for()
    assert {text.split("\n")[1] for text in gaps.all_inner_texts()} == {"call pytest -q"}


def test_a_waterfall_has_a_key_for_all_its_bars(window: Visit, tmp_path: Path) -> None:
    """The waterfall of a report page has a legend that explains bars without an end."""
    page = window.open(report(DIRECTORY / "hang.db", tmp_path), "#view=waterfall")
    tools = page.page.locator(".waterfall-tools").inner_text()
    rows = page.page.locator(".waterfall .list-drawn .list-row").count()
    assert f", {rows} steps" in tools
    assert "tool call without an end" in tools
