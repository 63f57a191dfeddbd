"""Tests the data of a report page about rows, faults and messages in batches."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.recording.log_format import FAULT, TO_CLIENT
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.facts import head_facts
from acp_proxy.report.page import report_parts
from acp_proxy.report.report_model import ReportOptions, described, read_report_data
from acp_proxy.report.row_data import (
    CHANGED,
    DIFFERENCES,
    FIRED,
    MADE_UP,
    OWN_COLUMNS,
    SHARED_COLUMNS,
    TEXTS,
    RowReader,
    Texts,
    differences,
    number_codes,
    planes,
)
from acp_proxy.store.files.annotations import set_note
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    MS,
    LogWriter,
    line,
    notification,
    request,
    result,
    text,
    update,
)
from tests.support.report_data import column, decode, numbers


def test_the_page_lists_all_columns() -> None:
    """The manual lists every column of the data in a report page."""
    page = (Path(__file__).parents[3] / "docs" / "report-data.md").read_text(encoding="utf-8")
    table = page.partition("## Columns")[2].partition("## Cells")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    kinds = {name: row[2].strip() for row in rows for name in re.findall("`([a-z_]+)`", row[1])}
    assert sorted(kinds) == sorted([*OWN_COLUMNS, *SHARED_COLUMNS, "run"])
    assert {name for name, kind in kinds.items() if kind == "text"} == {*TEXTS}
    assert {name for name, kind in kinds.items() if kind == "difference"} == {*DIFFERENCES}


def test_what_faults_did_is_in_flags_and_cells(tmp_path: Path) -> None:
    """A report page shows which faults changed a frame, and which bytes they delivered."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for n in range(4):
            recorder.to_client(notification("a", n=n))
        recorder.close()
        recorder.finish()
    whole = b'{"jsonrpc":"2.0","method":"a","params":{"n":1}}\n'
    changed = [
        (3, "cut", "corrupt", whole, b"\xff"), (3, "dup", "duplicate", None, b"copy"),
        (4, "lose", "drop", b"x", None), (5, "slow", "latency", b"x", b"x" * 20_000),
    ]  # fmt: skip
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        connection.executemany("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)", changed)
        connection.execute("UPDATE frame_rows SET fault = 'r' WHERE seq > 2")
        connection.execute("UPDATE frame_rows SET flags = flags | 32 WHERE seq = 4")
        connection.commit()
    with RecordingReader(recorder.path) as reader:
        report = decode(report_blocks(reader, ReportOptions()))
        bare = decode(report_blocks(reader, ReportOptions(payloads=False)))
    actual = {row["seq"]: row for row in report.rows}
    assert [actual[seq]["fate"] for seq in (2, 3, 4)] == [None, "injected", "dropped"]
    assert actual[2]["flags"] == 0
    assert actual[2]["fired"] is None
    assert actual[3]["flags"] == FIRED + MADE_UP + CHANGED
    assert actual[3]["fired"] == [
        {"rule": "cut", "action": "corrupt", "made": False, "delivered": None, "base64": "/w==",
         "size": 1},
        {"rule": "dup", "action": "duplicate", "made": True, "delivered": "copy", "base64": None,
         "size": 4},
    ]  # fmt: skip
    assert (actual[4]["flags"], actual[4]["delivered"]) == (FIRED + CHANGED, "none")
    (large,) = actual[5]["fired"]
    assert (large["delivered"], large["size"]) == (None, 20_000)
    for row in bare.rows:
        for item in row["fired"] or ():
            assert item["delivered"] is None
            assert item["base64"] is None


@pytest.mark.parametrize(
    ("plan", "delays"),
    [
        ('kind = "latency"', {2: 4 * MS, 3: 2 * MS, 4: MS, 5: None}),
        ('kind = "latency"\nkeep_order = false', {2: 4 * MS, 3: None, 4: None, 5: None}),
    ],
)
@pytest.mark.parametrize("kind", ["agent_message_chunk", "custom"])
def test_a_late_frame_and_those_behind_it_have_delays(
    tmp_path: Path, plan: str, delays: dict[int, int | None], kind: str
) -> None:
    """If a fault delays a frame, a report page shows the delays of this and of later frames."""
    with LogWriter(tmp_path / "x.db", fault_plan=plan) as recorder:
        for n in range(4):
            recorder.to_client(update("s", kind, content=text("a")))
            if n == 0:
                fields = {"rule": "r", "action": "latency", "delivered": "full", "same": 1}
                recorder.event(FAULT, TO_CLIENT, **fields, late=4 * MS)
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        report = decode(report_blocks(reader, ReportOptions()))
    actual = {row["seq"]: row["delay_ns"] for row in report.rows if row["stream"] == "to-client"}
    assert actual == delays


@pytest.mark.parametrize(
    "odd",
    [
        {"content": text("a"), "toolCallId": "c", "status": "failed"},
        {"content": text("a"), "terminalId": "t"},
        {"content": text("a"), "pad": "x" * 500},
        {"content": text("key sk-" + "ant-api03-" + "aB3dE5fG7h" * 4)},
        {"content": text("")},
        b"\r\n",
        b"",
    ],
    ids=["call", "terminal", "large", "secret", "empty", "return", "no newline"],
)
@pytest.mark.parametrize("kind", ["agent_message_chunk", "thought_message_chunk"])
def test_the_rows_of_a_run_are_those_of_its_frames_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: dict[str, Any] | bytes, kind: str
) -> None:
    """The data that a report page stores for a frame do not depend on the frames before it."""
    monkeypatch.setattr("acp_proxy.explain.log.timeline.PREVIEWED_LINE", 400)
    monkeypatch.setattr("acp_proxy.explain.preview.PREVIEWED_LINE", 400)
    usual = line(update("s", kind, content=text("one"), visible=True))
    other, end = (odd, b"\n") if isinstance(odd, dict) else ({"content": text("two")}, odd)
    another = line(update("s", kind, **other, visible=False))[:-1] + (end or b"\n")
    with LogWriter(tmp_path / "x.db") as recorder:
        for raw in (usual, usual, another, usual, usual):
            recorder.chunk(TO_CLIENT, raw)
        recorder.chunk(TO_CLIENT, usual if end else usual[:-1])
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        rows = [row for row in reader.rows() if "raw" in row]
        in_order = RowReader(reader)
        actual = [in_order.read(row)._replace(is_joined=False) for row in rows]
        assert actual == [RowReader(reader).read(row) for row in rows]
    assert len(rows) == 6


def test_a_row_with_a_note_is_in_no_run(tmp_path: Path) -> None:
    """A report page does not join a frame with a note to the chunks beside it."""
    chunk = line(update("s", "agent_message_chunk", content=text("one")))
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(5):
            recorder.chunk(TO_CLIENT, chunk)
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        seqs = [row["seq"] for row in reader.rows() if "raw" in row]
    set_note(recorder.path, f"whole\n#{seqs[2]} <i>why</i>")
    with RecordingReader(recorder.path) as reader:
        rows = RowReader(reader)
        joined = [rows.read(row).is_joined for row in reader.rows() if "raw" in row]
        meta = described(read_report_data(reader, ReportOptions()))
    assert joined == [False, True, False, False, True]
    assert meta["notes"] == {seqs[2]: "<i>why</i>"}


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("unredacted", [False, True])
def test_an_older_recording_does_not_say_how_late_frames_were(
    tmp_path: Path, version: int, unredacted: bool
) -> None:
    """The report page of a recording by an older version shows no delays of frames."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for delivered in ("full", "none"):
            recorder.to_client(notification("a"))
            recorder.event(FAULT, TO_CLIENT, rule="r", action="x", delivered=delivered, same=1)
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
        connection.execute("UPDATE faults_fired SET delivered = NULL WHERE seq = 3")
        if version == 3:
            connection.execute("ALTER TABLE faults_fired DROP COLUMN late_ns")
        connection.execute(f"PRAGMA user_version = {version}")
        connection.commit()
    with RecordingReader(recorder.path, unredacted=unredacted) as reader:
        data = read_report_data(reader, ReportOptions())
        assert data.undated_frames == 1
        page = b"".join(report_parts(head_facts(data, 2, "nothing"), []))
        delays = [row["delay_ns"] for row in decode(report_blocks(reader, ReportOptions())).rows]
    assert b"It is not recorded how late 1 frame went out." in page
    assert {*delays} == {None}


@pytest.mark.parametrize("unredacted", [False, True])
def test_an_older_recording_that_is_still_made_can_be_read(
    tmp_path: Path, unredacted: bool
) -> None:
    """Commands read a running recording of an older recorder, with unknown delays of its frames."""
    fired = {"rule": "r", "action": "x", "delivered": "full", "same": 1}
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(notification("a"))
        recorder.event(FAULT, TO_CLIENT, **fired)
        recorder.index()
        with contextlib.closing(sqlite3.connect(recorder.path)) as connection:
            connection.execute("ALTER TABLE faults_fired DROP COLUMN late_ns")
            connection.execute("PRAGMA user_version = 3")
        recorder.to_client(notification("b"))
        recorder.event(FAULT, TO_CLIENT, **fired)
        with RecordingReader(recorder.path, unredacted=unredacted) as reader:
            actual = [row["fired"] for row in reader.frames()]
    assert [[item["late_ns"] for item in each] for each in actual] == [[None], [None]]


def test_messages_go_from_a_sender_to_who_has_to_act(tmp_path: Path) -> None:
    """A report page shows whether a request of the agent goes to a person, files or the client."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(request(1, "fs/read_text_file"))
        recorder.to_agent(result(1, content=""))
        recorder.to_client(request(2, "session/request_permission"))
        recorder.to_client(request(3, "_x/other"))
        recorder.stderr("words")
        recorder.end()
    with RecordingReader(recorder.path) as reader:
        rows = decode(report_blocks(reader, ReportOptions())).rows
    ways = [(row["from"], row["to"]) for row in rows if row["stream"] != "event"]
    assert ways == [
        ("agent", "files"), ("files", "agent"), ("agent", "person"), ("agent", "client"),
        (None, None),
    ]  # fmt: skip


def test_frames_of_a_tool_call_name_its_first_one(tmp_path: Path) -> None:
    """If a tool call id is used again, a report page assigns each frame to the latest such call."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for turn in (1, 2):
            recorder.to_agent(request(turn, "session/prompt", sessionId="s"))
            recorder.to_client(update("s", "tool_call", toolCallId="c"))
            recorder.to_client(result(turn, stopReason="end_turn"))
            recorder.to_client(update("s", "tool_call_update", toolCallId="c", status="completed"))
        for kind in ("tool_call", "tool_call_update"):
            recorder.to_client(update("s", kind, toolCallId="c"))
        recorder.end()
    with RecordingReader(recorder.path) as reader:
        rows = decode(report_blocks(reader, ReportOptions())).rows
    calls = {row["seq"]: row["call"] for row in rows if row["tool_call"]}
    assert calls == {3: 3, 5: 3, 7: 7, 9: 7, 10: 10, 11: 10}


def test_messages_of_a_batch_are_in_its_line(tmp_path: Path) -> None:
    """On a report page, each message of a JSON-RPC batch has its own text."""
    messages = [request(1, "a"), notification("b"), notification("b"), result(9, ok=True)]
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(messages)
        recorder.to_client([result(1, answer=42)])
        recorder.end()
    with RecordingReader(recorder.path) as reader:
        report = decode(report_blocks(reader, ReportOptions()))
        rows = list(reader.rows())
    assert report.lines is not None
    assert {*report.meta["members"]} == {"1", "2"}
    for place in (1, 2):
        end = 0
        members = rows[place]["members"]
        for member, actual in zip(members, report.meta["members"][str(place)], strict=True):
            at, length = actual["offset"], actual["length"]
            assert at >= end
            end = at + length
            assert report.lines[place][at:end] == member["raw"]
            for name in ("kind", "method", "exchange", "request_seq", "response_seq", "rpc_id"):
                assert actual[name] == member[name]
            assert actual["text"]


ANY = st.none() | st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**62, 127, 128])


@given(st.lists(ANY))
def test_numbers_come_back(values: list[int | None]) -> None:
    """Numbers that a report page stores in packed form are read back unchanged."""
    width, data = planes(number_codes(values))
    assert len(data) == width * len(values)
    assert numbers(column(data, width, len(values))) == values
    width, data = planes(number_codes([*differences(values)]))
    assert numbers(column(data, width, len(values)), are_differences=True) == values


def test_a_column_is_as_wide_as_its_largest_number() -> None:
    """A report page stores a column of numbers in the smallest sufficient number of bytes."""
    assert planes(number_codes([None, None])) == (0, b"")
    assert planes(number_codes([None, 0, -1, 1])) == (1, bytes([0, 1, 2, 3]))
    assert planes(number_codes([126, -127])) == (1, bytes([253, 254]))
    assert planes([256, 1]) == (2, bytes([0, 1, 1, 0]))
    assert planes([]) == (0, b"")


@given(st.lists(st.lists(st.none() | st.text())))
def test_each_text_is_once_in_the_list(chunks: list[list[str | None]]) -> None:
    """A report page stores each text once."""
    texts, actual = Texts(), list[str]()
    for values in chunks:
        codes = texts.codes(values)
        actual += texts.take_new()
        assert [actual[code - 1] if code else None for code in codes] == values
    every = (text for values in chunks for text in values if text is not None)
    assert actual == [*dict.fromkeys(every)]
