"""What a report has of a row, of its faults and of the messages of a batch."""

from __future__ import annotations

import re
from pathlib import Path

from acp_proxy.report.blocks import report_blocks
from acp_proxy.report.model import ReportOptions
from acp_proxy.report.rows import DIFFERENCES, OWN_COLUMNS, SHARED_COLUMNS, TEXTS
from acp_proxy.store.reader import RecordingReader
from tests import report_data
from tests.log_writer import LogWriter, notification, request, result
from tests.report_data import decode


def test_the_decoder_knows_all_kinds_of_columns() -> None:
    """Those of differences, and those of texts."""
    assert (report_data.DIFFERENCES, report_data.TEXTS) == (DIFFERENCES, TEXTS)


def test_the_page_lists_all_columns() -> None:
    """Those that blocks have, each once."""
    page = (Path(__file__).parents[3] / "docs" / "report-data.md").read_text(encoding="utf-8")
    table = page.partition("## Columns")[2].partition("## Cells")[0]
    rows = [line.split("|") for line in table.splitlines() if line.startswith("| `")]
    kinds = {name: row[2].strip() for row in rows for name in re.findall("`([a-z_]+)`", row[1])}
    assert sorted(kinds) == sorted([*OWN_COLUMNS, *SHARED_COLUMNS, "run"])
    assert {name for name, kind in kinds.items() if kind == "text"} == {*TEXTS}
    assert {name for name, kind in kinds.items() if kind == "difference"} == {*DIFFERENCES}


def test_messages_of_a_batch_are_in_its_line(tmp_path: Path) -> None:
    """Each with its columns, its text and the place of its bytes, also if two are equal."""
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
        for member, found in zip(members, report.meta["members"][str(place)], strict=True):
            at, length = found["offset"], found["length"]
            assert at >= end
            end = at + length
            assert report.lines[place][at:end] == member["raw"]
            for name in ("kind", "method", "exchange", "request_seq", "response_seq", "rpc_id"):
                assert found[name] == member[name]
            assert found["text"]
