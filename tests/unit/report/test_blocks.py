"""The blocks of a report have what the recording has, row by row and byte by byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.inspection.folding import ChunkRun, fold
from acp_proxy.inspection.frames import FRAME_MEMBERS, event_json, frame_json
from acp_proxy.inspection.hints import HintReader
from acp_proxy.inspection.timeline import event_line, frame_line
from acp_proxy.report import blocks
from acp_proxy.report.blocks import report_blocks
from acp_proxy.report.model import ReportOptions
from acp_proxy.store.reader import RecordingReader
from tests.captures import all_text_forms
from tests.report_data import DecodedReport, decode
from tests.shipped import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

RECORDINGS = [*SHIPPED, *all_text_forms()]


def read(reader: RecordingReader, **options: Any) -> DecodedReport:
    """Makes the data of a report, and decodes it."""
    return decode(report_blocks(reader, ReportOptions(**options)))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_rows_are_those_of_the_recording(path: Path) -> None:
    """Every member of the JSON of a frame or event, its bytes, its text, and its run."""
    with RecordingReader(path) as reader:
        report = read(reader, check=False)
        rows = list(reader.rows())
        check_rows(report, rows, reader)


def check_rows(report: DecodedReport, rows: list[dict[str, Any]], reader: RecordingReader) -> None:
    """Compares the data of a report with rows of its recording."""
    assert report.meta["rows"] == len(report.rows) == len(rows)
    assert report.lines is not None
    hints = HintReader(reader)
    for found, line, row in zip(report.rows, report.lines, rows, strict=True):
        if "raw" not in row:
            assert line == row["data"].encode()
            value = {"seq": found["seq"], "t_ns": found["t_ns"], "event": found["kind"]}
            assert {**value, "data": json.loads(line)} == json.loads(event_json(row))
            assert (found["stream"], found["text"]) == ("event", event_line(row).text)
            continue
        assert line == row["raw"]
        members = {name: found.get(name) for name in FRAME_MEMBERS}
        members["t_first_ns"] = found["t_ns"] - found["arrival_ns"]
        expected = json.loads(frame_json(row))
        assert members == {name: expected[name] for name in FRAME_MEMBERS}
        of_exchange = "request_seq", "response_seq", "latency_ns", "answer_session"
        for name in (*of_exchange, "answer_terminal"):
            assert found[name] == row[name]
        shown = frame_line(row, live=reader.live, hints=hints.of(row))
        assert (found["text"], found["tone"]) == (shown.text, shown.tone.value)
        assert shown.cells.method.startswith(found["update"] or "")
    check_runs(report, rows)


def check_runs(report: DecodedReport, rows: list[dict[str, Any]]) -> None:
    """Compares the runs of a report with those of a folded timeline."""
    place = 0
    for item in fold(rows):
        count = item.count if isinstance(item, ChunkRun) else 1
        runs = [report.rows[n]["run"] for n in range(place, place + count)]
        assert runs == ([-n for n in range(count)] if count > 1 else [None])
        place += count


def test_the_same_recording_gives_the_same_bytes() -> None:
    """The meta block comes last, and blocks in the order of their rows."""
    for path in (SHIPPED[0], RECORDINGS[-1]):
        made = []
        for _ in range(2):
            with RecordingReader(path) as reader:
                made.append([*report_blocks(reader, ReportOptions())])
        assert made[0] == made[1]
        assert made[0][-1].name == "meta"


def test_small_blocks_are_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs, texts and lines go across the ends of blocks."""
    monkeypatch.setattr(blocks, "CHUNK_ROWS", 3)
    monkeypatch.setattr(blocks, "CELL_ROWS", 2)
    monkeypatch.setattr(blocks, "PAYLOAD_BYTES", 500)
    path = next(path for path in RECORDINGS if path.stem == "tour")
    with RecordingReader(path) as reader:
        report = read(reader)
        check_rows(report, list(reader.rows()), reader)
        assert report.meta["index_blocks"] == -(-report.meta["rows"] // 3)


def test_without_payloads_there_are_no_lines() -> None:
    """All else is the same."""
    with RecordingReader(SHIPPED[0]) as reader:
        report, whole = read(reader, payloads=False), read(reader)
    assert report.lines is None
    assert report.rows == whole.rows
    assert not any(name.startswith("p") for name in report.names)


def test_a_filter_and_a_turn_choose_the_rows() -> None:
    """As on the command line; the labels are not all there are."""
    path = next(path for path in RECORDINGS if path.stem == "tour")
    with RecordingReader(path) as reader:
        report = read(reader, filter="kind:request", turn=1)
        assert {row["kind"] for row in report.rows} == {"request"}
        assert {row["turn"] for row in report.rows} == {1}
        assert 0 < report.meta["rows"] < report.meta["rows_in_recording"]
        assert not report.meta["known_labels_complete"]
        assert (report.meta["filter"], report.meta["turn"]) == ("kind:request", 1)
