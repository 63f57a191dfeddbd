"""``acp-proxy check``: finds broken rules of the protocol, with the side to blame and the frame."""

import sys
import time
from collections.abc import Callable, Collection
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from acp_proxy.base.errors import NoSuchRecording, UnreadableRecording
from acp_proxy.base.wording import counted
from acp_proxy.batches import names_several
from acp_proxy.batches.batch import Job
from acp_proxy.batches.results import VerdictKind
from acp_proxy.check.baseline import Baseline, BaselineWriter, read_baseline
from acp_proxy.check.catalogue import chosen_rules
from acp_proxy.check.check_report import CheckedRecording, CheckReport, reported
from acp_proxy.check.check_values import SEVERITIES, ConformanceResult
from acp_proxy.check.judgement import check_whole
from acp_proxy.cli.batch_options import BatchCommand, BatchOptions, batch_options, option_words
from acp_proxy.cli.batches.batch_screen import BatchScreen
from acp_proxy.cli.check import check_reports
from acp_proxy.cli.check.check_screen import explain_rule, show_report
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import one_line, unredacted_option
from acp_proxy.cli.opening import file_of, find_recording, open_recording
from acp_proxy.cli.options import complete_recording, complete_rule, file_option, number_option
from acp_proxy.cli.output_files import (
    check_report_files,
    spare_recordings,
    write_reports,
    write_text,
)
from acp_proxy.cli.screens.output import progress, say, say_json, warn, with_verdict
from acp_proxy.cli.screens.pager import pages
from acp_proxy.protocol.dialects import DRAFT, V1, V2

_OF_REPORTS = (
    "json", "junit", "github", "baseline", "update_baseline", "explain", "top",
)  # fmt: skip
"""Options that belong to a report on all recordings together, not to a batch."""


@cli_command(cls=BatchCommand)
@click.argument("recs", metavar="[REC]...", nargs=-1, shell_complete=complete_recording)
@click.option(
    "--dialect",
    type=click.Choice((V1, V2, DRAFT)),
    help="The dialect whose rules apply, instead of the detected one.",
)
@click.option(
    "--rule",
    multiple=True,
    metavar="RULE",
    shell_complete=complete_rule,
    help="Report only this rule or group of rules. Can be given several times.",
)
@click.option(
    "--ignore-rule",
    multiple=True,
    metavar="RULE",
    shell_complete=complete_rule,
    help="Do not report this rule or group. Can be given several times.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*map(str, SEVERITIES), "never"]),
    default="error",
    show_default=True,
    help="The lowest severity that counts as a failure.",
)
@file_option("--baseline", text="A file of known findings, which do not count.")
@click.option("--update-baseline", is_flag=True, help="Write the findings to the baseline file.")
@click.option("--json", is_flag=True, help="Print one JSON object with all findings.")
@file_option("--junit", text="Write a report as JUnit XML.")
@click.option("--github", is_flag=True, help="Print annotations for a GitHub workflow.")
@click.option(
    "--explain",
    metavar="RULE",
    shell_complete=complete_rule,
    help="Explain a rule or a group, with examples, without a check.",
)
@number_option(
    "--top", text="How many frames to show for each rule; default: 5 on a terminal, otherwise all."
)
@batch_options
@unredacted_option
@click.pass_context
@with_verdict
def check(ctx: click.Context, /, recs: tuple[str, ...], batch: BatchOptions, **values: Any) -> None:
    """Find problems and broken protocol rules, with the side to blame and the frame.

    Each finding has a mark: ✗ is an error (the conversation failed, or a MUST of the specification
    was violated), ! is a warning (a SHOULD was violated, or the cause is not certain), - is a note.
    If two messages may have crossed on their way, a finding about them is less severe.

    REC may be a directory or a quoted pattern. The output is then one line for each recording with
    findings that count, and a summary.

    RULE is the name of a rule, such as rpc.unanswered, or of a group, such as rpc.

    Examples:
      acp-proxy check latest
          which rules did the client and the agent break?
      acp-proxy check latest --rule session --rule prompt
          only rules of two groups
      acp-proxy check --explain rpc.unanswered
          what a rule requires, with a good and a bad example
      acp-proxy check tests/recordings/*.jsonl --baseline known.json
          a gate for CI: fails on new findings
      acp-proxy check tests/recordings/*.jsonl --github
          GitHub shows the findings beside the lines
      acp-proxy check latest --json |
        jq -r '.recordings[].findings[] | [.by, .rule, .seq] | @tsv'
          for a program

    Exit code: 0 without failures; 1 if a new finding is at least as severe as --fail-on; 2 for
    wrong use or an unreadable recording; 3 if the recorder was killed, so that a recording is
    incomplete.
    """
    several = any(map(names_several, recs))
    reports = [f"--{name.replace('_', '-')}" for name in _OF_REPORTS if values[name]]
    if batch.is_given and (others := [other for other in reports if other != "--junit"]):
        raise Refusal(f"{others[0]} does not work in a batch (--results, --jobs or --executor)")
    if batch.is_given or (several and not reports):
        sys.exit(_check_many(ctx, recs or ("latest",), batch))
    if several:
        from acp_proxy.batches.selection import named_by

        named = (named_by(word) if names_several(word) else [_path_of(word)] for word in recs)
        recs = (*dict.fromkeys(name for names in named for name in names),)
    _report(recs, several=several, **values)


def _path_of(word: str) -> str:
    return word if word == "-" or Path(word).exists() else str(find_recording(word))


def _check_many(ctx: click.Context, recs: tuple[str, ...], how: BatchOptions) -> int:
    from acp_proxy.cli.batches.run_batch import run_many

    chosen_rules(ctx.params["rule"], ctx.params["ignore_rule"])  # reports a wrong name only once
    options = (*option_words(ctx, ("junit",)),)
    return run_many(recs, Job("check", options), how, ctx.params["junit"])


@pages
def _report(
    recs: tuple[str, ...],
    *,
    several: bool,
    dialect: str | None,
    rule: tuple[str, ...],
    ignore_rule: tuple[str, ...],
    fail_on: str,
    baseline: Path | None,
    update_baseline: bool,
    json: bool,
    junit: Path | None,
    github: bool,
    explain: str | None,
    top: int | None,
) -> None:
    """Prints the findings in several recordings as one report."""
    if explain is not None:
        if any((json, github, junit, update_baseline)):
            raise Refusal("--explain checks nothing, and cannot be combined with report options")
        explain_rule(explain)
        return
    chosen = chosen_rules(rule, ignore_rule)
    if update_baseline and baseline is None:
        raise Refusal("--update-baseline needs the file to update: expected --baseline FILE")
    if json and github:
        raise Refusal("expected --json or --github, got both")
    files = (junit, baseline)
    check_report_files(*files)
    find = partial(check_whole, dialect=dialect, now_ns=time.monotonic_ns())
    known = _known(baseline, update_baseline=update_baseline)
    written = BaselineWriter(known.known) if update_baseline else None
    report = CheckReport(fail_on)
    lines = BatchScreen(recs, ()) if several and not (json or github or top) else None
    if lines is not None:
        lines.show_progress()
    words = []
    is_unreadable = False
    for word in recs or ("latest",):
        try:
            checked = _checked(word, find, chosen, written or known, files, has_bar=lines is None)
        except (NoSuchRecording, UnreadableRecording) as e:  # other recordings are still checked
            is_unreadable = True
            unreadable = Job("check", recording=word).verdict(2, VerdictKind.UNREADABLE)
            if lines is None:
                warn(str(e))
            else:
                lines.show(evolve(unreadable, error=one_line(str(e))))
            continue
        report.add(checked)
        words.append(word)
        if lines is not None:
            if checked.live:
                lines.remark(f"{word} is still being recorded; later frames are not checked")
            verdict = Job("check", recording=word).verdict(0, VerdictKind.CLEAN)
            lines.show(check_reports.checked_verdict(verdict, checked, fail_on))
    if is_unreadable:
        report.exit = 2
        written = None  # known findings of unreadable recordings stay known
    if written is not None and baseline is not None:
        write_text(baseline, written.written(chosen))
    if not write_reports((junit, lambda: check_reports.junit(report, chosen))):
        report.exit = 2
    if json:
        say_json(report)
    elif github:
        for line in check_reports.annotations(report):
            say(line)
    elif lines is not None:
        lines.end()
    else:
        show_report(report, words, most=top, hides_clean=several)
    if written is not None and baseline is not None:
        warn(f"{counted(written.count, 'finding')} written to {baseline}")
    elif update_baseline:
        warn(f"{baseline} was not changed, since a recording cannot be read")
    sys.exit(report.exit)


def _known(path: Path | None, *, update_baseline: bool) -> Baseline:
    """Returns the baseline. It is empty without a path, or if the command is to create the file."""
    if path is None or (update_baseline and not path.exists()):
        return Baseline()
    return read_baseline(path)


def _checked(
    word: str,
    find: Callable[..., ConformanceResult],
    chosen: Collection[str],
    baseline: Baseline,
    files: Collection[Path | None],
    *,
    has_bar: bool,
) -> CheckedRecording:
    with open_recording(word) as reader:
        spare_recordings(files, [file_of(reader)])
        size = attrgetter("frames")
        watch = partial(progress, total=reader.count(), label="checking", size=size)
        result = find(reader, watch=watch if has_bar else iter)
        return reported(reader, result, chosen, baseline)
