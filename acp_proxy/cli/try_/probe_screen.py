"""Plays the probes with an agent, and prints the verdicts: a page, one JSON object, or JUnit."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve, frozen

from acp_proxy.base.limits import NAMED
from acp_proxy.base.wording import counted, listed, numbered
from acp_proxy.cli.masking import one_line
from acp_proxy.cli.screens.junit import Case, Failure, suite
from acp_proxy.cli.screens.output import stdout_screen
from acp_proxy.cli.screens.recording_page import RecordingPage, verdict
from acp_proxy.cli.screens.styled_text import piece
from acp_proxy.explain.findings import SEVERITIES, Severity
from acp_proxy.store.files.directory import recording_at
from acp_proxy.store.reader import RecordingReader
from acp_proxy.try_.probe import Prober, ProbeResult, ProbeVerdict


@frozen
class ProbeReport:
    """The verdicts of all probes on one agent, as ``--json`` prints them."""

    dialect: str
    recordings: list[str]
    """The path of a recording for each start of the agent, in order."""
    counts: dict[str, int]
    """The number of probes with each verdict."""
    probes: list[ProbeResult]
    exit: int


def report_of(results: Sequence[ProbeResult], prober: Prober, recordings: list[str]) -> ProbeReport:
    """Returns the verdicts, each with the recording and the frames that show its reason.

    Args:
        results: the verdicts.
        prober: the prober that has played the probes.
        recordings: the path of a recording for each start of the agent, in order.
    """
    frames = [_frames(Path(path)) for path in recordings]
    reported = []
    for result in results:
        places = frames[result.start - 1] if result.start else {}
        seqs = sorted(places[line] for line in result.lines if line in places)
        path = recordings[result.start - 1] if seqs else None
        detail = one_line(result.detail)
        reported.append(evolve(result, detail=detail, recording=path, frames=seqs))
    counts = {each.value: [r.verdict for r in results].count(each) for each in ProbeVerdict}
    code = 3 if prober.is_mute else int(any(map(_is_failing, results)))
    return ProbeReport(prober.dialect, recordings, counts, reported, code)


def _is_failing(probe: ProbeResult) -> bool:
    """Whether a probe is broken with the severity ``error``."""
    return probe.verdict is ProbeVerdict.BROKEN and probe.severity == Severity.ERROR


def _frames(path: Path) -> dict[tuple[str, int], int]:
    """Returns the frame number of each line of a recording.

    A line is identified by its stream and its number in that stream, from 1. The result is empty
    if there is no recording.
    """
    counts, frames = Counter[str](), {}
    if recording_at(path) is not None:
        with RecordingReader(path) as reader:
            for head in reader.heads():
                counts[head.stream] += 1
                frames[head.stream, counts[head.stream]] = head.seq
    return frames


def junit_text(report: ProbeReport) -> str:
    """Returns the text of a JUnit suite with a case for each probe."""
    cases = []
    for probe in report.probes:
        words, is_failing = _evidence(probe), _is_failing(probe)
        failure = Failure(probe.severity, f"{probe.text} {words}") if is_failing else None
        skipped = probe.detail if probe.verdict is ProbeVerdict.NOT_TESTED else None
        output = [words] if words and not (failure or skipped) else None
        cases.append(Case("probe", probe.id, failure, output=output, skipped=skipped))
    return suite("acp-proxy try --probe", cases)


def _evidence(probe: ProbeResult) -> str:
    name = Path(probe.recording or "").name
    return f"{probe.detail} ({numbered(probe.frames)} of {name})" if name else probe.detail


def show_probes(report: ProbeReport) -> None:
    """Prints the broken probes, the worst first, then the probes that hold or were not tested."""
    page = RecordingPage(stdout_screen())
    broken = [probe for probe in report.probes if probe.verdict is ProbeVerdict.BROKEN]
    broken.sort(key=lambda probe: SEVERITIES.index(Severity(probe.severity)))
    counts = Counter(probe.severity for probe in broken)
    tested = f": {counted(len(report.probes), 'probe')} of {report.dialect}"
    page.wrap(piece(""), *verdict(counts, "nothing is broken"), piece(tested))
    for probe in broken:
        source = f" ({'; '.join(probe.source)})"
        page.finding(Severity(probe.severity), f"{probe.id}: {probe.text}", source)
        page.wrap(piece("    "), piece(_evidence(probe)))
    page.print()
    reasons: dict[str, list[str]] = {}
    for probe in report.probes:
        if probe.verdict is not ProbeVerdict.BROKEN:
            reasons.setdefault(probe.detail, []).append(probe.id)
    kept = reasons.pop("", [])
    page.row(f"{len(kept)} hold", ", ".join(kept))
    for reason, names in reasons.items():
        page.row("not tested", f"{', '.join(names)}: {reason}")
    page.row("recorded", listed(report.recordings, NAMED))
    shown = [probe for probe in broken if probe.frames]
    if shown and page.screen.columns is not None:
        page.next(f"acp-proxy log {shown[0].recording} --seq {shown[0].frames[0]}")
    page.flush()
