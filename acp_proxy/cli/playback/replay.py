"""``acp-proxy replay``: play the recorded agent to a client, with or without faults."""

import contextlib
import os
import shlex
import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acp_proxy.base import system
from acp_proxy.base.limits import CHUNK
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.options import complete_plan, complete_recording, playback_options
from acp_proxy.cli.output_files import (
    check_report_files,
    json_report,
    spare_recordings,
    write_reports,
)
from acp_proxy.cli.rules_file import ComparisonRules, pointers, rules_option
from acp_proxy.playback.events import LineReceived, Send
from acp_proxy.playback.replay import replay_report as reports
from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.record.capture.stdio import explain_terminal, take_stdio

if TYPE_CHECKING:
    from acp_proxy.faults.fault import ExitEffect, SignalEffect

_SAFE = 4096
"""The number of bytes that an empty pipe accepts at once."""


@cli_command()
@click.argument(
    "recording", nargs=-1, required=True, metavar="RECORDING...", shell_complete=complete_recording
)
@playback_options(
    order="Keep the recorded order of messages within each session, or of all messages.",
    timing="How long frames wait: not at all, as long as recorded, or N times as long.",
    strict="Stop a session that diverged, or skip missing messages and continue.",
    stall="Seconds without progress after which the replay ends; 0 for no limit.",
)
@click.option("--ignore", multiple=True, metavar="PTR", callback=pointers,
              help="A JSON pointer into the client's messages to ignore; * matches any key or"
              " item.")  # fmt: skip
@rules_option
@click.option("--rewrite-text", is_flag=True, help="Also replace recorded directories in texts.")
@click.option("--inert", is_flag=True,
              help="Send only requests that read files or ask a person.")  # fmt: skip
@click.option("--allow-outside", is_flag=True,
              help="Also send requests that change files or run commands outside the session's "
              "directories.")  # fmt: skip
@click.option("--fault", multiple=True, metavar="RULE",
              help="A fault: its kind, then name=value. Can be given several times.")  # fmt: skip
@click.option("--faults", metavar="PLAN", shell_complete=complete_plan,
              help="A plan of faults: a TOML file, or @NAME for a ready plan.")  # fmt: skip
@click.option("--seed", type=int, metavar="N", help="The seed of random faults.")
def replay(
    recording: tuple[str, ...],
    playback: dict[str, Any],
    ignore: tuple[str, ...],
    rules: ComparisonRules,
    rewrite_text: bool,
    inert: bool,
    allow_outside: bool,
    report: Path | None,
    junit: Path | None,
    fault: tuple[str, ...],
    faults: str | None,
    seed: int | None,
) -> None:
    """Play the recorded agent to a client, in the same way every time.

    Put this command in place of an agent's command. The replay sends a recorded message of the
    agent as soon as the client has sent everything that the recorded client had sent before this
    message. Divergences of the client are reported on stderr.

    Examples:
      acp-proxy replay latest
      acp-proxy replay bug.jsonl --report report.json --junit report.xml
      acp-proxy replay run.db --timing recorded --idle-cap 2
      acp-proxy replay run.db --lenient --ignore /params/prompt/0/text
      acp-proxy replay first.db second.db       a client that starts its agent twice

    Exit code: 0 if the client did what was recorded, 1 if it diverged, 2 for wrong use
    or a recording that cannot be read, 3 if it stalled, or if the recording is incomplete and was
    played to its end.
    """
    options = ReplayOptions(
        **playback,
        ignored=(*ignore, *rules.ignore, *rules.alias),
        rewrite_text=rewrite_text,
        inert=inert,
        allow_outside=allow_outside,
    )
    check_report_files(report, junit)
    paths = {word: _path(word) for word in recording}
    spare_recordings((report, junit), paths.values())
    run = _Run()
    if fault or faults is not None or seed is not None:
        run = _FaultyRun(fault, faults, seed)
    result = run.completed(_play(paths, options, run))
    are_written = write_reports(
        (report, partial(json_report, result)), (junit, partial(_junit, result))
    )
    code = result.exit_code if are_written else result.exit_code or 2
    if lines := reports.text(result):
        from acp_proxy.cli.screens.output import warn  # late: a clean replay prints nothing

        for line in lines:
            warn(line)
    run.leave()
    os._exit(code)  # a thread may still wait for the client


def _path(word: str) -> Path:
    from acp_proxy.cli.opening import find_recording

    if word == "-":
        raise Refusal("expected a recording, got '-': standard input belongs to the client")
    return find_recording(word)


def _play(paths: dict[str, Path], options: ReplayOptions, run: "_Run") -> reports.ReplayReport:
    from acp_proxy.store.queries.recorded_steps import RecordedSteps
    from acp_proxy.store.reader import RecordingReader

    source, sink = take_stdio()
    with contextlib.ExitStack() as stack:
        readers = {
            word: stack.enter_context(RecordingReader(path, unredacted=True))
            for word, path in paths.items()
        }
        from acp_proxy.cli.opening import require

        for reader in readers.values():
            require("--timing", options.pacing.factor, reader)
        replays = {word: Replay(RecordedSteps(reader), options) for word, reader in readers.items()}
        choice = RecordingChoice(list(replays.values()))
        explain_terminal(source)
        run.play(choice, source, sink)
        word = next(word for word, replay in replays.items() if replay is choice.chosen)
        incomplete = readers[word].recording.state == "incomplete"
        known = {}
        kinds = {divergence.kind for divergence in choice.chosen.state.divergences.found}
        is_shown = bool(kinds - {DivergenceKind.MASKED}) and choice.chosen.lines > 0
        if is_shown and not readers[word].is_masked:
            with RecordingReader(paths[word]) as masked:
                known = masked.known_secrets
        return reports.report(choice.chosen, word, is_incomplete=incomplete, known=known)


class _Run:
    """A run without faults. The replay reads from `source` and writes to `sink`."""

    def play(self, choice: RecordingChoice, source: int, sink: int) -> None:
        """Plays until the end, and closes the sink."""
        received, unsent = answer_first(choice, source, sink)
        if not choice.is_over or unsent:
            from acp_proxy.playback.drivers.replayer import play

            play(choice, source, sink, received=received, unsent=unsent)
        os.close(sink)

    def completed(self, report: reports.ReplayReport) -> reports.ReplayReport:
        """Returns the report of a replay. A run with faults adds the facts about its faults."""
        return report

    def leave(self) -> None:
        """Ends the process if a fault ended the agent; otherwise returns."""


class _FaultyRun(_Run):
    """A run with the faults of ``--fault``, ``--faults`` and ``--seed``.

    Raises:
        BadPlan: the rules or the plan are invalid. Nothing was played.
    """

    def __init__(self, rules: tuple[str, ...], plan: str | None, seed: int | None) -> None:
        from acp_proxy.faults.plan import chosen_plan  # late: most replays have no faults

        self._plan, self._seed = chosen_plan(rules, plan, seed)
        self._has_seed = seed is not None or self._plan.seed is not None
        self._fired: dict[str, int] = {}
        self._agent_end: SignalEffect | ExitEffect | None = None

    def play(self, choice: RecordingChoice, source: int, sink: int) -> None:
        from acp_proxy.playback.drivers.replay_faults import play_with_faults

        self._fired, self._agent_end = play_with_faults(
            self._plan, self._seed, choice, source, sink
        )

    def completed(self, report: reports.ReplayReport) -> reports.ReplayReport:
        """Adds to a report the faults that fired, and a command that repeats the run."""
        from attrs import evolve

        words = ["acp-proxy", *sys.argv[1:]]
        if not self._has_seed:
            words.insert(2, f"--seed={self._seed}")
        from acp_proxy.cli.masking import without_secrets

        command = without_secrets(shlex.join(words))
        return evolve(report, faults=self._fired, seed=self._seed, reproduce=command)

    def leave(self) -> None:
        """If a fault ended the agent, ends this process in the same way."""
        from acp_proxy.faults.fault import ExitEffect, SignalEffect

        if isinstance(self._agent_end, ExitEffect):
            os._exit(self._agent_end.code)
        if isinstance(self._agent_end, SignalEffect):
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(self._agent_end.signum, signal.SIG_DFL)
            os.kill(os.getpid(), self._agent_end.signum)


def answer_first(choice: RecordingChoice, source: int, sink: int) -> tuple[bytes, bytes]:
    """Answers the client's first line before trio is imported, if the line has arrived.

    Args:
        choice: the recorded agent.
        source: the descriptor that the client writes to.
        sink: the descriptor that the client reads from.

    Returns:
        The bytes that were read but not used, and the part of the answer that was not written.
    """
    # A terminal signals the end of its input only once, and a person is in no hurry.
    if os.isatty(source) or not system.is_readable(source):
        return b"", b""
    try:
        received = os.read(source, CHUNK)
    except OSError:  # another reader was faster, or the pipe is broken: the player will find out
        return b"", b""
    line, newline, rest = received.partition(b"\n")
    if not newline:
        return received, b""
    event = LineReceived(line.removesuffix(b"\r"), time.monotonic_ns())
    answer = b"".join(c.data for c in choice.feed(event) if isinstance(c, Send))
    try:
        written = os.write(sink, answer[:_SAFE])
    except OSError:  # no room, or no reader: the player will find out
        written = 0
    return rest, answer[written:]


def _junit(report: reports.ReplayReport) -> str:
    from acp_proxy.cli.screens.junit import replay_suite

    return replay_suite(report)
