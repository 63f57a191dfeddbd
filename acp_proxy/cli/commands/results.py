"""``acp-proxy results``: what is done with the results of batches."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from glob import glob
from pathlib import Path

import click

from acp_proxy.batches.merged import MergedResults, ResultsMerger, summary
from acp_proxy.batches.results import line_of
from acp_proxy.batches.results_file import read_results
from acp_proxy.cli.group import CONTEXT, LazyGroup, Refusal
from acp_proxy.cli.options import file_option
from acp_proxy.cli.output_files import (
    check_report_files,
    spare_recordings,
    write_reports,
)
from acp_proxy.cli.render import results_reports
from acp_proxy.cli.render.output import say, say_json, warn, with_verdict
from acp_proxy.cli.render.pager import pages
from acp_proxy.cli.render.results_markdown import markdown as markdown_report
from acp_proxy.cli.render.results_rows import versions_remark
from acp_proxy.cli.render.results_screen import show_results
from acp_proxy.cli.shared_flags import NO_PAGER
from acp_proxy.errors import BadResults, EmptyResults

_PATTERN = frozenset("*?[")
_EXAMPLES = """\b
Examples:
  acp-proxy results merge results.jsonl
      what is not clean, and what is missing?
  acp-proxy results merge shard-*.jsonl --junit junit.xml --markdown report.md
      one report of all shards
  acp-proxy results merge shard-*.jsonl --json | jq .counts
      for a program

Exit code: 2 if a recording was refused or could not be read, or for wrong use; 3 if one stalled or
got lost, or if results are missing; 1 if something else is not clean; else 0.
"""


@click.group(
    cls=LazyGroup,
    lazy={"merge": f"{__name__}:merge"},
    context_settings={"help_option_names": CONTEXT["help_option_names"]},
)
@NO_PAGER.option
def results() -> None:
    """Merge the results of batches.

    `verify`, `check` and `faults sweep` write a file of results for many recordings with --results.
    """


@click.command(short_help="Merge files of results, and make reports of them.", epilog=_EXAMPLES)
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@file_option("--junit", text="Write a report as JUnit XML.")
@file_option("--markdown", text="Write a report as Markdown, for a pull request.")
@click.option("--github", is_flag=True, help="Print annotations for a workflow of GitHub.")
@click.option("--json", is_flag=True, help="Print one JSON object: counts, and what is missing.")
@click.option("--partial", is_flag=True, help="Shards without a file are not missing.")
@file_option("-o", "--output", text="Write all results into one file.")
@pages
@with_verdict
def merge(
    files: tuple[Path, ...],
    junit: Path | None,
    markdown: Path | None,
    github: bool,
    json: bool,
    partial: bool,
    output: Path | None,
) -> None:
    """Merge the results of one batch, of its shards or of several runs.

    What is missing is reported: shards without a file, and those that stopped early. If files have
    different verdicts on one recording, the worse one counts. FILE may be a pattern in quotes.
    """
    if json and github:
        raise Refusal("--json and --github are two forms; expected one of them")
    written = (junit, markdown, output)
    check_report_files(*written)
    spare_recordings(written, [])
    merged = _merged(_matching(files), is_partial=partial)
    if (text := versions_remark(merged)) is not None:
        warn(text)
    are_written = write_reports(
        (junit, lambda: results_reports.junit(merged)),
        (markdown, lambda: markdown_report(merged)),
        (output, lambda: _text(merged)),
    )
    if json:
        say_json(summary(merged))
    elif github:
        for line in results_reports.github_annotations(merged):
            say(line)
    else:
        show_results(merged)
    sys.exit(merged.exit if are_written else 2)


def _matching(files: Sequence[Path]) -> Iterator[Path]:
    """Yields the files, and those that match a pattern which the shell has not expanded."""
    for path in files:
        if _PATTERN.isdisjoint(str(path)) or path.exists():
            yield path
            continue
        found = sorted(glob(str(path), recursive=True))  # noqa: PTH207  it may be absolute
        if not found:
            raise Refusal(f"no file matches {path}; expected files of results")
        yield from map(Path, found)


def _merged(files: Iterable[Path], *, is_partial: bool) -> MergedResults:
    """Reads all files; raises BadResults or DifferentBatches."""
    merger = ResultsMerger()
    empty: list[EmptyResults] = []
    for path in files:
        try:
            reader = read_results(path)
        except EmptyResults as e:
            empty.append(e)
            continue
        try:
            merger.begin(str(path), reader.header)
        except ValueError as e:
            raise BadResults(path, f"line 1: {e}") from None
        for number, verdict in enumerate(reader, 2):
            try:
                merger.add(verdict)
            except ValueError as e:
                raise BadResults(path, f"line {number}: {e}") from None
    if empty and not merger.has_begun:
        raise empty[0]
    return merger.merged(is_partial=is_partial, empty=len(empty))


def _text(merged: MergedResults) -> str:
    verdicts = (one for found in merged.recordings for one in (found.verdict, *found.others))
    return b"".join([line_of(merged.header), *map(line_of, verdicts)]).decode()
