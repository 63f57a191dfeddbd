"""``acp-proxy report``: a recording as one page for a browser."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from attrs import evolve

from acp_proxy.base.wording import byte_size, counted
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import masked_summary, unredacted_option
from acp_proxy.cli.opening import file_of, masked_alike, open_recording
from acp_proxy.cli.options import (
    comparison_options,
    complete_recording,
    file_option,
    filter_argument,
    number_option,
    read_argument,
)
from acp_proxy.cli.output_files import write_page
from acp_proxy.cli.screens.output import progress, warn
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.explain.choice import why_nothing
from acp_proxy.explain.masked_secrets import masked_values
from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.report.data_blocks import report_blocks
from acp_proxy.report.facts import HeadFacts, head_facts
from acp_proxy.report.page import comparison_parts, report_parts
from acp_proxy.report.report_model import ReportData, ReportOptions, read_report_data
from acp_proxy.store.reader import RecordingReader

_BEFORE_SENDING = "read it before you send it: prompts, files and paths are not masked"


@cli_command()
@read_argument
@filter_argument
@file_option(
    "-o", "--output",
    text="Where to write instead of NAME.html; - is standard output. The file must not exist.",
)  # fmt: skip
@number_option("--turn", text="Only the messages of turn N, and stderr during that turn.")
@click.option("--no-payloads", is_flag=True, help="Leave out the lines of the messages.")
@click.option("--against", metavar="B", shell_complete=complete_recording,
              help="Show what differs between this recording and B, side by side.")  # fmt: skip
@comparison_options()
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@unredacted_option
def report(
    rec: str,
    filter_words: str,
    output: Path | None,
    turn: int | None,
    no_payloads: bool,
    against: str | None,
    compared: DiffOptions,
    force: bool,
) -> None:
    """Make a page for a browser: one file that needs no server, no network and nothing installed.

    The page begins with the findings of `show` and `check`, the time of each turn, tool calls and
    permissions. The messages follow as a list, a sequence diagram and a waterfall, with filters and
    search.

    FILTER and --turn select the messages in the page, but not the facts at its beginning.

    With --against, the page compares two recordings, as `diff` does. Then --expect, --ignore and
    --rules choose which differences count.

    Secrets are masked, unless --unredacted is given. The rest of the conversation is not masked, so
    read the page before you send it.

    Examples:
      acp-proxy report latest
          NAME.html in this directory: open it, send it, keep it
      acp-proxy report latest --turn 2 -o turn.html
          the messages of the second turn
      acp-proxy report latest --no-payloads
          what happened and when, with one line about each message
      acp-proxy report yesterday --against today
          what differs between two recordings, side by side
    """
    if against is not None:
        if turn is not None or no_payloads:
            raise Refusal("--against cannot be combined with --turn or --no-payloads")
        _write_comparison((rec, against), filter_words, compared, output, force=force)
        return
    if compared != DiffOptions():
        raise Refusal("--expect, --ignore and --rules are for a comparison: expected --against B")
    with open_recording(rec) as reader:
        now_ns = time.monotonic_ns() if reader.live else None
        options = ReportOptions(filter_words, turn, not no_payloads, now_ns)
        facts, parts = page_parts(reader, options)
        if filter_words and not facts.rows:
            warn(why_nothing(reader, filter_words))
        name = reader.recording.name
        if path := write_page(parts, output, name, [file_of(reader)], force=force):
            _warn_of_file(path, facts)


def page_parts(
    reader: RecordingReader, options: ReportOptions, *, level: str = "secrets", path: str = ""
) -> tuple[HeadFacts, Iterator[bytes]]:
    """Returns the facts in the head of a page, and an iterator over the parts of the page.

    Args:
        reader: the recording.
        options: the options of the page.
        level: the level of masking: ``secrets`` or ``private``.
        path: the path that the page shows for the recording; empty for the real path.
    """

    def watch(frames: Iterator[Any]) -> Iterator[Any]:
        return progress(
            frames, reader.count(), "reading", size=lambda row: getattr(row, "frames", 1)
        )

    data = read_report_data(reader, options, watch)
    if path:
        data = evolve(data, summary=evolve(data.summary, path=path))
    rows, masked = _rows(reader, options, data), _masked(reader, level)

    facts = head_facts(data, rows, masked, is_private=level == "private")
    parts = report_parts(facts, report_blocks(reader, options, data))
    return facts, progress(parts, label="writing")


def _rows(reader: RecordingReader, options: ReportOptions, data: ReportData) -> int:
    """Returns the number of frames and events in the page."""
    chosen = options.chosen(reader)
    if chosen is EVERYTHING:
        return data.rows_in_recording
    return sum(1 for _ in reader.heads(chosen)) + sum(1 for _ in reader.events(chosen))


def _masked(reader: RecordingReader, level: str) -> str:
    """Describes in words what is masked in the page."""
    if reader.masked_rows is None and not reader.is_masked:
        return "SECRETS ARE NOT MASKED"
    return masked_summary([*masked_values(reader)], level)


def _warn_of_file(path: Path, facts: HeadFacts) -> None:
    size = byte_size(path.stat().st_size)
    frames = f"{facts.rows:,} of {facts.data.rows_in_recording:,} frames and events"
    without_payloads = "" if facts.data.options.payloads else ", without payloads"
    warn(f"{path} ({size}) has {frames}{without_payloads}; {facts.masked}")
    warn(_BEFORE_SENDING)


def _write_comparison(
    pair: tuple[str, str], words: str, compared: DiffOptions, output: Path | None, *, force: bool
) -> None:
    """Writes a page with the differences between two recordings.

    Args:
        pair: the words that name the recordings A and B.
        words: the filter for the messages to compare.
        compared: the options of the comparison.
        output: the file, or ``-`` for standard output; None for a file that is named after both
            recordings.
        force: whether to replace an existing file.

    Raises:
        Refusal: both recordings are on standard input.
    """
    # Late: only a comparison needs it, and the import is slow.
    from acp_proxy.diff.diff import diff
    from acp_proxy.report.compared_page import read_comparison

    if pair == ("-", "-"):
        raise Refusal("expected one recording on standard input, got two")
    chosen = parse(words)
    options = evolve(compared, chosen=chosen, ending=chosen is EVERYTHING)
    with ExitStack() as stack:
        a, b = (stack.enter_context(open_recording(word)) for word in pair)
        sources = [file_of(a), file_of(b)]
        a, b = masked_alike((a, b), stack)
        result = diff(a, b, options, progress)
        if chosen is not EVERYTHING and not result.a.frames + result.b.frames:
            warn("no frame matches FILTER")
        masked, is_unmasked = _masked_in_both((a, b))
        page = read_comparison(result, (a, b), words=words, masked=masked, is_unmasked=is_unmasked)
        parts = progress(comparison_parts(page), label="writing")
        name = f"{a.recording.name}-against-{b.recording.name}"
        path = write_page(parts, output, name, sources, force=force)
    if path is None:
        return
    size = byte_size(path.stat().st_size)
    not_shown = f"; {counted(page.more, 'more differing message')} not shown" if page.more else ""
    warn(f"{path} ({size}): {page.verdict}{not_shown}; {masked}")
    warn(_BEFORE_SENDING)


def _masked_in_both(readers: tuple[RecordingReader, RecordingReader]) -> tuple[str, bool]:
    """Returns what is masked, in words, and whether the page may show secrets."""
    if any(reader.masked_rows is None and not reader.is_masked for reader in readers):
        return "SECRETS ARE NOT MASKED", True
    every = {
        str(masked_value): masked_value
        for reader in readers
        for masked_value in masked_values(reader)
    }
    return masked_summary([*every.values()], "secrets"), False
