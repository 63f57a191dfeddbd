"""What a check found, in a few lines of text: for stderr and for the reports of tests."""

from acp_proxy.conformance.report import CheckedRecording
from acp_proxy.conformance.values import SEVERITIES, Severity
from acp_proxy.inspection.findings import Finding, by_rule
from acp_proxy.protocol.dialects import V1
from acp_proxy.wording import counted

MOST = 18
"""Rules that are listed."""
MARKS = {Severity.ERROR: "✗", Severity.WARNING: "!", Severity.INFO: "-"}


def short_text(one: CheckedRecording, most: int = MOST) -> list[str]:
    """Returns a line that says how many findings there are, and one for each rule, worst first.

    Args:
        one: what was found.
        most: the largest number of rules that are listed.
    """
    looked = f"{counted(one.rules, 'rule')} of {one.dialect or V1} looked at"
    totals = severities(one.counts) or "nothing is wrong"
    lines = [f"{totals}: {looked} {counted(one.frames, 'frame')}"]
    lines += one.notes
    groups = by_rule(one.findings)
    lines += [group_text(findings) for findings in groups[:most]]
    if len(groups) > most:
        lines.append(f"and {counted(len(groups) - most, 'more rule')}")
    return lines


def severities(counts: dict[str, int]) -> str:
    """Returns how many findings there are, such as ``2 errors, 1 warning``; may be empty.

    Args:
        counts: by severity.
    """
    return ", ".join(counted(counts[one], one) for one in SEVERITIES if counts[one])


def group_text(findings: list[Finding]) -> str:
    """Returns a line on the findings of one rule, by one side.

    Args:
        findings: as `by_rule` groups them.
    """
    first = findings[0]
    times = f", {len(findings):,} times" if len(findings) > 1 else ""
    where = f"#{first.seq} {first.method}" if first.method else f"#{first.seq}"
    return f"{MARKS[first.severity]} {first.rule} {first.whose}{times}: {where}: {first.text}"
