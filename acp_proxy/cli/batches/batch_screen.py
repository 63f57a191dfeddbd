"""Shows the verdicts of a batch: verdicts that are not clean, a summary, and JUnit XML."""

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from acp_proxy.base.limits import LISTED, SHOWN_LINE
from acp_proxy.base.wording import counted, duration, plain
from acp_proxy.batches.results import SWEEP, JobVerdict, VerdictKind, findings_of
from acp_proxy.cli.screens.junit import Case, Failure, suite
from acp_proxy.cli.screens.output import Page, say, show_status, stdout_screen, warn
from acp_proxy.cli.screens.styled_text import Ink, Screen, pad, piece
from acp_proxy.explain.findings import Finding, in_order

_WORDS = {
    VerdictKind.DIFFERS: "differ",
    VerdictKind.BROKEN_RULES: "broke rules",
    VerdictKind.FINDINGS: "have findings",
    VerdictKind.CANNOT_START: "could not start",
    VerdictKind.UNTESTED: "tested nothing",
}
"""The phrases that the summary uses in place of the names of some verdicts."""
_OF_ONE = {"differ": "differs", "have findings": "has findings"}
_INKS = {1: Ink.STDERR, 2: Ink.TROUBLE, 3: Ink.TROUBLE}
_LONGEST = max(map(len, VerdictKind))


class BatchScreen:
    """Prints the verdicts of one batch, in the order of its recordings.

    Args:
        names: the names of the recordings that have no verdict yet, in order.
        before: the kinds of the verdicts that an earlier, interrupted run of this batch has made.
        clock: returns seconds, from any origin.
    """

    def __init__(
        self,
        names: Sequence[str],
        before: Iterable[VerdictKind],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._names = deque(names)
        self._kinds = Counter(before)
        self._before = self._kinds.total()
        self._total = self._before + len(names)
        self._clock = clock
        self._start = clock()
        self._held: dict[str, JobVerdict] = {}
        """Verdicts that are printed as soon as all earlier recordings have their verdicts."""
        self._places: set[str] = set()

    def show(self, verdict: JobVerdict) -> None:
        """Prints a verdict that is not clean, as soon as all earlier recordings have verdicts."""
        self._kinds[verdict.kind] += 1
        if verdict.new_recording is not None:
            self._places.add(os.path.dirname(verdict.new_recording))  # noqa: PTH120
        self._held[verdict.recording] = verdict
        self.clear()
        while self._names and self._names[0] in self._held:
            self._print(self._held.pop(self._names.popleft()))
        self.show_progress()

    def remark(self, text: str) -> None:
        """Prints a line about a recording on stderr."""
        self.clear()
        warn(text)

    def show_progress(self) -> None:
        """Shows the progress on a terminal, even before the first verdict."""
        count = self._kinds.total()
        if not sys.stderr.isatty() or count == self._total:
            return
        bad = count - self._kinds[VerdictKind.CLEAN]
        text = f"{count:,}/{self._total:,}{f', {bad:,} not clean' if bad else ''}"
        if fresh := count - self._before:
            each_s = (self._clock() - self._start) / fresh
            text += f", about {duration(int(each_s * (self._total - count) * 1e9))} left"
        show_status(text)

    def clear(self) -> None:
        """Erases the progress line."""
        if sys.stderr.isatty():
            show_status("")

    def end(self) -> None:
        """Prints the verdicts that are not printed yet, and the summary."""
        for name in (name for name in self._names if name in self._held):
            self._print(self._held[name])
        say(self.summary())

    def summary(self) -> str:
        """Returns the number of recordings with each kind of verdict, and the time taken."""
        count = self._kinds.total()
        counts = ((self._kinds[kind], _WORDS.get(kind, kind.value)) for kind in VerdictKind)
        kinds = [f"{n:,} {_OF_ONE.get(word, word) if n == 1 else word}" for n, word in counts if n]
        if count < self._total:
            kinds.append(f"{self._total - count:,} not done")
        took = duration(int((self._clock() - self._start) * 1e9))
        before = f" ({self._before:,} done before)" if self._before else ""
        time = f"; {took}" if count > self._before else ""
        result = ", ".join(kinds) or "nothing to do"
        runs = f"; new runs in {', '.join(sorted(self._places))}" if self._places else ""
        return f"{counted(self._total, 'recording')}{before}: {result}{time}{plain(runs)}"

    def _print(self, verdict: JobVerdict) -> None:
        if verdict.kind is not VerdictKind.CLEAN:
            page = Page(stdout_screen())
            page.lines(lines(verdict, page.screen))


def lines(verdict: JobVerdict, screen: Screen) -> Iterator[str]:
    """Returns the lines about a verdict: a single line if the output is not a terminal.

    Args:
        verdict: the verdict.
        screen: the screen.
    """
    kind = piece(f"{pad(verdict.kind, _LONGEST)}  ", _INKS.get(verdict.exit), bold=True)
    return screen.wrapped(kind, piece(f"{verdict.recording}  {reason(verdict)}"))


def junit(command: str, verdicts: Iterable[JobVerdict]) -> str:
    """Returns a JUnit suite with a case for each recording of a batch.

    Args:
        command: the command of the batch.
        verdicts: the verdicts on all recordings.
    """
    cases = [_case(verdict) for verdict in sorted(verdicts, key=lambda verdict: verdict.recording)]
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
        yield from first.text.splitlines()[:LISTED]
    if verdict.error:
        yield verdict.error
    listed = _listed(verdict)
    for finding in listed[:LISTED]:
        where = f"#{finding.seq} {finding.rule}: {finding.text}"
        yield f"{finding.severity.value}: {finding.whose}: {where}"
    if listed and (more := (verdict.broken or 0) - min(len(listed), LISTED)) > 0:
        yield f"and {more:,} more"
    yield from _runs(verdict)


def reason(verdict: JobVerdict) -> str:
    """Returns in one line why a verdict is not clean; empty if no reason is known."""
    if (first := verdict.first_divergence) is not None:
        at = "" if first.seq is None else f"#{first.seq}: "
        ending = f"; {verdict.ending}" if verdict.ending else ""
        return plain(at + " ".join((first.text[:SHOWN_LINE] + ending).split()))
    if verdict.error:
        return plain(verdict.error)
    if verdict.kind is VerdictKind.INCOMPLETE:
        verb = "checked" if verdict.command == "check" else "played"
        return f"the recording is incomplete, and was {verb} to its end"
    if listed := _listed(verdict):
        more = (verdict.broken or len(listed)) - 1
        worst = f"#{listed[0].seq} {listed[0].rule}: {listed[0].text}"
        return plain(f"{worst}, and {more:,} more" if more > 0 else worst)
    return plain("; ".join(_runs(verdict)))


def _listed(verdict: JobVerdict) -> list[Finding]:
    """Returns the findings in a verdict, except findings in the baseline."""
    return in_order(finding for finding in findings_of(verdict) if not finding.known)


def _runs(verdict: JobVerdict) -> list[str]:
    """Returns a line for each run in a sweep's verdict: plan, outcome, last line of the output."""
    runs = [] if verdict.command != SWEEP else verdict.findings or ()
    return [": ".join(_run_words(run)) for run in runs]


def _run_words(run: Mapping[str, Any]) -> list[str]:
    code = f" with {run['exit_code']}" if run.get("exit_code") else ""
    outcome = f"{run.get('outcome')}{code}"
    words = (run.get("plan") or "without faults", outcome, run.get("output"))
    return [str(word) for word in words if word]
