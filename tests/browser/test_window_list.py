"""The page of all recordings in the live window, with a real server."""

from __future__ import annotations

import re
import shutil
import time
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.browser.test_access import RUN_AXE, axe
from tests.browser.watching import NARROW, WIDE
from tests.support.live_window import serve_window
from tests.support.log_writer import LogWriter, handshake, request, result, text
from tests.support.shipped_recordings import DIRECTORY, SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, ConsoleMessage, Page

    from tests.support.live_window import LiveWindow

__all__ = ("axe",)
ROWS = ".chat:not(.chats-top)"
SHOWN = f"{ROWS}:not([hidden])"
ORDER = "(all) => all.map((it) => it.querySelector('.chat-link').title.split('\\n')[0])"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that may read the clipboard, and that has no errors on its console at the end."""
    context = browser.new_context(viewport=WIDE)
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))

    def note(message: ConsoleMessage) -> None:
        # The server may end before the page, which then cannot load anything.
        if message.type == "error" and "net::" not in message.text:
            errors.append(message.text)

    page.on("console", note)
    page.set_default_timeout(30_000)
    yield page
    context.close()
    assert errors == []


def opened(page: Page, window: LiveWindow, more: str = "", count: int = len(SHIPPED)) -> Page:
    """Opens the list and waits until it has read all recordings."""
    page.goto(window.page("", more))
    words = re.compile(rf"(^|of ){count} in all( · \d+ running)?$")
    expect(page.locator("h1 [role=status]")).to_have_text(words, timeout=60_000)
    return page


def names(page: Page) -> list[str]:
    """Returns the names of the rows that are shown, in order."""
    shown: list[str] = page.locator(SHOWN).evaluate_all(ORDER)
    return shown


def row(page: Page, name: str) -> Any:
    """The row of a recording."""
    return page.locator(ROWS, has=page.locator(f"[aria-label='Choose {name}.db to compare']"))


def test_each_row_says_what_happened_in_words(page: Page, shipped_window: LiveWindow) -> None:
    """In the list of `web`, a row has a recording's result, prompt, agent, project and duration."""
    opened(page, shipped_window)
    expect(page.locator(SHOWN)).to_have_count(len(SHIPPED))
    cells = row(page, "crash").locator("[role=cell]").all_inner_texts()
    assert cells[1].split() == ["✗", "crashed:", "SIGABRT"]
    assert cells[2].split("\n") == ["Why does the test of the greeting fail?", "crash"]
    assert cells[3:6] == ["demo-agent 1.0", "demo-client 1.0", "acp-proxy-demo"]
    assert cells[6] == "1"
    assert re.fullmatch(r"\d+ ms", cells[7])


def test_a_row_is_a_link_to_its_recording(page: Page, shipped_window: LiveWindow) -> None:
    """In the list of `web`, a click on a row opens the recording, and so does Enter."""
    opened(page, shipped_window)
    href = row(page, "tour").locator("a").get_attribute("href")
    assert href == f"/r/tour.db#token={shipped_window.token}"
    row(page, "tour").locator(".chat-took").click(force=True)  # the link is above the cells
    page.wait_for_url("**/r/tour.db#**")
    opened(page, shipped_window)
    first, second = names(page)[:2]
    assert first != second
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(f"**/r/{second}#**")


def test_filters_are_kept_in_the_url(page: Page, shipped_window: LiveWindow) -> None:
    """Filters of the list of `web` by text, result, agent or time survive a reload of the page."""
    opened(page, shipped_window)
    page.get_by_label("Result").select_option("failed")
    page.get_by_label("Filter by prompt").fill("GREETING crash")
    expect(page.locator(SHOWN)).to_have_count(1)
    assert names(page) == ["crash.db"]
    page.wait_for_url("**text=GREETING+crash**")
    assert page.url.endswith(f"#token={shipped_window.token}&text=GREETING+crash&problem=failed")
    page.reload()
    expect(page.locator("h1 [role=status]")).to_have_text("1 of 11 in all", timeout=60_000)
    assert names(page) == ["crash.db"]
    page.get_by_label("Filter by prompt").fill("no such words")
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.locator(SHOWN)).to_have_count(len(SHIPPED))
    page.get_by_label("Time").select_option("today")
    expect(page.locator(SHOWN)).to_have_count(0)
    page.get_by_label("Time").select_option("")
    page.get_by_label("Agent").select_option("demo-agent")
    expect(page.locator(SHOWN)).to_have_count(len(SHIPPED))


def test_hits_in_all_recordings_are_links_to_their_frames(
    page: Page, shipped_window: LiveWindow
) -> None:
    """In `web`, a search in all recordings shows hits; Enter on a hit opens its frame."""
    opened(page, shipped_window)
    page.keyboard.press("f")
    page.keyboard.type("pytest -q")
    page.keyboard.press("Enter")
    status, ended = page.locator(".hits [role=status]"), re.compile(r"^3 hits in 3 recordings$")
    expect(status).to_have_text(ended, timeout=60_000)
    hit = page.locator(".hits a[href^='/r/hang.db']").first
    expect(hit).to_contain_text("#9")
    hit.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/r/hang.db#**seq=9&q=pytest+-q")
    page.go_back()
    expect(status).to_have_text(ended, timeout=60_000)
    page.keyboard.press("Escape")
    expect(page.locator(".hits")).to_be_hidden()


def test_nothing_moves_when_a_narrow_page_is_clicked_after_a_search(
    page: Page, shipped_window: LiveWindow
) -> None:
    """After a search in a narrow window of `web`, one click opens the menu of a row.

    The click does not move the row.
    """
    page.set_viewport_size(NARROW)
    opened(page, shipped_window)
    page.get_by_label("Search in all").fill("pytest -q")
    page.keyboard.press("Enter")
    expect(page.locator(".hits [role=status]")).to_contain_text("3 hits", timeout=60_000)
    row(page, "hang").get_by_label("Save or copy").click()
    expect(page.get_by_role("button", name="Save as report")).to_be_visible()


def test_a_search_is_stopped_by_escape(page: Page, shipped_window: LiveWindow) -> None:
    """On the list of `web`, Escape ends the request of a running search, and earlier hits stay."""
    opened(page, shipped_window)
    page.route("**/api/search?**", lambda _: None)  # it is never answered
    page.get_by_label("Search in all").fill("text")
    with page.expect_request("**/api/search?**") as asked:
        page.keyboard.press("Enter")
    expect(page.locator(".hits [role=status]")).to_contain_text("searching…")
    with page.expect_event("requestfailed", lambda it: it == asked.value):
        page.keyboard.press("Escape")
    expect(page.locator(".hits [role=status]")).to_have_text("0 hits; stopped")


def test_two_ticked_recordings_are_compared_in_a_new_tab(
    page: Page, shipped_window: LiveWindow
) -> None:
    """In the list of `web`, two ticked recordings can be compared on a page in a new tab.

    A third tick removes the first one.
    """
    opened(page, shipped_window)
    button = page.get_by_role("button", name="compare", exact=False).last
    expect(button).to_be_disabled()
    for name in ("crash", "edit-rejected", "edit-allowed"):  # the third unticks the first
        row(page, name).locator("input").check()
    expect(row(page, "crash").locator("input")).not_to_be_checked()
    with page.expect_popup() as popup:
        page.get_by_role("button", name="Compare", exact=True).click()
    compared, problems = popup.value, list[str]()
    compared.on("pageerror", lambda error: problems.append(str(error)))
    compared.wait_for_url("blob:**", timeout=60_000)
    expect(compared.locator("body")).to_contain_text("edit-allowed")
    compared.locator(".change").first.get_by_label("Next difference").click()
    expect(compared.locator(":target")).to_have_id("change-2")
    padding = compared.evaluate("() => getComputedStyle(document.body).marginTop")
    assert padding == "0px"  # the style applies
    assert problems == []


@pytest.mark.parametrize(("form", "file"), [("report", "tour.html"), ("text form", "tour.jsonl")])
def test_a_recording_is_saved_with_the_name_of_the_server(
    page: Page, shipped_window: LiveWindow, tmp_path: Path, form: str, file: str
) -> None:
    """In `web`, a report or text form is saved under a file name that the page then shows.

    The report is saved from the recording's own page, the text form from the list.
    """
    if form == "report":
        page.goto(shipped_window.page("tour.db"))
        button = page.get_by_role("button", name="Save report")
    else:
        opened(page, shipped_window)
        row(page, "tour").get_by_label("Save or copy").click()
        button = page.get_by_role("button", name=f"Save as {form}")
    with page.expect_download(timeout=60_000) as saved:
        button.click()
    assert saved.value.suggested_filename == file
    saved.value.save_as(tmp_path / file)
    text = (tmp_path / file).read_text()
    assert ("</html>" in text) == (form == "report")
    assert ("session/prompt" in text) == (form != "report")
    expect(page.locator(".task [role=status]")).to_have_text(f"Saved as {file}.")


def test_a_copy_is_made_one_at_a_time_and_can_be_cancelled(
    page: Page, shipped_window: LiveWindow
) -> None:
    """While `web` saves a recording, it refuses another save; a button cancels the first one."""
    opened(page, shipped_window)
    page.route("**/api/save?**", lambda _: None)  # it is never answered
    menu, status = (
        row(page, "tour").get_by_label("Save or copy"),
        page.locator(".task [role=status]"),
    )
    menu.click()
    with page.expect_request("**/api/save?**") as asked:
        page.get_by_role("button", name="Save as report").click()
    expect(status).to_have_text("Making the report of tour.db…")
    menu.click()
    page.get_by_role("button", name="Save as text form").click()
    expect(status).to_contain_text("One at a time")
    with page.expect_event("requestfailed", lambda it: it == asked.value):
        page.get_by_role("button", name="Cancel").click()
    expect(status).to_have_text("Cancelled.")


def test_a_command_is_copied_in_quotes(page: Page, live_window: LiveWindow) -> None:
    """The command that `web` copies for a recording has the file name in quotes.

    A name with control characters is not copied.
    """
    shutil.copy(DIRECTORY / "hello.db", live_window.directory / "it's here.db")
    shutil.copy(DIRECTORY / "hello.db", live_window.directory / "new\nline.db")
    opened(page, live_window, count=2)
    for _ in "ab":
        page.keyboard.press("ArrowDown")
    for name, words in (("it's here", "Copied: acp-proxy show"), ("line", "Not copied")):
        named = page.locator(ROWS, has=page.locator(f'[aria-label*="{name}.db to compare"]'))
        named.locator("summary").press("Enter")
        named.get_by_role("button", name="acp-proxy show").press("Enter")
        expect(page.locator(".task [role=status]")).to_contain_text(words)
    quoted = f"{live_window.directory}/it'\"'\"'s here.db"
    assert page.evaluate("() => navigator.clipboard.readText()") == f"acp-proxy show '{quoted}'"


def test_the_list_follows_its_directory(page: Page, live_window: LiveWindow) -> None:
    """If recordings come or go in the directory, the list of `web` changes, and the focus stays."""
    opened(page, live_window, count=0)
    expect(page.locator(".empty:visible")).to_contain_text("acp-proxy record --")
    for name in ("hello", "tour"):
        shutil.copy(DIRECTORY / f"{name}.db", live_window.directory)
    expect(page.locator(SHOWN)).to_have_count(2)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert names(page) == ["tour.db", "hello.db"]
    page.evaluate(f"() => {{ window.kept = document.querySelectorAll('{SHOWN}')[1]; }}")
    shutil.copy(DIRECTORY / "hang.db", live_window.directory)
    expect(page.locator(SHOWN)).to_have_count(3)
    assert names(page) == ["hang.db", "tour.db", "hello.db"]
    assert page.evaluate("() => window.kept.contains(document.activeElement)")
    (live_window.directory / "tour.db").unlink()
    expect(page.locator(SHOWN)).to_have_count(2)
    assert names(page) == ["hang.db", "hello.db"]
    assert page.evaluate("() => window.kept.contains(document.activeElement)")


def test_a_running_recording_comes_first_and_says_who_is_waited_for(
    page: Page, live_window: LiveWindow
) -> None:
    """In the list of `web`, a running recording comes first, and its row says who has to act."""
    shutil.copy(DIRECTORY / "hello.db", live_window.directory)
    path, now = live_window.directory / "a.db", {"wall": time.time_ns()}
    with LogWriter(path, **now, origin=time.monotonic_ns()) as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        prompt = [text("fix the test")]
        recorder.to_agent(request(2, "session/prompt", sessionId="s", prompt=prompt))
        opened(page, live_window, count=2)
        first = page.locator(SHOWN).first
        expect(first).to_contain_text("agent")
        expect(first).to_contain_text("fix the test")
        assert page.title() == "● 1 running · Recordings"
        page.get_by_label("Result").select_option("running")
        assert names(page) == ["a.db"]
        page.get_by_label("Result").select_option("")
    expect(page.locator(SHOWN, has_text="running")).to_have_count(0, timeout=60_000)
    expect(page).to_have_title("Recordings")


def test_the_list_goes_on_after_a_restart_of_the_server(browser: Browser, tmp_path: Path) -> None:
    """If the server of `web` ends, its list shows that the connection is lost.

    When the server runs again, the list shows all changes.
    """
    directory, state = tmp_path / "recordings", tmp_path / "state"
    directory.mkdir()
    shutil.copy(DIRECTORY / "hello.db", directory)
    page = browser.new_context().new_page()
    with serve_window(directory, state) as window:
        opened(page, window, count=1)
    expect(page.locator(".message.trouble")).to_contain_text("connection is lost")
    (directory / "hello.db").unlink()
    shutil.copy(DIRECTORY / "tour.db", directory)
    with serve_window(directory, state) as again:
        assert again.url == window.url
        expect(page.locator(".message.trouble")).to_be_hidden(timeout=60_000)
        expect(page.locator(SHOWN)).to_have_count(1)
        assert names(page) == ["tour.db"]
    page.context.close()


def test_recorded_text_is_only_text(page: Page, live_window: LiveWindow, hostile: Path) -> None:
    """If recordings contain HTML or scripts, the list of `web` shows them only as text."""
    shutil.copy(hostile, live_window.directory)
    opened(page, live_window, count=1)
    known = "a, bdi, button, details, div, h1, input, label, span, summary, time"
    strange = page.locator(".chats *").evaluate_all(
        "(all, known) => all.filter((it) => !it.matches(known)).map((it) => it.outerHTML)", known
    )
    assert strange == []


def test_a_thousand_recordings_are_usable(page: Page, shipped_window: LiveWindow) -> None:
    """If one of a thousand recordings changes, the list of `web` rewrites only that row.

    A filter by text shows its rows in less than a second.
    """
    opened(page, shipped_window)
    took = page.evaluate(
        """async () => {
      const list = window.acpRecordings;
      const [{ entry }] = list.rows.values();
      const some = Array.from({ length: 1000 }, (_, at) => ({ ...entry, name: `${at}.db`,
        prompt: `number ${at}` }));
      const send = (recordings) =>
        list.take({ recordings, removed: [], complete: true, unredacted: false });
      const measure = (act) => {
        const began = performance.now();
        act();
        list.draw();
        document.body.getBoundingClientRect();
        return performance.now() - began;
      };
      const all = measure(() => send(some));
      const written = new Set();
      new MutationObserver((changes) => changes.forEach(({ target }) =>
        written.add(target.closest?.(".chats-body > *")))).observe(list.body,
          { subtree: true, childList: true, attributes: true, characterData: true });
      const one = measure(() => send([{ ...some[500], turns: 7 }]));
      await new Promise((done) => setTimeout(done, 0));
      const rows = [...written].filter(Boolean).length;
      const filtered = measure(() => list.set({ text: "number 77" }));
      return { all, one, rows, filtered, shown: document.querySelectorAll(
        ".chats-body > :not([hidden])").length };
    }"""
    )
    assert took["rows"] <= 1
    assert took["shown"] == 19
    assert took["filtered"] < 1000


@pytest.mark.parametrize(("scheme", "size"), [("light", WIDE), ("dark", NARROW)])
def test_axe_finds_nothing_serious_in_the_list(
    page: Page, shipped_window: LiveWindow, axe: str, scheme: Any, size: Any
) -> None:
    """The accessibility checker axe finds no serious problem in the list of `web`."""
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(size)
    opened(page, shipped_window, "&q=pytest".removeprefix("&"))
    expect(page.locator(".hits a").first).to_be_visible(timeout=60_000)
    row(page, "tour").get_by_label("Save or copy").click()
    row(page, "tour").locator("input").check()
    page.evaluate(axe + ";() => 0")
    assert page.evaluate(RUN_AXE, False) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= size["width"]
