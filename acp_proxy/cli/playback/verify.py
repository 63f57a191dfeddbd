"""``acp-proxy verify``: play the recorded client against a live agent and report what changed."""

import os
import re
import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import evolve, field, frozen

from acp_proxy.base.errors import AcpProxyError
from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.system import signal_name
from acp_proxy.base.wording import listed, plain
from acp_proxy.batches import names_several
from acp_proxy.cli.batch_options import (
    BatchCommand,
    BatchOptions,
    batch_options,
    option_words,
    split_words,
)
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.interruption import exit_by, handling
from acp_proxy.cli.opening import (
    STDIN,
    file_of,
    masked_alike,
    note_imported,
    open_recording,
    require,
)
from acp_proxy.cli.options import (
    agent_argument,
    agent_command,
    comparison_options,
    complete_recording,
    file_option,
    limit_ns,
    number_option,
    playback_options,
    seconds,
)
from acp_proxy.cli.output_files import check_report_files, new_path, spare_recordings
from acp_proxy.cli.screens.output import show_status, warn, with_verdict
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.playback.replay.replay_report import STALLED
from acp_proxy.playback.shared.playback_options import NS_PER_S, Pacing
from acp_proxy.playback.verify.recorded_client import FilledScript, RecordedClient, markers_to_send
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_requests import VerifyOptions
from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.files.directory import recording_at
from acp_proxy.store.queries.recorded_events import events
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from acp_proxy.playback.drivers.verifier import VerifyOutcome

_TIMES, _SHORTEST_NS = 10, 60 * NS_PER_S
"""The default time limit of a run is `_TIMES` times the duration of the recorded conversation. A
duration below `_SHORTEST_NS` counts as `_SHORTEST_NS`."""


class RunNotRecorded(Refusal):
    """Raised if a new run was not recorded to its end, so that messages may be missing.

    Attributes:
        cause: the reason, without the path of the run.
    """

    exit_code = STALLED

    def __init__(self, why: str, new: Path) -> None:
        self.cause = f"{why}, so nothing was compared"
        is_there = recording_at(new) is not None
        until = f"; the run until then is recorded as {new}" if is_there else ""
        super().__init__(f"{self.cause}{until}")


class NothingRecorded(Refusal):
    """Raised if there is no new run. The recorder has already printed the reason."""


_EXAMPLES = """
Examples:
  acp-proxy verify run.db -- opencode acp
  acp-proxy verify run.db -- @opencode
  acp-proxy verify run.db --expect structure -- npx @google/gemini-cli --acp
  acp-proxy verify run.db --cwd ./fixture -- ./my-agent
  acp-proxy verify run.jsonl --report out.json --junit out.xml -- ./my-agent

Exit code: 0 if the agent did what was recorded, 1 if it did not, 2 for wrong use, an
agent that cannot start or a recording that cannot be read, 3 if it stalled or took longer than
--timeout, if the recording is incomplete and was played to its end, or if the new run was
not recorded to its end.
"""


@cli_command(cls=BatchCommand, epilog=_EXAMPLES)
@click.argument("recording", metavar="RECORDING...", shell_complete=complete_recording)
@agent_argument
@comparison_options()
@playback_options(
    order="Keep the recorded order of messages within each session, or of all messages.",
    timing="How long the client waits: not at all, as long as recorded, or N times as long.",
    strict="Answer only recorded requests, or also similar requests.",
    stall="Seconds without an expected message after which an agent has stalled; 0 for no limit.",
)
@click.option("--rewrite-text/--keep-text", default=True,
              help="Replace recorded directories in texts or only in protocol fields.")  # fmt: skip
@click.option("--cwd", type=click.Path(path_type=Path), metavar="DIR",
              help="The directory to work in, by default a new and empty one.")  # fmt: skip
@click.option("--timeout", callback=seconds, metavar="S",
              help="The longest run in seconds; 0 for no limit. By default ten times the recorded "
              "conversation, and at least ten minutes.")  # fmt: skip
@click.option("--grace", callback=seconds, default="5", metavar="S",
              help="An agent that does not exit is told to stop after S seconds of silence, and "
              "is killed S seconds later.")  # fmt: skip
@click.option("--secret", multiple=True, metavar="MARKER=VARIABLE",
              help="Send the value of an environment variable in place of a marker. Can be given"
              " several times.")  # fmt: skip
@click.option("--check", is_flag=True, help="Also check the new run, and fail if the agent broke "
              "a rule of the protocol.")  # fmt: skip
@number_option("--runs", default=1, text="Play N times, to find out what differs from run to run.")
@file_option("-o", "--output", text="Where to record the new run; for a batch, the directory for "
             "all new runs.")  # fmt: skip
@batch_options
@click.pass_context
@with_verdict
def verify(
    ctx: click.Context,
    recording: str,
    command: tuple[str, ...],
    compared: DiffOptions,
    playback: dict[str, Any],
    rewrite_text: bool,
    cwd: Path | None,
    timeout: float | None,
    grace: float,
    secret: tuple[str, ...],
    check: bool,
    runs: int,
    output: Path | None,
    report: Path | None,
    junit: Path | None,
    batch: BatchOptions,
) -> None:
    """Play the recorded client against a live agent and report what changed.

    Starts AGENT in a new directory, sends the messages of the recorded client in their order, and
    answers the agent's requests with the recorded answers. acp-proxy itself reads or writes no file
    and runs no command for the agent. The new run is recorded and compared with RECORDING.

    RECORDING may also be a directory, a quoted pattern, or several words before the --. The output
    is then one line for each recording with a difference, and a summary.
    """
    more, command = split_words(ctx, command)
    check_report_files(report, junit)
    if cwd is not None and batch.is_here and not cwd.is_dir():
        raise Refusal(f"expected a directory to work in, got {cwd}")
    if not command[0]:
        raise Refusal("expected an agent's command, got an empty word")
    command = agent_command(command)
    if more or batch.is_given or names_several(recording):
        sys.exit(_verify_many(ctx, (recording, *more), command, batch))
    with handling(exit_by, signal.SIGTERM, signal.SIGHUP), ExitStack() as stack:
        reader = stack.enter_context(open_recording(recording, unredacted=True))
        if reader.live:
            warn(f"{reader.path} is still being recorded; later frames are not played")
        require("--timing", playback["pacing"].factor, reader)
        note_imported(reader)
        from acp_proxy.cli.playback.verify_screen import ComparisonSettings, PlayedRun, conclude
        from acp_proxy.cli.playback.work_directory import directories

        played: list[PlayedRun] = []
        known: dict[str, str] = {}
        while len(played) < runs:
            script = FilledScript(RecordedSteps(reader, as_sent=True))
            client = RecordedClient(script)
            secrets = fill(script, client, secret, are_for_many=ctx.obj is not None,
                           are_listed=not played)  # fmt: skip
            new = new_path(command, played[0].new.path if played else output)
            spare_recordings((report, junit), (file_of(reader), output or new, new))
            roots = stack.enter_context(directories(client.roots, cwd, reader.recording.cwd))
            options = VerifyOptions(
                **playback,
                ignored=compared.ignored,
                rewrite_text=rewrite_text,
                roots=roots,
                secrets=secrets.values,
                timeout_ns=_timeout_ns(timeout, client, playback["pacing"]),
            )
            engine = Verification(client, options)
            engine.state.masking.note_command([*command])
            level = reader.recording.redaction or "secrets"
            outcome = _play(engine, command, new, grace, level, secrets.variables)
            fresh = stack.enter_context(_new_run(new, was_stopped=outcome.was_stopped))
            played.append(PlayedRun(engine, fresh, outcome.was_stopped, outcome.pauses))
            known |= engine.state.masking.known()
        settings = ComparisonSettings(
            word=recording, compared=compared, report=report, junit=junit, is_checked=check,
            on_report=ctx.obj,
        )  # fmt: skip
        readers = [_masked(reader, stack), *(run.new for run in played)]
        old, *news = masked_alike(readers, stack, known)
        again = [evolve(run, new=new) for run, new in zip(played, news, strict=True)]
        sys.exit(conclude(old, again, settings))


def _new_run(path: Path, *, was_stopped: bool) -> RecordingReader:
    """Opens the recording of the new run. Exits if the agent could not start."""
    fresh = RecordingReader(path)
    if (fresh.recording.end_reason or "").startswith("cannot start the agent"):
        fresh.close()
        path.unlink(missing_ok=True)
        sys.exit(2)  # the recorder has printed the reason
    if not was_stopped and (why := _unrecorded(fresh)) is not None:
        fresh.close()
        raise RunNotRecorded(why, path)
    return fresh


def _verify_many(
    ctx: click.Context, words: tuple[str, ...], command: tuple[str, ...], how: BatchOptions
) -> int:
    from acp_proxy.batches.batch import Job
    from acp_proxy.cli.batches.run_batch import run_many

    output: Path | None = ctx.params["output"]
    if ctx.params["runs"] > 1:
        raise Refusal("--runs is for one recording, and cannot be combined with options of a batch")
    if ctx.params["report"] is not None:
        raise Refusal("--report is for one recording; for a batch, --results writes all verdicts")
    options = (*option_words(ctx, ("output", "report", "junit")),)
    values = (option.partition("=") for option in options)
    files = (*(str(Path(value)) for name, _, value in values if name == "--rules"),)
    directory = None if output is None else str(output)
    job = Job("verify", options, command, files, directory, keeps_clean=output is not None)
    return run_many(words, job, how, ctx.params["junit"])


def _masked(reader: RecordingReader, stack: ExitStack) -> RecordingReader:
    """Opens the recording again with its secrets masked, since the new run is masked, too."""
    source = write_text_form(reader) if reader.path is STDIN else None
    return stack.enter_context(RecordingReader(reader.path, source))


def _play(
    engine: Verification,
    command: tuple[str, ...],
    new: Path,
    grace: float,
    level: str,
    secrets: dict[str, str],
) -> "VerifyOutcome":
    from acp_proxy.playback.drivers.verifier import verify as play

    show = show_status if sys.stderr.isatty() else None
    outcome = play(engine, str(new), command, grace=grace, redact=level, secrets=secrets, show=show)
    for process in outcome.left_behind:
        warn(f"the agent left a process running, which was ended: {process}")
    if outcome.signum is not None:
        warn(f"stopped; the run until then is recorded as {new}")
        sys.exit(128 + outcome.signum)
    if outcome.recorder_signal is not None and not _has_ended_by(new, outcome.recorder_signal):
        why = f"our recorder was killed ({signal_name(outcome.recorder_signal)})"
        raise RunNotRecorded(why, new)
    if not new.exists() and not Path(f"{new}{LOG_SUFFIX}").exists():
        if engine.is_hopeless:
            warn("the agent did not start in time, and nothing was recorded; raise --stall-timeout"
                 " or --timeout")  # fmt: skip
            sys.exit(STALLED)
        raise NothingRecorded("nothing was recorded, so there is nothing to compare")
    return outcome


def _has_ended_by(new: Path, signum: int) -> bool:
    """Whether the agent was ended by the signal that later ended the recorder.

    If so, the recorder was not killed: it ends itself in the way the agent ended.
    """
    with suppress(AcpProxyError), RecordingReader(new) as fresh:
        return fresh.recording.exit_signal == signum
    return False


def _unrecorded(new: RecordingReader) -> str | None:
    """Returns why a part of the conversation is missing; None if the recording is complete."""
    what = "the new run was not recorded to its end"
    for gap in events(new, "gap"):
        if gap.data.get(Stream.TO_AGENT) or gap.data.get(Stream.TO_CLIENT):
            return f"{what} ({plain(str(gap.data.get('reason', '')))})"
    return what if new.recording.state == "incomplete" else None


def _timeout_ns(given: float | None, client: RecordedClient, timing: Pacing) -> int | None:
    """Returns the time limit of a run. The default is so long that only endless runs reach it."""
    if given is not None:
        return limit_ns(given)
    recorded_ns = int(client.duration_ns * max(1.0, timing.factor))
    return _TIMES * max(_SHORTEST_NS, recorded_ns)


_GIVEN = re.compile(
    r"(?P<marker>\[?(?:redacted:)?(?:[a-z]+:)?(?P<hash>[0-9a-f]{8})\]?)=(?P<variable>\w+)", re.ASCII
)


@frozen
class GivenSecrets:
    """The user's secrets, which are sent in place of the recorded markers."""

    values: dict[str, str] = field(factory=dict, repr=False)
    """The secrets, each with its marker."""
    variables: dict[str, str] = field(factory=dict)
    """The environment variables that hold the secrets, each with the marker of its secret."""


def fill(
    script: FilledScript,
    client: RecordedClient,
    options: tuple[str, ...],
    *,
    are_for_many: bool = False,
    are_listed: bool = True,
) -> GivenSecrets:
    """Fills the given secrets into the recorded messages, in place of their markers.

    Lists on stderr the markers that will be sent unchanged.

    Args:
        script: the recorded messages, whose markers are replaced.
        client: the recorded client, which sends the messages.
        options: ``MARKER=VARIABLE``, as the user gave them.
        are_for_many: whether an option is allowed to name a marker of another recording.
        are_listed: whether to list markers on stderr.

    Raises:
        Refusal: a marker or a variable does not exist.
    """
    if script.redaction not in ("secrets", "private") and not options:
        return GivenSecrets()
    markers = markers_to_send(client)
    secrets, by_hash = GivenSecrets(), {}
    for option in options:
        if (match := _GIVEN.fullmatch(option)) is None:
            raise Refusal(f"expected MARKER=VARIABLE, such as env:ab12cd34=API_KEY, got {option}")
        marker, variable = markers.get(match["hash"]), match["variable"]
        if marker is None and are_for_many:
            continue
        if marker is None:
            raise Refusal(
                f"no message of the recorded client has the marker {match['marker']};"
                " `acp-proxy secrets` lists the markers of a recording"
            )
        if not (value := os.environ.get(variable)):
            raise Refusal(f"expected a value for {marker}: {variable} is not set")
        by_hash[match["hash"]] = value
        secrets.values[value] = secrets.variables[variable] = marker
    script.fill(by_hash)
    if are_listed and (left := [marker for name, marker in markers.items() if name not in by_hash]):
        warn(
            f"markers that are sent unchanged: {listed(left, EXAMPLES)};"
            " to send the value of an environment variable in place of a marker, use --secret"
        )
    return secrets
