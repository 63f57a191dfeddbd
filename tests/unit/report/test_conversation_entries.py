"""The conversation on a report page has the entries of `transcript`, within the filter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from attrs import asdict

from acp_proxy.cli.report import page_parts
from acp_proxy.explain.transcript.contents import cut_text
from acp_proxy.explain.transcript.entries import TextLimits
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.queries.masked_rows import Level
from acp_proxy.store.reader import RecordingReader
from tests.support.captures import all_text_forms
from tests.support.command_line import run
from tests.support.images import image, png
from tests.support.log_writer import LogWriter, notification, request, result, text
from tests.support.report_data import ENTRIES, DecodedReport, decode
from tests.support.shipped_recordings import DIRECTORY, SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

LIMITS = TextLimits()
"""The limits of `transcript` without `--full`."""
SAID = ("prompt", "message", "thought", "plan")
FROM_LINES = ("tool_call", "terminal", "permission", "request")
PICTURES = [png(4, 3), png(5, 3), png(6, 3)]


def read(path: Path, level: Level | None = None, **options: Any) -> DecodedReport:
    """Makes the data of a report, and decodes it."""
    with RecordingReader(path, level=level) as reader:
        return decode(report_blocks(reader, ReportOptions(**options)))


def transcript(path: Path, *words: str) -> list[dict[str, Any]]:
    """Returns the sections and entries that `transcript --json` prints."""
    lines = run("transcript", path, *words, "--json", "--unredacted").stdout.splitlines()
    return [value for value in map(json.loads, lines) if value["type"] != "finding"]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """A recording with images in a prompt, a message and a tool call."""
    with LogWriter(tmp_path / "pictures.db") as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=1, clientCapabilities={}))
        recorder.to_client(result(0, protocolVersion=1, agentCapabilities={}, authMethods=[]))
        prompt = [text("look"), image(PICTURES[0], "image/svg+xml"), image(b"no image")]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=prompt))
        for kind, fields in (
            ("agent_message_chunk", {"content": text("I see")}),
            ("agent_message_chunk", {"content": image(PICTURES[1])}),
            ("agent_message_chunk", {"content": image(PICTURES[0])}),
            ("tool_call", {"toolCallId": "c", "title": "look", "status": "pending"}),
            ("tool_call_update", {"toolCallId": "c", "status": "completed", "content": [
                {"type": "content", "content": text("secret words")},
                {"type": "content", "content": image(PICTURES[2])}]}),
        ):  # fmt: skip
            update = {"sessionUpdate": kind, **fields}
            recorder.to_client(notification("session/update", sessionId="s", update=update))
        recorder.to_client(result(1, stopReason="end_turn"))
        recorder.finish()
    return recorder.path


@pytest.mark.parametrize("path", [*SHIPPED, *all_text_forms()], ids=lambda path: path.stem)
def test_entries_are_those_of_transcript(path: Path) -> None:
    """A report page has the same entries as `transcript --json`."""
    expected = transcript(path)
    for item in expected:
        if item.get("kind") in FROM_LINES:
            item["blocks"] = []
    results = read(path).conversation
    headings = [item.pop("heading") for item in results if item["type"] == "section"]
    for item in results:
        item["blocks"] = [block for block in item.get("blocks", ()) if "image" not in block]
        for block in item["blocks"]:
            most = LIMITS.said if item["kind"] in SAID else LIMITS.output
            block["text"] = asdict(cut_text(block["text"]["start"], most))
        if item["type"] == "section":
            del item["blocks"]
    assert results == expected
    assert headings.count("begins") == len({s["session"] for s in results if s.get("turn")})


def test_a_session_that_goes_on_has_a_heading_again(tmp_path: Path) -> None:
    """If the turns of two sessions alternate, a report page repeats the sessions' headings."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number, session in enumerate("aabba"):
            recorder.to_agent(request(number, "session/prompt", sessionId=session, prompt=[]))
            recorder.to_client(result(number, stopReason="end_turn"))
        recorder.finish()
    sections = [item for item in read(recorder.path).conversation if item["type"] == "section"]
    assert [it["heading"] for it in sections] == ["begins", "", "begins", "", "continued"]


def test_long_conversations_have_several_blocks(tmp_path: Path) -> None:
    """A report page stores the entries of a long conversation in several parts."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number in range(2 * ENTRIES):
            recorder.to_agent(request(number, "session/list"))
        recorder.finish()
    report = read(recorder.path)
    assert [name for name in report.names if name[0] == "e"] == ["e0", "e1", "e2", "entries"]
    assert report.meta["entries"] == len(report.conversation) == 2 * ENTRIES + 1


def test_an_empty_report_has_no_entries() -> None:
    """If a filter matches no frame, the conversation of a report page is empty."""
    report = read(SHIPPED[0], filter="method:none")
    assert (report.conversation, report.images, report.meta["entries"]) == ([], [], 0)


def test_images_travel_once_and_by_number(pictures: Path) -> None:
    """A report page contains each image only once."""
    report = read(pictures)
    assert report.images == PICTURES
    assert report.meta["images"] == [["image/png", width, 3] for width in (4, 5, 6)]
    shown = [
        (item["kind"], block["image"])
        for item in report.conversation
        for block in item.get("blocks", ())
        if "image" in block
    ]
    assert shown == [("prompt", 0), ("message", 1), ("message", 0), ("tool_call", 2)]


def test_a_report_of_some_frames_has_no_text_of_others(pictures: Path) -> None:
    """A report page made with a filter contains no texts of other frames."""
    report = read(pictures, filter="seq:8")
    assert [item.get("title") for item in report.conversation] == [None, "look"]
    assert report.images == []
    assert "secret words" not in json.dumps(report.conversation)


def test_without_payloads_there_are_titles_alone(pictures: Path) -> None:
    """With `--no-payloads`, the conversation on a report page has titles, no texts or images."""
    report = read(pictures, payloads=False)
    assert report.images == []
    assert all(item.get("blocks", []) == [] for item in report.conversation)
    assert "look" in [item.get("title") for item in report.conversation]


def test_private_text_has_no_images(pictures: Path) -> None:
    """The report page of a recording masked as `private` contains no images."""
    report = read(pictures, Level(private=True))
    assert report.images == []
    assert "I see" not in json.dumps(report.conversation)


@pytest.mark.parametrize(("name", "words"), [("pictures", "· 3 images, not masked<"), ("", "")])
def test_the_head_counts_images(pictures: Path, name: str, words: str) -> None:
    """The head of a report page says how many images the page contains."""
    with RecordingReader(pictures if name else DIRECTORY / "tour.db") as reader:
        html = b"".join(page_parts(reader, ReportOptions())[1]).decode()
    assert words in html
    assert ("not masked<" in html) == bool(words)


def test_a_bundle_counts_images(pictures: Path, tmp_path: Path) -> None:
    """`bundle` says how many images its archive contains."""
    for level, expected in (("secrets", True), ("private", False)):
        packed = run("bundle", pictures, "-o", tmp_path / f"{level}.zip", "--level", level)
        assert ("3 images, not masked" in packed.stderr) == expected
