"""The words in which screens and reports say what a recording of a batch came to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve

from acp_proxy.batches.merged import SWEEP, MergedResults, findings_of, missing_text
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.inspection.findings import Finding, in_order
from acp_proxy.safe_text import LONGEST, plain, visible
from acp_proxy.wording import counted, listed

_UNSURE = {VerdictKind.INCOMPLETE, VerdictKind.STALLED, VerdictKind.KILLED, VerdictKind.LOST}
_MOST_CONFLICTS = 20
_LONGEST_QUOTE = 200
_MOST_VERSIONS, _LONGEST_VERSION = 5, 40
CLEAN_MARK, FAILED_MARK, UNSURE_MARK = "✓✗!"


def word(kind: VerdictKind) -> str:
    """Returns what a recording came to."""
    return kind.value.replace("-", " ")


def mark(kind: VerdictKind) -> str:
    """Returns the sign before a verdict."""
    if kind is VerdictKind.CLEAN:
        return CLEAN_MARK
    return UNSURE_MARK if kind in _UNSURE else FAILED_MARK


def reason(verdict: JobVerdict) -> str:
    """Returns in one line why a verdict is not clean; empty if nothing more is known."""
    if (first := verdict.first_divergence) is not None:
        at = "" if first.seq is None else f"#{first.seq}: "
        ending = f"; {verdict.ending}" if verdict.ending else ""
        return plain(at + " ".join((first.text[:LONGEST] + ending).split()))
    if verdict.error:
        return plain(verdict.error)
    if verdict.kind is VerdictKind.INCOMPLETE:
        done = "checked" if verdict.command == "check" else "played"
        return f"the recording is incomplete, and was {done} to its end"
    if listed := listed_findings(verdict):
        more = (verdict.broken or len(listed)) - 1
        worst = f"#{listed[0].seq} {listed[0].rule}: {listed[0].text}"
        return plain(f"{worst}, and {more:,} more" if more > 0 else worst)
    return plain("; ".join(runs(verdict)))


def runs(verdict: JobVerdict) -> list[str]:
    """Returns how the client handled the plans that a verdict of a sweep lists."""
    found = [] if verdict.command != SWEEP else verdict.findings or ()
    return [": ".join(_run_words(one)) for one in found]


def _run_words(run: Mapping[str, Any]) -> list[str]:
    code = f" with {run['exit_code']}" if run.get("exit_code") else ""
    outcome = f"{run.get('outcome')}{code}"
    words = (run.get("plan") or "without faults", outcome, run.get("output"))
    return [str(word) for word in words if word]


def listed_findings(verdict: JobVerdict) -> list[Finding]:
    """Returns the findings that a verdict lists and that are not known, with printable text."""
    found = [one for one in findings_of(verdict) if not one.known]
    return [
        evolve(
            one,
            rule=visible(one.rule),
            by=visible(one.by) if one.by else None,
            text=visible(one.text),
            method=visible(one.method) if one.method else None,
        )
        for one in in_order(found)
    ]


def without_findings(merged: MergedResults) -> list[JobVerdict]:
    """Returns the verdicts that are not clean, but those that listed findings alone explain."""
    return [one for one in merged.failed if one.first_divergence or not listed_findings(one)]


def headline(merged: MergedResults) -> str:
    """Returns in one line how all of it went."""
    every, failed, tolerated = len(merged.recordings), len(merged.failed), len(merged.tolerated)
    if not every:
        return "no verdicts"
    missing = missing_recordings(merged)
    of = counted(every, "recording")
    if failed:
        said = f"{failed:,} of {of} {_are(failed)} not clean"
    elif missing:
        said = f"{every:,} of {counted(every + missing, 'recording')} {_are(every)} clean"
    elif merged.missing:
        said = f"{of} {_are(every)} clean"
    elif tolerated:
        said = of
    else:
        said = f"{of}, all clean" if every > 1 else "1 recording, clean"
    if tolerated and not failed:
        verb = "has" if tolerated == 1 else "have"
        said += f", {tolerated:,} {verb} findings, of which none counts as a failure"
    if missing:
        return f"{said}, {missing:,} {_are(missing)} missing"
    return f"{said}, results are missing" if merged.missing else said


def missing_recordings(merged: MergedResults) -> int:
    """Returns how many recordings have no verdict, as far as that is known."""
    total = merged.header.recordings
    return 0 if total is None else max(0, total - len(merged.recordings))


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def remarks(merged: MergedResults, quote: Callable[[str], str] = plain) -> list[str]:
    """Returns what is missing from the results or contradictory, each without a full stop.

    Args:
        merged: the results.
        quote: writes text that is not ours.
    """
    lines = missing_text(merged.missing)
    conflicts = merged.conflicts
    for one in conflicts[:_MOST_CONFLICTS]:
        counts = _said(one.verdict, quote)
        others = ", ".join(_said(other, quote) for other in one.others)
        name = quote(one.verdict.recording[:_LONGEST_QUOTE])
        lines.append(f"{name} has different verdicts: {counts} counts, not {others}")
    if len(conflicts) > _MOST_CONFLICTS:
        more = len(conflicts) - _MOST_CONFLICTS
        lines.append(f"{counted(more, 'more recording')} with different verdicts")
    return lines


def versions_remark(merged: MergedResults, quote: Callable[[str], str] = plain) -> str | None:
    """Returns in words which versions of acp-proxy wrote the results; None if it is one.

    Args:
        merged: the results.
        quote: writes text that is not ours.
    """
    if not (versions := merged.header.versions):
        return None
    named = [quote(one[:_LONGEST_VERSION]) for one in versions]
    among = listed(named, _MOST_VERSIONS)
    return f"different versions of acp-proxy have written the results: {among}"


def _said(verdict: JobVerdict, quote: Callable[[str], str]) -> str:
    why = reason(verdict)[:_LONGEST_QUOTE]
    return f"{word(verdict.kind)} ({quote(why)})" if why else word(verdict.kind)


def grouped(verdicts: Sequence[JobVerdict]) -> list[tuple[JobVerdict, list[str]]]:
    """Returns verdicts that are alike in groups, the largest first.

    Args:
        verdicts: those that are not clean.

    Returns:
        The first verdict of each group, and the names of all its recordings.
    """
    groups: dict[tuple[VerdictKind, str], list[JobVerdict]] = {}
    for verdict in verdicts:
        groups.setdefault((verdict.kind, _subject(verdict)), []).append(verdict)
    found = [(ones[0], [one.recording for one in ones]) for ones in groups.values()]
    return sorted(found, key=lambda group: -len(group[1]))


def _subject(verdict: JobVerdict) -> str:
    first = verdict.first_divergence
    return reason(verdict) if first is None else first.text
