"""The words for what a recording of a batch came to, and the batch as JUnit XML."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from acp_proxy.batches.results import SWEEP, JobVerdict, VerdictKind, findings_of
from acp_proxy.cli.render.junit import Case, Failure, suite
from acp_proxy.inspection.findings import Finding, in_order
from acp_proxy.safe_text import LONGEST, plain

_MOST_LINES = 100


def junit(command: str, verdicts: Iterable[JobVerdict]) -> str:
    """Returns a suite with a case for each recording.

    Args:
        command: that of the batch.
        verdicts: of all recordings.
    """
    cases = [_case(one) for one in sorted(verdicts, key=lambda one: one.recording)]
    return suite(f"acp-proxy {command}", cases)


def _case(verdict: JobVerdict) -> Case:
    failure = None
    if verdict.kind is not VerdictKind.CLEAN:
        kind, why = verdict.kind.replace("-", " "), reason(verdict)
        message = f"{kind}: {why}" if why else kind
        failure = Failure(verdict.kind.value, message, [*_lines(verdict)])
    return Case(f"acp-proxy.{verdict.command}", verdict.recording, failure, verdict.seconds)


def _lines(verdict: JobVerdict) -> Iterator[str]:
    if (first := verdict.first_divergence) is not None:
        yield from first.text.splitlines()[:_MOST_LINES]
    if verdict.error:
        yield verdict.error
    listed = _listed(verdict)
    for one in listed[:_MOST_LINES]:
        yield f"{one.severity.value}: {one.whose}: #{one.seq} {one.rule}: {one.text}"
    if listed and (more := (verdict.broken or 0) - min(len(listed), _MOST_LINES)) > 0:
        yield f"and {more:,} more"
    yield from _runs(verdict)


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
    if listed := _listed(verdict):
        more = (verdict.broken or len(listed)) - 1
        worst = f"#{listed[0].seq} {listed[0].rule}: {listed[0].text}"
        return plain(f"{worst}, and {more:,} more" if more > 0 else worst)
    return plain("; ".join(_runs(verdict)))


def _listed(verdict: JobVerdict) -> list[Finding]:
    """Returns the findings that a verdict lists and that are not known."""
    return in_order(one for one in findings_of(verdict) if not one.known)


def _runs(verdict: JobVerdict) -> list[str]:
    """Returns how the client handled the plans that a verdict of a sweep lists."""
    found = [] if verdict.command != SWEEP else verdict.findings or ()
    return [": ".join(_run_words(one)) for one in found]


def _run_words(run: Mapping[str, Any]) -> list[str]:
    code = f" with {run['exit_code']}" if run.get("exit_code") else ""
    outcome = f"{run.get('outcome')}{code}"
    words = (run.get("plan") or "without faults", outcome, run.get("output"))
    return [str(word) for word in words if word]
