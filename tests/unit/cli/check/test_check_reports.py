"""Reports for GitHub and JUnit refer to lines of the text form."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest
from attrs import evolve

from acp_proxy.check.baseline import BaselineWriter
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import CheckedRecording, CheckReport, reported
from acp_proxy.check.checker import Checker
from acp_proxy.cli.check import check_reports
from acp_proxy.cli.check.check_reports import junit, place_of
from tests.support.example_checker import reader_of

if TYPE_CHECKING:
    from pathlib import Path

LINES = [
    '-> #0 initialize {"protocolVersion": 1, "clientCapabilities": {}}',
    '<- #0 result {"protocolVersion": 1, "agentCapabilities": {}}',
    '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
    '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
]
RPC = chosen_rules(["rpc.id-reused", "rpc.unanswered"], [])


def checked(fail_on: str = "error", baseline: BaselineWriter | None = None) -> CheckReport:
    """Returns the report of a conversation that reuses an id."""
    with reader_of(LINES) as reader:
        report = CheckReport(fail_on)
        report.add(reported(reader, Checker(reader).read(), RPC, baseline))
        return report


def one_of(report: CheckReport) -> CheckedRecording:
    """Returns the only recording of a report."""
    (single,) = report.recordings
    return single


def test_an_annotation_names_file_line_and_frame() -> None:
    """A GitHub annotation of `check` names the file, the line and the frame of a finding."""
    (line,) = check_reports.annotations(checked())
    assert line.startswith(
        "::error file=judged.jsonl,title=rpc.id-reused by the client,line=5::#4 session/new: "
    )
    assert line.endswith("(see #3). An id is not reused while its request is open.")


def test_an_annotation_cannot_become_another_command() -> None:
    """In the GitHub annotations of `check`, line breaks and separators are escaped."""
    report = checked()
    original = one_of(report)
    text = "50%\n::error::x, y"
    report.recordings[0] = evolve(
        original, path="a,b:c.jsonl", findings=[evolve(original.findings[0], text=text)]
    )
    (line,) = check_reports.annotations(report)
    assert "file=a%2Cb%3Ac.jsonl," in line
    assert "#4 session/new: 50%25\\n::error::x, y (see #3)" in line


def test_known_findings_are_not_annotated() -> None:
    """`check` writes no GitHub annotations about findings that are in the baseline."""
    assert [*check_reports.annotations(checked(baseline=BaselineWriter()))] == []


def test_junit_has_a_case_for_each_rule() -> None:
    """The JUnit report of `check` has a case for each rule."""
    suite = ET.fromstring(junit(checked(), RPC))
    cases = {case.get("name"): case for case in suite}
    assert {*cases} == {"rpc.id-reused", "rpc.unanswered"}
    failure = cases["rpc.id-reused"].find("failure")
    assert failure is not None
    assert failure.get("type") == "error"
    assert failure.get("message", "").startswith("by the client: #4 session/new: ")
    assert cases["rpc.unanswered"].find("failure") is None
    never = ET.fromstring(junit(checked("never"), RPC))
    assert never.get("failures") == "0"
    assert "by the client" in never.findtext("testcase/system-out", "")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("x/a b.db", "x/a b.jsonl"),
        ("x/a.jsonl", "x/a.jsonl"),
        ("x/a.db.log", "x/a.db.jsonl"),
        ("standard input", "judged.jsonl"),
    ],
)
def test_a_recording_stands_for_its_text_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, place: str
) -> None:
    """A report of `check` on the recording `a.db` names its text form, `a.jsonl`, as the file."""
    moved = evolve(one_of(checked()), path=path)
    assert place_of(moved) == place
    monkeypatch.chdir(tmp_path)
    assert place_of(evolve(moved, path=str(tmp_path / path))) == place
    assert place_of(evolve(moved, path="/elsewhere/x.jsonl")) == "/elsewhere/x.jsonl"
