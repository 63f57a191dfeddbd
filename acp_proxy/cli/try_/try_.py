"""``acp-proxy try``: talk to an agent without an editor, or probe it, and record it."""

import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
from attrs import evolve, frozen

from acp_proxy.base.limits import NAMED
from acp_proxy.base.plain_files import reason
from acp_proxy.base.wording import counted, listed, numbered
from acp_proxy.check.judgement import summarize_whole
from acp_proxy.cli.explain.show_screen import show_summary
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import one_line, unredacted_option
from acp_proxy.cli.options import (
    ONE_A_LINE,
    F,
    agent_argument,
    agent_command,
    file_option,
    flag_option,
    seconds,
)
from acp_proxy.cli.output_files import check_report_files, new_path, spare_recordings, write_reports
from acp_proxy.cli.screens.junit import Case, Failure, suite
from acp_proxy.cli.screens.output import say_json, show_status, stdout_screen, warn
from acp_proxy.cli.screens.recording_page import RecordingPage, verdict
from acp_proxy.cli.screens.styled_text import piece
from acp_proxy.cli.try_.live_screen import LiveScreen, write_stderr
from acp_proxy.explain.findings import SEVERITIES, Severity
from acp_proxy.playback.drivers.event_loop import run_alone
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.store.files.directory import recording_at
from acp_proxy.store.reader import RecordingReader
from acp_proxy.try_.agent_requests import Policy
from acp_proxy.try_.connected_agent import RunningAgent, started_agent
from acp_proxy.try_.forms import Forms
from acp_proxy.try_.probe import Prober, ProbeResult, ProbeVerdict
from acp_proxy.try_.probes import probes
from acp_proxy.try_.trial import Trial

_PROBE_PROMPTS = (
    "Answer with the word hello, and use no tool.",
    "Count from 1 to 300 in words, one number in a line, and use no tool.",
)
"""The default prompts of the probes: for a turn that ends, and for a turn that is cancelled."""


def _texts(name: str, metavar: str, text: str) -> Callable[[F], F]:
    return click.option(name, type=ONE_A_LINE, multiple=True, metavar=metavar, help=text)


def _policy(policy: Policy, text: str) -> Callable[[F], F]:
    return flag_option(f"--{policy}", "policy", text=text, flag_value=policy.value)


@cli_command()
@agent_argument
@_texts("--prompt", "TEXT", "A prompt, for one turn. Default: typed, or all of standard input.")
@flag_option(
    "--probe",
    text="Check in some thirty probes whether the agent follows the protocol. The first --prompt "
    "is sent in turns that end, a second --prompt in turns that are cancelled.",
)
@file_option("-o", "--output", text="Where to record, by default in the recordings directory.")
@_policy(Policy.ALLOW, "Allow whatever the agent asks for: to write files, to run commands.")
@_policy(Policy.REJECT, "Refuse what --allow allows. The default if there is no terminal.")
@unredacted_option
@click.option("--timeout", callback=seconds, default="120", metavar="S",
              help="End after S seconds in which the agent had to answer but sent nothing; 0 for "
              "no limit.")  # fmt: skip
@_texts("--mcp-server", "CMD", "The command of an MCP server for the session.")
@click.option(
    "--dialect",
    type=click.Choice((V1, V2, DRAFT)),
    default=V1,
    help="The version of the protocol to request; the agent may answer with another version.",
)
@click.option("--json", is_flag=True, help="With --probe: print one JSON object.")
@file_option("--junit", text="With --probe: write a report as JUnit XML.")
def try_(
    command: tuple[str, ...],
    prompt: tuple[str, ...],
    output: Path | None,
    policy: str | None,
    timeout: float,
    mcp_server: tuple[str, ...],
    dialect: str,
    probe: bool,
    json: bool,
    junit: Path | None,
) -> None:
    """Talk to an agent without an editor, and record the conversation.

    Starts AGENT in the current directory and sends the prompts. Prints the transcript as it grows,
    and at the end the verdict of `show`. Ctrl-C cancels the turn; a second Ctrl-C ends the agent.

    Through acp-proxy, the agent can read the text files of the current directory. For all other
    requests, you are asked on a terminal; without a terminal, they are refused. The agent is a
    program like any other: without asking, it can do whatever you can do.

    Examples:
      acp-proxy try -- opencode acp
          on a terminal: asks for one prompt after the other
      acp-proxy try --prompt 'What does this project do?' -- @gemini
          one turn; the agent may read the current directory, and nothing else
      acp-proxy try --allow --prompt 'Fix the test' --prompt 'Now run it' -- @opencode
          two turns; files are written and commands run without asking
      echo 'List the files' | acp-proxy try -o chat.db -- ./my-agent
      acp-proxy try --probe -- ./my-agent
          does it answer as the protocol says?

    Exit code: 0 without findings, 1 with an error or a warning, 2 for wrong use, 3 if the
    agent did not answer in time, 127 or 126 if it cannot be started, 130 after Ctrl-C.
    """
    if not command[0]:
        raise Refusal("expected an agent's command, got an empty word")
    if (json or junit) and not probe:
        raise Refusal("--json and --junit write verdicts of probes: expected --probe, too")
    if not (prompt or probe or sys.stdin.isatty()):
        prompt = (sys.stdin.buffer.read().decode(errors="replace").removesuffix("\n"),)
    if any(not text.strip() for text in prompt):
        raise Refusal("expected a prompt, on standard input or with --prompt, got an empty prompt")
    try:
        Path.cwd()
    except OSError as e:
        raise Refusal(f"expected a directory to work in, but {reason(e)}") from None
    command = agent_command(command)
    limit_s = timeout or float("inf")
    if probe:
        if policy or mcp_server or len(prompt) > len(_PROBE_PROMPTS):
            raise Refusal(
                "--probe takes at most two prompts, and cannot be combined with --allow, --reject "
                "or --mcp-server: probes reject what the agent asks for"
            )
        texts = (prompt[0], prompt[-1]) if prompt else _PROBE_PROMPTS
        sys.exit(_probe(command, output, junit, json, dialect, texts, limit_s))
    is_asked = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
    new = new_path(command, output)
    trial = Trial(
        partial(started_agent, command, str(new)),
        screen=(screen := LiveScreen(prompt)),
        policy=Policy(policy or (Policy.ASK if is_asked else Policy.REJECT)),
        forms=Forms(dialect),
        servers=[_server(words) for words in mcp_server],
        timeout_s=limit_s,
    )
    run_alone(trial.play)
    screen.close()
    sys.exit(_conclude(new, trial))


def _server(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise Refusal(f"--mcp-server {text!r} is not a command: {e}") from None
    if not words or (program := shutil.which(words[0])) is None:
        raise Refusal(f"--mcp-server: {words[0] if words else text!r} is not a program")
    return [str(Path(program).absolute()), *words[1:]]


def _probe(
    command: tuple[str, ...], output: Path | None, junit: Path | None, is_json: bool, *options: Any
) -> int:
    """Plays the probes, prints the verdicts, and returns the exit code."""
    check_report_files(junit)
    starts = [new_path(command, output)]
    spare_recordings([junit], starts)

    def start() -> RunningAgent:
        if recording_at(starts[-1]) is not None:
            starts.append(new_path(command, starts[0]))
        return started_agent(command, str(starts[-1]))

    prompts = counted(sum(probe.prompts for probe in probes()), "prompt")
    warn(f"the probes send at most {prompts} to the agent's model")
    tell = show_status if sys.stderr.isatty() else lambda _: None
    try:
        results = run_alone((prober := Prober(start, tell, *options)).play)
    finally:
        tell("")
    _warn_of(prober.left_behind)
    if prober.is_mute or results[0].verdict is ProbeVerdict.BROKEN:
        write_stderr(bytes(prober.stderr))
    if (code := _start_failure(starts[0], 1)) is not None:
        return code
    report = report_of(results, prober, [*map(str, starts)])
    if is_json:
        say_json(report)
    else:
        show_probes(report)
    return report.exit if write_reports((junit, lambda: junit_text(report))) else 2


def _warn_of(left_behind: list[str]) -> None:
    for process in left_behind:
        warn(f"the agent left a process running, which was ended: {process}")


def _start_failure(path: Path, code: int) -> int | None:
    """Returns the exit code if no agent was started; None if an agent was started.

    Args:
        path: the path of the recording.
        code: the exit code to return if there is no recording. In this case, the recorder has
            printed the reason.
    """
    if recording_at(path) is None:
        return code
    with RecordingReader(path) as reader:
        recording = reader.recording
    if not (recording.end_reason or "").startswith("cannot start the agent"):
        return None
    return recording.exit_code or 127


def _conclude(new: Path, trial: Trial) -> int:
    """Prints the verdict of `show` on the new recording, and returns the exit code."""
    recorder = trial.agent.recorder
    _warn_of(recorder.left_behind)
    if (code := _start_failure(new, recorder.process.returncode or 1)) is not None:
        return code
    if trial.detail:
        warn(trial.detail)
    with RecordingReader(new) as reader:
        summary = summarize_whole(reader, time.monotonic_ns())
    page = RecordingPage(stdout_screen())
    page.line("")
    show_summary(summary, str(new), page, is_brief=True)
    if recorder.signum is not None:
        return 128 + recorder.signum
    if trial.agent.silence:
        return 3
    is_clean = all(finding.severity is Severity.INFO for finding in summary.findings)
    return 0 if is_clean and not trial.detail else 1


@frozen
class ProbeReport:
    """The verdicts of all probes on one agent, as ``--json`` prints them."""

    dialect: str
    recordings: list[str]
    """The paths of the recordings in order, one for each start of the agent."""
    counts: dict[str, int]
    """The number of probes with each verdict."""
    probes: list[ProbeResult]
    exit: int


def report_of(results: Sequence[ProbeResult], prober: Prober, recordings: list[str]) -> ProbeReport:
    """Returns the report: each verdict with the recording and the frames that show its reason.

    Args:
        results: the verdicts.
        prober: the prober that has played the probes.
        recordings: the paths of the recordings in order, one for each start of the agent.
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
    """Whether a probe has the verdict ``broken`` and the severity ``error``."""
    return probe.verdict is ProbeVerdict.BROKEN and probe.severity == Severity.ERROR


def _frames(path: Path) -> dict[tuple[str, int], int]:
    """Returns the frame numbers of a recording, by stream and line number.

    Lines are numbered within their stream, from 1. The result is empty if there is no recording.
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
    """Prints the probes with the verdict ``broken``, the worst first, and then all others."""
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
    for why, names in reasons.items():
        page.row("not tested", f"{', '.join(names)}: {why}")
    page.row("recorded", listed(report.recordings, NAMED))
    shown = [probe for probe in broken if probe.frames]
    if shown and page.screen.columns is not None:
        page.next(f"acp-proxy log {shown[0].recording} --seq {shown[0].frames[0]}")
    page.flush()
