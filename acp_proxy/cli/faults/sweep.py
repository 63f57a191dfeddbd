"""``acp-proxy faults sweep``: run a client against a replay, once per plan of faults."""

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from attrs import evolve

from acp_proxy.base.wording import plain
from acp_proxy.batches import names_several
from acp_proxy.cli.batch_options import BatchCommand, BatchOptions, batch_options, option_words
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import output_without_secrets
from acp_proxy.cli.options import complete_plan, complete_recording, file_option
from acp_proxy.cli.output_files import check_report_files, spare_recordings, write_text
from acp_proxy.cli.screens.junit import Case, Failure, suite
from acp_proxy.cli.screens.output import say, say_json, warn, with_verdict
from acp_proxy.cli.screens.styled_text import pad
from acp_proxy.faults.plan import load_plan, ready_plans
from acp_proxy.playback.drivers.sweep import (
    BAD,
    FINISHED,
    HUNG,
    NOT_REACHED,
    PLACE,
    ClientRun,
    run_client,
)
from acp_proxy.store.reader import RecordingReader

_NO_PLAN = "(no faults)"
_LONGEST_LINE, _LAST_LINES = 100, 5
"""The largest number of characters that are shown of the last line of a client's output, and the
number of last lines that are shown if the client failed."""
_LEGEND = {
    FINISHED: "the client ended with exit code 0; only its output shows whether all is well",
    NOT_REACHED: "no rule of the plan fired, so nothing was tested",
}


@cli_command(
    cls=BatchCommand, short_help="Run a client once per plan, and report how it handled the faults."
)
@click.argument(
    "recs", metavar="REC...", nargs=-1, required=True, shell_complete=complete_recording
)
@click.option(
    "--plans",
    multiple=True,
    required=True,
    metavar="DIR|PLAN",
    shell_complete=complete_plan,
    help="A directory of plans, one plan, @NAME, or @all; can be given several times.",
)
@click.option(
    "--client",
    required=True,
    metavar="COMMAND",
    help="The client's command; {agent} in it is replaced by the agent's command.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="Seconds after which a client counts as hung.",
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="N",
              help="The seed for plans that have no seed.")  # fmt: skip
@file_option("--junit", "junit_file", text="Write the outcomes as JUnit XML.")
@click.option("--json", is_flag=True, help="One JSON object per run.")
@batch_options
@click.pass_context
@with_verdict
def sweep(
    ctx: click.Context,
    /,
    recs: tuple[str, ...],
    plans: tuple[str, ...],
    client: str,
    timeout: float,
    seed: int,
    junit_file: Path | None,
    json: bool,
    batch: BatchOptions,
) -> None:
    """Run a client against a replayed recording, once per plan of faults.

    The client must do on its own what the recorded client did, and then exit. The first run has no
    faults. A run has one of five outcomes: finished (exit code 0), error shown (another exit code,
    with output), failed silently (another exit code, without output), hung, or crashed (a signal or
    an uncaught error). The exit code of `sweep` is 1 if a run hung or crashed. It is 2 if the
    client never started its agent, sent nothing, or failed without faults; after such a first run,
    no plan is tried.

    REC may also be a directory, a quoted pattern, or several words. The output is then one line for
    each recording with a run that hung or crashed, and a summary.

    Examples:
      acp-proxy faults sweep demo.db --plans @all --client 'my-client {agent}'
          with all ready plans
      acp-proxy faults sweep demo.db --plans plans/ --client ./run-client
          plans of a directory; ./run-client starts $ACP_AGENT_COMMAND
    """
    words = _plans(plans)
    _check_client(client, is_here=batch.is_here)
    if len(recs) > 1 or batch.is_given or names_several(recs[0]):
        if json:
            raise Refusal("--json is for one recording; for a batch, --results writes all verdicts")
        sys.exit(_sweep_many(ctx, recs, plans, batch))
    from acp_proxy.cli.opening import find_recording

    recording = find_recording(recs[0]).absolute()
    check_report_files(junit_file)
    spare_recordings([junit_file], [recording])
    longest = max(map(len, (_NO_PLAN, *words)))
    if not json:
        say(f"{pad('PLAN', longest)}  {pad('OUTCOME', 15)}  EXIT       TOOK  FIRED  SAID LAST")
    runs = []
    for run in runs_of(recording, words, client, timeout, seed):
        runs.append(run)
        say_json(run) if json else _say(run, longest)
        if run.untested is not None:
            warn(f"{run.plan or _NO_PLAN}: {run.untested}")
    for outcome, meaning in () if json else _LEGEND.items():
        if any(run.outcome == outcome for run in runs):
            say(f"{outcome}: {meaning}", dim=True)
    if junit_file is not None:
        name = f"acp-proxy faults sweep {recording.name}"
        write_text(junit_file, suite(name, [*map(_case, runs)]))
    sys.exit(exit_code(runs))


def _sweep_many(
    ctx: click.Context, recs: tuple[str, ...], plans: Sequence[str], how: BatchOptions
) -> int:
    from acp_proxy.batches.batch import Job
    from acp_proxy.cli.batches.run_batch import run_many

    named = [plan for word in plans for plan in _named(word)]
    options = (*option_words(ctx, ("junit_file", "plans")), *(f"--plans={plan}" for plan in named))
    files = (*(str(Path(plan)) for plan in named if not plan.startswith("@")),)
    job = Job("faults sweep", options, files=files)
    return run_many(recs, job, how, ctx.params["junit_file"])


def runs_of(
    recording: Path, plans: Sequence[str], client: str, timeout: float, seed: int
) -> Iterator[ClientRun]:
    """Runs a client without faults, and then once with each plan.

    Stops after the run without faults if the client did not start its agent, sent nothing, or
    did not finish.

    Args:
        recording: the recording to replay.
        plans: the values of `--plans`.
        client: the client's command.
        timeout: seconds after which the client counts as hung.
        seed: the seed for plans that have no seed.
    """
    with RecordingReader(recording) as reader:
        known = reader.known_secrets
    for plan in ("", *_plans(plans)):
        has_seed = not plan or load_plan(plan).seed is not None
        options = [] if has_seed else [f"--seed={seed}"]
        run = run_client(recording, client, plan, timeout, options)
        yield evolve(run, output=output_without_secrets(run.output, known))
        if run.untested is not None and not plan:
            return


def exit_code(runs: Sequence[ClientRun]) -> int:
    """Returns the exit code of a sweep."""
    if any(run.untested is not None for run in runs):
        return 2
    return 1 if any(run.outcome in BAD for run in runs) else 0


def _plans(words: Sequence[str]) -> list[str]:
    """Returns each plan once; raises BadPlan if a plan cannot be read."""
    names: list[str] = []
    for word in words:
        names += [f"@{name}" for name in ready_plans()] if word == "@all" else _named(word)
    for plan in names:
        load_plan(plan)
    if not names:
        raise Refusal(f"expected plans (*.toml) in {', '.join(words)}")
    return list(dict.fromkeys(names))


def _named(word: str) -> list[str]:
    """Returns the plans of a directory. A word that is not a directory is returned unchanged."""
    if word.startswith("@") or not Path(word).is_dir():
        return [word]
    return sorted(map(str, Path(word).glob("*.toml")))


def _check_client(client: str, *, is_here: bool) -> None:
    try:
        words = shlex.split(client)
    except ValueError as e:
        raise Refusal(f"--client {client!r}: {str(e).lower()}") from None
    if not words or words[0] == PLACE or (is_here and shutil.which(words[0]) is None):
        raise Refusal(f"--client {client!r}: expected a command that can be found")


def _say(run: ClientRun, longest: int) -> None:
    code = "" if run.exit_code is None else str(run.exit_code)
    fired = "" if run.fired is None else str(sum(run.fired.values()))
    last = plain(run.last_line)[:_LONGEST_LINE]
    if not run.started:
        last = "(no agent was started)"
    elif run.fired is None and run.outcome != HUNG:
        last = f"(no report from the agent) {last}"
    name = pad(run.plan or _NO_PLAN, longest)
    line = f"{name}  {pad(run.outcome, 15)}  {code:>4}  {run.seconds:7.1f} s  {fired:>5}  {last}"
    say(line.rstrip())
    if run.outcome in BAD or run.untested is not None:
        for text in run.output.splitlines()[-_LAST_LINES:]:
            say(f"    {plain(text)}")


def _case(run: ClientRun) -> Case:
    lines = run.output.splitlines()
    is_bad = run.outcome in BAD or run.untested is not None
    kind = "untested" if run.untested is not None else run.outcome
    return Case(
        "sweep",
        run.plan or _NO_PLAN,
        Failure(kind, run.untested or _message(run), lines) if is_bad else None,
        run.seconds,
        None if is_bad else lines,
        _LEGEND[NOT_REACHED] if run.outcome == NOT_REACHED else None,
    )


def _message(run: ClientRun) -> str:
    code = "" if run.exit_code is None else f" with {run.exit_code}"
    return f"the client {run.outcome}{code} after {run.seconds:.1f} s"
