"""Combines broken rules and problems of the conversation as a whole into one list of findings.

Both may have the same cause: an agent that exits leaves a request unanswered, and a refused request
had the wrong type. Then only the more informative finding is reported.
"""

from collections.abc import Collection, Sequence

from acp_proxy.base.limits import LISTED
from acp_proxy.check.catalogue import chosen_rules, looked_at
from acp_proxy.check.check_values import ConformanceResult, RuleCount, worst_first
from acp_proxy.check.checker import Checker
from acp_proxy.explain.findings import CONVERSATION, SEVERITIES, Finding, Severity, in_order
from acp_proxy.explain.message_pass import Listener, MessagePass, Watch
from acp_proxy.explain.show.checks import run_checks
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.summary import counted, finished, summarize, with_rules
from acp_proxy.explain.show.summary_values import Extent, Summary
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.store.reader import RecordingReader

MOST = 3_000
"""The number of frames that a summary checks for broken rules; `check` checks all frames."""
_UNANSWERED = ("rpc.unanswered", "perm.unanswered", "ext.unanswered", "cancel.unanswered")
"""Rules about unanswered requests; a finding about the conversation says more."""
_REFUSED = "answer.error"
"""The finding for a refused request; a broken rule of the same request says more."""


def check_whole(
    reader: RecordingReader,
    dialect: str | None = None,
    chosen: Collection[str] | None = None,
    watch: Watch = iter,
    *,
    now_ns: int | None = None,
) -> ConformanceResult:
    """Checks a recording against the rules of its dialect, and its conversation as a whole.

    Args:
        reader: the recording.
        dialect: the dialect whose rules apply; None for the dialect of the recording.
        chosen: the rules to check; None for all.
        watch: receives all frames and passes them on.
        now_ns: the time on the monotonic clock, for a recording in progress.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    checker = Checker(reader, dialect, chosen)
    result = checker.read(watch)
    return _with_conversation(result, finished(reader, checker.messages, now_ns))


def _with_conversation(result: ConformanceResult, context: DiagnosisContext) -> ConformanceResult:
    """Adds problems of the conversation as a whole to the broken rules."""
    findings = run_checks(context)
    result.findings = in_order([*result.findings, *findings])
    for finding in findings:
        _count(result.counts, finding, 1)
    return result


def merged(
    result: ConformanceResult, chosen: Collection[str]
) -> tuple[list[Finding], list[RuleCount]]:
    """Returns the findings of chosen rules, one for each cause, and how often each rule was broken.

    Args:
        result: the result of `check_whole`.
        chosen: the rules.
    """
    every = [finding for finding in result.findings if finding.rule in chosen]
    counts = [RuleCount(c.rule, c.by, c.severity, c.count) for c in result.counts
              if c.rule in chosen]  # fmt: skip
    unanswered = {seq for f in every if f.group in ("wait", "agent", "recording", "fault")
                  for seq in f.seqs}  # fmt: skip
    broken = {(f.seq, by) for f in every for by in (f.by, None)
              if f.group not in CONVERSATION and f.severity is Severity.ERROR}  # fmt: skip
    kept = []
    for finding in every:
        is_repeated = finding.rule in _UNANSWERED and finding.seq in unanswered
        if is_repeated or (finding.rule == _REFUSED and (finding.seq, finding.by) in broken):
            _count(counts, finding, -1)
        else:
            kept.append(finding)
    return kept, worst_first(count for count in counts if count.count)


def summarize_whole(
    reader: RecordingReader,
    now_ns: int | None = None,
    watch: Watch = iter,
    *,
    most: int = MOST,
    listed: int = LISTED,
    messages: MessagePass | None = None,
    others: Sequence[Listener] = (),
) -> Summary:
    """Summarizes a recording with the combined findings; rules check only its first messages.

    Args:
        reader: the recording.
        now_ns: as for `summarize`.
        watch: as for `summarize`.
        most: the largest number of frames that are checked for rules; None for all.
        listed: the largest number of findings of each rule that are listed.
        messages: the pass over the messages, if there are other listeners.
        others: other listeners of the pass.
    """
    chosen = chosen_rules((), ())
    messages = messages or MessagePass(reader)
    checker = Checker(reader, messages=messages, most=most)
    listeners, single_upto = [checker, *others], checker.single_upto
    context = counted(reader, now_ns, watch, messages, listeners, single_upto)
    summary = summarize(reader, context=context)
    result = _with_conversation(checker.finish(), context)
    findings, _ = merged(result, chosen)
    if summary.finding_counts.get(UNANSWERED, 0) > LISTED:  # the merged list counts all findings
        findings = [finding for finding in findings if finding.rule not in _UNANSWERED]
    rules = len(looked_at(chosen, result.dialect, result.unchecked))
    extent = Extent(rules, result.frames, result.is_whole, result.last_seq)
    return with_rules(summary, findings, extent, listed)


def _count(counts: list[RuleCount], finding: Finding, by: int) -> None:
    known = next((c for c in counts if (c.rule, c.by) == (finding.rule, finding.by)), None)
    if known is None:
        counts.append(RuleCount(finding.rule, finding.by, finding.severity, by))
        return
    known.count += by
    known.severity = min(known.severity, finding.severity, key=SEVERITIES.index)
