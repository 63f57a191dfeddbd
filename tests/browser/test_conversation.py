"""A report page shows the conversation as `transcript` prints it, however long it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.wording import counted
from acp_proxy.explain.pauses import Pauses
from acp_proxy.recording.log_format import STDERR
from acp_proxy.store.reader import RecordingReader
from tests.browser.hostile import ADDRESSES, PAYLOADS, TAGS, record_hostile
from tests.browser.test_hostile import assert_unharmed
from tests.browser.truth import database_of, report, said
from tests.browser.watching import WIDE
from tests.support.captures import all_text_forms
from tests.support.images import SHOWN, image, png
from tests.support.log_writer import LogWriter, notification, request, result, text
from tests.support.shipped_recordings import DIRECTORY, REPORTS, SHIPPED
from tests.support.waiting_chat import record_waiting_chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.browser.watching import Visit

CALLS = 3_000
TELLING = ("crash", "lost-permission", "terminal", "tour", "wrong-params", "codex-acp-2.6.0")
"""Recordings that together have an entry of each kind."""
MOST_NODES = 500
FOLDED_HEIGHT = 40
READ_ALL = """async (opened) => {
  const flow = document.querySelector(".flow");
  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  const found = new Map();
  const isReady = () => document.querySelector(".flow .entry-pending") === null;
  for (let last = -1; flow.scrollTop !== last; flow.scrollTop += flow.clientHeight * 0.8) {
    const least = last < 0 ? 5 : 2;  // the page may still scroll to the chosen entry
    for (let tries = 0; tries < 200 && (tries < least || !isReady()); tries++) {
      if (last < 0) flow.scrollTop = 0;
      await frame();
    }
    const closed = [...flow.querySelectorAll("details:not([open]) > summary")].slice(0, opened);
    for (const it of closed) it.click();
    opened -= closed.length;
    for (let n = 0; closed.length > 0 && n < 6; n++) await frame();
    last = flow.scrollTop;
    for (const it of flow.querySelectorAll("article")) {
      const images = [...it.querySelectorAll("img")];
      if (found.has(Number(it.dataset.index)) && images.length === 0) continue;
      await Promise.all(images.map((one) => one.decode().catch(() => {})));
      found.set(Number(it.dataset.index), {
        classes: [...it.classList], text: it.innerText,
        pauses: [...it.querySelectorAll(".entry-pause")].map((one) => one.textContent),
        height: (it.querySelector(":scope > .entry-line") ?? it).offsetHeight,
        open: it.querySelector(":scope > .entry-line > details")?.open ?? null,
        images: images.map((one) => [one.naturalWidth, one.naturalHeight]),
      });
    }
  }
  return [...found].sort(([a], [b]) => a - b).map(([, it]) => it);
}"""
OF_ROWS = """async () => {
  const { state, recording } = window.acpReport;
  const current = () => document.querySelector("article[aria-current]");
  const found = [];
  for (let row = 0; row < recording.rows; row++) {
    state.select(row);
    for (let n = 0; n < 2; n++) await new Promise((done) => requestAnimationFrame(done));
    found.push(current()?.querySelector(".seq")?.textContent ?? null);
  }
  return found;
}"""
CURRENT = """() => {
  const [it, list] = ["article[aria-current]", ".flow"].map((name) => document.querySelector(name));
  const [own, whole] = [it.getBoundingClientRect(), list.getBoundingClientRect()];
  return own.top >= whole.top && own.bottom <= whole.bottom ? it.innerText : "it is not seen";
}"""
IN_WINDOW = """() => {
  const current = document.querySelector("article[aria-current]");
  const { top, bottom } = current?.getBoundingClientRect() ?? {};
  return top >= 0 && bottom <= innerHeight && window.acpReport !== undefined;
}"""
FINDINGS = """() => [...document.querySelectorAll(".entry")].flatMap((entry) => {
  const found = [...entry.querySelectorAll(":scope > .finding")].map((line) => [
    line.querySelector("[role=img]").ariaLabel, line.textContent.replace(/^. /, ""),
  ]);
  const seq = entry.querySelector(".entry-place .seq")?.textContent.slice(1);
  return found.length > 0 ? [[Number(seq), found]] : [];
})"""
MARKED = """(box) => [...(CSS.highlights.get("found") ?? [])]
  .filter(({ startContainer }) => startContainer.parentElement.closest(box))
  .map(({ startContainer, startOffset, endOffset }) =>
    startContainer.data.slice(startOffset, endOffset))"""
READY = "() => document.querySelector('.flow .entry:not(.entry-pending)') !== null"


def opened(window: Visit, recording: Path, directory: Path, *words: str) -> Visit:
    """Opens the report page of a recording, and waits until it shows the conversation."""
    page = window.open(report(recording, directory, *words))
    page.page.wait_for_function(READY)
    return page


def updates(session: str, *contents: Any) -> Iterator[dict[str, Any]]:
    """Yields chunks of agent messages with the given contents."""
    for content in contents:
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        yield notification("session/update", sessionId=session, update=update)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in TELLING else [pytest.mark.soak])
        for path in [*SHIPPED, *all_text_forms()]
    ],
)
def test_the_page_has_the_steps_of_transcript(window: Visit, path: Path, tmp_path: Path) -> None:
    """A report page shows the same steps of a conversation as `transcript`, in the same order."""
    database = database_of(path, tmp_path)
    page = opened(window, database, tmp_path)
    drawn = page.ask(READ_ALL, 0)
    expected = [item for item in said("transcript", database) if item["type"] != "finding"]
    assert [it["classes"][1] for it in drawn] == [
        f"entry-{item.get('kind', 'section')}" for item in expected
    ]
    calls = [item for item in expected if item.get("kind") == "tool_call"]
    in_cards = {block["text"]["start"] for call in calls for block in call["blocks"]}
    kinds = [item.get("kind") for item in expected] + [None]
    for place, (it, item) in enumerate(zip(drawn, expected, strict=True)):
        words = " ".join(it["text"].split())
        if item["type"] == "section":
            assert f"Turn {item['turn']}: {item['state']}" in words or item["turn"] is None
            steps = kinds.index(None, place + 1) - place - 1
            heading = f"History, loaded by #{item['loaded_by']} · {counted(steps, 'step')}"
            assert (heading in words) == (item["loaded_by"] is not None)
            continue
        assert ("past" in it["classes"]) == ("history" in item["remarks"])
        assert f"#{item['seq']}" in words
        assert " ".join((item["title"] or item["state"]).split())[:20] in words
        if item["kind"] in ("tool_call", "terminal", "thought", "request", "stderr"):
            is_loud = item["kind"] == "tool_call" or (
                item["kind"] == "terminal" and f"terminal {item['id']}" not in in_cards
            )
            assert it["open"] == (item["is_failed"] and is_loud)
            assert item["is_failed"] or it["height"] <= FOLDED_HEIGHT
        if item["kind"] in ("prompt", "message") and item["blocks"]:
            assert item["blocks"][0]["text"]["start"].split()[0].strip("#*`_-") in words
    page.assert_quiet()


def test_pauses_stand_where_the_conversation_stood_still(window: Visit, tmp_path: Path) -> None:
    """A report page shows each marked pause before the step that came after the pause."""
    path = record_waiting_chat(tmp_path / "x.db").path
    drawn = opened(window, path, tmp_path).ask(READ_ALL, 0)
    with RecordingReader(path) as reader:
        expected = [f"waiting for {pause.awaited}" for pause in Pauses(reader).every(None)]
    shown = [(it["classes"][1], words) for it in drawn for words in it["pauses"]]
    assert [re.sub("^[^·]+ · | · never ended$", "", words) for _, words in shown] == expected
    assert [name.removeprefix("entry-") for name, _ in shown] == [
        "permission", "request", "message", "section", "permission",
    ]  # fmt: skip


def test_the_entry_of_each_frame_is_marked(window: Visit, tmp_path: Path) -> None:
    """If a frame is chosen on a report page, the step that shows the frame is marked."""
    path = DIRECTORY / "tour.db"
    page = opened(window, path, tmp_path)
    marked = page.ask(OF_ROWS)
    entries = [item for item in said("transcript", path) if item["type"] == "entry"]
    spans = {f"#{item['seq']}": item for item in entries}
    rows = said("log", path)
    for row, results in zip(rows, marked, strict=True):
        if results is None:
            assert row.get("event") or "available_commands" in str(row["message"])
        else:
            assert spans[results]["seq"] <= row["seq"] <= spans[results]["last_seq"]
    calls = {row["seq"]: row["tool_call"] for row in rows if row.get("tool_call")}
    for row, results in zip(rows, marked, strict=True):
        if row.get("tool_call") and row["kind"] == "notification":
            assert calls[int(results[1:])] == row["tool_call"]


@pytest.mark.parametrize("name", ["wrong-params", "late-updates", "hang"])
def test_findings_stand_at_their_entries(window: Visit, name: str, tmp_path: Path) -> None:
    """On a report page, each finding is shown once at its step."""
    path = DIRECTORY / f"{name}.db"
    page = opened(window, path, tmp_path)
    (shown,) = said("show", path)
    entries = [item for item in said("transcript", path) if item["type"] == "entry"]
    expected: dict[int, set[tuple[str, str]]] = {}
    for problem in shown["problems"]:
        at = [it["seq"] for it in entries if it["seq"] <= problem["seq"] <= it["last_seq"]]
        if problem["severity"] != "info":
            expected.setdefault(at[0], set()).add((problem["severity"], problem["text"]))
    page.page.set_viewport_size({"width": 1280, "height": 3000})
    page.page.wait_for_function("(n) => document.querySelectorAll('.entry .finding').length >= n",
                                arg=sum(map(len, expected.values())))  # fmt: skip
    results = page.ask(FINDINGS)
    assert {seq: {(kind, text) for kind, text in own} for seq, own in results} == expected
    page.page.set_viewport_size(WIDE)
    page.assert_quiet()


@pytest.mark.parametrize(
    ("kind", "sent", "answered"),
    [("permission", "allow_always", '"optionId"'), ("request", '"clientCapabilities"', '"result"')],
)
def test_an_opened_entry_shows_what_was_sent_and_answered(
    window: Visit, tmp_path: Path, kind: str, sent: str, answered: str
) -> None:
    """On a report page, an opened request shows what was sent and the answer."""
    page = opened(window, DIRECTORY / "edit-allowed.db", tmp_path)
    entry = page.page.locator(f".entry-{kind}").first
    entry.locator("summary").first.click()
    blocks = entry.locator(".entry-content > .block")
    blocks.nth(0).filter(has_text=sent).wait_for()
    blocks.nth(1).filter(has_text=answered).wait_for()
    assert entry.locator(".entry-content > .block > .block-label").all_inner_texts() == [
        "sent",
        "answer",
    ]
    page.assert_quiet()


def test_searched_words_are_marked_where_they_stand(window: Visit, tmp_path: Path) -> None:
    """A report page highlights the words of the search, or without a search those of the filter."""
    page = opened(window, DIRECTORY / "tour.db", tmp_path)
    page.ask("() => acpReport.state.select(acpReport.recording.nearest(13))")
    page.page.locator("#search").fill("greet someone")
    page.page.wait_for_function(f"() => ({MARKED})('.detail').length === 1")
    assert {*page.ask(MARKED, ".view-conversation")} == {"greet someone"}
    sign = page.page.locator("article[aria-current] .sign-hit")
    sign.wait_for()
    assert sign.get_attribute("aria-label") == "found"
    page.ask("() => acpReport.state.set('view', 'list')")
    page.page.wait_for_function(f"() => ({MARKED})('.view-list').length > 0")
    page.page.locator("#search").fill("session")
    page.page.wait_for_function(f"() => ({MARKED})('.view-list').length > 1")
    assert {words.lower() for words in page.ask(MARKED, ".view-list")} == {"session"}
    page.page.locator("#search").fill("grep")
    page.ask("() => acpReport.state.set('view', 'calls')")
    page.page.wait_for_function(f"() => ({MARKED})('.view-calls').length === 2")
    marked = page.page.locator(".view-calls .list-row:has(.sign-hit) [role=gridcell]:first-child")
    marked.nth(1).wait_for()
    assert marked.all_inner_texts() == ["#25", "#50"]
    page.page.locator("#search").fill("")
    page.page.wait_for_function(f"() => ({MARKED})('.view-calls').length === 0")
    page.ask("() => acpReport.state.set('view', 'list')")
    page.page.locator("#filter").fill("GREP or text:create")
    page.page.wait_for_function(f"() => ({MARKED})('.view-list').length > 1")
    assert {words.lower() for words in page.ask(MARKED, ".view-list")} == {"grep", "create"}
    page.page.locator("#filter").fill("")
    page.page.wait_for_function(f"() => ({MARKED})('.view-list').length === 0")
    assert page.page.locator(".steps button:visible").count() == 0  # there are no findings
    page.assert_quiet()


def test_a_step_leads_to_its_frame(window: Visit, tmp_path: Path) -> None:
    """On a report page, a click on a step selects its frame, and the key j the frame after it."""
    page = opened(window, DIRECTORY / "tour.db", tmp_path)
    page.page.locator(".entry-prompt").first.click()
    seq = page.ask("() => window.acpReport.state.seq")
    assert page.page.locator(".detail-title").inner_text().startswith(f"#{seq} ")
    page.page.keyboard.press("j")
    assert page.ask("() => window.acpReport.state.seq") > seq
    page.page.keyboard.press("k")
    assert page.ask("() => window.acpReport.state.seq") == seq
    assert page.page.locator("article[aria-current]").get_attribute("class") is not None
    page.page.locator(".entry-tool_call .seq").first.click()
    assert "tool_call" in page.page.locator(".detail-title").inner_text()
    page.page.locator(".entry-tool_call summary").first.click()
    page.page.wait_for_selector(".entry-tool_call .statuses")
    page.assert_quiet()


def test_markdown_is_drawn_and_stays_text(window: Visit, tmp_path: Path) -> None:
    """On a report page, Markdown of the agent becomes headings and lists, but not HTML."""
    said = (
        "# Top\n\nSome **bold** and *slanted* `co*de*` in snake_case_words, 2 * 3 * 4.\n"
        "- one\n- two\n  1. inner\n\n```py\n<b>x</b>\n# no heading\n```\n> quoted\n\n"
        "[words](javascript:alert(1)) <img src=x onerror=alert(2)> ![p](http://example.invalid/p)\n"
        "***\n**not closed"
    )
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("**raw**")]))
        recorder.to_client(*updates("s", text(said[:40]), text(said[40:])))
        recorder.to_client(result(1, stopReason="end_turn"))
        recorder.finish()
    page = opened(window, recorder.path, tmp_path)
    assert "**raw**" in page.page.locator(".entry-prompt").inner_text()
    results = page.ask("""() => {
      const all = (name) => [...document.querySelectorAll(`.markdown ${name}`)];
      const names = ["h4", "strong", "em", "code", "pre", ".quote", "hr"];
      const texts = names.map((name) => [name, all(name).map((it) => it.textContent)]);
      const lists = all("li").map((it) => `${it.parentNode.localName} ${it.innerText}`);
      return { ...Object.fromEntries(texts), lists, others: all(":is(a, img, b)").length };
    }""")
    assert results == {
        "h4": ["Top"],
        "strong": ["bold"],
        "em": ["slanted"],
        "code": ["co*de*"],
        "pre": ["<b>x</b>\n# no heading"],
        ".quote": ["quoted"],
        "hr": [""],
        "lists": ["ul one", "ul two\n\ninner", "ol inner"],
        "others": 0,
    }
    words = page.page.locator(".markdown").inner_text()
    for kept in ("snake_case_words, 2 * 3 * 4", "<img src=x onerror=alert(2)>", "**not closed"):
        assert kept in words
    page.assert_quiet()


def test_images_are_drawn_by_their_bytes(window: Visit, tmp_path: Path) -> None:
    """A report page draws PNG, JPEG, GIF and WebP images even if their declared type is wrong."""
    real = [data for data, *_ in SHOWN.values()][:1] + [
        SHOWN[name][0] for name in ("a GIF", "a JPEG", "a WebP without loss")
    ]
    with LogWriter(tmp_path / "x.db") as recorder:
        link = {"type": "resource_link", "uri": "file:///a.svg", "name": "drawing.svg"}
        blocks = [*(image(data, "text/html") for data in real), image(b"<svg/>", "image/svg+xml")]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[*blocks, link]))
        content = [{"type": "content", "content": image(png(7, 5))}]
        call = {"sessionUpdate": "tool_call", "toolCallId": "c", "status": "failed"}
        update = {**call, "content": content}
        recorder.to_client(notification("session/update", sessionId="s", update=update))
        recorder.finish()
    page = opened(window, recorder.path, tmp_path)
    prompt, call = (
        it for it in page.ask(READ_ALL, 0)
        if {"entry-prompt", "entry-tool_call"} & {*it["classes"]}
    )  # fmt: skip
    assert prompt["images"] == [[3, 2], [3, 2], [1, 1], [1, 1]]
    assert "[image/svg+xml, 6 B]" in prompt["text"]
    assert "drawing.svg" in prompt["text"]
    assert call["images"] == [[7, 5]]
    page.assert_quiet()


@pytest.mark.parametrize(
    "payloads",
    [
        pytest.param(dict([*{**TAGS, **ADDRESSES}.items()][::5]), id="some"),
        pytest.param(PAYLOADS, id="everything", marks=pytest.mark.soak),
    ],
)
def test_hostile_texts_and_images_are_harmless(
    window: Visit, resize: Callable[[int, int], None], tmp_path: Path, payloads: dict[str, str]
) -> None:
    """A report page shows recorded HTML and scripts as text, and draws only valid images."""
    path = report(record_hostile(tmp_path / "hostile.db", payloads.values()), tmp_path)
    resize(1280, 6000)  # few screens are read faster
    page = window.open(path)
    page.page.wait_for_function(READY)
    drawn = page.ask(READ_ALL, 200)
    words = " ".join(it["text"] for it in drawn)
    for tag in {*TAGS.values()} & {*payloads.values()}:
        assert " ".join(tag.split()) in " ".join(words.split())
    sizes = {(width, height) for _, _, width, height in SHOWN.values()}
    results = [tuple(size) for it in drawn for size in it["images"]]
    assert {*results} <= sizes
    assert len(results) >= 8
    assert_unharmed(page, path)


def test_thousands_of_calls_need_few_elements(window: Visit, tmp_path: Path) -> None:
    """With 3,000 tool calls, a report page never has more than 500 HTML elements."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        for number in range(CALLS):
            call = {"toolCallId": f"c{number}", "title": f"step {number}", "status": "completed"}
            update = {"sessionUpdate": "tool_call", **call}
            recorder.to_client(notification("session/update", sessionId="s", update=update))
        recorder.finish()
    page = opened(window, recorder.path, tmp_path)
    for part in (0.3, 0.999, 0.01):
        page.ask(
            "(part) => acpReport.state.select(Math.floor(acpReport.recording.rows * part))", part
        )
        page.page.wait_for_function("() => document.querySelector('article[aria-current] .seq')")
        assert f"#{page.ask('() => acpReport.state.seq')}" in page.ask(CURRENT)
        assert page.ask("() => document.querySelectorAll('#app *').length") <= MOST_NODES
    page.page.locator(".flow").evaluate("(flow) => { flow.scrollTop = flow.scrollHeight; }")
    page.page.wait_for_function("() => document.querySelector('.flow .entry-end') !== null")
    page.assert_quiet()


def test_filters_hide_steps_and_say_so(window: Visit, tmp_path: Path) -> None:
    """If a report page has a filter, it shows only the steps with a matching frame.

    The page says how many steps it hides.
    """
    page = opened(window, DIRECTORY / "tour.db", tmp_path)
    entries = [it for it in said("transcript", DIRECTORY / "tour.db") if it["type"] == "entry"]
    page.ask("() => acpReport.state.setFilter('call:*')")
    page.page.wait_for_function("() => document.querySelector('.conversation-notes .note')")
    drawn = [it["classes"][1] for it in page.ask(READ_ALL, 0)]
    shown = [name for name in drawn if name != "entry-section"]
    assert {*shown} <= {"entry-tool_call", "entry-permission", "entry-terminal", "entry-request"}
    calls = sum(it["kind"] == "tool_call" for it in entries)
    assert shown.count("entry-tool_call") == calls
    notes = page.page.locator(".conversation-notes").inner_text()
    assert notes == f"{len(entries) - len(shown)} steps hidden by what is chosen above."
    page.ask("() => acpReport.state.setFilter('')")
    page.page.wait_for_function("() => !document.querySelector('.conversation-notes .note')")


def test_what_is_not_known_is_said(window: Visit, tmp_path: Path) -> None:
    """A report page of `report --no-payloads` says that texts are missing."""
    with LogWriter(tmp_path / "killed.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("my words")]))
        recorder.chunk(STDERR, b"a line\n")
    page = opened(window, recorder.path, tmp_path, "--no-payloads")
    notes = page.page.locator(".conversation-notes").inner_text()
    assert "made without payloads" in notes
    assert "The recorder was killed" in notes
    assert "my words" not in " ".join(page.page.locator(".flow .text").all_inner_texts())
    assert "never answered" in page.page.locator(".flow .entry-end").inner_text()


@pytest.mark.parametrize("name", ["tour", "hang", "omp-is-told-to-stop-by-a-stranger"])
def test_the_first_screen_shows_the_chosen_entry(window: Visit, name: str, tmp_path: Path) -> None:
    """A report page opens with its chosen step in sight, and a search does not scroll the page."""
    shipped = DIRECTORY / f"{name}.db"
    path = shipped if shipped.exists() else REPORTS / "fifth" / f"{name}.jsonl"
    window.page.set_viewport_size({"width": 1440, "height": 900})
    page = opened(window, database_of(path, tmp_path), tmp_path)
    page.page.wait_for_function(IN_WINDOW)
    assert page.ask("() => scrollY") == 0
    page.page.locator("#search").fill("e")
    page.page.wait_for_function("() => acpReport.state.matched.length > 0")
    page.page.keyboard.press("Enter")
    assert page.ask("() => scrollY") == 0
    page.assert_quiet()
