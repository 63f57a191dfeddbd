"""Reports of a check for other programs: JUnit XML, GitHub annotations, verdicts of a batch."""

import os
from collections.abc import Iterator
from pathlib import Path

from attrs import evolve

from acp_proxy.base.forms import converter
from acp_proxy.base.limits import LISTED, LONG_LIST
from acp_proxy.base.wording import visible
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.check.catalogue import looked_at, rules
from acp_proxy.check.check_report import INCOMPLETE, CheckedRecording, CheckReport, is_failing
from acp_proxy.check.check_values import Severity
from acp_proxy.cli.screens.junit import Case, Failure, suite
from acp_proxy.explain.findings import Finding, in_order

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
"""The names of severities in annotations."""


def junit(report: CheckReport, chosen: frozenset[str]) -> str:
    """Returns a JUnit suite. Each recording has one case for each rule that was checked in it.

    A case fails if one of its findings makes the check fail. All other findings become output of
    the case.

    Args:
        report: the report of the check.
        chosen: the rules that were reported.
    """
    cases = [case for recording in report.recordings for case in _cases(report, recording, chosen)]
    return suite("acp-proxy check", cases)


def annotations(report: CheckReport) -> Iterator[str]:
    """Yields GitHub workflow commands, which show each finding at a line of the text form.

    The text of a finding is escaped, so that it cannot become a command.
    """
    shown = 0
    for recording in report.recordings:
        file = place_of(recording)
        for finding in in_order(recording.findings):
            if finding.known:
                continue
            if shown == LONG_LIST:
                return
            shown += 1
            values = {"file": file, "title": f"{finding.rule} {finding.whose}"}
            if finding.line is not None:
                values["line"] = str(finding.line)
            members = ",".join(f"{name}={_value(value)}" for name, value in values.items())
            yield f"::{_LEVELS[finding.severity]} {members}::{_message(_sentence(finding))}"


def checked_verdict(verdict: JobVerdict, checked: CheckedRecording, fail_on: str) -> JobVerdict:
    """Adds the result of a check to a verdict: the exit code, the verdict's kind, the findings.

    Args:
        verdict: the verdict before the check.
        checked: the result of the check of the recording.
        fail_on: the lowest severity that makes the check fail.
    """
    report = CheckReport(fail_on)
    report.add(checked)
    kind = {0: VerdictKind.CLEAN, INCOMPLETE: VerdictKind.INCOMPLETE}.get(report.exit)
    combined = evolve(verdict, exit=report.exit, kind=kind or VerdictKind.FINDINGS)
    return with_findings(combined, checked)


def with_findings(
    verdict: JobVerdict, checked: CheckedRecording, least: str = "info"
) -> JobVerdict:
    """Adds to a verdict the findings that are not in the baseline, the worst first.

    Args:
        verdict: the verdict of the recording.
        checked: the result of the check of the recording.
        least: the lowest severity of findings to add.
    """
    counts = checked.counts.items()
    severe = {name: n for name, n in counts if is_failing(Severity(name), least)}
    new = in_order(f for f in checked.findings if not f.known and f.severity in severe)
    listed = tuple(converter.unstructure(finding) for finding in new[:LISTED])
    return evolve(verdict, broken=sum(severe.values()), findings=listed)


def place_of(checked: CheckedRecording) -> str:
    """Returns the path of a recording's text form, relative to the current directory if possible.

    A database has no lines. For a database, returns the path of the text form that `export` would
    write.
    """
    path = Path(checked.path)
    if path.suffix != ".jsonl":
        is_file = path.suffix in (".db", ".log")
        path = path.with_name(f"{path.stem if is_file else checked.recording.name}.jsonl")
    try:
        relative = os.path.relpath(path)
    except OSError:
        return str(path)
    return str(path) if relative.startswith("..") else Path(relative).as_posix()


def _cases(
    report: CheckReport, checked: CheckedRecording, chosen: frozenset[str]
) -> Iterator[Case]:
    by_rule: dict[str, list[Finding]] = {}
    for finding in in_order(checked.findings):
        by_rule.setdefault(finding.rule, []).append(finding)
    counts: dict[str, int] = {}
    for count in checked.broken:
        counts[count.rule] = counts.get(count.rule, 0) + count.count
    for rule in looked_at(chosen, checked.dialect, checked.unchecked):
        findings = by_rule.get(rule, [])
        failing = [f for f in findings if not f.known and is_failing(f.severity, report.fail_on)]
        lines = [_line(finding) for finding in findings[:LISTED]]
        if (more := counts.get(rule, 0) - len(lines)) > 0:
            lines.append(f"and {more:,} more")
        failure = None
        if failing:
            first = failing[0]
            failure = Failure(first.severity.value, f"{first.whose}: {_sentence(first)}", lines)
        output = lines if lines and failure is None else None
        yield Case(f"check.{checked.recording.name}", rule, failure, output=output)


def _line(finding: Finding) -> str:
    known = " (known)" if finding.known else ""
    return f"{finding.severity.value}{known}: {finding.whose}: {_sentence(finding)}"


def _sentence(finding: Finding) -> str:
    """Returns one line: the frame, what happened, and what the rule requires."""
    method = f" {finding.method}" if finding.method else ""
    see = f" (see {', '.join(f'#{seq}' for seq in finding.related)})" if finding.related else ""
    asks = rules()[finding.rule].text.rstrip(".")
    return f"#{finding.seq}{method}: {finding.text}{see}. {asks}."


def _message(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _value(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
