"""``acp-proxy transcript``: writes the conversation as Markdown."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from acp_proxy.base.wording import byte_size, visible_json
from acp_proxy.cli.explain.transcript_markdown import markdown
from acp_proxy.cli.explain.transcript_screen import show_transcript
from acp_proxy.cli.group import cli_command
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import (
    file_option,
    filter_argument,
    number_option,
    printing,
    read_argument,
)
from acp_proxy.cli.output_files import write_files
from acp_proxy.cli.screens.output import Writer, stdout_screen, warn
from acp_proxy.explain.choice import chosen_in, of_turn, why_nothing
from acp_proxy.explain.transcript.entries import (
    FULL,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.filters import EVERYTHING, all_of
from acp_proxy.store.reader import RecordingReader

_LONGEST_ISSUE = 65_536
"""The largest number of characters that GitHub accepts as the text of an issue."""


@cli_command()
@read_argument
@filter_argument
@number_option("--turn", text="Only turn N, and stderr during that turn.")
@click.option("--json", is_flag=True, help="Print one JSON object per section, entry and finding.")
@click.option("--full", is_flag=True, help="Cut nothing, wrap nothing and leave nothing out.")
@file_option(
    "-o", "--output", text="Write to this file, which must not exist, instead of standard output."
)
@click.option("--force", is_flag=True, help="Replace the file that --output names.")
@printing
def transcript(
    rec: str,
    filter_words: str,
    turn: int | None,
    json: bool,
    full: bool,
    output: Path | None,
    force: bool,
) -> None:
    """Write the conversation as Markdown that can go into an issue.

    Each session and each turn has a section. A section contains the prompt, messages and thoughts,
    tool calls and terminals with their output, files, diffs, permissions with all options and the
    chosen option, plans, errors, unanswered requests, stderr, and why the turn stopped. Output,
    thoughts and files are folded, except those of failures.

    On a terminal, the transcript is printed with colours and without the marks of Markdown. A pipe,
    `-o FILE` and `-o -` get Markdown.

    Text of a recording cannot become markup: it is written in fences and code spans, and control
    characters are escaped. The middle of a long text is left out, unless --full is given.

    FILTER selects frames, as in `log`. If FILTER selects one frame of a tool call, a terminal or a
    request, all frames of this tool call, terminal or request are shown.

    Secrets are masked, unless --unredacted is given. The rest of the conversation is not masked, so
    read the transcript before you send it.

    Examples:
      acp-proxy transcript latest
          messages and tool calls, turn by turn
      acp-proxy transcript latest --turn 2 -o turn.md
          the second turn, for an issue
      acp-proxy transcript latest 'kind:error|invalid or call:*'
          only tool calls, errors and invalid lines
    """
    limits = FULL if full else TextLimits()
    with open_recording(rec) as reader:
        during = EVERYTHING if turn is None else of_turn(reader, turn)
        chosen = chosen_in(reader, filter_words)
        if filter_words and next(iter(reader.heads(chosen)), None) is None:
            warn(why_nothing(reader, filter_words))
        shown = ", ".join(filter(None, (f"turn {turn}" if turn else "", filter_words)))
        items = TranscriptReader(reader, chosen, limits, turn).read()
        lines = markdown(reader.recording, items, limits, live=reader.live, shown=shown)
        if output is not None and str(output) != "-":
            parts = _json_lines(items, reader) if json else _encoded(lines)
            write_files({output: parts}, force=force)
            if not json:
                _warn_of_size(output)
            return
        if output is None and not json and stdout_screen().columns is not None:
            show_transcript(reader, items, limits, all_of([during, chosen]))
            return
        writer = Writer()
        if json:
            for part in _json_lines(items, reader):
                writer.raw(part)
        else:
            for line in lines:
                writer.line(line)
        writer.flush()


def transcript_parts(reader: RecordingReader) -> Iterator[bytes]:
    """Yields the transcript of a recording as UTF-8, line by line.

    Args:
        reader: the recording.
    """
    limits = TextLimits()
    items = TranscriptReader(reader, EVERYTHING, limits).read()
    return _encoded(markdown(reader.recording, items, limits, live=reader.live))


def _json_lines(
    items: Iterable[TranscriptSection | TranscriptEntry], reader: RecordingReader
) -> Iterator[bytes]:
    """Yields a line of JSON for each section and entry, and then for each finding."""
    from acp_proxy.base.forms import converter
    from acp_proxy.check.judgement import summarize_whole  # late: Markdown needs neither

    def line(what: str, value: object) -> bytes:
        return visible_json(encode_json({"type": what, **converter.unstructure(value)})) + b"\n"

    for item in items:
        yield line("section" if isinstance(item, TranscriptSection) else "entry", item)
    for finding in summarize_whole(reader, time.monotonic_ns()).findings:
        yield line("finding", finding)


def _encoded(lines: Iterator[str]) -> Iterator[bytes]:
    return (f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)


def _warn_of_size(output: Path) -> None:
    if (size := output.stat().st_size) > _LONGEST_ISSUE:
        warn(
            f"{output} has {byte_size(size)}; an issue on GitHub can have at most"
            f" {_LONGEST_ISSUE:,} characters. --turn and FILTER choose a part of the conversation"
        )
