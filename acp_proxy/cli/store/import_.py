"""``acp-proxy import``: makes databases from text forms of recordings and logs of other tools."""

import io
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click
from attrs import frozen

from acp_proxy.base.errors import NotARecording
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.base.wording import counted
from acp_proxy.cli.group import Refusal, cli_command, recordings
from acp_proxy.cli.opening import STDIN
from acp_proxy.cli.options import recording_name
from acp_proxy.cli.screens.output import progress, say, warn
from acp_proxy.imports.log_entries import HEAD, LogFormat
from acp_proxy.imports.log_formats import NAMES, SOURCES, source_named, source_of
from acp_proxy.imports.no_messages import nothing_in, why_not_text
from acp_proxy.recording.file_names import make_private
from acp_proxy.recording.recording import LOST
from acp_proxy.store.copies.log_import import ImportedLog, import_log
from acp_proxy.store.copies.text_import import import_text_form, is_text_head
from acp_proxy.store.files.database import MAGIC

_TEXT = "text"
_PIECE = 1 << 20
_TEXT_START = re.compile(rb'\s*(?:\{[ \t]*"(?:acp_|recording|stream|event|fired|after_))')
"""Matches the start of a text form, even if its header is wrong."""
_FORMATS = ", ".join(["the text form", *(source.title for source in SOURCES)])
_SEARCHED = f"; only its first {HEAD >> 10} KiB were searched: --from NAME reads the whole log"


_KINDS = {
    "messages": "of messages", "stderr": "of stderr", "remarks": "of other text",
    "brackets": "of brackets around messages", "blank": "blank", "skipped": "skipped",
}  # fmt: skip
"""The words for each kind of line that an `ImportedLog` counts."""


class HeadedInput:
    """An input whose beginning can be read before its lines, even if the input is a pipe.

    Nothing is read after the end of the input, because a terminal would wait for more.

    Args:
        source: the input.
        size: the number of bytes in the beginning.
        path: the path of the input, for error messages.

    Attributes:
        head: the beginning.

    Raises:
        NotARecording: the input cannot be read. The method `lines` may raise this error, too.
    """

    def __init__(self, source: BinaryIO, size: int, path: Path) -> None:
        self._source = source
        self._path = path
        try:
            self.head = source.read(size)
        except OSError as e:
            raise NotARecording(path, reason(e)) from None
        self._has_ended = len(self.head) < size

    def lines(self, longest: int = -1) -> Iterator[bytes]:
        """Yields the lines of the whole input, each with its newline.

        Args:
            longest: the largest size of a line in bytes; a longer line is yielded in parts. -1 for
                no limit.
        """
        for line in io.BytesIO(self.head):
            if line.endswith(b"\n") or longest >= 0:
                yield line
            else:
                yield line + self._line(longest)
        while line := self._line(longest):
            yield line

    def _line(self, longest: int) -> bytes:
        if self._has_ended:
            return b""
        try:
            line = self._source.readline(longest)
        except OSError as e:
            raise NotARecording(self._path, reason(e)) from None
        self._has_ended = not line.endswith(b"\n") and len(line) != longest
        return line


@frozen
class _Options:
    output: str | None
    name: str | None
    source: str
    skip_bad: bool
    redact: str


@cli_command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE",
              help="The database to write; by default in the recordings directory.")  # fmt: skip
@click.option(
    "--name", metavar="NAME", callback=recording_name, help="A new name for the recording."
)
@click.option("--from", "source", type=click.Choice(["auto", _TEXT, *NAMES]), default="auto",
              show_default=True, help=f"The format of FILE: {_FORMATS}.")  # fmt: skip
@click.option("--skip-bad", is_flag=True,
              help="Skip lines of a log that cannot be read, and count them.")  # fmt: skip
@click.option("--redact", type=click.Choice(["secrets", "private", "none"]), default="secrets",
              show_default=True, help="What to mask when FILE is a log.")  # fmt: skip
def import_(
    files: tuple[str, ...],
    output: str | None,
    name: str | None,
    source: str,
    skip_bad: bool,
    redact: str,
) -> None:
    """Make a database from the text form of a recording, or from a log of another tool.

    FILE is a text form that `export` wrote, even if it was edited since; `-` is standard input.
    Every command reads the text form as well, but a database is faster, and other programs can read
    it.

    FILE may also be a log of another tool, in one of the formats of `--from`. In a plain log, each
    line is an ACP message after an optional time and a mark for its direction, such as > or <.
    Information that a log lacks, such as times, is also missing from the recording, and every
    command reports this. If a client starts several agents, each connection becomes a recording.

    Prints the path of each database. If NAME.db exists, the new database is NAME-2.db, and a line
    on stderr tells this. If a line of FILE cannot be read, its number is printed and no database is
    made. An incomplete message at the end is left out.

    Examples:
      acp-proxy import hello.jsonl
          hello.db in the recordings directory
      acp-proxy import tests/*.jsonl
          several files at once; prints the path of each database
      acp-proxy import hello.jsonl -o /tmp/hello.db
          a database at another place
      ssh host acp-proxy export latest | acp-proxy import - --name theirs
          a recording on another machine, as theirs.db
      acp-proxy import acp-transport.log
          the log of a JetBrains IDE
      acp-proxy import - --name bug --skip-bad
          text that you paste, up to Ctrl-D; lines without a message are skipped
    """
    if len(files) > 1 and (output or name):
        raise Refusal("expected one file with --output or --name, got several")
    options = _Options(output, name, source, skip_bad, redact)
    for file in files:
        _import(file, options)


def _import(file: str, options: _Options) -> None:
    """Imports one file, and prints the path of each database."""
    directory, stem = recordings(), options.name
    if (output := options.output) is not None:
        directory, stem = Path(output).parent, Path(output).name.removesuffix(".db")
        if not stem or stem in (".", "..") or Path(output).is_dir():
            raise Refusal(f"--output names the new database: expected a file, got {output!r}")
    path = STDIN if file == "-" else Path(file)
    try:
        if output is None:
            make_private(str(directory))
        with _opened(file) as opened:
            log_name = "imported" if file == "-" else Path(file).stem
            target = directory / f"{stem or log_name}.db"
            if (source := _recognized(opened, path, options.source)) is not None:
                pieces = progress(opened.lines(_PIECE), label="importing")
                entries = source.read(pieces, opened.head)
                log = import_log(
                    entries,
                    opened.head,
                    source,
                    path,
                    target,
                    redaction=options.redact,
                    skips_bad_lines=options.skip_bad,
                    name=options.name,
                )
                _say_made(log, path, target)
                return
            stem = stem or (None if file == "-" else path.name.removesuffix(".jsonl"))
            lines = progress(opened.lines(), label="importing")
            made = import_text_form(lines, path, directory, stem=stem, name=options.name)
            _say(made, stem)
    except OSError as e:
        raise Refusal(f"cannot make a database in {directory}: {reason(e)}") from None


def _recognized(opened: HeadedInput, path: Path, name: str) -> LogFormat | None:
    """Returns the format of a log; None if the input is to be read as a text form."""
    head = opened.head
    if head.startswith(MAGIC) or name == _TEXT:
        return None  # reading a database as text gives a helpful error
    if name != "auto":
        return source_named(name)
    if is_text_head(head):
        return None
    if (source := source_of(head)) is not None:
        return source
    if not why_not_text(head) and _TEXT_START.match(head) is not None:
        return None  # reading it as a text form gives a helpful error
    raise NotARecording(path, nothing_in(head) + (_SEARCHED if len(head) == HEAD else ""))


def _say_made(made: ImportedLog, path: Path, target: Path) -> None:
    warn(_summary(made, path))
    for number, connection in enumerate(made.connections, 1):
        _say(connection.path, target.stem if number == 1 else None)


def _summary(made: ImportedLog, path: Path) -> str:
    """Returns a line about the import of a log. The line names the facts that the log lacks."""
    origins = [connection.origin for connection in made.connections]
    words = {word for origin in origins for word in origin.lost}
    messages = sum(connection.messages for connection in made.connections)
    parts = [f"{path}: {made.source.title} with {counted(messages, 'message')}", _lines(made.lines)]
    if len(made.connections) > 1:
        parts.append(f"{len(made.connections)} connections, each a recording")
    if inferred := sum(origin.inferred_directions for origin in origins):
        parts.append(f"{counted(inferred, 'direction')} inferred")
    parts.append("not known: " + ", ".join(LOST[word] for word in LOST if word in words))
    parts += [f"skipped line {bad.first}: {bad.reason}" for bad in made.skipped]
    return "; ".join(parts)


def _lines(lines: Counter[str]) -> str:
    counts = [f"{n:,} {words}" for name, words in _KINDS.items() if (n := lines[name])]
    return f"{counted(lines.total(), 'line')}: {', '.join(counts)}"


def _say(made: Path, stem: str | None) -> None:
    if stem is not None and made.name != f"{stem}.db":
        warn(f"{made.with_name(f'{stem}.db')} exists; importing into {made}")
    say(str(made))


@contextmanager
def _opened(file: str) -> Iterator[HeadedInput]:
    with ExitStack() as files:
        if file == "-":
            source = _stdin()
        else:
            try:
                source = files.enter_context(open_plain(Path(file)))
            except OSError as e:
                raise NotARecording(Path(file), reason(e)) from None
        yield HeadedInput(source, HEAD, STDIN if file == "-" else Path(file))


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise Refusal("expected a recording or log on standard input, got nothing")
    if sys.stdin.isatty():
        warn("reading the text that you paste, up to Ctrl-D")
    return sys.stdin.buffer
