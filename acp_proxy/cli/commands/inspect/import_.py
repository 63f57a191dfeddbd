"""``acp-proxy inspect import``: databases from the text form."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from acp_proxy.capture.files import make_private
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.options import recording_name
from acp_proxy.cli.recordings import STDIN, read_stdin
from acp_proxy.cli.render.output import progress, say, warn
from acp_proxy.errors import NotARecording
from acp_proxy.plain_files import open_plain, reason
from acp_proxy.store.text_import import import_text_form


@click.command(
    "import",
    short_help="Make a database of a recording's text form.",
    epilog="""\b
    Examples:
      acp-proxy inspect import hello.jsonl
          hello.db in the recordings directory
      acp-proxy inspect import tests/*.jsonl
          several at once; prints the path of each database
      acp-proxy inspect import hello.jsonl -o /tmp/hello.db
          where you say
      ssh host acp-proxy inspect export latest | acp-proxy inspect import - --name theirs
          a recording that is elsewhere, as theirs.db
    """,
)
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", metavar="FILE",
              help="Where the database goes, in place of the recordings directory.")  # fmt: skip
@click.option(
    "--name", metavar="NAME", callback=recording_name, help="A new name for the recording."
)
def import_(files: tuple[str, ...], output: str | None, name: str | None) -> None:
    """Make a database of a recording's text form.

    FILE is what `inspect export` has written, also if a person has edited it since; `-` is
    standard input. Its rows are the same as those of the recording that was exported. The commands
    of `inspect` read the text form as well; a database is quicker, and other programs read it.

    Prints the path of the database. Existing files are never changed: if NAME.db is there, the
    database is NAME-2.db, and a line on standard error reports it. If the text has an error, its
    line number is reported and no database is made.
    """
    if len(files) > 1 and (output or name):
        raise Refusal("expected one file with --output or --name, got several")
    for file in files:
        expected, made = _import(file, output, name)
        if expected is not None and made.name != expected:
            warn(f"{made.with_name(expected)} exists; importing into {made}")
        say(str(made))


def _import(file: str, output: str | None, name: str | None) -> tuple[str | None, Path]:
    """Imports one file; returns what the database should be called, if known, and where it is."""
    stem = name or (None if file == "-" else Path(file).name.removesuffix(".jsonl"))
    directory = recordings()
    if output is not None:
        directory, stem = Path(output).parent, Path(output).name.removesuffix(".db")
        if not stem or stem in (".", "..") or Path(output).is_dir():
            raise Refusal(f"expected the path of a file with --output, got {output!r}")
    path = STDIN if file == "-" else Path(file)
    try:
        if output is None:
            make_private(str(directory))
        with _lines(file) as lines:
            made = import_text_form(lines, path, directory, stem=stem, name=name)
    except OSError as e:
        raise Refusal(f"cannot make a database in {directory}: {reason(e)}") from None
    return f"{stem}.db" if stem else None, made


@contextmanager
def _lines(file: str) -> Iterator[Iterable[bytes]]:
    if file == "-":
        yield read_stdin()
        return
    with ExitStack() as files:
        try:
            source = files.enter_context(open_plain(Path(file)))
        except OSError as e:
            raise NotARecording(Path(file), reason(e)) from None
        yield progress(source, label="importing")
