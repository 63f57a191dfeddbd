"""The facts in the head of a report: values of `show`, `stats` and `check`, shortened for a page.

Every value is also printed by a command. A shortened list says how many items are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from attrs import evolve, frozen

from acp_proxy.base.limits import LISTED, NAMED, SHORT_LIST
from acp_proxy.explain.findings import CONVERSATION, FAULT, Finding, Severity, alike, by_rule
from acp_proxy.explain.origins import origin_rows, why_no_times
from acp_proxy.explain.show.agent_end import ENDED
from acp_proxy.explain.show.current_waits import waiting_for
from acp_proxy.explain.show.facts_line import Fact, facts_line
from acp_proxy.explain.show.failures import ANSWER
from acp_proxy.explain.show.result_words import result_words
from acp_proxy.explain.show.summary_values import (
    BegunCall,
    FailedCall,
    OpenRequest,
    PersonRequest,
    Summary,
    TurnSummary,
    turn_state,
)
from acp_proxy.explain.stats.traffic import CallStatistics
from acp_proxy.explain.stats.turn_times import Part, TurnTime, spent_in
from acp_proxy.protocol.updates import FAILED
from acp_proxy.report.report_model import ReportData, with_clock


@frozen
class Verdict:
    """The answer to the question what went wrong."""

    finding: Finding | None
    """The finding to look at first, which is an error, an effect of a fault, or a warning; None if
    nothing went wrong."""
    text: str
    """A sentence which says that nothing went wrong; empty if something went wrong."""
    words: str = ""
    """The finding in a few words; empty without a finding."""
    hint: Finding | None = None
    """If nothing went wrong: the first remark about the conversation as a whole, or None."""

    @property
    def is_trouble(self) -> bool:
        """Whether the finding is an error, or was caused by a fault."""
        first = self.finding
        return first is not None and (first.severity is Severity.ERROR or first.by == FAULT)

    @property
    def is_rule(self) -> bool:
        """Whether the finding is about a broken rule of the protocol."""
        return self.finding is not None and self.finding.group not in CONVERSATION


def find_verdict(summary: Summary) -> Verdict:
    """Returns the verdict on a recording: the finding to look at first, or that all went well.

    Args:
        summary: the recording's summary, with all findings.
    """
    first = next(iter(summary.findings), None)
    if first is not None and (first.severity is not Severity.INFO or first.by == FAULT):
        words = result_words(summary.findings, summary.recording).removesuffix(f" #{first.seq}")
        words = f"Error: {words}" if first.rule == ANSWER else words[:1].upper() + words[1:]
        return Verdict(first, "", words)
    hint = next((note for note in summary.findings if note.group in CONVERSATION), None)
    return Verdict(None, _nothing_wrong(summary), hint=hint)


def _nothing_wrong(summary: Summary) -> str:
    words = "No problem was found"
    if summary.recording.origin is not None:
        words += " in the imported messages"
    elif summary.recording.state == "incomplete" and not summary.live:
        words += " in the recorded part; the recorder was killed, so the end is missing"
    if summary.live:
        waits = waiting_for(summary.waiting)
        words += f" so far; the recording is still running{', ' if waits else ''}{waits}"
    if not summary.findings:
        upto = "" if summary.checked.is_whole else f" up to #{summary.checked.last_seq:,}"
        words += f", and no rule of the protocol was broken{upto}"
    return f"{words}."


_MOST_OF_RULE = 10
"""The largest number of frames in `FindingGroup.also`."""
BAR = 1000
"""The width of the longest bar. `Segment.x` and `Segment.width` are parts of this width."""

T = TypeVar("T")


@frozen
class Shortened(Generic[T]):
    """The first items of a list."""

    items: list[T]
    more: int
    """How many items of the list are left out."""


@frozen
class FindingGroup:
    """The findings about one side and one rule."""

    shown: list[Finding]
    """The first findings, with their texts."""
    also: list[int]
    """The frames of further findings, which are shown without a text."""
    more: int
    """How many findings of the group are neither in `shown` nor in `also`."""


@frozen
class Segment:
    """A piece of a bar, for the time that one part of a turn took."""

    part: str
    x: int
    width: int
    ns: int


@frozen
class TurnFacts:
    """A turn, with facts about it from `show` and `stats`."""

    summary: TurnSummary
    time: TurnTime | None
    state: str
    """The stop reason, or another way in which the turn ended."""
    is_trouble: bool
    bar: list[Segment]


@frozen
class HeadFacts:
    """Everything that the head of a report shows."""

    data: ReportData
    """The facts about the whole recording. If its time zone is unknown, its start has no zone."""
    rows: int
    """The number of frames and events in the file."""
    masked: str
    """A sentence about the masked values."""
    is_private: bool
    """Whether prompts, messages and contents of files are masked, in addition to secrets."""
    verdict: Verdict
    first_faulted: int | None
    has_crashed: bool
    """Whether the agent ended by itself while a request, turn or tool call was unfinished."""
    line: list[Fact]
    first_calls: Shortened[BegunCall]
    """The first tool calls, which are listed if nothing went wrong."""
    same: FindingGroup
    """The finding of the verdict, and all findings that are similar to it."""
    others: Shortened[FindingGroup]
    """Groups of similar errors and warnings, besides `same`. ``more`` counts the errors and
    warnings in none of these groups."""
    findings: list[FindingGroup]
    """All groups of findings, in the order in which commands print findings."""
    turns: Shortened[TurnFacts]
    longest_ns: int
    """The duration of the longest turn, whose bar has the full width."""
    spent: list[Segment]
    """The bar of all turns together: how much time each part took."""
    questions: Shortened[PersonRequest]
    unanswered: Shortened[OpenRequest]
    failed_calls: Shortened[FailedCall]
    calls: Shortened[CallStatistics]
    """The tool calls with the most bytes, in the order of their start."""
    origin: list[tuple[str, str]]
    """The rows about the origin of an imported recording, each with a label and a text."""
    why_no_times: str
    """Why the report does not show how time was spent; empty if the report shows it."""


def head_facts(data: ReportData, rows: int, masked: str, *, is_private: bool = False) -> HeadFacts:
    """Chooses what the head of a report shows.

    Args:
        data: the report's facts about the whole recording.
        rows: the number of frames and events in the file.
        masked: a sentence about the masked values.
        is_private: whether prompts, messages and contents of files are masked, too.
    """
    summary, statistics = data.summary, data.statistics
    open_count = sum(method.unanswered for method in statistics.methods)
    failed_count = sum(call.statuses.get(name, 0) for call in summary.tool_calls for name in FAILED)
    recording = summary.recording
    why = why_no_times(recording)
    times = {} if why else {turn.id: turn for turn in statistics.turns}
    longest_ns = max((turn.duration_ns for turn in times.values()), default=0)
    unended = summary.unended
    turns = [_turn(turn, times.get(turn.id), longest_ns, unended) for turn in summary.turns]
    total = spent_in(times.values())
    calls = shortened(statistics.tool_calls, SHORT_LIST, statistics.tool_call_count)
    verdict = find_verdict(summary)
    serious = [f for f in summary.findings if f.severity is not Severity.INFO or f.by == FAULT]
    same, *others = alike(serious) or [[]]
    named = len(same) + sum(map(len, others[:NAMED]))
    return HeadFacts(
        data=evolve(data, summary=evolve(summary, recording=with_clock(recording))),
        rows=rows,
        masked=masked,
        is_private=is_private,
        verdict=verdict,
        first_faulted=min((seq for rule in data.faults for seq in rule.seqs), default=None),
        has_crashed=any(finding.rule == ENDED for finding in summary.findings),
        line=facts_line(summary),
        first_calls=shortened(
            summary.first_calls, NAMED, sum(call.count for call in summary.tool_calls)
        ),
        same=_alike(same),
        others=Shortened([*map(_alike, others[:NAMED])], sum(summary.severities.values()) - named),
        findings=[_group(group, summary) for group in by_rule(summary.findings)],
        turns=shortened(turns, LISTED),
        longest_ns=longest_ns,
        spent=bar(total, sum(total.values())),
        questions=shortened(summary.questions, LISTED, sum(summary.answers.values())),
        unanswered=shortened(summary.unanswered, LISTED, open_count),
        failed_calls=shortened(summary.failed_calls, SHORT_LIST, failed_count),
        calls=evolve(calls, items=sorted(calls.items, key=lambda call: call.start_ns)),
        origin=[*origin_rows(recording)],
        why_no_times=why,
    )


def shortened(items: Sequence[T], most: int, count: int = 0) -> Shortened[T]:
    """Returns the first items of a list, and the number of items that are left out.

    Args:
        items: all items, or only the first ones.
        most: the largest number of items to keep.
        count: the number of all items, if `items` contains only the first ones.
    """
    kept = [*items[:most]]
    return Shortened(kept, max(len(items), count) - len(kept))


def bar(spent: Mapping[Part, int], longest_ns: int) -> list[Segment]:
    """Returns the segments of a bar, one for each `Part` whose time is not zero.

    Args:
        spent: the time of each part.
        longest_ns: the time that fills the whole width.
    """
    segments, at_ns = list[Segment](), 0
    for part in Part:
        if ns := spent[part]:
            x = at_ns * BAR // longest_ns
            at_ns += ns
            segments.append(Segment(part.value, x, max(1, at_ns * BAR // longest_ns - x), ns))
    return segments


def _group(findings: list[Finding], summary: Summary) -> FindingGroup:
    most = SHORT_LIST if findings[0].group in CONVERSATION else NAMED
    shown, others = findings[:most], findings[most:]
    also = sorted({finding.seq for finding in others})[:_MOST_OF_RULE]
    of_rule = [other for other in summary.findings if other.rule == findings[0].rule]
    unlisted = summary.finding_counts[findings[0].rule] - len(of_rule)
    return FindingGroup(shown, also, len(findings) + unlisted - len(shown) - len(also))


def _alike(findings: list[Finding]) -> FindingGroup:
    also = [finding.seq for finding in findings[1:]]
    return FindingGroup(findings[:1], also[:_MOST_OF_RULE], max(0, len(also) - _MOST_OF_RULE))


def _turn(turn: TurnSummary, time: TurnTime | None, longest_ns: int, unended: str) -> TurnFacts:
    state = turn_state(turn, unended)
    is_trouble = state not in ("end_turn", "ended", "open", "cancelled")
    parts = {} if time is None else {part: time.part_ns(part) for part in Part}
    return TurnFacts(turn, time, state, is_trouble, bar(parts, longest_ns) if parts else [])
