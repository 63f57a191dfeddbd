"""A batch is written as JUnit XML, and each verdict has its reason in a line."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

from attrs import evolve

from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.cli.batches.batch_screen import junit, reason
from tests.support.batch_verdicts import FINDING, verdict


def failures(*verdicts: JobVerdict) -> dict[str | None, ET.Element | None]:
    """Returns the failure element of each case of a JUnit report, or None if the case passed."""
    suite = ET.fromstring(junit(verdicts[0].command, verdicts).encode())
    actual = {case.get("name"): case.find("failure") for case in suite}
    bad = [item for item in actual.values() if item is not None]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(verdicts)), str(len(bad)))
    return actual


def test_junit_has_a_case_for_each_recording() -> None:
    """The JUnit report of `verify` on several recordings has one case for each recording."""
    actual = failures(
        verdict("b.db", VerdictKind.DIFFERS, "end_turn →\n  max_tokens"), verdict("a.db")
    )
    assert [*actual] == ["a.db", "b.db"]
    assert actual["a.db"] is None
    assert (failure := actual["b.db"]) is not None
    assert failure.attrib == {"type": "differs", "message": "differs: #13: end_turn → max_tokens"}
    assert failure.text == "end_turn →\n  max_tokens"


def test_a_failed_case_lists_findings_or_failed_plans() -> None:
    """A failed JUnit case lists the findings of `check`, or the failed plans of `faults sweep`."""
    members: dict[str, Any] = {"command": "check", "broken": 7}
    findings = (FINDING | {"severity": "warning"}, FINDING, FINDING | {"known": True})
    item = verdict("a.db", VerdictKind.FINDINGS, findings=findings, **members)
    failure = failures(item)["a.db"]
    assert failure is not None
    assert failure.get("message") == (
        "findings: #6 rpc.unanswered: the agent ended before it answered session/prompt, and 6 more"
    )
    assert [line.partition(":")[0] for line in (failure.text or "").splitlines()] == [
        "error", "warning", "and 5 more",
    ]  # fmt: skip
    runs = ({"plan": "", "outcome": "finished"}, {"plan": "@drop", "outcome": "hung"}, {"x": 1})
    swept = verdict("a.db", VerdictKind.FAILED, command="faults sweep", findings=runs)
    assert "@drop: hung" in junit("faults sweep", [swept])


def test_a_reason_is_one_printable_line() -> None:
    """`verify` of several recordings prints a reason on one line and escapes control characters."""
    item = verdict("a", VerdictKind.DIFFERS, "a\n\tb\x1b[2J" + "x" * 5000)
    assert reason(item).startswith("#13: a b\\x1b[2Jxxx")
    assert len(reason(item)) <= 2000
    assert reason(evolve(item, first_divergence=None, error="\u202ex")) == "\\u202ex"
    assert reason(evolve(item, first_divergence=None)) == ""
