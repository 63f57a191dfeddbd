"""A page with a recording gets each row once, in order, and the facts of a report."""

from __future__ import annotations

import re
import threading
import time
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING

import pytest
import trio

from acp_proxy.recording.recording import Origin
from acp_proxy.report.data_blocks import PAYLOAD_BYTES, report_blocks
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.files.directory import delete
from acp_proxy.store.reader import RecordingReader
from acp_proxy.web.changing_facts import ChangingFacts, RecordingFacts, Stopped
from tests.support.hanging_chat import hanging_chat
from tests.support.images import png
from tests.support.imported_recordings import text_form
from tests.support.log_writer import (
    LogWriter,
    handshake,
    record_conversation,
    request,
    result,
    text,
    update,
)
from tests.support.planted_secrets import ENV, SECRETS, record_planted
from tests.support.report_data import DecodedReport, decode
from tests.support.shipped_recordings import SHIPPED
from tests.support.waiting_chat import record_waiting_chat
from tests.support.window import LiveTab, Window, unlike

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


ONLY_IN_A_WINDOW = {"step_ns", "verdict", "facts", "partial", "has_times", "index_blocks"}
"""The members of ``meta`` that a report lacks, or that depend on when the rows came."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the server look for changes more often."""
    for name in ("_POLL_S", "_REST_S", "_WAITS_S", "_LEAST_S"):
        monkeypatch.setattr(f"acp_proxy.web.live_page.{name}", 0.01)
    monkeypatch.setattr("acp_proxy.web.live_page._SHARE", 0)


@pytest.fixture
def window(tmp_path: Path) -> Window:
    """Returns a window on the directory of the test."""
    return Window(tmp_path, tmp_path / "state")


def reported(path: Path, *, unredacted: bool = False) -> DecodedReport:
    """Returns the data of the report of a recording."""
    with RecordingReader(path, unredacted=unredacted) as reader:
        return decode(report_blocks(reader, ReportOptions()))


def assert_equal(live: DecodedReport, made: DecodedReport) -> None:
    """Asserts that a window has what a report has."""
    assert [*unlike(live.rows, made.rows)] == []
    assert live.lines == made.lines
    assert live.conversation == made.conversation
    assert live.images == made.images
    for name in {*live.meta, *made.meta} - ONLY_IN_A_WINDOW:
        assert live.meta[name] == made.meta[name], name


def _shipped(path: Path) -> Path:
    (source,) = (each for each in SHIPPED if each.stem == "tour")
    path.write_bytes(source.read_bytes())
    return path


def _without_times(path: Path) -> Path:
    return text_form(path.with_suffix(".jsonl"), Origin("zed", ("times",)))


def _with_images(path: Path) -> Path:
    with LogWriter(path) as recorder:
        handshake(recorder)
        for side in (1, 2):
            data = b64encode(png(side, side)).decode()
            image = {"type": "image", "mimeType": "image/png", "data": data}
            recorder.to_client(update("s-1", "agent_message_chunk", content=image))
        recorder.to_client([result(7, a=1), result(8, b=2)])
        recorder.end()
        recorder.close()
        recorder.finish()
    return path


def _waiting(path: Path) -> Path:
    record_waiting_chat(path)
    return path


@pytest.mark.parametrize(
    "make", [_shipped, _without_times, _with_images, _waiting], ids=lambda make: make.__name__
)
async def test_a_finished_recording_equals_its_report(
    window: Window, tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    """The page of `web` for a finished recording shows the same data as `report`."""
    path = make(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled and tab.waits)
        assert not tab.hello["live"]
        assert not tab.hello["unredacted"]
        assert_equal(await tab.decoded(), reported(path))
        assert tab.waits == {"name": "waits", "size": 0, "now_ns": 0, "live": False, "waits": []}
        assert not tab.meta["partial"]


async def test_rows_come_once_and_in_order_while_the_recorder_writes(
    window: Window, tmp_path: Path
) -> None:
    """While a recording grows and ends, its page of `web` gets each frame once, and in order."""
    path = tmp_path / "x.db"
    with LogWriter(path) as recorder:
        handshake(recorder)
        async with window.page(path.name) as tab:
            await tab.until(lambda tab: tab.rows == 3)
            assert tab.hello["live"]
            rows = 3
            for number in range(9):
                prompt = [text(f"prompt {number}")]
                recorder.to_agent(request(number, "session/prompt", sessionId="s", prompt=prompt))
                recorder.to_client(
                    update("s", "agent_message_chunk", content=text("one ")),
                    update("s", "agent_message_chunk", content=text("two")),
                    result(number, stopReason="end_turn"),
                )
                rows += 4
                if number % 3 == 1:
                    recorder.index()
                if number % 3 == 2:
                    recorder.index()
                    recorder.trim()
                await tab.until(partial(_has_rows, rows))
            await tab.until(lambda tab: tab.is_settled and tab.meta["last_turn"] == 9)
            growing = await tab.decoded()
            assert growing.meta["summary"]["live"]
            recorder.end()
            recorder.close()
            recorder.finish()
            recorder.abandon()
            await tab.until(lambda tab: tab.is_over)
            live = await tab.decoded()
        assert tab.resets == 0
    assert [row["seq"] for row in live.rows] == [*range(1, len(live.rows) + 1)]
    assert_equal(live, reported(path))


async def test_a_killed_recorder_leaves_the_rows(window: Window, tmp_path: Path) -> None:
    """If a recorder is killed, its page of `web` reports the end and still has all frames."""
    path = tmp_path / "x.db"
    recorder = LogWriter(path)
    handshake(recorder)
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.waits)
        assert [wait["seq"] for wait in tab.waits["waits"]] == [4]
        recorder.abandon()
        await tab.until(lambda tab: tab.is_over)
        assert tab.waits["waits"] == []
        live = await tab.decoded()
    assert [row["seq"] for row in live.rows] == [1, 2, 3, 4]
    assert not tab.gone


async def test_the_end_of_a_recording_breaks_off_the_reading_of_facts(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recorder ends while `web` reads the facts, `web` breaks this reading off.

    The page then gets the facts about the whole recording.
    """
    broken_off: list[bool] = []
    begun = threading.Event()

    class SlowFacts(ChangingFacts):
        def read(self) -> RecordingFacts:
            begun.set()
            while self._reader.live and not self._must_stop():
                time.sleep(0.001)
            try:
                return super().read()
            except Stopped:
                broken_off.append(True)
                raise

    monkeypatch.setattr("acp_proxy.web.live_page.ChangingFacts", SlowFacts)
    path = tmp_path / "x.db"
    recorder = LogWriter(path)
    handshake(recorder)
    async with window.page(path.name) as tab:
        await tab.until(partial(_has_rows, 3))
        await trio.to_thread.run_sync(begun.wait, abandon_on_cancel=True)
        recorder.finish()
        recorder.abandon()
        await tab.until(lambda tab: tab.is_over)
        live = await tab.decoded()
    assert broken_off
    assert_equal(live, reported(path))


async def test_facts_about_a_silent_agent_are_renewed(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While an agent is silent, `web` sends its page the list of pauses again and again.

    The verdict leaves the wait out, since the page shows it with a clock.
    """
    monkeypatch.setattr("acp_proxy.web.live_page._OLD_S", 0.01)
    monkeypatch.setattr("acp_proxy.web.live_page._OLD_SHARE", 0)
    with hanging_chat(tmp_path / "x.db"):
        async with window.page("x.db") as tab:
            await tab.until(lambda tab: tab.is_settled)
            first = tab.meta["pauses"]
            await tab.until(lambda tab: tab.meta["pauses"] != first)
    (wait,) = tab.waits["waits"]
    problems = {(finding["rule"], finding["seq"]) for finding in tab.meta["summary"]["problems"]}
    assert ("wait.unanswered", wait["seq"]) in problems
    assert tab.meta["verdict"] is None


async def test_a_deleted_recording_is_gone(window: Window, tmp_path: Path) -> None:
    """If a recording is deleted, its open page of `web` reports that it is no longer there."""
    path = record_conversation(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        assert delete(path)
        await tab.until(lambda tab: tab.gone)
    assert tab.gone == "x.db is no longer there; this page keeps what it has"
    assert (await tab.block("c0")).status == 410


async def test_a_moved_recording_is_followed(window: Window, tmp_path: Path) -> None:
    """If a recording is renamed, its open page of `web` follows it, and gets no frame twice."""
    path = record_conversation(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        path.rename(tmp_path / "y.db")
        await tab.until(lambda tab: tab.moved and tab.names[-1] == "entries")
        assert (tab.moved, tab.resets, tab.gone) == ("y.db", 0, "")
        assert_equal(await tab.decoded(), reported(tmp_path / "y.db"))


async def test_a_replaced_recording_is_read_anew(window: Window, tmp_path: Path) -> None:
    """If another recording takes the place of one that `web` shows, the page shows the new one."""
    path = record_conversation(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        _shipped(tmp_path / "new").replace(path)
        await tab.until(lambda tab: tab.resets == 1 and tab.names[-1] == "entries")
        assert_equal(await tab.decoded(), reported(path))


@pytest.mark.usefixtures("impatient")
async def test_a_truncated_recording_is_an_error(window: Window, tmp_path: Path) -> None:
    """If a recording's file is truncated while `web` shows it, the page shows a one-line error."""
    path = record_conversation(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        path.write_bytes(path.read_bytes()[:5000])
        await tab.until(lambda tab: tab.gone)
    assert "x.db" in tab.gone
    assert "\n" not in tab.gone
    assert window.log == []


async def test_large_lines_come_in_pieces(window: Window, tmp_path: Path) -> None:
    """`web` sends a very large line to its page in pieces, even while the recorder runs."""
    path, size = tmp_path / "x.db", 2 * PAYLOAD_BYTES + 5
    with LogWriter(path) as recorder:
        handshake(recorder)
        recorder.to_client(update("s", "agent_message_chunk", content=text("x" * size)))
        recorder.to_client(update("s", "agent_message_chunk", content=text("small")))
        async with window.page(path.name) as tab:
            await tab.until(lambda tab: tab.is_settled and tab.rows == 5)
            growing = await tab.decoded()
            recorder.end()
            recorder.close()
            recorder.finish()
            recorder.abandon()
            await tab.until(lambda tab: tab.is_over)
            live = await tab.decoded()
    assert growing.lines is not None
    assert [len(line) > size for line in growing.lines] == [False, False, False, True, False]
    assert [place for place, _ in live.payloads] == [0, 3, 3, 3, 4]
    assert_equal(live, reported(path))


async def test_a_value_that_turns_out_to_be_secret_is_masked_everywhere(
    window: Window, tmp_path: Path
) -> None:
    """If a later frame reveals that a value is secret, `web` sends all frames again, masked."""
    path = tmp_path / "x.db"
    with LogWriter(path) as recorder:
        handshake(recorder)
        prompt = [text(f"use {ENV} please")]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=prompt))
        async with window.page(path.name) as tab:
            await tab.until(lambda tab: tab.is_settled and tab.rows == 4)
            await tab.decoded()
            assert ENV.encode() in tab.everything
            recorder.to_agent(request(2, "terminal/x", env={"DEPLOY": ENV}))
            await tab.until(lambda tab: tab.resets == 1)
            tab.everything.clear()
            await tab.until(lambda tab: tab.is_settled and tab.rows == 5)
            live = await tab.decoded()
            recorder.end()
            recorder.close()
            recorder.finish()
            recorder.abandon()
            await tab.until(lambda tab: tab.is_over)
            await tab.decoded()
    assert ENV.encode() not in tab.everything
    assert live.lines is not None
    markers = {*re.findall(rb"\[redacted:\w+:\w+\]", tab.everything)}
    assert len(markers) == 1, "rows, texts and the conversation have the same marker"
    assert tab.resets == 1
    assert tab.meta["masked"]


@pytest.mark.parametrize("is_shown", [False, True])
async def test_secrets_are_shown_only_if_asked_for(tmp_path: Path, is_shown: bool) -> None:
    """`web` masks all secrets; with `--unredacted`, it shows them, and its pages say so."""
    path = record_planted(tmp_path / "x.db")
    window = Window(tmp_path, tmp_path / "state", unredacted=is_shown)
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        await tab.decoded()
    visible = [secret for secret in SECRETS if secret.encode() in tab.everything]
    assert bool(visible) == is_shown
    assert tab.hello["unredacted"] == tab.meta["unredacted"] == is_shown


async def test_unknown_blocks_are_refused(window: Window, tmp_path: Path) -> None:
    """`web` refuses a request for rows whose block does not exist or has an invalid name."""
    path = record_conversation(tmp_path / "x.db")
    async with window.page(path.name) as tab:
        await tab.until(lambda tab: tab.is_settled)
        for name in ("c1", "p1", "e1", "g0", "c999999999"):
            assert (await tab.block(name)).status == 404
        for name in ("", "c", "x0", "c01", "c-1", "c1111111111", "c٣", "c0\n", "meta"):
            assert (await tab.block(name)).status == 410
    assert window.log == []


def _has_rows(count: int, tab: LiveTab) -> bool:
    """Whether a page has at least so many rows."""
    return tab.rows >= count
