"""The data blocks of a report page contain all of a recording, row by row and byte by byte."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import WHOLE_VALUE
from acp_proxy.explain.hints import HintReader
from acp_proxy.explain.log.folding import ChunkRun, fold
from acp_proxy.explain.log.frame_json import FRAME_MEMBERS, event_json, frame_json
from acp_proxy.explain.log.timeline import event_line, frame_line
from acp_proxy.explain.pauses import Pauses
from acp_proxy.recording.log_format import MAX_PAYLOAD, TO_CLIENT
from acp_proxy.report import data_blocks
from acp_proxy.report.data_blocks import PAYLOAD_BYTES, report_blocks
from acp_proxy.report.report_model import ReportOptions, read_report_data
from acp_proxy.report.row_data import IN_PIECES
from acp_proxy.store.reader import RecordingReader
from tests.support.captures import all_text_forms
from tests.support.log_writer import LogWriter, line, notification, text, update
from tests.support.report_data import DecodedReport, decode
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

RECORDINGS = [*SHIPPED, *all_text_forms()]


def chunk(words: str) -> dict[str, Any]:
    """Returns a chunk of a message."""
    return update("s", "agent_message_chunk", content=text(words))


def read(reader: RecordingReader, **options: Any) -> DecodedReport:
    """Makes the data of a report page, and decodes the data."""
    return decode(report_blocks(reader, ReportOptions(**options)))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_rows_are_those_of_the_recording(path: Path) -> None:
    """A report page contains all frames of the recording."""
    with RecordingReader(path) as reader:
        report = read(reader)
        rows = list(reader.rows())
        check_rows(report, rows, reader)


def check_rows(report: DecodedReport, rows: list[dict[str, Any]], reader: RecordingReader) -> None:
    """Asserts that the data of a report page equal the rows of its recording."""
    assert report.meta["rows"] == len(report.rows) == len(rows)
    assert report.lines is not None
    hints = HintReader(reader)
    for actual, raw, row in zip(report.rows, report.lines, rows, strict=True):
        if "raw" not in row:
            assert raw == row["data"].encode()
            value = {"seq": actual["seq"], "t_ns": actual["t_ns"], "event": actual["kind"]}
            assert {**value, "data": json.loads(raw)} == json.loads(event_json(row))
            assert (actual["stream"], actual["text"]) == ("event", event_line(row).text)
            continue
        assert raw == row["raw"]
        members = {name: actual.get(name) for name in FRAME_MEMBERS}
        members["t_first_ns"] = actual["t_ns"] - actual["arrival_ns"]
        expected = json.loads(frame_json(row))
        assert members == {name: expected[name] for name in FRAME_MEMBERS}
        of_exchange = "request_seq", "response_seq", "latency_ns", "answer_session"
        for name in (*of_exchange, "answer_terminal"):
            assert actual[name] == row[name]
        shown = frame_line(row, live=reader.live, hints=hints.of(row))
        assert (actual["text"], actual["tone"]) == (shown.text, shown.tone)
        assert shown.cells.method.startswith(actual["update"] or "")
    check_runs(report, rows, Pauses(reader))


def check_runs(report: DecodedReport, rows: list[dict[str, Any]], pauses: Pauses) -> None:
    """Asserts that a report page joins the same chunks as `log`."""
    place = 0
    for item in fold(rows, pauses=pauses):
        count = item.count if isinstance(item, ChunkRun) else 1
        runs = [report.rows[n]["run"] for n in range(place, place + count)]
        assert runs == ([-n for n in range(count)] if count > 1 else [None])
        place += count


def test_the_same_recording_gives_the_same_bytes() -> None:
    """Two report pages of one recording are the same bytes."""
    for path in (SHIPPED[0], RECORDINGS[-1]):
        made = []
        for _ in range(2):
            with RecordingReader(path) as reader:
                made.append([*report_blocks(reader, ReportOptions())])
        assert made[0] == made[1]
        assert made[0][-1].name == "meta"


def test_pieces_of_text_are_shown_as_in_the_timeline(tmp_path: Path) -> None:
    """For chunks of text, a report page has the same previews as `log`."""
    words = ("a", "", "b" * 70, "word " * 900, "QmFzZTY0" * 30, "x;base64,AAAA", "\u202e", "\x7f")
    kinds = ("agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "plan")
    with LogWriter(tmp_path / "x.db") as recorder:
        for kind in kinds:
            recorder.to_client(*(update("s", kind, content=text(said)) for said in words))
        for said in (*words, 'quote "', "line\nbreak", "\U0001f600"):
            recorder.to_client(chunk(said), chunk("same"), chunk("same"))
            recorder.to_client(update("t", kinds[0], content=text(said), messageId="m"))
        recorder.to_client(update("s", kinds[0], content={"type": "image", "text": "no"}))
        recorder.to_client(update("s", kinds[0], content={"type": "image", "text": "more"}))
        recorder.t_ns += 6_000_000_000
        recorder.to_client(chunk("late"), chunk("later"))
    with RecordingReader(recorder.path) as reader:
        check_rows(read(reader), [*reader.rows()], reader)


def test_small_blocks_are_joined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report page whose data are split into many small parts is still complete."""
    monkeypatch.setattr(data_blocks, "CHUNK_ROWS", 3)
    monkeypatch.setattr(data_blocks, "CELL_ROWS", 2)
    monkeypatch.setattr(data_blocks, "PAYLOAD_BYTES", 500)
    path = next(path for path in RECORDINGS if path.stem == "tour")
    with RecordingReader(path) as reader:
        report = read(reader)
        check_rows(report, list(reader.rows()), reader)
        assert report.meta["index_blocks"] == -(-report.meta["rows"] // 3)


def test_a_large_line_is_in_pieces(tmp_path: Path) -> None:
    """A report page stores a large line in pieces."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for size in (1, PAYLOAD_BYTES + 1, 2, WHOLE_VALUE + 5, 3):
            raw = line(notification("x", pad="y " * (size // 2)))
            recorder.chunk(TO_CLIENT, raw[:MAX_PAYLOAD])
            recorder.chunk(TO_CLIENT, raw[MAX_PAYLOAD:])
        recorder.end()
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path, unredacted=True) as reader:
        made = [*report_blocks(reader, ReportOptions())]
        report = decode(made)
        assert report.lines is not None
        both = zip(report.rows, report.lines, strict=True)
        frames = [(row, raw) for row, raw in both if row["stream"] != "event"]
        for row, raw in frames:
            assert raw == b"".join(reader.pieces(row["seq"]))
    assert [row["flags"] for row, _ in frames] == [0, 0, 0, IN_PIECES, 0]
    places = [place for place, _ in report.payloads]
    large = [report.rows.index(frames[n][0]) for n in (1, 3)]
    assert [places.count(place) for place in large] == [2, 17]


def test_little_is_held_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory that `report` needs does not grow with the number of frames."""
    for name in ("CHUNK_ROWS", "CELL_ROWS", "PAYLOAD_ROWS"):
        monkeypatch.setattr(data_blocks, name, 64)
    monkeypatch.setattr("acp_proxy.report.conversation_entries.ENTRIES", 4)
    monkeypatch.setattr("acp_proxy.report.report_model.CHECKED_FRAMES", 1)  # findings are held
    peaks = []
    for count in (200, 1600):
        with LogWriter(tmp_path / f"{count}.db") as recorder:
            for n in range(count):
                kind = ("agent_message_chunk", "agent_thought_chunk")[n // 16 % 2]
                recorder.to_client(update("s", kind, content=text(f"{n} {'word ' * 40}")))
            recorder.close()
            recorder.finish()
        with RecordingReader(recorder.path, unredacted=True) as reader:
            options = ReportOptions()
            data = read_report_data(reader, options)
            tracemalloc.start()
            made = sum(1 for _ in report_blocks(reader, options, data))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert made > 3 * count // 64
    assert peaks[1] < peaks[0] + 50_000


@pytest.mark.parametrize(
    "spoil",
    [
        "frame_rows SET raw = 'text'",
        "frame_rows SET flags = -1",
        "frame_rows SET kind = 'x', turn = 1.5",
        "frame_rows SET t_ns = -9223372036854775808",
        "frame_rows SET exchange = 1, turn = 9223372036854775807, parse_error = 'x'",
        "frame_rows SET rpc_id = 'x', method = tool_call, fault = 'x'",
        "exchanges SET request_seq = response_seq, latency_ns = 9223372036854775807",
        "turns SET end_seq = prompt_seq - 1, duration_ns = -1",
        "events SET data = '{}'",
        "labels SET text = '' || id",
    ],
)
def test_hostile_recordings_are_read_or_refused(tmp_path: Path, spoil: str) -> None:
    """If a database has a row with `flags = -1`, `report` refuses the file or shows all rows."""
    path = tmp_path / "x.db"
    shutil.copy(SHIPPED[0], path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {spoil}")
        connection.commit()
    with contextlib.suppress(UnreadableRecording), RecordingReader(path) as reader:
        report = read(reader)
        check_rows(report, [*reader.rows()], reader)


def test_without_payloads_there_are_no_lines() -> None:
    """With `--no-payloads`, the data of a report page contain no recorded lines."""
    with RecordingReader(SHIPPED[0]) as reader:
        report, whole = read(reader, payloads=False), read(reader)
    assert report.lines is None
    assert report.rows == whole.rows
    assert not any(name.startswith("p") for name in report.names)


def test_a_filter_and_a_turn_choose_the_rows() -> None:
    """A filter selects the same frames for `report` as for other commands."""
    path = next(path for path in RECORDINGS if path.stem == "tour")
    with RecordingReader(path) as reader:
        report = read(reader, filter="kind:request", turn=1)
        assert {row["kind"] for row in report.rows} == {"request"}
        assert {row["turn"] for row in report.rows} == {1}
        assert 0 < report.meta["rows"] < report.meta["rows_in_recording"]
        assert not report.meta["known_labels_complete"]
        assert (report.meta["filter"], report.meta["turn"]) == ("kind:request", 1)
        parties = report.meta["parties"]
        assert parties["session/request_permission"] == "person"
        assert parties["fs/read_text_file"] == "files"
