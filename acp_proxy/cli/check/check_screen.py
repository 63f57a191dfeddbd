"""Prints the findings of a check: by rule, or one line for each recording. Also explains rules."""

import shlex
from collections import Counter
from collections.abc import Sequence

from attrs import evolve

from acp_proxy.base.limits import EXAMPLES, NAMED
from acp_proxy.base.wording import counted
from acp_proxy.check.catalogue import address_of, left_out, no_such_rule, rules
from acp_proxy.check.check_report import CheckedRecording, CheckReport
from acp_proxy.check.check_values import Rule, Severity, source_text
from acp_proxy.check.examples import Example, examples_of
from acp_proxy.cli.screens.output import Page, stdout_screen
from acp_proxy.cli.screens.recording_page import MARKS, RecordingPage, verdict
from acp_proxy.cli.screens.styled_text import Ink, Piece, Screen, piece
from acp_proxy.cli.screens.table import aligned
from acp_proxy.explain.findings import Finding, by_rule, in_order
from acp_proxy.protocol.dialects import V1

_CLEAN = "nothing is wrong"
_NOTHING_NEW = "nothing new"
_LABEL = 12


def show_report(
    report: CheckReport, words: Sequence[str], *, most: int | None, hides_clean: bool
) -> None:
    """Prints the findings of a check.

    Args:
        report: the report of the check.
        words: the user's names for the recordings.
        most: the largest number of frames that are shown for each rule; None for the default.
        hides_clean: whether recordings without failures are only counted.
    """
    page = RecordingPage(stdout_screen())
    if most is None and page.screen.columns is not None:
        most = EXAMPLES
    was_long = False
    fail_on = report.fail_on
    shown = [check for check in report.recordings if not hides_clean or check.fails(fail_on)]
    for number, check in enumerate(shown):
        is_long = bool(sum(check.counts.values()))
        if number and (is_long or was_long):
            page.print()
        _show_recording(page, check, most)
        was_long = is_long
    if len(report.recordings) > 1:
        page.print()
        total = counted(len(report.recordings), "recording")
        page.wrap(piece(""), piece(f"{total}: "), *_total(report))
    if page.screen.columns is not None:
        _next(page, report, words)
    page.flush()


def _show_recording(page: RecordingPage, checked: CheckedRecording, most: int | None) -> None:
    dialect = checked.dialect or V1
    if not checked.rules:
        text = f"  ({checked.recording.id})  not checked: no chosen rule belongs to {dialect}"
        page.wrap(piece(""), piece(checked.recording.name, bold=True), piece(text))
        return
    if not sum(checked.counts.values()):
        known = f", {checked.known:,} known" if checked.known else ""
        verdict = _verdict(checked.counts, 0, if_none=_NOTHING_NEW if known else _CLEAN)
        rules, frames = counted(checked.rules, "rule"), counted(checked.frames, "frame")
        checks = piece(f"{known}: {rules} of {dialect}, {frames}")
        page.headline(checked.recording, *verdict, checks, live=checked.live)
        _limits(page, checked)
        return
    page.headline(checked.recording, *_verdict(checked.counts, checked.known), live=checked.live)
    why = f" ({checked.dialect_reason or 'the dialect is unknown'})"
    page.row("dialect", f"{dialect}{why}")
    page.row("checked", f"{counted(checked.rules, 'rule')}, {counted(checked.frames, 'frame')}")
    _limits(page, checked)
    for findings in by_rule(checked.findings):
        _group(page, checked, findings, most)


def _total(report: CheckReport) -> list[Piece]:
    if not any(recording.rules for recording in report.recordings):
        return [piece("nothing was checked")]
    return _verdict(report.counts, report.known, _NOTHING_NEW if report.known else _CLEAN)


def _verdict(counts: dict[str, int], known: int, if_none: str = _CLEAN) -> list[Piece]:
    pieces = verdict(counts, if_none)
    return [*pieces, piece(f", {known:,} known", Ink.FAINT)] if known else pieces


def _limits(page: RecordingPage, checked: CheckedRecording) -> None:
    """Prints which parts of a recording were not checked, or were checked only in part."""
    texts = [*checked.notes]
    if checked.live:
        texts.append("the recorder still runs: later frames were not checked")
    if checked.recording.state == "incomplete" and not checked.live:
        texts.append("the recorder was killed or could not write: later frames are missing")
    if checked.unread:
        large = counted(len(checked.unread), "frame")
        texts.append(f"{large} too large to be decoded: only the envelope was checked")
    if checked.by_faults:
        texts.append(f"left out: {counted(checked.by_faults, 'finding')} that a fault caused")
    for number, text in enumerate(texts):
        page.row("" if number else "limits", text)


def _group(
    page: RecordingPage, checked: CheckedRecording, findings: Sequence[Finding], most: int | None
) -> None:
    first = findings[0]
    rule, key = rules()[first.rule], (first.rule, first.by)
    mark, ink = MARKS[first.severity]
    total = sum(count.count for count in checked.broken if (count.rule, count.by) == key)
    known = sum(other.known for other in checked.findings if (other.rule, other.by) == key)
    times = max(total - known, len(findings))
    count = f"  {times:,} times" if times > 1 else ""
    page.print()
    title = [piece(first.rule, ink, bold=True), piece(f"  {first.whose}{count}")]
    page.wrap(piece(f"{mark} ", ink, bold=True), *title)
    source = piece(f" ({'; '.join(map(source_text, rule.source))})", Ink.FAINT)
    page.wrap(piece("  "), piece(f"{rule.text.rstrip('.')}."), source)
    shown = [*findings] if most is None else findings[:most]
    marks = Counter(finding.severity for finding in findings)
    rows = [_row(finding, is_mixed=len(marks) > 1) for finding in shown]
    page.lines(f"  {line}" for line in aligned(rows, _narrower(page)))
    if (more := times - len(shown)) > 0:
        page.print(piece(f"    … and {more:,} more, see --top", Ink.FAINT))


def _narrower(page: RecordingPage) -> Screen:
    """Returns a screen for the frames below a finding, which are indented."""
    columns = page.screen.columns
    return page.screen if columns is None else evolve(page.screen, columns=max(1, columns - 2))


def _row(finding: Finding, *, is_mixed: bool) -> list[Piece]:
    related = [f"#{seq}" for seq in finding.related[:NAMED] if seq != finding.seq]
    see = f" (see {', '.join(related)})" if related else ""
    mark = f"{finding.severity.value}: " if is_mixed else ""
    method = finding.method or ""
    return [piece(f"#{finding.seq}", Ink.FAINT), piece(method), piece(f"{mark}{finding.text}{see}")]


def _next(page: RecordingPage, report: CheckReport, words: Sequence[str]) -> None:
    for checked, word in zip(report.recordings, words, strict=False):
        findings = in_order([finding for finding in checked.findings if not finding.known])
        if findings:
            first, name = findings[0], shlex.quote(word)
            explain = f"acp-proxy check --explain {first.rule}"
            page.next(f"acp-proxy log {name} --seq {first.seq}", explain)
            return


def explain_rule(name: str) -> None:
    """Prints everything about a rule, or one line for each rule of a group.

    Args:
        name: the id of the rule, or the name of the group.

    Raises:
        NoSuchRule: no rule or group has this name.
    """
    page = Page(stdout_screen())
    if (why := left_out().get(name)) is not None:
        page.wrap(piece(""), piece(name, bold=True), piece(f"  is not checked: {why}"))
        page.flush()
        return
    rule = rules().get(name)
    if rule is None:
        _explain_group(page, name)
        return
    page.print(piece(name, bold=True))
    page.wrap(piece("  "), piece(f"{rule.text.rstrip('.')}."))
    page.print()
    rows = {
        "binds": "the client and the agent" if rule.by == "either" else f"the {rule.by}",
        "severity": _severity(rule),
        "dialects": ", ".join(rule.dialects),
        "source": "; ".join(map(source_text, rule.source)),
        "page": ", ".join(dict.fromkeys(filter(None, map(address_of, rule.source)))),
        "found by": rule.detection,
    }
    for label, text in rows.items():
        if text:
            page.wrap(piece(label.ljust(_LABEL)), piece(text))
    for example in examples_of(name):
        page.print()
        page.print(*_title(example))
        for line in example.lines:
            page.wrap(*_example_line(line), indent=5)
    page.flush()


def _explain_group(page: Page, name: str) -> None:
    group = [rule for rule in rules().values() if rule.group == name.removesuffix(".*")]
    if not group:
        raise no_such_rule(name)
    rows = [[piece(rule.id, bold=True), piece(rule.text)] for rule in group]
    page.lines(aligned(rows, page.screen))
    page.flush()


def _severity(rule: Rule) -> str:
    if rule.severity is Severity.INFO:
        return rule.severity.value
    return f"{rule.severity.value}, or less severe if the cause is not certain"


def _title(example: Example) -> list[Piece]:
    title = piece("breaks it", Ink.TROUBLE, bold=True)
    if not example.is_broken:
        title = piece("keeps it", Ink.TO_CLIENT, bold=True)
    return [title, piece(f", after {example.after}" if example.after else "")]


def _example_line(line: str) -> tuple[Piece, Piece]:
    if line.startswith(" "):
        return piece("     "), piece(line.strip(), Ink.TROUBLE)
    arrow = line.partition(" ")[0]
    return piece("  "), piece(line, {"->": Ink.TO_AGENT, "<-": Ink.TO_CLIENT}.get(arrow))
