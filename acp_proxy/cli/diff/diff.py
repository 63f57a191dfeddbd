"""``acp-proxy diff``: compare two recordings."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click
from attrs import evolve

from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.opening import file_of, masked_alike, note_imported, open_recording, require
from acp_proxy.cli.options import (
    comparison_options,
    complete_recording,
    file_option,
    filter_argument,
    printing,
)
from acp_proxy.cli.output_files import check_report_files, spare_recordings, write_text
from acp_proxy.cli.rules_file import ComparisonRules
from acp_proxy.cli.screens.output import progress, stdout_screen, warn, with_verdict
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from acp_proxy.cli.diff.diff_reports import DiffReporter


@cli_command()
@click.argument("rec", metavar="A", shell_complete=complete_recording)
@click.argument("other", metavar="B", shell_complete=complete_recording)
@filter_argument
@comparison_options()
@click.option("--exact", is_flag=True, help="Compare bytes, so that ids, paths and times count.")
@click.option("--learn", is_flag=True, help="Print rules that make A and B equal.")
@file_option("-o", "--output", text="Write the rules of --learn to a file, for --rules.")
@click.option("--json", is_flag=True, help="Print one JSON object for each difference.")
@file_option("--junit", text="Write the differences as JUnit XML, too.")
@printing
@with_verdict
def diff(
    rec: str,
    other: str,
    filter_words: str,
    compared: DiffOptions,
    exact: bool,
    learn: bool,
    output: Path | None,
    json: bool,
    junit: Path | None,
) -> None:
    """Compare two recordings of one conversation.

    Differences that any two runs have are ignored: the ids of sessions, tool calls, terminals and
    messages (if they are used consistently), the directory, times, and how a text was split into
    chunks.

    The output begins with differences in the handshake. Then it lists the frames of each session
    and direction that differ: - for a frame that only A has, + for a frame that only B has, > for a
    frame in another position, and ~ for a changed frame, with each place that changed. At the end
    it lists how long answers took; times are not differences.

    FILTER selects the frames that are compared. With a filter, the agent's exit is not compared.

    Examples:
      acp-proxy diff yesterday today
          what does the agent do differently since yesterday?
      acp-proxy diff old.db new.db 'dir:to-client not method:session/update'
          only requests and answers of the agent
      acp-proxy diff old.db new.db --expect structure
          only the tools and their order, without texts
      acp-proxy diff old.db new.db --learn -o rules.toml
          find rules (for --rules) that make two runs of one agent equal
      acp-proxy diff old.db new.db --json | jq 'select(.type == "entry") | .fields'
          for a program: every place that differs

    Exit code: 0 if A and B are equal, 1 if not, 2 for wrong use or a recording that cannot be read.
    """
    if exact and (learn or compared != DiffOptions()):
        raise Refusal("--exact compares all bytes: "
                      "it cannot be used with --learn, --ignore, --rules or --expect")  # fmt: skip
    if output is not None and not learn:
        raise Refusal("--output names the file for learned rules: expected --learn, too")
    if learn and junit is not None:
        raise Refusal("expected --learn or --junit, got both")
    check_report_files(junit, output)
    if rec == other == "-":
        raise Refusal("expected one recording on standard input, got two")
    chosen = parse(filter_words)
    options = evolve(compared, exact=exact, chosen=chosen, ending=chosen is EVERYTHING)
    with ExitStack() as stack:
        a, b = (stack.enter_context(open_recording(word)) for word in (rec, other))
        spare_recordings([junit, output], map(file_of, (a, b)))
        for reader in {a.path: a, b.path: b}.values():
            _note(reader)
            require("--exact", exact, reader)
        a, b = masked_alike((a, b), stack)
        if learn:
            code = _learn(a, b, options, output, as_json=json)
        else:
            words = () if exact or json else (rec, other)
            code = _diff(a, b, options, words, junit, as_json=json)
    sys.exit(code)


def _note(reader: RecordingReader) -> None:
    """Warns if only a part of a recording can be compared."""
    if reader.live:
        warn(f"{reader.path} is still being recorded; later frames are not compared")
    elif reader.recording.state == "incomplete":
        warn(f"{reader.path} is incomplete; only the recorded part is compared")
    note_imported(reader)


def _diff(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions,
    words: tuple[str, ...],
    junit: Path | None,
    *,
    as_json: bool,
) -> int:
    """Prints the differences. With `words`, also prints how to ignore the differences."""
    from acp_proxy.cli.diff.diff_reports import DiffCases, DiffJson, RuleHint, report_diff
    from acp_proxy.cli.diff.diff_screen import DiffScreen
    from acp_proxy.diff.diff import diff

    result = diff(a, b, options, progress)
    if options.chosen is not EVERYTHING and not result.a.frames + result.b.frames:
        warn("no frame matches FILTER")
    cases = DiffCases()
    reporters: list[DiffReporter] = [DiffJson() if as_json else DiffScreen(stdout_screen())]
    reporters += [cases] if junit is not None else []
    reporters += [RuleHint(words)] if words else []
    report_diff(result, reporters)
    if junit is not None:
        from acp_proxy.cli.screens.junit import suite

        name = f"acp-proxy diff {result.a.name} {result.b.name}"
        write_text(junit, suite(name, cases.cases))
    return 0 if result.is_equal else 1


def _learn(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions,
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    """Proposes comparison rules. Writes the given and the proposed rules to a file, or prints them.

    With `as_json`, prints only the proposed rules.
    """
    from acp_proxy.cli.diff.diff_reports import DiffJson, say_learned
    from acp_proxy.diff.learned_rules import learn

    learned = learn(a, b, options, progress)
    rules = ComparisonRules(
        (*options.ignored, *learned.ignored),
        (*options.aliases, *learned.aliases),
        (*options.apart, *learned.apart),
    )
    if output is not None:
        write_text(output, rules.toml)
    if as_json:
        DiffJson().learned(learned)
    else:
        say_learned(learned, rules.toml if output is None else "")
    return 1 if learned.rest.total else 0
