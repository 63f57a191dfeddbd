"""A report page cuts long lists, and draws bars in proportion to their times."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.check.judgement import summarize_whole
from acp_proxy.explain.findings import Finding, Severity, counts_of, in_order
from acp_proxy.explain.show.summary_values import Extent, Summary
from acp_proxy.explain.stats.turn_times import Part
from acp_proxy.report.facts import BAR, Verdict, bar, find_verdict, shortened
from acp_proxy.store.reader import RecordingReader


def test_a_list_says_how_much_is_left() -> None:
    """If a report page shortens a list, it says how many items it leaves out."""
    assert (shortened([1, 2, 3], 2).items, shortened([1, 2, 3], 2).more) == ([1, 2], 1)
    assert (shortened([1, 2], 2).items, shortened([1, 2], 2).more) == ([1, 2], 0)


def test_a_bar_is_as_wide_as_its_time() -> None:
    """On a report page, the width of each part of a turn's bar shows the part's duration."""
    spent = dict.fromkeys(Part, 0) | {Part.SILENT: 30, Part.PERSON: 60, Part.FILES: 10}
    pieces = bar(spent, 100)
    assert [(piece.part, piece.x, piece.width, piece.ns) for piece in pieces] == [
        ("silent", 0, 300, 30),
        ("person", 300, 600, 60),
        ("files", 900, 100, 10),
    ]
    assert [piece.width for piece in bar(spent, 10**9)] == [1, 1, 1]
    assert sum(piece.width for piece in bar(dict.fromkeys(Part, 7), 7 * len(Part))) == BAR


RECORDINGS = Path(__file__).parents[3] / "recordings"
FAULT = Finding("fault.effect", Severity.WARNING, "fault", 9, "fault drop kept it back (#9)", (4,))
GAP = Finding("recording.gap", Severity.ERROR, None, 5, "bytes are missing", unblamed="no room")
BROKEN = Finding("mode.not-listed", Severity.ERROR, "client", 8, "wrong")
HINT = Finding("wait.silence", Severity.INFO, "agent", 3, "the agent was slow")


def summary_of(name: str) -> Summary:
    """Returns the summary of a shipped recording, with its findings."""
    with RecordingReader(RECORDINGS / f"{name}.db") as reader:
        return summarize_whole(reader)


def hello(*findings: Finding) -> Summary:
    """Returns the summary of a recording without problems, with the given findings in it."""
    actual = in_order(findings)
    return evolve(summary_of("hello"), findings=actual, severities=counts_of(actual))


@pytest.mark.parametrize(
    ("name", "by", "seq", "words"),
    [
        ("crash", "agent", 14, "the agent crashed: SIGABRT"),
        ("hang", None, 6, "the agent never answered session/prompt"),
        ("lost-permission", "client", 11, "the client never answered session/request_permission"),
        ("wrong-params", "client", 6, "params of session/set_mode: /params/modeId"),
    ],
)
def test_sick_recordings_have_a_verdict(name: str, by: str | None, seq: int, words: str) -> None:
    """The verdict of a report page names the first frame with a problem."""
    verdict = find_verdict(summary_of(name))
    first = verdict.finding
    assert first is not None
    assert (verdict.is_trouble, first.by, first.seq) == (True, by, seq)
    assert first.text.startswith(words)
    assert (first.unblamed is None) == (by is not None)


def test_the_words_of_a_verdict_name_no_frame() -> None:
    """The words of the verdict on a report page, such as "Never answered", name no frame."""
    assert find_verdict(summary_of("hang")).words == "Never answered"
    assert find_verdict(summary_of("crash")).words == "Crashed: SIGABRT"


def test_only_a_note_about_the_conversation_is_part_of_a_good_verdict() -> None:
    """If nothing is wrong, a report's verdict may quote a hint, but none about a protocol rule."""
    assert find_verdict(summary_of("tour")).hint is None
    assert find_verdict(hello(evolve(BROKEN, severity=Severity.INFO), HINT)).hint == HINT


@pytest.mark.parametrize("name", ["hello", "tour", "terminal", "edit-allowed", "cancelled"])
def test_sound_recordings_have_nobody(name: str) -> None:
    """If a recording has only hints, the verdict of its report page says "No problem was found"."""
    verdict = find_verdict(summary_of(name))
    assert (verdict.is_trouble, verdict.finding) == (False, None)
    assert verdict.text.startswith("No problem was found")


def test_a_warning_is_named_but_is_no_trouble() -> None:
    """If there is no error, the verdict of a report page names the first warning."""
    verdict = find_verdict(summary_of("late-updates"))
    assert verdict.finding is not None
    assert (verdict.is_trouble, verdict.text, verdict.finding.seq) == (False, "", 10)


def test_a_fault_is_to_blame_if_nothing_else_is() -> None:
    """If only an injected fault caused trouble, the verdict of a report page blames the fault."""
    assert find_verdict(hello(HINT, FAULT)) == Verdict(FAULT, "", "Fault")
    assert find_verdict(hello(FAULT, GAP)).finding == GAP
    assert Verdict(FAULT, "").is_trouble


def test_the_conversation_comes_before_a_broken_rule() -> None:
    """The verdict of a report page prefers a problem of the conversation to a broken rule."""
    verdict = find_verdict(hello(HINT, BROKEN))
    assert (verdict.finding, verdict.is_rule) == (BROKEN, True)
    verdict = find_verdict(hello(HINT, BROKEN, GAP))
    assert (verdict.finding, verdict.is_rule) == (GAP, False)


def test_nothing_wrong_is_not_more_than_is_known() -> None:
    """If nothing is wrong, a report's verdict says up to which frame this has been checked."""
    summary = hello()
    assert find_verdict(summary).text == (
        "No problem was found, and no rule of the protocol was broken."
    )
    part = evolve(summary, checked=Extent(203, 3_000, is_whole=False, last_seq=3_004))
    assert find_verdict(part).text.endswith("no rule of the protocol was broken up to #3,004.")
    summary.live = True
    assert find_verdict(summary).text.startswith(
        "No problem was found so far; the recording is still running, "
    )
