"""``acp-proxy replay``: play the recorded agent to a client."""

import contextlib
import os
from pathlib import Path

import click
from attrs import evolve

from acp_proxy.capture.stdio import take_stdio
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.options.arguments import RecordingType, pointers
from acp_proxy.cli.options.playback import (
    limit_ns,
    order_option,
    report_options,
    stall_option,
    timing_options,
)
from acp_proxy.cli.output_files import check_report_files, spare_recordings, try_write
from acp_proxy.cli.replay_run import FaultyRun, ReplayRun
from acp_proxy.engine.agent import report as reports
from acp_proxy.engine.agent.options import ReplayOptions
from acp_proxy.engine.agent.recording_choice import RecordingChoice
from acp_proxy.engine.agent.replay import Replay
from acp_proxy.engine.shared.playback_options import NS_PER_S, Order, Pacing
from acp_proxy.safe_text import visible

_EXAMPLES = """Exit code: 0 if the client did what was recorded, 1 if it diverged from that, 2 for
wrong use or a recording that cannot be read, 3 if it stalled, or if the recording is
incomplete and was played to its end.

\b
Examples:
  acp-proxy replay latest
  acp-proxy replay bug.jsonl --report report.json --junit report.xml
  acp-proxy replay run.db --timing recorded --idle-cap 2
  acp-proxy replay run.db --lenient --ignore /params/prompt/0/text
  acp-proxy replay first.db second.db       a client that starts its agent twice
"""


@click.command(epilog=_EXAMPLES)
@click.argument("recording", nargs=-1, required=True, metavar="RECORDING...", type=RecordingType())
@order_option("Which recorded order is kept: within each session, of all messages, or only causes.")
@timing_options(
    "How long frames wait: not at all, as recorded, N times that, or MS milliseconds each.",
    "The longest wait.",
)
@click.option(
    "--strict/--lenient",
    default=True,
    help="Stop a session that diverged, or skip what is missing and continue.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="PTR",
    callback=pointers,
    help="A JSON pointer into the client's messages to ignore; * matches any key or item.",
)
@click.option("--rewrite-text", is_flag=True, help="Replace recorded directories in texts, too.")
@click.option(
    "--inert",
    is_flag=True,
    help="Send no requests but those that read files or ask a person.",
)
@click.option(
    "--allow-outside",
    is_flag=True,
    help="Send requests that change files or run commands outside its directories, too.",
)
@stall_option("Seconds without progress after which the replay ends; 0 for no limit.")
@report_options
@click.option("--fault", multiple=True, metavar="RULE",
              help="A fault: its kind, then name=value. Can be given several times.")  # fmt: skip
@click.option("--faults", metavar="PLAN",
              help="A plan of faults: a TOML file, or @NAME for a ready one.")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="The seed of the random generator of faults.")
def replay(
    recording: tuple[str, ...],
    order: str,
    timing: Pacing,
    idle_cap: float | None,
    strict: bool,
    ignore: tuple[str, ...],
    rewrite_text: bool,
    inert: bool,
    allow_outside: bool,
    stall_timeout: float,
    report: Path | None,
    junit: Path | None,
    fault: tuple[str, ...],
    faults: str | None,
    seed: int | None,
) -> None:
    """Play the recorded agent to a client, the same every time.

    Use it as an agent's command. It sends what the recorded agent sent, as soon as the client has
    done what the recorded client did, and reports on stderr where the client diverges from it.
    """
    cap_ns = None if idle_cap is None else int(idle_cap * NS_PER_S)
    options = ReplayOptions(
        order=Order(order),
        pacing=evolve(timing, cap_ns=cap_ns),
        lenient=not strict,
        ignored=ignore,
        rewrite_text=rewrite_text,
        inert=inert,
        allow_outside=allow_outside,
        stall_ns=limit_ns(stall_timeout),
    )
    check_report_files(report, junit)
    paths = {word: _path(word) for word in recording}
    spare_recordings((report, junit), paths.values())
    run = ReplayRun()
    if fault or faults is not None or seed is not None:
        run = FaultyRun(fault, faults, seed)
    found = run.completed(_play(paths, options, run))
    code = found.exit_code if _write_reports(found, report, junit) else found.exit_code or 2
    for line in reports.text(found):
        click.echo(f"acp-proxy: {visible(line)}" if line else "", err=True)
    run.leave()
    os._exit(code)  # a thread may still wait for the client


def _play(paths: dict[str, Path], options: ReplayOptions, run: ReplayRun) -> reports.ReplayReport:
    """Plays recordings, given by the words that name them on the command line."""
    from acp_proxy.store.reader import RecordingReader
    from acp_proxy.store.recorded_steps import RecordedSteps

    source, sink = take_stdio()
    with contextlib.ExitStack() as stack:
        readers = {word: stack.enter_context(RecordingReader(path)) for word, path in paths.items()}
        replays = {word: Replay(RecordedSteps(reader), options) for word, reader in readers.items()}
        choice = RecordingChoice(list(replays.values()))
        run.play(choice, source, sink)
        word = next(word for word, replay in replays.items() if replay is choice.chosen)
        incomplete = readers[word].recording.state == "incomplete"
        return reports.report(choice.chosen, word, is_incomplete=incomplete)


def _path(word: str) -> Path:
    from acp_proxy.cli.recordings import find_recording

    if word == "-":
        raise Refusal("expected a recording, got -: standard input belongs to the client")
    return find_recording(word)


def _write_reports(
    found: reports.ReplayReport, report_file: Path | None, junit_file: Path | None
) -> bool:
    """Writes the files that were asked for; False if one could not be written."""
    are_written = True
    if report_file is not None:
        from acp_proxy.forms import converter

        are_written &= try_write(report_file, converter.dumps(found, indent=2) + "\n")
    if junit_file is not None:
        from acp_proxy.cli.render.junit import replay_suite

        are_written &= try_write(junit_file, replay_suite(found))
    return are_written
