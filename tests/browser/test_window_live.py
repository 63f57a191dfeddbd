"""The page of one recording in the live window, while the recording grows and after its end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.store.queries.frames import last_number
from acp_proxy.store.reader import RecordingReader
from tests.browser.truth import report, told
from tests.browser.watching import WIDE, Visit
from tests.support.hanging_chat import hanging_chat
from tests.support.live_window import serve_window
from tests.support.log_writer import LogWriter, handshake, request, result, text, update
from tests.support.million_frames import FRAMES, record_million

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from tests.browser.watching import Visitor
    from tests.support.live_window import LiveWindow

LONG_MS = 300_000
ROWS = "() => window.acpReport?.recording.rows ?? 0"
SEQS = """() => {
  const { recording } = window.acpReport;
  return Array.from({ length: recording.rows }, (_, row) => recording.numbers("seq").at(row));
}"""
HAS_ROWS = "(count) => (window.acpReport?.recording.rows ?? 0) >= count"
IS_OVER = """() => {
  const meta = window.acpReport?.recording.meta;
  return meta && !meta.partial && !meta.summary.live;
}"""


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that has no uncaught errors at the end."""
    context = browser.new_context(viewport=WIDE)
    page, errors = context.new_page(), list[str]()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.set_default_timeout(LONG_MS)
    yield page
    context.close()
    assert errors == []


class Chat:
    """A recorded conversation between a real recorder and an agent that sends chunks at a rate."""

    def __init__(self, path: Path, rate: int, seconds: int) -> None:
        agent = [sys.executable, "-m", "tests.agents.paced_agent", str(rate), str(seconds)]
        words = [sys.executable, "-m", "acp_proxy", "record", "-o", str(path), "--", *agent]
        self.chunks = rate * seconds
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        info = {"name": "test", "version": "1"}
        self.ask("initialize", protocolVersion=1, clientCapabilities={}, clientInfo=info)
        self.ask("session/new", cwd="/srv", mcpServers=[])

    def ask(self, method: str, **params: Any) -> None:
        """Sends a request and reads up to its answer."""
        self.send(method, **params)
        self.read_answer()

    def send(self, method: str, **params: Any) -> None:
        """Sends a request."""
        assert self.process.stdin is not None
        message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def read_answer(self) -> None:
        """Reads lines of the agent up to an answer."""
        assert self.process.stdout is not None
        while b'"id"' not in self.process.stdout.readline():
            pass

    def prompt(self) -> None:
        """Sends the prompt, after which the chunks come."""
        self.send("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "go"}])

    def end(self) -> None:
        """Leaves, as a client does that closes its end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(60) == 0
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.mark.parametrize(
    ("rate", "seconds"),
    [
        (1_000, 10),
        (5_000, 5),
        pytest.param(1_000, 60, marks=pytest.mark.soak),
        pytest.param(5_000, 60, marks=pytest.mark.soak),
    ],
)
def test_no_row_of_a_fast_chat_is_lost_or_doubled(
    page: Page, live_window: LiveWindow, rate: int, seconds: int
) -> None:
    """While an agent sends many chunks per second, `web` shows each frame once and in order.

    After a minute, the page has grown by at most 40 B for each frame.
    """
    path = live_window.directory / "chat.db"
    chat = Chat(path, rate, seconds)
    page.goto(live_window.page("chat.db", "view=list"))
    page.wait_for_function(HAS_ROWS, arg=5)
    before = heap_size(page)
    chat.prompt()
    chat.read_answer()
    chat.end()
    page.wait_for_function(IS_OVER)
    with RecordingReader(path) as reader:
        seqs = [row["seq"] for row in reader.rows()]
    assert len(seqs) > chat.chunks
    page.wait_for_function(HAS_ROWS, arg=len(seqs))
    assert page.evaluate(SEQS) == seqs
    if seconds >= 60:
        assert (heap_size(page) - before) / len(seqs) <= 40


@pytest.mark.soak
def test_a_finished_recording_of_a_million_frames(page: Page, live_window: LiveWindow) -> None:
    """`web` shows a finished recording of a million frames in at most 40 B of memory a frame."""
    page.set_default_timeout(10 * LONG_MS)
    record_million(live_window.directory / "short.db", 1000)
    path = record_million(live_window.directory / "long.db")
    page.goto(live_window.page("short.db", "view=list"))
    page.wait_for_function(IS_OVER)
    before = heap_size(page)
    page.goto(live_window.page("long.db", "view=list"))
    page.wait_for_function(IS_OVER)
    with RecordingReader(path) as reader:
        last = last_number(reader)
    assert last > FRAMES
    page.wait_for_function(HAS_ROWS, arg=last)
    assert page.evaluate(SEQS) == [*range(1, last + 1)]
    assert (heap_size(page) - before) / last <= 40


def heap_size(page: Page) -> int:
    """Returns the bytes that a page needs for its scripts' values, after garbage was collected."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    session.detach()
    return int(usage["usedSize"] + usage["backingStorageSize"])


def written(path: Path) -> Iterator[LogWriter]:
    """Writes a conversation in three steps, and yields the writer after each step.

    The conversation starts at the present time, so that its waits are short.
    """
    with LogWriter(path, began_ns=time.monotonic_ns()) as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
        recorder.to_client(result(1, sessionId="s"))
        recorder.to_agent(request(2, "session/prompt", sessionId="s", prompt=[text("fix it")]))
        yield recorder
        for word in ("I ", "will ", "run ", "it."):
            recorder.to_client(update("s", "agent_message_chunk", content=text(word)))
        call = {"toolCallId": "c", "title": "pytest -q"}
        recorder.to_client(update("s", "tool_call", status="in_progress", **call))
        recorder.t_ns += 3 * 10**9
        yield recorder
        recorder.to_client(update("s", "tool_call_update", toolCallId="c", status="failed"))
        recorder.to_client(result(2, stopReason="end_turn"))
        recorder.end()
        yield recorder
        recorder.close()
        recorder.finish()


def test_a_page_that_was_open_equals_a_new_page_and_the_report(
    page: Page, live_window: LiveWindow, visit: Visitor, tmp_path: Path
) -> None:
    """A page of `web` that was open while a chat ran has the data of the chat's report page."""
    path = live_window.directory / "chat.db"
    steps = written(path)
    next(steps)
    page.goto(live_window.page("chat.db"))
    for count in (5, 10):
        page.wait_for_function(HAS_ROWS, arg=count)
        next(steps)
    assert list(steps) == []
    page.wait_for_function(IS_OVER)
    grown = told(Visit(page))
    fresh = told(Visit(page).open_url(live_window.page("chat.db")))
    report = tmp_path / "report.html"
    command = [sys.executable, "-m", "acp_proxy", "report", str(path), "-o", str(report)]
    subprocess.run(command, check=True, capture_output=True)
    shown = told(visit(report))
    for page_data in (grown, fresh):
        assert page_data.frames == shown.frames
        assert page_data.lines == shown.lines
        assert page_data.texts == shown.texts
        assert page_data.exchanges == shown.exchanges
        assert page_data.meta["summary"]["problems"] == shown.meta["summary"]["problems"]
        assert page_data.meta["waterfalls"] == shown.meta["waterfalls"]


def test_a_page_survives_a_restart_of_its_server(page: Page, tmp_path: Path) -> None:
    """After a restart of `acp-proxy web`, an open page goes on and shows no row twice.

    The chosen frame stays chosen.
    """
    directory = tmp_path / "recordings"
    directory.mkdir()
    steps = written(directory / "chat.db")
    next(steps)
    with serve_window(directory, tmp_path / "state") as window:
        page.goto(window.page("chat.db", "seq=4"))
        page.wait_for_function(HAS_ROWS, arg=5)
        next(steps)
        page.wait_for_function(HAS_ROWS, arg=10)
    next(steps)
    with serve_window(directory, tmp_path / "state") as window:
        assert window.page("chat.db").startswith(page.url.partition("&")[0])
        page.wait_for_function(HAS_ROWS, arg=13)
        assert list(steps) == []
        page.wait_for_function(IS_OVER)
        count = page.evaluate(ROWS)
        assert page.evaluate(SEQS) == [*range(1, count + 1)]
        assert page.evaluate("() => window.acpReport.state.seq") == 4


def test_a_page_keeps_what_it_has_if_the_recording_is_deleted(
    page: Page, live_window: LiveWindow
) -> None:
    """If a recording is deleted, its open page in `web` says so and keeps its rows."""
    path = live_window.directory / "chat.db"
    assert len([*written(path)]) == 3
    page.goto(live_window.page("chat.db"))
    page.wait_for_function(IS_OVER)
    count = page.evaluate(ROWS)
    path.unlink()
    page.get_by_text("no longer there").wait_for()
    assert page.evaluate(ROWS) == count


def test_a_killed_recorder_ends_the_chat_of_a_page(page: Page, live_window: LiveWindow) -> None:
    """If a recorder is killed, its page in `web` shows that the chat is over, and all frames."""
    path = live_window.directory / "chat.db"
    chat = Chat(path, 200, 1)
    page.goto(live_window.page("chat.db"))
    page.wait_for_function(HAS_ROWS, arg=5)
    chat.prompt()
    page.wait_for_function(HAS_ROWS, arg=20)
    chat.process.send_signal(signal.SIGKILL)
    chat.process.communicate(timeout=60)
    page.wait_for_function(IS_OVER)
    with RecordingReader(path) as reader:
        seqs = [row["seq"] for row in reader.rows()]
    page.wait_for_function(HAS_ROWS, arg=len(seqs))
    assert page.evaluate(SEQS) == seqs


HIDE = """(isHidden) => {
  Object.defineProperty(document, "hidden", { value: isHidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
NOTED = """window.noted = [];
window.Notification = class {
  static permission = "granted";
  constructor(title, { body }) { window.noted.push([title, body]); }
};"""


def test_a_hidden_tab_shows_all_rows_when_it_is_seen_again(
    page: Page, live_window: LiveWindow
) -> None:
    """A hidden tab of `web` draws no rows, and shows each row once when the tab is seen again.

    The title of a hidden tab still says who is waited for.
    """
    steps = written(live_window.directory / "chat.db")
    next(steps)
    page.goto(live_window.page("chat.db", "view=list"))
    page.wait_for_function(HAS_ROWS, arg=5)
    page.evaluate(HIDE, True)
    shown = page.evaluate(ROWS)
    next(steps)
    page.wait_for_function("() => document.title.startsWith('call ')")
    assert page.evaluate(ROWS) == shown
    page.evaluate(HIDE, False)
    page.wait_for_function(HAS_ROWS, arg=10)
    assert len([*steps]) == 1
    page.wait_for_function(IS_OVER)
    assert page.evaluate(SEQS) == [*range(1, page.evaluate(ROWS) + 1)]


def test_a_hang_is_seen_in_bar_title_icon_and_notification(
    page: Page, live_window: LiveWindow
) -> None:
    """If an agent is silent for too long, its page in `web` says so in its bar, title and icon.

    The browser also shows one notification.
    """
    page.add_init_script(NOTED)
    with hanging_chat(live_window.directory / "chat.db") as chat:
        page.goto(live_window.page("chat.db"))
        page.wait_for_function("() => window.noted.length > 0")
        page.locator("#bar[data-tone=trouble] .wait.trouble").wait_for()
        assert re.search(r"silent \d+ s|silent \d min", page.title())
        page.wait_for_function("() => document.title.startsWith('✗ 1 · silent')")
        icon = page.locator("#icon")
        assert icon.get_attribute("href") == icon.get_attribute("data-trouble")
        chat.to_client(result(2, stopReason="end_turn"))
        page.locator("#bar[data-tone=good]").wait_for()
        assert icon.get_attribute("href") == icon.get_attribute("data-good")
    ((name, words),) = page.evaluate("() => window.noted")
    assert name == "chat.db"
    assert re.fullmatch(r"agent silent .*, prompt #6 open", words)


PRESENT = """() => {
  const row = document.querySelector(".entry-pause:has(.now)");
  return row && getComputedStyle(row.querySelector(".now"), "::before").content + row.textContent;
}"""


def test_a_present_wait_has_the_clock_of_the_bar_and_a_report_its_length(
    page: Page, live_window: LiveWindow, tmp_path: Path
) -> None:
    """While a wait continues, `web` shows the same seconds in its row and in the bar of the page.

    A report page of the chat shows the length of the wait.
    """
    path = live_window.directory / "chat.db"
    with hanging_chat(path):
        page.goto(live_window.page("chat.db"))
        page.wait_for_function(f"() => /so far/.test(({PRESENT})())")
        clock = "document.querySelector('.clock').textContent"
        bar, row = page.evaluate(f"() => [{clock}, ({PRESENT})()]")
        assert row.startswith(f'"{bar} so far" · waiting for ')
        made = report(path, tmp_path)
    page.goto(made.as_uri())
    pause = page.locator(".entry-pause").last
    pause.wait_for()
    assert re.fullmatch(r"(\d+\.\d s|\d min \d+ s) · waiting for .+", pause.inner_text())


def test_a_url_that_is_pasted_into_an_open_page_is_opened(
    page: Page, live_window: LiveWindow
) -> None:
    """If a page of `web` lacks the token, it opens as soon as the URL with the token is pasted."""
    assert len([*written(live_window.directory / "chat.db")]) == 3
    url = live_window.page("chat.db")
    page.goto(url.partition("#")[0])
    page.get_by_text("This address has no token").wait_for()
    page.evaluate("(url) => location.assign(url)", url)
    page.wait_for_function(IS_OVER)
    page.get_by_text("the recording has ended").wait_for()


def test_three_chats_in_three_tabs(browser: Browser, live_window: LiveWindow) -> None:
    """Three pages of `web` can show three growing recordings at the same time."""
    names = ("a.db", "b.db", "c.db")
    chats = [written(live_window.directory / name) for name in names]
    for steps in chats:
        next(steps)
    context = browser.new_context()
    pages = [context.new_page() for _ in names]
    for tab, name in zip(pages, names, strict=True):
        tab.goto(live_window.page(name))
    for number, steps in enumerate(chats):
        for _ in range(number):
            next(steps)
    counts = (6, 11, 16)
    for tab, count, name in zip(pages, counts, names, strict=True):
        tab.bring_to_front()
        tab.wait_for_function(HAS_ROWS, arg=count - 1, timeout=LONG_MS)
        assert name.removesuffix(".db") in tab.title()
    for steps in chats:
        assert all(steps)
    for tab in pages:
        tab.bring_to_front()
        tab.wait_for_function(IS_OVER, timeout=LONG_MS)
    assert len({tab.evaluate(ROWS) for tab in pages}) == 1
    context.close()
