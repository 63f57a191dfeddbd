"""``acp-proxy export``: a recording in another form, or a masked copy to share."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from acp_proxy.base.plain_files import reason
from acp_proxy.base.wording import visible
from acp_proxy.cli.explain.time_limit import TimeLimit
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.masking import is_unredacted, masked_summary, unredacted_option
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import (
    collected,
    file_option,
    filter_argument,
    number_option,
    read_argument,
)
from acp_proxy.cli.output_files import check_new, write_files
from acp_proxy.cli.rules_file import pointers
from acp_proxy.cli.screens.output import Writer, progress, say, warn
from acp_proxy.cli.store.pytest_export import Turns, export_test, turns_type
from acp_proxy.explain.choice import chosen_in, why_nothing
from acp_proxy.explain.log.frame_json import line_parts
from acp_proxy.protocol.json_text import parts_of
from acp_proxy.recording.filters import EVERYTHING, Filter, all_of, parse
from acp_proxy.store.copies.text_export import write_parts, write_text_form
from acp_proxy.store.copies.text_import import import_text_form
from acp_proxy.store.files.side_files import SUFFIXES
from acp_proxy.store.reader import RecordingReader


@frozen
class CopyMasking:
    """The options ``--level``, ``--path`` and ``--pattern``, which mask more of a copy."""

    level: str | None
    paths: tuple[str, ...]
    patterns: tuple[str, ...]

    @property
    def is_given(self) -> bool:
        """Whether one of these options is given. If so, even a masked recording is masked again."""
        return bool(self.level or self.paths or self.patterns)

    @contextmanager
    def opened(self, rec: str) -> Iterator[RecordingReader]:
        """Opens a recording with these masking options.

        Args:
            rec: the user's words for the recording.

        Raises:
            Refusal: the recorder still runs, or --unredacted is given, too.
        """
        if not self.is_given:
            with open_recording(rec) as reader:
                yield reader
            return
        if is_unredacted():
            raise Refusal("--unredacted cannot be combined with --level, --path or --pattern")
        # Late: an export without these options needs neither.
        from acp_proxy.explain.search.search_patterns import Pattern
        from acp_proxy.store.queries.masked_rows import Level

        level = Level(
            private=self.level == "private",
            paths=tuple(parts_of(pointer) for pointer in self.paths),
            extra=tuple(
                Pattern(text, is_regex=True, ignore_case=False).regex for text in self.patterns
            ),
        )
        limit = TimeLimit()

        def limited(rows: Iterable[Any], total: int) -> Iterator[Any]:
            for row in progress(rows, total, label="masking"):
                if row[2] is None:  # a line that is too large for memory has no time limit
                    yield row
                else:
                    with limit.at(row[0]):
                        yield row

        with (
            limit.running() if self.patterns else nullcontext(),
            open_recording(rec, level=level, watch=limited) as reader,
        ):
            if reader.live:
                raise Refusal(f"{reader.path} is still being recorded; wait until it has ended")
            yield reader

    def report(self, reader: RecordingReader, output: Path) -> None:
        """Prints how much of the recording is masked. Without masking options, prints nothing.

        Args:
            reader: the recording.
            output: the copy of the recording.
        """
        if self.is_given:
            from acp_proxy.explain.masked_secrets import masked_values

            masked = list(masked_values(reader))
            say(f"{output}: {masked_summary(masked, self.level or 'secrets')}")


def masking_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--level``, ``--path`` and ``--pattern``. The command gets them as ``masking``."""
    options = [
        click.option("--level", type=click.Choice(["secrets", "private"]),
                     help="What to mask in the output: secrets; or private, which also reduces"
                     " prompts, messages and contents of files to their lengths."),
        click.option("--path", "paths", multiple=True, metavar="PTR", callback=pointers,
                     help="Also mask the values at this JSON pointer; * matches any key or item."
                     " Can be given several times."),
        click.option("--pattern", "patterns", multiple=True, metavar="RE",
                     help="Also mask the matches of this regular expression, or its first group if"
                     " it has groups. Can be given several times."),
    ]  # fmt: skip
    return collected("masking", CopyMasking, ("level", "paths", "patterns"), options)(function)


def check_database(output: Path, *, force: bool) -> None:
    """Checks the path of a new database. To be called before the recording is read.

    Args:
        output: the database.
        force: whether to replace an existing file.

    Raises:
        Refusal: the file exists, or there is a file beside it that SQLite would use.
    """
    check_new(output, force=force)
    for suffix in SUFFIXES:
        if os.path.lexists(f"{output}{suffix}"):
            raise Refusal(f"{output}{suffix} exists; expected the path of a new file")


def write_database(reader: RecordingReader, chosen: Filter, output: Path, *, force: bool) -> None:
    """Writes a recording, or a part of it, as a database that only its owner can read.

    Args:
        reader: the recording.
        chosen: the filter for the part to write.
        output: the database.
        force: whether to replace an existing file.

    Raises:
        Refusal: the database cannot be written, or the recorder still runs.
    """
    if reader.live:
        raise Refusal(f"{reader.path} is still being recorded; wait until it has ended")
    lines = progress(write_text_form(reader, chosen), label="writing")
    try:
        made = import_text_form(lines, reader.path, output.parent, stem=output.stem)
        if made.name != output.name:
            try:
                check_new(output, force=force)  # somebody may have made it meanwhile
                made.replace(output)
            finally:
                made.unlink(missing_ok=True)
    except OSError as e:
        raise Refusal(f"cannot write {output}: {reason(e)}") from None


_FORMATS = ("jsonl", "raw", "pytest", "mermaid")
_PART_ONLY = "Not the whole recording, only:"
_STREAMS = {"to-agent": "dir:to-agent", "to-client": "dir:to-client", "stderr": "kind:stderr"}
"""The filter for each stream."""


@cli_command()
@read_argument
@filter_argument
@click.option(
    "--format",
    type=click.Choice(_FORMATS),
    default="jsonl",
    show_default=True,
    help="jsonl: the lossless text form. raw: the bytes of the lines and their newlines. pytest: "
    "a test and its recording. mermaid: a sequence diagram.",
)
@click.option("--turn", callback=turns_type, metavar="N..M",
              help="With --format pytest: these turns and the messages they need.")  # fmt: skip
@number_option(
    "--max", text="With --format mermaid: draw at most N arrows or notes.  [default: 200]"
)
@click.option("--dir", type=click.Choice(list(_STREAMS)), help="Only one stream.")
@file_option(
    "-o",
    "--output",
    text="The file to write instead of standard output. It must not exist."
    " A name that ends in .db makes a database.",
)
@click.option("--force", is_flag=True, help="Replace the file that --output names.")
@masking_options
@unredacted_option
def export(
    rec: str,
    filter_words: str,
    format: str,  # noqa: A002  the options' names
    turn: Turns | None,
    max: int | None,  # noqa: A002
    dir: str | None,  # noqa: A002
    output: Path | None,
    force: bool,
    masking: CopyMasking,
) -> None:
    r"""Write a recording in another form.

    jsonl, the default, is the text form: one line of JSON for each frame and event. It contains
    everything that the recording contains. Every command accepts a text form as a recording, by its
    path or as `-` on standard input. If FILE ends in .db, the copy is a database with the
    views of this version.

    raw is the recorded bytes: the lines and their line endings, without times. --dir chooses one
    stream; without --dir, all streams are mixed in their recorded order.

    pytest is a regression test: -o names the directory DIR, and the files are DIR/test_NAME.py and
    DIR/recordings/NAME.jsonl. The recording is cut down to the turns of --turn and the messages
    that these turns need. The test is written only if this recording replays cleanly to its own
    client.

    mermaid is a sequence diagram in the language Mermaid, which GitHub, GitLab and editors draw.
    After --max arrows and notes, a last note tells how many are left out.

    FILTER chooses frames and events, as in `log`. The file of -o appears when it is complete, and
    only its owner can read it.

    Secrets are masked, unless --unredacted is given. --level, --path and --pattern can also mask
    prompts and contents of files, even in a recording that was masked when it was made. No masking
    finds everything: read a copy before you share it.

    Examples:
      acp-proxy export latest -o hello.jsonl
          the whole recording as text, for a pull request; `import`
          makes a database of it again
      acp-proxy export latest -o bug.db --level private
          a copy to share: a database without secrets, prompts and contents
          of files
      acp-proxy export latest -o bug.jsonl --path '/params/cwd' \
          --pattern 'ACME-[0-9]+'
          also without texts that only you know to be secret
      acp-proxy export latest | grep session/prompt
          to standard output, one line per frame
      acp-proxy export latest 'turn:1 not kind:stderr' -o turn.jsonl
          a part of it, with its numbers and times unchanged
      acp-proxy export latest --format raw --dir to-agent | my-agent
          the client's messages, byte for byte, sent to another agent
      acp-proxy export latest --format pytest --turn 2 -o tests
          tests/test_NAME.py, a test that replays the second turn
      acp-proxy export latest --format mermaid turn:last
          a sequence diagram, for a comment or a page in Markdown
      ssh host acp-proxy export latest | acp-proxy show -
          a recording on another machine
    """
    if masking.is_given and format != "jsonl":
        raise Refusal(f"--level, --path and --pattern need --format jsonl, got --format {format}")
    if format == "pytest":
        if output is None or str(output) == "-":
            raise Refusal("--format pytest writes several files: expected their directory, -o DIR")
        if filter_words or dir is not None:
            raise Refusal("--format pytest takes no FILTER and no --dir; choose with --turn N..M")
        with open_recording(rec) as reader:
            for path in export_test(reader, output, turn, force=force):
                say(str(path))
        return
    if turn is not None:
        raise Refusal(
            "--turn is for --format pytest; for other formats, use a FILTER such as turn:2"
        )
    if max is not None and format != "mermaid":
        raise Refusal("--max is for --format mermaid")
    stream = _STREAMS.get(dir or "", "")
    _write(rec, filter_words, stream, format, max, output, masking, force=force)


def _write(
    rec: str, filter_words: str, stream: str, form: str, most: int | None, output: Path | None,
    masking: CopyMasking, *, force: bool,
) -> None:  # fmt: skip
    """Writes a recording in a form that is a single file, or prints it."""
    database = output if form == "jsonl" and output and output.suffix == ".db" else None
    if database is not None:
        check_database(database, force=force)
    with masking.opened(rec) as reader:
        wanted = [chosen_in(reader, filter_words)] if filter_words else []
        wanted += [parse(stream)] if stream else []
        chosen = all_of(wanted) if wanted else EVERYTHING
        words = f"{filter_words} {stream}".strip()
        if words and next(reader.rows(chosen), None) is None:
            warn(why_nothing(reader, words))
        if database is not None:
            write_database(reader, chosen, database, force=force)
            masking.report(reader, database)
            return
        match form:
            case "raw":
                parts = _raw(reader, chosen)
            case "mermaid":
                parts = _diagram(reader, chosen, words, most)
            case _:
                parts = _text(reader, chosen, words)
        parts = progress(parts, label="writing")
        if output is None or str(output) == "-":
            Writer().all(parts)
        else:
            write_files({output: parts}, force=force)
            masking.report(reader, output)


def _raw(reader: RecordingReader, chosen: Filter) -> Iterator[bytes]:
    for row in reader.frames(chosen):
        yield from line_parts(row, reader)


def _text(reader: RecordingReader, chosen: Filter, words: str) -> Iterator[bytes]:
    if chosen is not EVERYTHING:
        yield f"# {_PART_ONLY} {visible(words)}\n".encode()
    yield from write_parts(reader, chosen)


def _diagram(
    reader: RecordingReader, chosen: Filter, words: str, most: int | None
) -> Iterator[bytes]:
    # Late: most exports draw nothing.
    from acp_proxy.explain.log.sequence_diagram import MOST, SequenceDiagram, escaped

    diagram = SequenceDiagram(reader, chosen, most or MOST)
    if chosen is not EVERYTHING:
        yield f"%% {_PART_ONLY} {escaped(words)}\n".encode()
    for line in diagram.lines():
        yield line.encode()
    if diagram.left_out:
        left_out = f"{diagram.left_out:,} frames and events are left out"
        warn(f"{left_out}: choose fewer with a FILTER such as turn:2, or raise --max")
