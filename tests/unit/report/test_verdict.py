"""`report.verdict`: who is to blame in the recordings that are shipped, and at which frame."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.conformance.checker import check
from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.report import CheckedRecording, ReportedFinding, reported
from acp_proxy.conformance.values import Severity
from acp_proxy.inspection.choice import row_of
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.diagnosis.values import Finding, Summary
from acp_proxy.inspection.timeline import pair_of
from acp_proxy.report.verdict import Verdict, find_verdict
from acp_proxy.store.reader import RecordingReader

RECORDINGS = Path(__file__).parents[3] / "recordings"


def verdict_of(path: Path) -> Verdict:
    """The verdict on a recording."""
    with RecordingReader(path) as reader:
        checked = reported(reader, check(reader), chosen_rules((), ()))
        return find_verdict(summarize(reader), checked, lambda seq: pair_of(row_of(reader, seq)))


@pytest.mark.parametrize(
    ("name", "by", "seq", "words"),
    [
        ("crash", "agent", 14, "the agent was killed by SIGABRT"),
        ("hang", "agent", 6, "session/prompt"),
        ("late-updates", "agent", 11, "tool_call_update"),
        ("lost-permission", "client", 11, "agent waits for client: session/request_permission"),
        ("wrong-params", "client", 6, 'the client sent session/set_mode without "modeId"'),
    ],
)
def test_sick_recordings_have_somebody_to_blame(name: str, by: str, seq: int, words: str) -> None:
    """At the frame with which it began."""
    found = verdict_of(RECORDINGS / f"{name}.db")
    assert (found.is_trouble, found.by, found.seq) == (True, by, seq)
    assert found.text.startswith(words)


@pytest.mark.parametrize("name", ["hello", "tour", "terminal", "edit-allowed", "cancelled"])
def test_sound_recordings_have_nobody(name: str) -> None:
    """Hints of the rules are no problems."""
    found = verdict_of(RECORDINGS / f"{name}.db")
    assert (found.is_trouble, found.by, found.seq) == (False, None, None)
    assert found.text.startswith("No problem was found")


def hello() -> tuple[Summary, CheckedRecording]:
    """The summary of a sound recording, and what a check of it found: nothing."""
    with RecordingReader(RECORDINGS / "hello.db") as reader:
        return summarize(reader), reported(reader, check(reader), chosen_rules((), ()))


def test_a_fault_is_to_blame_if_nothing_else_is() -> None:
    """What it caused is no problem of a peer, but the first thing to know."""
    summary, checked = hello()
    fault = Finding("undelivered", "remark", "fault drop kept it back (#9)", [9, 4], "fault")
    summary.findings = [Finding("silence", "remark", "the agent was slow", [3], "agent"), fault]
    found = find_verdict(summary, checked, lambda _: None)
    assert found == Verdict("fault", 9, "fault drop kept it back (#9)")
    problem = Finding("gap", "problem", "bytes are missing (#5)", [5])
    summary.findings = [problem, fault]
    assert find_verdict(summary, checked, lambda _: None).by is None


def test_a_problem_comes_before_a_broken_rule() -> None:
    """Without one, the worst rule counts; warnings and hints are no verdict."""
    summary, checked = hello()
    error, hint = (
        ReportedFinding("a.b", severity, "client", seq, (), None, text, None, None, None, (), None,
                        "", False)
        for severity, seq, text in ((Severity.ERROR, 8, "wrong"), (Severity.INFO, 2, "odd"))
    )  # fmt: skip
    sound = find_verdict(summary, evolve(checked, findings=[hint]), lambda _: None)
    assert not sound.is_trouble
    broken = evolve(checked, findings=[hint, error])
    found = find_verdict(summary, broken, lambda _: None)
    assert found == Verdict("client", 8, "wrong", is_rule=True)
    summary.findings = [Finding("gap", "problem", "bytes are missing (#5)", [5])]
    summary.finding_counts = {"gap": 1}
    assert find_verdict(summary, broken, lambda _: None) == Verdict(
        None, 5, "bytes are missing (#5)"
    )


def test_nothing_wrong_is_not_more_than_is_known() -> None:
    """A recording that runs may still fail, and rules that were not checked may be broken."""
    summary, checked = hello()
    assert find_verdict(summary, checked, lambda _: None).text == (
        "No problem was found, and no rule of the protocol was broken."
    )
    assert find_verdict(summary, None, lambda _: None).text == "No problem was found."
    summary.live = True
    assert find_verdict(summary, None, lambda _: None).text == (
        "No problem was found so far; the recording is still running."
    )


def test_a_crash_has_the_last_words_of_the_agent() -> None:
    """Which often say why it ended; what others ended has none."""
    summary, checked = hello()
    summary.stderr_tail = ["Traceback", "RuntimeError: no"]
    for by, words in (("agent", "RuntimeError: no"), (None, "")):
        summary.findings = [Finding("agent-ended", "problem", "it ended (#5)", [5], by)]
        summary.finding_counts = {"agent-ended": 1}
        assert find_verdict(summary, checked, lambda _: None).stderr == words
