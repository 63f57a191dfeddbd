"""Merged results in the forms of other programs: JUnit XML, and annotations of GitHub."""

import re
from collections.abc import Iterator

from attrs import evolve

from acp_proxy.batches.merged import CHECK, MergedResults, MissingPart, missing_text, summary
from acp_proxy.batches.results import JobVerdict, VerdictKind
from acp_proxy.cli.render.check_reports import annotation, finding_annotation, sentence
from acp_proxy.cli.render.junit import Case, Failure, suite
from acp_proxy.cli.render.results_rows import (
    listed_findings,
    reason,
    remarks,
    runs,
    without_findings,
    word,
)
from acp_proxy.conformance.values import SEVERITIES
from acp_proxy.inspection.findings import Finding
from acp_proxy.safe_text import visible

MOST_ANNOTATIONS = 10
"""Of one level that GitHub shows for a step; the last one counts the others."""
_MOST_LINES = 100
_LONGEST_S = 1e9
_DATABASE = re.compile(r"\.db$")


def place_in_repository(recording: str) -> str:
    """Returns the path of a recording's text form; databases have no lines that can be shown."""
    return _DATABASE.sub(".jsonl", visible(recording))


def junit(merged: MergedResults) -> str:
    """Returns a suite with a case for each recording, and one for each part that is missing."""
    command = merged.header.command
    cases = [_case(command, one.verdict, one.others) for one in merged.recordings]
    missing = [_missing_case(command, part) for part in merged.missing]
    return suite(f"acp-proxy {command}", [*cases, *missing])


def _case(command: str, verdict: JobVerdict, others: tuple[JobVerdict, ...]) -> Case:
    failure = None
    if verdict.kind is not VerdictKind.CLEAN:
        why = reason(verdict)
        message = f"{word(verdict.kind)}: {why}" if why else word(verdict.kind)
        failure = Failure(verdict.kind.value, message, [*_lines(verdict, others)])
    seconds = verdict.seconds if 0 <= verdict.seconds < _LONGEST_S else None
    return Case(f"acp-proxy.{command}", verdict.recording, failure, seconds)


def _lines(verdict: JobVerdict, others: tuple[JobVerdict, ...]) -> Iterator[str]:
    if (first := verdict.first_divergence) is not None:
        yield from first.text.splitlines()[:_MOST_LINES]
    if verdict.error:
        yield verdict.error
    listed = listed_findings(verdict)
    for finding in listed[:_MOST_LINES]:
        yield f"{finding.severity.value}: {finding.whose}: {sentence(finding)}"
    if listed and (more := (verdict.broken or 0) - min(len(listed), _MOST_LINES)) > 0:
        yield f"and {more:,} more"
    yield from runs(verdict)
    if verdict.attempt > 1:
        yield f"after {verdict.attempt:,} attempts"
    for other in others:
        yield f"in another file: {word(other.kind)}: {reason(other)}"


def _missing_case(command: str, part: MissingPart) -> Case:
    (text,) = missing_text([part])
    name = "all" if part.shard is None else f"shard {part.shard}"
    return Case(f"acp-proxy.{command}", name, Failure("missing", text))


def github_annotations(merged: MergedResults) -> Iterator[str]:
    """Yields commands of GitHub's workflows, as many as it shows for a step, the worst first."""
    lines = [annotation("error", text) for text in remarks(merged)]
    lines += [_annotation(merged.header.command, one) for one in without_findings(merged)]
    found = sorted(_findings(merged), key=lambda pair: SEVERITIES.index(pair[1].severity))
    lines += [finding_annotation(finding, place) for place, finding in found]
    total = len(lines) + _unlisted(merged, len(found))
    shown = lines if len(lines) == total <= MOST_ANNOTATIONS else lines[: MOST_ANNOTATIONS - 1]
    yield from shown
    if more := total - len(shown):
        level = "error" if merged.exit else "notice"
        yield annotation(level, f"acp-proxy: {more:,} more; the report has all")


def _annotation(command: str, verdict: JobVerdict) -> str:
    title = f"{command}: {word(verdict.kind)}"
    place = place_in_repository(verdict.recording)
    return annotation("error", reason(verdict) or word(verdict.kind), file=place, title=title)


def _findings(merged: MergedResults) -> list[tuple[str, Finding]]:
    """Returns all findings that are listed, each with the path of its text form.

    What `verify` checks is the new run, whose lines are not those of the recording.
    """
    has_lines = merged.header.command == CHECK
    return [
        (place_in_repository(one.verdict.recording), found if has_lines else evolve(found, line=1))
        for one in merged.recordings
        for found in listed_findings(one.verdict)
    ]


def _unlisted(merged: MergedResults, listed: int) -> int:
    return max(0, summary(merged).findings - listed)
