"""All commands report the same findings about a recording, in the same order."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy import api
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import reported
from acp_proxy.check.judgement import check_whole
from acp_proxy.cli.store.list_ import checked_entries
from acp_proxy.explain.findings import CONVERSATION, SEVERITIES, Finding, Severity, in_order
from acp_proxy.report.report_model import ReportOptions, read_report_data
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.command_line import run
from tests.support.log_writer import MS, LogWriter, request
from tests.support.shipped_recordings import REPORTS, SHIPPED
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

CONVERSATIONS = [*captures.all_text_forms(), *sorted(REPORTS.rglob("*.jsonl"))]

Told = list[tuple[str, str, "str | None", int]]


def told(findings: Iterable[Finding]) -> Told:
    """Returns the rule, the severity, the side and the frame of each finding."""
    return [(finding.rule, finding.severity.value, finding.by, finding.seq) for finding in findings]


def told_json(findings: Iterable[dict[str, Any]]) -> Told:
    """Returns the rule, the severity, the side and the frame of each finding in JSON."""
    return [
        (finding["rule"], finding["severity"], finding["by"], finding["seq"])
        for finding in findings
    ]


def agree(path: Path) -> list[Finding]:
    """Asserts that all commands report the same findings of a recording; returns the findings."""
    with RecordingReader(path) as reader:
        checked = reported(reader, check_whole(reader), chosen_rules((), ()))
        report = read_report_data(reader, ReportOptions()).summary
    assert told(report.findings) == told(checked.findings)
    assert {key: n for key, n in report.severities.items() if n} == {
        key: n for key, n in checked.counts.items() if n
    }
    (entry,) = checked_entries([path])
    assert entry.findings is not None
    assert_subset(entry.findings, checked.findings)
    return checked.findings


def assert_subset(listed: Iterable[Finding], every: list[Finding]) -> None:
    """Asserts that `list` reports only findings that `check` reports, too.

    But `list` checks no rules, so it reports an error response that a broken rule explains.
    """
    listed = [item for item in listed if item.severity is not Severity.INFO]
    serious = [
        item for item in every if item.group in CONVERSATION and item.severity is not Severity.INFO
    ]
    explained = {
        seq
        for item in every
        if item.group not in CONVERSATION and item.severity is Severity.ERROR
        for seq in item.seqs
    }
    known = told(serious)
    assert [item for item in told(listed) if item in known] == known
    assert all(item in known or item[3] in explained for item in told(listed))


@pytest.mark.parametrize("path", [*captures.weighted(CONVERSATIONS)])
def test_all_tell_one_list(path: Path) -> None:
    """`check`, `report`, `list` and other commands have the same findings for a recording."""
    agree(path)


@pytest.mark.parametrize("path", [*captures.weighted_captures()])
def test_all_tell_one_list_of_what_was_captured(path: Path, tmp_path: Path) -> None:
    """`check`, `report`, `list` and others have the same findings for a captured conversation."""
    with LogWriter(tmp_path / "x.db") as recorder:
        play(captures.load(path), recorder)
        recorder.finish()
    agree(tmp_path / "x.db")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_all_print_one_list(path: Path) -> None:
    """The Python API and the JSON of `show`, `check` and `transcript` have the same findings."""
    expected = told(agree(path))
    with api.open(path) as opened:
        assert told(opened.summary().findings) == expected
    shown = json.loads(run("show", "--json", path).stdout)
    (checked,) = json.loads(run("check", "--json", path).stdout)["recordings"]
    lines = map(json.loads, run("transcript", "--json", path).stdout.splitlines())
    transcribed = [line for line in lines if line.pop("type") == "finding"]
    assert told_json(shown["problems"]) == told_json(checked["findings"]) == expected
    assert transcribed == shown["problems"]


def test_a_line_on_stderr_may_be_the_last_that_happened(tmp_path: Path) -> None:
    """If only a line on stderr follows a long silence, `check` and `list` report the silence."""
    with LogWriter(tmp_path / "x.db") as recorder:
        prompt = [{"type": "text", "text": "go"}]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=prompt))
        recorder.t_ns += 70 * 1000 * MS
        recorder.stderr("still here")
    assert "wait.silence" in [item.rule for item in agree(tmp_path / "x.db")]


def test_the_worst_come_first() -> None:
    """All commands sort findings by severity, then by kind of rule, then by frame."""
    every = [
        Finding(rule, severity, "agent", seq, "")
        for severity in reversed(SEVERITIES)
        for rule in ("rpc.shape", "wait.silence")
        for seq in (9, 2)
    ]
    assert [(item.severity, item.rule, item.seq) for item in in_order(every)] == [
        (severity, rule, seq)
        for severity in SEVERITIES
        for rule in ("wait.silence", "rpc.shape")
        for seq in (2, 9)
    ]


def test_who_did_it_is_told_in_words() -> None:
    """A finding of `check` says in words who is to blame, or why nobody is."""
    finding = Finding("wait.unanswered", Severity.ERROR, "environment", 1, "")
    assert finding.whose == "by the environment"
    assert Finding("fault.effect", Severity.WARNING, "fault", 1, "").whose == "by a fault"
    nobody = Finding("wait.unanswered", Severity.ERROR, None, 1, "", unblamed="it may be missing")
    assert nobody.whose == "nobody to blame: it may be missing"
