"""Combines broken rules and problems of the conversation as a whole into one list of findings.

Two findings may have the same cause: for example, the exit of an agent leaves a request unanswered.
Only the more informative finding is reported.

`LiveWatch` looks for errors and long silences in a recording in progress.
"""

from collections.abc import Collection, Sequence

from acp_proxy.base.limits import LISTED
from acp_proxy.check.catalogue import chosen_rules, looked_at
from acp_proxy.check.check_values import ConformanceResult, RuleCount, worst_first
from acp_proxy.check.checker import Checker
from acp_proxy.explain.findings import CONVERSATION, SEVERITIES, Finding, Severity, in_order
from acp_proxy.explain.message_pass import PAUSE_NS, Listener, MessagePass, Watch
from acp_proxy.explain.show.checks import run_checks
from acp_proxy.explain.show.current_waits import CALL_NS, hang_text, hangs
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.summary import counted, finished, summarize, with_rules
from acp_proxy.explain.show.summary_values import Extent, Summary
from acp_proxy.explain.show.unanswered import UNANSWERED
from acp_proxy.explain.show.wait_watch import WaitWatch
from acp_proxy.explain.waits import SilenceLimits
from acp_proxy.store.reader import RecordingReader

MOST = 3_000
"""The number of frames that a summary checks for broken rules."""
_UNANSWERED = ("rpc.unanswered", "perm.unanswered", "ext.unanswered", "cancel.unanswered")
"""Rules about unanswered requests. Their findings are left out if a finding about the whole
conversation reports the same request."""
_REFUSED = "answer.error"
"""The rule of findings about refused requests. Such a finding is left out if a broken rule is
reported at the same frame."""


def check_whole(
    reader: RecordingReader,
    dialect: str | None = None,
    chosen: Collection[str] | None = None,
    watch: Watch = iter,
    *,
    now_ns: int | None = None,
) -> ConformanceResult:
    """Checks each message against the rules of a dialect, and checks the conversation as a whole.

    Args:
        reader: the recording.
        dialect: the dialect whose rules apply; None for the dialect of the recording.
        chosen: the rules to check; None for all.
        watch: a function that yields all frames unchanged, and may show the progress.
        now_ns: the present time on the monotonic clock, for a recording in progress.

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
    """Returns the findings of chosen rules, one for each cause, and how often rules were broken.

    Args:
        result: the result of `check_whole`.
        chosen: the ids of the rules.
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
    """Summarizes a recording. Rules are checked only for its first messages.

    Args:
        reader: the recording.
        now_ns: the present time on the monotonic clock, for a recording in progress.
        watch: a function that yields all frames unchanged, and may show the progress.
        most: the largest number of frames that are checked for rules; None for all.
        listed: the largest number of findings of each rule that are listed.
        messages: the caller's pass over the messages; None for a new pass.
        others: further listeners of the pass.
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


CALL_S = CALL_NS / 1e9
"""While a tool call runs, a silence of this many seconds is too long."""


class LiveWatch(WaitWatch):
    """Reads the new frames of a recording in progress. Finds a long silence, or an error.

    Args:
        reader: the recording.
        stall_s: the seconds of silence that are too long; None if silences are not looked for.
            While a tool call runs, the limit is at least `CALL_S`.
        problem: whether to find errors, too: broken rules, and problems of the conversation as a
            whole.
    """

    def __init__(
        self, reader: RecordingReader, stall_s: float | None, *, problem: bool = False
    ) -> None:
        self._problem = problem
        limits = stall_s and SilenceLimits(int(stall_s * 1e9), int(max(stall_s, CALL_S) * 1e9))
        self._limits = limits or None
        self._reported = set[tuple[str | None, int | None]]()
        super().__init__(reader)

    def look(self, now_ns: int) -> tuple[str, str] | None:
        """Reads the new frames, and looks for a silence or an error.

        Args:
            now_ns: the present time on the monotonic clock. The caller must have refreshed the
                reader just before this call.

        Returns:
            ``stall`` or ``problem``, with a sentence about it; None for neither.
        """
        context = self.context(now_ns, -1 if self._problem else PAUSE_NS)
        if sentence := self.stall(context):
            return "stall", sentence
        if self._problem and (sentence := self._first_error(context)):
            return "problem", sentence
        return None

    def stall(self, context: DiagnosisContext) -> str:
        """Returns a sentence about a silence that is too long; empty if there is no new silence."""
        is_full = any(note.data.get("action") == "full" for note in context.of_kind("note"))
        # If frames are missing, the end of a silence may be missing, too.
        if self._limits is None or is_full or context.of_kind("gap"):
            return ""
        for wait in hangs(context, self._limits).values():
            silence = wait.request.session, wait.last_seq
            if silence not in self._reported:
                self._reported.add(silence)
                return hang_text(context, wait)
        return ""

    def _begin(self) -> None:
        super()._begin()
        self._checkers = [Checker(self._reader, messages=self._messages)] if self._problem else []
        self._listeners = [*self._checkers]

    def _first_error(self, context: DiagnosisContext) -> str:
        if self._reader.live:
            broken = [finding for checker in self._checkers for finding in checker.broken]
            every = in_order([*broken, *run_checks(context)])
        else:
            every, _ = merged(check_whole(self._reader), chosen_rules((), ()))
        error = next((finding for finding in every if finding.severity is Severity.ERROR), None)
        return f"{error.rule} {error.whose}: #{error.seq}: {error.text}" if error else ""
