"""Prints and writes the result of a verification, and chooses the exit code."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, define, evolve, field, frozen

from acp_proxy.base.wording import plain
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import CheckedRecording, reported, short_text
from acp_proxy.check.check_values import Severity
from acp_proxy.check.checked_message import AGENT
from acp_proxy.check.judgement import check_whole
from acp_proxy.cli.diff.diff_reports import DiffCases, DiffReporter, RuleHint, report_diff
from acp_proxy.cli.diff.diff_screen import DiffScreen
from acp_proxy.cli.output_files import json_report, write_reports
from acp_proxy.cli.screens.junit import Case, Failure, failure_of, lane_cases, suite
from acp_proxy.cli.screens.output import progress, say, stdout_screen, warn
from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import Diff, DiffEntry, DiffOptions, Expect, Field
from acp_proxy.diff.noise import ModelNoise, Prompts
from acp_proxy.explain.findings import Finding, in_order
from acp_proxy.playback.shared.divergence import Rank, masked_lines
from acp_proxy.playback.verify import verify_report as plays
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_report import PlayReport
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.store.queries.exchanges import turns
from acp_proxy.store.queries.recorded_events import clock_origin_ns, events
from acp_proxy.store.reader import RecordingReader

CLEAN, DIFFERS, WRONG_USE, STALLED = 0, 1, 2, 3
_MOST_ENTRIES, _MOST_PRINTED = 10_000, 1000
_RESULTS = {
    "clean": "the agent did what was recorded",
    "incomplete": "the recording is incomplete, and was played to its end",
    "stalled": "the agent stalled",
    "unstable": "the agent did not do the same in all runs",
    "differs": "the agent did not do what was recorded",
    "broken-rules": "the agent broke rules of the protocol",
}
_VERSIONS = ("/result/agentInfo/version", "/result/info/version")
"""The JSON pointers of the agent's version. A new version is not a difference."""


@frozen
class PlayedRun:
    """An ended run of the new agent."""

    engine: Verification
    new: RecordingReader
    """The recording of the run."""
    was_stopped: bool = False
    """Whether acp-proxy stopped the agent. If so, the way in which the agent ended is not
    compared."""
    pauses: tuple[tuple[int, int], ...] = ()
    """The periods in which a message was held back because another message did not come. Each
    period has a start and an end, in nanoseconds of the monotonic clock."""

    @property
    def roots(self) -> Mapping[str, str]:
        """For each recorded directory, the directory that replaces it in this run."""
        return self.engine.state.options.roots


@frozen
class UnstableRun:
    """The differences between the first run (A) and a later run (B), without noise."""

    run: int
    """The number of the later run; the first run is number 1."""
    differences: dict[str, int]
    """The number of differences, by kind."""
    handshake: tuple[Field, ...]
    ending: tuple[Field, ...]
    entries: tuple[DiffEntry, ...]
    entries_left_out: int
    cases: list[Case] = field(factory=list, metadata={"hidden": True})
    """The differences as cases for JUnit XML."""


@frozen
class ComparisonSettings:
    """The settings of a comparison, and the files for reports."""

    word: str
    """The name of the recording as the user gave it."""
    compared: DiffOptions
    report: Path | None
    junit: Path | None
    is_checked: bool = False
    """Whether the verification fails if the agent broke a rule in the new run."""
    on_report: "Callable[[VerifyReport], object] | None" = None
    """A function that also receives the report; None for no function."""


@frozen
class VerifyReport:
    """The report of one verification."""

    recording: str
    recorded_as: str
    """The path of the recording of the new run."""
    verdict: str
    """The verdict: clean, differs, unstable, broken-rules, stalled or incomplete."""
    exit_code: int
    agent_exit_code: int | None
    agent_exit_signal: int | None
    expect: Expect
    conversation: PlayReport
    """How the conversation went, and where it diverged from the recording."""
    differences: dict[str, int]
    """The number of differences between the two recordings, by kind."""
    handshake: tuple[Field, ...] = ()
    ending: tuple[Field, ...] = ()
    entries: tuple[DiffEntry, ...] = ()
    entries_left_out: int = 0
    check: CheckedRecording | None = None
    """The result of a check of the new run."""
    is_checked: bool = False
    """Whether the verification fails if the agent broke a rule in the new run."""
    runs: tuple[str, ...] = ()
    """The paths of the recordings, one for each run."""
    unstable: tuple[UnstableRun, ...] = ()
    """The runs that differ from the first run in more than noise."""


@define
class _EntryCollector(DiffReporter):
    entries: list[DiffEntry] = field(factory=list)
    left_out: int = 0

    def entry(self, entry: DiffEntry) -> None:
        if len(self.entries) < _MOST_ENTRIES:
            self.entries.append(entry)
        else:
            self.left_out += 1


def conclude(old: RecordingReader, runs: Sequence[PlayedRun], settings: ComparisonSettings) -> int:
    """Compares the first run with the recording, reports the result, and returns the exit code.

    Args:
        old: the recording that was played.
        runs: the runs. The runs after the first show which values differ from run to run.
        settings: the settings of the comparison, and the files for the reports.
    """
    new = runs[0].new
    every = [plays.report(run.engine, old.known_secrets | run.new.known_secrets) for run in runs]
    played = every[0]
    was_stopped = any(signal.get("action") in ("passed on", "sent") for signal in _signals(old))
    options = evolve(
        settings.compared,
        ignored=(*settings.compared.ignored, *_VERSIONS),
        only=Direction.TO_CLIENT.value,  # the verifier's messages depend on the agent's messages
        ending=not (runs[0].was_stopped or was_stopped),
        same=tuple((live, recorded) for recorded, live in runs[0].roots.items()),
        pauses=_on_recorded_clock(runs[0].pauses, new),
    )
    noise = ModelNoise()
    unstable = [*_unstable(noise, runs, options)]
    comparison = noise.without(diff(old, new, options, progress), _prompts(old, new))
    verdict, code = _verdict(played, comparison, is_incomplete=old.recording.state == "incomplete")
    if any(other.has_stalled for other in every):
        verdict, code = "stalled", STALLED
    elif unstable or any(other.has_diverged != played.has_diverged for other in every):
        verdict, code = "unstable", code or DIFFERS
    checks = [_checked(run.new) for run in runs]
    checked = next(filter(_broken_by_agent, checks), checks[0])
    if code == CLEAN and settings.is_checked and _broken_by_agent(checked):
        verdict, code = "broken-rules", DIFFERS
    report = VerifyReport(
        recording=settings.word, recorded_as=str(new.path), verdict=verdict, exit_code=code,
        agent_exit_code=new.recording.exit_code, agent_exit_signal=new.recording.exit_signal,
        expect=options.expect, conversation=played,
        differences={**asdict(comparison.counts), "total": comparison.counts.total},
        handshake=comparison.handshake, ending=comparison.ending,
        check=checked, is_checked=settings.is_checked,
        runs=tuple(str(run.new.path) for run in runs), unstable=(*unstable,),
    )  # fmt: skip
    collector = _EntryCollector()
    cases = None if settings.junit is None else DiffCases()
    reporters: list[DiffReporter] = [collector] if cases is None else [collector, cases]
    for number, conversation in enumerate(every, 1):
        if len(runs) > 1 and conversation.has_diverged:
            say(f"run {number}:", bold=True)
        _print_conversation(conversation)
    if not comparison.is_equal:
        reporters.append(DiffScreen(stdout_screen(), _MOST_PRINTED))
        if settings.word != "-":
            word = str(old.path) if settings.word == "latest" else settings.word
            reporters.append(RuleHint((word, str(new.path))))
    report_diff(comparison, reporters)
    if settings.is_checked or any(
        checked.counts[severity] for severity in (Severity.ERROR, Severity.WARNING)
    ):
        for line in short_text(checked):
            say(line)
    if comparison.ending and (signal_sent := _forced_end(new)) is not None:
        warn(f"the agent was still running after its client had left: {signal_sent}")
    many = f"{len(runs)} runs, " * (len(runs) > 1)
    warn(
        f"{_RESULTS[verdict]}: {many}{plays.headline(played)}; recorded as {', '.join(report.runs)}"
    )
    report = evolve(report, entries=tuple(collector.entries), entries_left_out=collector.left_out)
    if settings.on_report is not None:
        settings.on_report(report)
    compared = [] if cases is None else cases.cases
    compared += [case for run in unstable for case in run.cases]
    title = f"acp-proxy verify {report.recording}{f' ({len(runs)} runs)' * (len(runs) > 1)}"
    written = write_reports(
        (settings.report, lambda: json_report(report)),
        (settings.junit, lambda: suite(title, [*_cases_of(report), *compared])),
    )
    return code if written else code or WRONG_USE


def _unstable(
    noise: ModelNoise, runs: Sequence[PlayedRun], options: DiffOptions
) -> Iterator[UnstableRun]:
    """Learns noise from the later runs; prints and yields runs that differ in more than noise."""
    first = runs[0].new
    for number, run in enumerate(runs[1:], 2):
        same = tuple((run.roots[recorded], live) for recorded, live in runs[0].roots.items())
        ending = options.ending and not run.was_stopped
        options = evolve(options, same=same, ending=ending, pauses=())
        rest = noise.learn(diff(first, run.new, options, progress), _prompts(first, run.new))
        if rest.is_equal:
            continue
        say(f"unstable: run 1 and run {number} of the new agent are not the same", bold=True)
        collector, cases = _EntryCollector(), DiffCases()
        report_diff(rest, [collector, cases, DiffScreen(stdout_screen(), _MOST_PRINTED)])
        say()
        yield UnstableRun(
            number, {**asdict(rest.counts), "total": rest.counts.total}, rest.handshake,
            rest.ending, tuple(collector.entries), collector.left_out,
            [evolve(case, classname=f"run {number}") for case in cases.cases],
        )  # fmt: skip


def _prompts(a: RecordingReader, b: RecordingReader) -> Prompts:
    return [turn.prompt_seq for turn in turns(a)], [turn.prompt_seq for turn in turns(b)]


def _on_recorded_clock(
    pauses: tuple[tuple[int, int], ...], new: RecordingReader
) -> tuple[tuple[int, int], ...]:
    """Converts moments of the monotonic clock to nanoseconds since the recording's start."""
    origin = clock_origin_ns(new)
    if origin is None:
        return ()
    return tuple((start - origin, end - origin) for start, end in pauses)


def _verdict(played: PlayReport, comparison: Diff, *, is_incomplete: bool) -> tuple[str, int]:
    if played.has_stalled:
        return "stalled", STALLED
    ran_out = is_incomplete and played.is_played_out
    if played.has_diverged or not comparison.is_equal:
        return "differs", STALLED if ran_out else DIFFERS
    return ("incomplete", STALLED) if ran_out else ("clean", CLEAN)


def _checked(new: RecordingReader) -> CheckedRecording:
    return reported(new, check_whole(new), chosen_rules((), ()))


def _broken_by_agent(checked: CheckedRecording) -> list[Finding]:
    """Returns the findings that are errors of the agent; errors of the client do not count."""
    findings = in_order(checked.findings)
    return [
        finding
        for finding in findings
        if finding.by == AGENT and finding.severity is Severity.ERROR
    ]


def _forced_end(reader: RecordingReader) -> str | None:
    """Returns which signal the recorder sent to end the agent, and why; None if it sent none."""
    for signal in _signals(reader):
        if signal.get("action") == "sent":
            return plain(f"{signal.get('name')} sent: {signal.get('reason')}")
    return None


def _signals(reader: RecordingReader) -> Iterator[dict[str, Any]]:
    """Yields the events about signals that the recorder received or sent."""
    return (event.data for event in events(reader, "signal"))


def _print_conversation(play_report: PlayReport) -> None:
    for line in plays.text(play_report):
        say(line)
    for line in (*plays.remarks(play_report), *masked_lines(play_report.divergences)):
        warn(line)


def _cases_of(report: VerifyReport) -> Iterator[Case]:
    """Yields a case for the conversation, one for checked rules, one for each diverged session."""
    counted = [
        divergence
        for divergence in report.conversation.divergences
        if divergence.rank is not Rank.INFO
    ]
    of_connection = [divergence for divergence in counted if divergence.lane == "connection"]
    whole = failure_of(of_connection, plays.REPORTER.lines_of)
    is_of_another_run = whole is None and report.verdict in ("stalled", "unstable")
    if report.verdict == "incomplete" or is_of_another_run:
        whole = Failure(report.verdict, _RESULTS[report.verdict])
    output = masked_lines(report.conversation.divergences) or None
    yield Case("verify", "conversation", whole, output=output)
    if report.check is not None and report.is_checked:
        failure = None
        if broken := _broken_by_agent(report.check):
            first, lines = broken[0], short_text(report.check)
            failure = Failure(first.rule, f"by the agent: #{first.seq}: {first.text}", lines)
        yield Case("verify", "rules", failure)
    sessions = [divergence for divergence in counted if divergence.lane != "connection"]
    yield from lane_cases("verify", sessions, plays.REPORTER.lines_of)
