"""``acp-proxy inspect report``: a recording as one page for a browser."""

import time
from collections.abc import Iterator
from functools import partial
from operator import attrgetter
from pathlib import Path

import click
from attrs import evolve

from acp_proxy import __version__
from acp_proxy.cli.options import file_option, filter_argument, number_option, read_argument
from acp_proxy.cli.output_files import spare_recordings, write_files
from acp_proxy.cli.recordings import file_of, open_recording
from acp_proxy.cli.redaction import unredacted_option
from acp_proxy.cli.render.output import Writer, progress, warn
from acp_proxy.conformance.checker import check as check_recording
from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.report import CheckedRecording, reported
from acp_proxy.filters import UNREAD, Filter, all_of, parse
from acp_proxy.inspection.choice import of_turn, row_of
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.measures.statistics import gather, with_texts
from acp_proxy.inspection.timeline import pair_of
from acp_proxy.inspection.typed_filter import chosen_in, why_nothing
from acp_proxy.report.facts import Contents, HeadFacts, head_facts
from acp_proxy.report.page import Block, report_parts
from acp_proxy.store.reader import RecordingReader
from acp_proxy.wording import byte_size

_MOST_CHECKED = 20_000
"""Frames of the longest recording that is checked without being asked to."""


@click.command(
    short_help="Make a page for a browser: pictures, filters, search.",
    epilog="""\b
    Examples:
      acp-proxy inspect report latest
          NAME.html in this directory: open it, send it, keep it
      acp-proxy inspect report latest --turn 2 -o turn.html
          the messages of the second turn
      acp-proxy inspect report latest --no-payloads
          what happened and when, without what was said in the messages
    """,
)
@read_argument
@filter_argument
@file_option(
    "-o", "--output",
    text="Where to write, in place of NAME.html; - is standard output. The file must not exist.",
)  # fmt: skip
@number_option("--turn", text="Only the messages of turn N, and stderr meanwhile.")
@click.option("--no-payloads", is_flag=True, help="Leave out the lines of the messages.")
@click.option(
    "--check", is_flag=True,
    help=f"Check the rules of the protocol also in more than {_MOST_CHECKED:,} frames.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Replace the file that is there.")
@unredacted_option
def report(
    rec: str,
    filter_words: tuple[str, ...],
    output: Path | None,
    turn: int | None,
    no_payloads: bool,
    check: bool,
    force: bool,
) -> None:
    """Make a page for a browser: one file that needs no server, no network and nothing installed.

    It begins with who is to blame and at which frame: what `show` and `check` found, where the
    time of each turn went, tool calls, permissions. Below that are the messages: as a list, a
    sequence diagram and a waterfall, with filters and search.

    FILTER and --turn choose which messages are in the file; its beginning is about all of them.

    Secrets are masked, unless --unredacted is given; what was said is not, so read it before you
    send it.
    """
    parse(words := " ".join(filter_words).strip(), UNREAD)
    with open_recording(rec) as reader:
        chosen = _chosen(reader, words, turn)
        if words and next(iter(reader.heads(chosen)), None) is None:
            warn(why_nothing(reader, words))
        facts = _facts(reader, words, turn, has_payloads=not no_payloads, is_checked=check)
        parts = progress(report_parts(facts, _blocks()), label="writing")
        if str(output) == "-":
            writer = Writer()
            writer.all(parts)
            writer.flush()
            return
        path = output or Path(f"{reader.recording.name}.html")
        spare_recordings([path], [file_of(reader)])
        write_files({path: parts}, force=force)
    _warn_of_contents(path, facts.contents)


def _chosen(reader: RecordingReader, words: str, turn: int | None) -> Filter:
    both = [] if turn is None else [of_turn(reader, turn)]
    return all_of([chosen_in(reader, words), *both])


def _blocks() -> Iterator[Block]:
    yield from ()


def _facts(
    reader: RecordingReader, words: str, turn: int | None, *, has_payloads: bool, is_checked: bool
) -> HeadFacts:
    """Reads what the head shows, of the whole recording."""
    total = reader.count()
    watch = partial(progress, total=total, label="reading", size=attrgetter("frames"))
    summary = summarize(reader, time.monotonic_ns() if reader.live else None, watch)
    found = gather(reader, watch=partial(progress, total=total, label="counting"))
    return head_facts(
        _contents(reader, words, turn, has_payloads=has_payloads),
        summary,
        evolve(found, turns=[with_texts(reader, one) for one in found.turns]),
        _checked(reader) if is_checked or total <= _MOST_CHECKED else None,
        lambda seq: pair_of(row_of(reader, seq)),
    )


def _checked(reader: RecordingReader) -> CheckedRecording:
    size = attrgetter("frames")
    watch = partial(progress, total=reader.count(), label="checking", size=size)
    return reported(reader, check_recording(reader, watch=watch), chosen_rules((), ()))


def _contents(
    reader: RecordingReader, words: str, turn: int | None, *, has_payloads: bool
) -> Contents:
    of_rows = reader.count() + sum(1 for _ in reader.events())
    masked = reader.masked_rows
    return Contents(
        rows=of_rows,
        of_rows=of_rows,
        filter=words,
        turn=turn,
        has_payloads=has_payloads,
        unredacted=reader.unredacted and not reader.is_masked,
        masked=None if masked is None else len(masked.made),
        version=__version__,
    )


def _warn_of_contents(path: Path, contents: Contents) -> None:
    size = byte_size(path.stat().st_size)
    warn(f"{path} has {contents.rows:,} of {contents.of_rows:,} frames and events ({size})")
    if contents.unredacted:
        warn("secrets are NOT masked in it: send it to nobody")
    warn("read it before you send it: prompts, files and paths are as they were")
