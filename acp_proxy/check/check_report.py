"""The report of a check of several recordings; ``docs/json.md`` documents its members.

`short_text` makes a few lines from the report on one recording, for stderr and for test reports.
"""

import time
from collections import Counter
from collections.abc import Collection
from pathlib import Path

from attrs import define, evolve, field, frozen

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.wording import counted
from acp_proxy.check.baseline import Baseline, fingerprint
from acp_proxy.check.catalogue import chosen_rules, looked_at, rules
from acp_proxy.check.check_values import (
    SEVERITIES,
    ConformanceResult,
    RuleCount,
    Severity,
    UncheckedRules,
)
from acp_proxy.check.judgement import check_whole, merged
from acp_proxy.explain.findings import Finding, by_rule
from acp_proxy.protocol.dialects import V1
from acp_proxy.recording.recording import Recording
from acp_proxy.store.copies.text_export import text_lines
from acp_proxy.store.queries.frames import labels_of_frames
from acp_proxy.store.reader import RecordingReader

INCOMPLETE = 3
"""The exit code for a recording whose recorder was killed."""


@frozen
class CheckedRecording:
    """The result of checking one recording."""

    recording: Recording
    path: str
    live: bool
    dialect: str | None
    dialect_reason: str | None
    rules: int
    """How many rules were checked."""
    frames: int
    """How many frames were checked."""
    is_whole: bool
    """Whether all frames were checked."""
    findings: list[Finding]
    """The findings, sorted by `in_order`; at most 1,000 findings of each rule."""
    broken: list[RuleCount]
    """How often each side broke each rule, the most severe rule first. Known findings are
    included."""
    counts: dict[str, int]
    """The number of new findings, by severity."""
    known: int
    """The number of findings that are in the baseline."""
    by_faults: int
    unread: list[int]
    notes: list[str]
    unchecked: list[UncheckedRules] = field(factory=list)
    """The rules that could not be checked in an imported recording."""

    def fails(self, fail_on: str) -> bool:
        """Whether a new finding is at least as severe as `fail_on`."""
        return any(self.counts[level] and is_failing(level, fail_on) for level in SEVERITIES)


@define
class CheckReport:
    """The results of checking all recordings."""

    fail_on: str
    recordings: list[CheckedRecording] = field(factory=list)
    counts: dict[str, int] = field(factory=dict)
    """The number of new findings, by severity."""
    known: int = 0
    exit: int = 0
    """The exit code: 3 if a recorder was killed; otherwise 1 if a new finding is at least as severe
    as `fail_on`."""

    def add(self, checked: CheckedRecording) -> None:
        """Adds the result of one recording."""
        self.recordings.append(checked)
        self.known += checked.known
        if checked.recording.state == "incomplete" and not checked.live:
            self.exit = INCOMPLETE
        for severity in SEVERITIES:
            self.counts[severity.value] = (
                self.counts.get(severity.value, 0) + checked.counts[severity]
            )
        if checked.fails(self.fail_on):
            self.exit = self.exit or 1


def is_failing(severity: Severity, fail_on: str) -> bool:
    """Whether a finding makes the check fail.

    Args:
        severity: the severity of the finding.
        fail_on: the lowest severity that makes a check fail; ``never`` for no severity.
    """
    order = [level.value for level in SEVERITIES]
    return fail_on in order and order.index(severity.value) <= order.index(fail_on)


def reported(
    reader: RecordingReader,
    result: ConformanceResult,
    chosen: Collection[str],
    baseline: Baseline | None = None,
) -> CheckedRecording:
    """Returns the report on the check of a recording.

    Args:
        reader: the recording.
        result: the result of a check of all rules, also of rules that are not reported.
        chosen: the rules that are reported.
        baseline: the known findings, or None. A `BaselineWriter` also collects the findings.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    baseline = baseline or Baseline()
    findings, broken = merged(result, chosen)
    findings = _labelled(reader, findings)
    lines = text_lines(reader, {finding.seq for finding in findings})
    listed = [_reported(finding, lines.get(finding.seq), baseline) for finding in findings]
    counts = {severity.value: 0 for severity in SEVERITIES}
    for finding in listed:
        counts[finding.severity] += not finding.known
    known = sum(finding.known for finding in listed)
    kept = Counter((finding.rule, finding.by) for finding in findings)
    for count in broken:  # findings beyond the limit have no text
        more = count.count - kept[count.rule, count.by]
        key = count.rule, count.by, ""
        used = baseline.use(key, more)
        known += used
        counts[count.severity] += more - used
    return CheckedRecording(
        recording=reader.recording,
        path=str(reader.path),
        live=reader.live,
        dialect=result.dialect,
        dialect_reason=result.dialect_reason,
        rules=len(looked_at(chosen, result.dialect, result.unchecked)),
        frames=result.frames,
        is_whole=result.is_whole,
        findings=listed,
        broken=broken,
        counts=counts,
        known=known,
        by_faults=result.by_faults,
        unread=result.unread,
        notes=result.notes,
        unchecked=result.unchecked,
    )


def _labelled(reader: RecordingReader, findings: list[Finding]) -> list[Finding]:
    """Fills in the method, session and turn of each finding that has no method."""
    bare = {finding.seq for finding in findings if finding.method is None}
    labels = {row["seq"]: row for row in labels_of_frames(reader, bare)} if bare else {}
    return [
        finding
        if finding.method is not None or (label := labels.get(finding.seq)) is None
        else evolve(finding, method=label["method"], session=label["session"], turn=label["turn"])
        for finding in findings
    ]


def _reported(finding: Finding, line: int | None, baseline: Baseline) -> Finding:
    source, print_ = rules()[finding.rule].source, fingerprint(finding)
    known = baseline.has(finding)
    return evolve(finding, source=source, line=line, fingerprint=print_, known=known)


def counts_of(path: Path, *, unredacted: bool = False) -> dict[str, int] | None:
    """Returns the number of findings of each severity; None if the recording cannot be read.

    Args:
        path: the path of the recording.
        unredacted: whether secrets are read unmasked.
    """
    try:
        with RecordingReader(path, unredacted=unredacted) as reader:
            result = check_whole(reader, now_ns=time.monotonic_ns())
            return reported(reader, result, chosen_rules((), ())).counts
    except UnreadableRecording:
        return None


_MOST_RULES = 18
"""The largest number of rules that `short_text` lists by default."""
_MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "-"}


def short_text(checked: CheckedRecording, most: int = _MOST_RULES) -> list[str]:
    """Returns a line with the number of findings, and a line for each broken rule, worst first.

    Args:
        checked: the result of the check of the recording.
        most: the largest number of rules that are listed.
    """
    looked = f"{counted(checked.rules, 'rule')} of {checked.dialect or V1} looked at"
    totals = ", ".join(counted(checked.counts[of], of) for of in SEVERITIES if checked.counts[of])
    lines = [f"{totals or 'nothing is wrong'}: {looked} {counted(checked.frames, 'frame')}"]
    lines += checked.notes
    groups = by_rule(checked.findings)
    lines += [_group_text(findings) for findings in groups[:most]]
    if len(groups) > most:
        lines.append(f"and {counted(len(groups) - most, 'more rule')}")
    return lines


def _group_text(findings: list[Finding]) -> str:
    first = findings[0]
    times = f", {len(findings):,} times" if len(findings) > 1 else ""
    where = f"#{first.seq} {first.method}" if first.method else f"#{first.seq}"
    return f"{_MARKS[first.severity]} {first.rule} {first.whose}{times}: {where}: {first.text}"
