"""Merged results are written for JUnit and GitHub, with what is missing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from attrs import evolve

from acp_proxy.batches.merged import MergedResults, ResultsMerger
from acp_proxy.batches.results import JobVerdict, ResultsHeader, VerdictKind
from acp_proxy.cli.render import results_reports
from acp_proxy.cli.render.results_reports import junit
from acp_proxy.cli.render.results_rows import reason
from tests.verdicts import FINDING, header, verdict


def merged(*verdicts: JobVerdict, first: ResultsHeader | None = None) -> MergedResults:
    """Merges a file."""
    merger = ResultsMerger()
    merger.begin("x.jsonl", first or header(None, len(verdicts), command=verdicts[0].command))
    for one in verdicts:
        merger.add(one)
    return merger.merged()


def checked(name: str, *findings: dict[str, Any], broken: int | None = None) -> JobVerdict:
    """Returns the verdict of a check."""
    broken = broken or len(findings)
    return verdict(name, VerdictKind.FINDINGS, command="check", findings=findings, broken=broken)


def test_junit_has_a_case_for_each_recording() -> None:
    """And one for each part that is missing."""
    results = merged(
        verdict("a.db"),
        verdict("b.db", VerdictKind.DIFFERS, "end_turn →\n  max_tokens", attempt=2),
        first=header("1/2", 2),
    )
    suite = ET.fromstring(junit(results).encode())
    cases = {case.get("name"): case.find("failure") for case in suite}
    assert [*cases] == ["a.db", "b.db", "shard 2/2"]
    assert (suite.get("tests"), suite.get("failures")) == ("3", "2")
    assert cases["a.db"] is None
    assert (failure := cases["b.db"]) is not None
    assert failure.attrib == {"type": "differs", "message": "differs: #13: end_turn → max_tokens"}
    assert failure.text == "end_turn →\n  max_tokens\nafter 2 attempts"
    assert (failure := cases["shard 2/2"]) is not None
    assert failure.get("type") == "missing"


def test_a_case_lists_findings_runs_and_other_verdicts() -> None:
    """Whatever says why it failed."""
    one = checked("a.db", FINDING | {"severity": "warning"}, FINDING, broken=7)
    other = verdict("a.db", VerdictKind.UNREADABLE, command="check", error="not there")
    failure = ET.fromstring(junit(merged(one, other)).encode()).find("testcase/failure")
    assert failure is not None
    assert failure.get("message") == "unreadable: not there"
    assert failure.text == (
        "not there\nin another file: findings: #6 rpc.unanswered: the agent ended before it"
        " answered session/prompt, and 6 more"
    )
    failure = ET.fromstring(junit(merged(one)).encode()).find("testcase/failure")
    assert failure is not None
    assert [line.partition(":")[0] for line in (failure.text or "").splitlines()] == [
        "error", "warning", "and 5 more",
    ]  # fmt: skip
    runs = ({"plan": "", "outcome": "finished"}, {"plan": "@drop", "outcome": "hung"}, {"x": 1})
    swept = verdict("a.db", VerdictKind.FAILED, command="faults sweep", findings=runs)
    assert "@drop: hung" in junit(merged(swept))


def test_there_are_ten_annotations() -> None:
    """As many as GitHub shows; the last one counts the others."""
    ten = [verdict(f"{n:02}.db", VerdictKind.DIFFERS, "x, y: 50%\n::error::z") for n in range(10)]
    lines = [*results_reports.github_annotations(merged(*ten))]
    assert len(lines) == 10
    expected = "::error file=00.jsonl,title=verify%3A differs::#13: x, y: 50%25 ::error::z"
    assert lines[0] == expected
    lines = [
        *results_reports.github_annotations(
            merged(*ten, verdict("x.db", VerdictKind.DIFFERS, "x"), first=header("1/9", 11))
        )
    ]
    assert len(lines) == 10
    assert lines[0].startswith("::error::shards 2/9, 3/9")
    assert lines[-1] == "::error::acp-proxy: 3 more; the report has all"


def test_findings_are_annotated_at_their_lines() -> None:
    """The worst first; those that the verdict does not list are counted."""
    warning = FINDING | {"severity": "warning"}
    lines = [
        *results_reports.github_annotations(
            merged(checked("a.db", warning), checked("b.jsonl", FINDING))
        )
    ]
    assert [line.partition("::#6")[0] for line in lines] == [
        "::error file=b.jsonl,title=rpc.unanswered by the agent,line=7",
        "::warning file=a.jsonl,title=rpc.unanswered by the agent,line=7",
    ]
    known = FINDING | {"known": True}
    assert (
        len(
            [*results_reports.github_annotations(merged(checked("a.db", FINDING, known, broken=1)))]
        )
        == 1
    )
    for count in (2, 12):
        lines = [
            *results_reports.github_annotations(
                merged(checked("a.db", *[FINDING] * count, broken=40))
            )
        ]
        assert len(lines) == min(count, 9) + 1
        assert lines[-1] == f"::error::acp-proxy: {41 - len(lines)} more; the report has all"


def test_a_new_run_that_breaks_rules_has_no_lines() -> None:
    """They are not those of the recording; what differs besides is a result of its own."""
    members: dict[str, Any] = {"findings": (FINDING,), "broken": 1}
    results = merged(
        verdict("a.db", VerdictKind.BROKEN_RULES, **members),
        verdict("b.db", VerdictKind.DIFFERS, "x", **members),
        verdict("c.db", VerdictKind.STALLED, error="x"),
    )
    lines = [*results_reports.github_annotations(results)]
    assert [line.partition("::#")[0] for line in lines] == [
        "::error file=b.jsonl,title=verify%3A differs",
        "::error file=c.jsonl,title=verify%3A stalled::x",
        *[f"::error file={name}.jsonl,title=rpc.unanswered by the agent,line=1" for name in "ab"],
    ]


def test_a_reason_is_one_printable_line() -> None:
    """Whatever a verdict says."""
    one = verdict("a", VerdictKind.DIFFERS, "a\n\tb\x1b[2J" + "x" * 5000)
    assert reason(one).startswith("#13: a b\\x1b[2Jxxx")
    assert len(reason(one)) <= 2000
    assert reason(evolve(one, first_divergence=None, error="\u202ex")) == "\\u202ex"
    assert reason(evolve(one, first_divergence=None)) == ""
