"""What the head of a report shows: the values of `show`, `stats` and `check`, cut to a page.

Nothing is computed here that a command does not print; a list is cut, and says how much is left.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from attrs import frozen

from acp_proxy.conformance.report import CheckedRecording, ReportedFinding, by_rule
from acp_proxy.inspection.diagnosis.values import (
    PROBLEM,
    FailedCall,
    Finding,
    OpenRequest,
    PersonRequest,
    Summary,
    TurnSummary,
)
from acp_proxy.inspection.measures.statistics import Statistics
from acp_proxy.inspection.measures.traffic import CallStatistics
from acp_proxy.inspection.measures.turn_times import Part, TurnTime
from acp_proxy.report.model import ReportData
from acp_proxy.report.verdict import PairOf, Verdict, find_verdict

_MOST = 100
"""Turns, permissions and requests."""
_MOST_OF_KIND = 20
"""Problems of one kind."""
_SHOWN_OF_RULE = 3
"""Cases of one rule and one side that are told one by one."""
_MOST_OF_RULE = 10
"""Frames of others."""
_MOST_CALLS = 20
BAR = 1000
"""The width of the longest bar, in units of its own."""

T = TypeVar("T")


@frozen
class Shortened(Generic[T]):
    """The beginning of a list."""

    items: list[T]
    more: int
    """How many there are besides."""


@frozen
class Contents:
    """What the file holds, and what is masked in it."""

    rows: int
    """Frames and events."""
    of_rows: int
    """How many the recording has."""
    filter: str
    """Which of them were chosen; empty for all."""
    turn: int | None
    has_payloads: bool
    is_unmasked: bool
    """Whether it may show secrets."""
    masked: str
    """What is masked, in words."""
    is_private: bool
    """Whether what was said is masked as well."""


@frozen
class Problem:
    """Something that went wrong, or is worth knowing."""

    finding: Finding
    unnamed: list[int]
    """Those of its frames that its sentence does not name."""


@frozen
class ProblemsOfKind:
    """What was found of one kind."""

    kind: str
    problems: Shortened[Problem]


@frozen
class BrokenRule:
    """One rule that one side broke."""

    rule: str
    by: str
    shown: list[ReportedFinding]
    """The first of the worst, each with what happened."""
    also: list[int]
    """The frames of others."""
    more: int
    """How many there are besides."""


@frozen
class Segment:
    """A piece of a bar: the time of a turn that one part took."""

    part: str
    x: int
    width: int
    ns: int


@frozen
class TurnFacts:
    """A turn as `show` and `stats` know it."""

    summary: TurnSummary
    time: TurnTime | None
    state: str
    """Its stop reason, or how else it ended."""
    is_trouble: bool
    bar: list[Segment]


@frozen
class HeadFacts:
    """All that the head of a report shows."""

    contents: Contents
    summary: Summary
    statistics: Statistics
    checked: CheckedRecording | None
    verdict: Verdict
    problems: list[ProblemsOfKind]
    problem_count: int
    remark_count: int
    rules: list[BrokenRule]
    turns: Shortened[TurnFacts]
    longest_ns: int
    """The turn that has the longest bar."""
    spent: list[Segment]
    """The time of all turns by its parts."""
    questions: Shortened[PersonRequest]
    unanswered: Shortened[OpenRequest]
    failed_calls: Shortened[FailedCall]
    calls: Shortened[CallStatistics]
    sessions: int


def head_facts(
    data: ReportData, rows: int, masked: str, pair_of: PairOf, *, is_private: bool = False
) -> HeadFacts:
    """Chooses what the head of a report shows.

    Args:
        data: what the report says of the whole recording.
        rows: how many frames and events the file has.
        masked: what is masked in it, in words.
        pair_of: finds the other half of an exchange.
        is_private: whether what was said is masked as well.
    """
    summary, statistics, checked = data.summary, data.statistics, data.checked
    options = data.options
    contents = Contents(
        rows, data.rows_in_recording, options.filter.strip(), options.turn, options.payloads,
        not data.is_masked, masked, is_private,
    )  # fmt: skip
    counts = _severities(summary)
    turns = _turns(summary, statistics)
    total = {part: sum(turn.part_ns(part) for turn in statistics.turns) for part in Part}
    return HeadFacts(
        contents,
        summary,
        statistics,
        checked,
        find_verdict(summary, checked, pair_of),
        _problems(summary),
        counts[0],
        counts[1],
        _rules(checked),
        shortened(turns, _MOST),
        max((turn.duration_ns for turn in statistics.turns), default=0),
        bar(total, sum(total.values())),
        _of(summary.questions, sum(summary.answers.values()), _MOST),
        shortened(summary.unanswered, _MOST),
        shortened(summary.failed_calls, _MOST_CALLS),
        _of(statistics.tool_calls, statistics.tool_call_count, _MOST_CALLS),
        len(summary.opened),
    )


def shortened(items: Sequence[T], most: int) -> Shortened[T]:
    """Returns the first items and how many there are besides.

    Args:
        items: all of them.
        most: how many are kept.
    """
    return _of(items, len(items), most)


def _of(items: Sequence[T], count: int, most: int) -> Shortened[T]:
    """The first items of a list that was cut before."""
    kept = [*items[:most]]
    return Shortened(kept, max(0, count - len(kept)))


def bar(spent: Mapping[Part, int], longest_ns: int) -> list[Segment]:
    """Divides a bar into the parts of a time.

    Args:
        spent: the time of each part.
        longest_ns: the time that the whole width stands for.
    """
    segments, at_ns = list[Segment](), 0
    for part in Part:
        if ns := spent[part]:
            x = at_ns * BAR // longest_ns
            at_ns += ns
            segments.append(Segment(part.value, x, max(1, at_ns * BAR // longest_ns - x), ns))
    return segments


def _severities(summary: Summary) -> tuple[int, int]:
    """How many problems and remarks there are, also those too many to be listed.

    Problems are listed before remarks, so if a remark is listed, all problems of its kind are.
    """
    problems = remarks = 0
    for kind, count in summary.finding_counts.items():
        listed = [finding for finding in summary.findings if finding.kind == kind]
        of_problems = sum(finding.severity == PROBLEM for finding in listed)
        is_all = of_problems < len(listed)
        problems += of_problems if is_all else count
        remarks += count - of_problems if is_all else 0
    return problems, remarks


def _problems(summary: Summary) -> list[ProblemsOfKind]:
    kinds: dict[str, list[Finding]] = {}
    for finding in summary.findings:
        kinds.setdefault(finding.kind, []).append(finding)
    return [
        ProblemsOfKind(
            kind,
            Shortened(
                [_problem(one) for one in found[:_MOST_OF_KIND]],
                max(0, summary.finding_counts[kind] - _MOST_OF_KIND),
            ),
        )
        for kind, found in kinds.items()
    ]


def _problem(finding: Finding) -> Problem:
    unnamed = [seq for seq in finding.seqs if not re.search(rf"#{seq}\b", finding.text)]
    return Problem(finding, unnamed)


def _rules(checked: CheckedRecording | None) -> list[BrokenRule]:
    if checked is None:
        return []
    counts = {(one.rule, one.by): one.count for one in checked.broken}
    return [_rule(group, counts[group[0].rule, group[0].by]) for group in by_rule(checked.findings)]


def _rule(findings: list[ReportedFinding], count: int) -> BrokenRule:
    """Makes one value of what one side did against one rule, the worst first."""
    shown, others = findings[:_SHOWN_OF_RULE], findings[_SHOWN_OF_RULE:]
    also = sorted({finding.seq for finding in others})[:_MOST_OF_RULE]
    more = max(0, count - len(shown) - len(also))
    return BrokenRule(shown[0].rule, shown[0].by, shown, also, more)


def _turns(summary: Summary, statistics: Statistics) -> list[TurnFacts]:
    times = {turn.id: turn for turn in statistics.turns}
    longest_ns = max((turn.duration_ns for turn in statistics.turns), default=0)
    return [_turn(turn, times.get(turn.id), longest_ns, summary.live) for turn in summary.turns]


def _turn(turn: TurnSummary, time: TurnTime | None, longest_ns: int, live: bool) -> TurnFacts:
    ended = "error" if turn.outcome == "error" else "ended"
    unended = "open" if live else "never ended"
    state = turn.stop_reason or (ended if turn.end_seq else unended)
    is_trouble = state not in ("end_turn", "ended", "open", "cancelled")
    parts = {} if time is None else {part: time.part_ns(part) for part in Part}
    return TurnFacts(turn, time, state, is_trouble, bar(parts, longest_ns) if parts else [])
