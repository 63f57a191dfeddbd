"""``acp-proxy inspect redact``: a masked copy of a recording."""

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import click

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.options import recording_argument
from acp_proxy.cli.output_files import write_files
from acp_proxy.cli.recordings import open_recording
from acp_proxy.cli.redaction import masked_summary
from acp_proxy.cli.render.output import progress, say
from acp_proxy.cli.rules_file import pointers
from acp_proxy.cli.time_limit import TimeLimit
from acp_proxy.inspection.searching.patterns import Pattern
from acp_proxy.inspection.secrets import masked_values
from acp_proxy.plain_files import reason
from acp_proxy.protocol.json_text import parts_of
from acp_proxy.store.directory import TEXT_SUFFIX
from acp_proxy.store.masked_rows import Level
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.text_export import write_parts, write_text_form
from acp_proxy.store.text_import import import_text_form


@click.command(
    short_help="Make a masked copy of a recording.",
    epilog="""\b
    Examples:
      acp-proxy inspect redact latest -o bug.jsonl
          for a bug report: the text form, without secrets
      acp-proxy inspect redact latest -o bug.db --level private
          also without prompts, messages and contents of files
      acp-proxy inspect redact latest -o bug.db --path '/params/cwd' --pattern 'ACME-[0-9]+'
          and without what only you know to be secret
    """,
)
@recording_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", required=True,
              help="The copy: the text form if it ends in .jsonl, else a database. It must not "
              "exist.")  # fmt: skip
@click.option("--level", type=click.Choice(["secrets", "private"]), default="secrets",
              show_default=True,
              help="What to mask. private: also prompts, messages and contents of files, of which "
              "only the lengths stay.")  # fmt: skip
@click.option("--path", "paths", multiple=True, metavar="PTR", callback=pointers,
              help="Also mask the values at this JSON pointer; * matches any key or item. Can be "
              "given several times.")  # fmt: skip
@click.option("--pattern", "patterns", multiple=True, metavar="RE",
              help="Also mask what this regular expression matches: its first group, if it has "
              "any. Can be given several times.")  # fmt: skip
def redact(
    rec: str, output: Path, level: str, paths: tuple[str, ...], patterns: tuple[str, ...]
) -> None:
    """Make a copy of a recording in which secrets are masked.

    In place of a secret is a marker, such as [redacted:token:1f0c9a3e], the same wherever the value
    occurs in the copy. Nothing of the values is left in the file, which its owner alone can read.
    All else stays: numbers, times, ids and methods.

    No masking finds everything: read the copy before you share it.
    """
    _check_output(output)
    limit = TimeLimit()
    what = Level(
        private=level == "private",
        paths=tuple(parts_of(pointer) for pointer in paths),
        extra=tuple(Pattern(text, is_regex=True, ignore_case=False).regex for text in patterns),
    )

    def limited(rows: Iterable[Any], total: int) -> Iterator[Any]:
        for row in progress(rows, total, label="masking"):
            if row[2] is None:  # a line that is too large to be held takes its time
                yield row
            else:
                with limit.at(row[0]):
                    yield row

    running: AbstractContextManager[Any] = limit.running() if patterns else nullcontext()
    with running, open_recording(rec, level=what, watch=limited) as reader:
        if reader.live:
            raise Refusal(f"{reader.path} is still being recorded; expected one that has ended")
        masked = list(masked_values(reader))
        _write(reader, output)
    say(f"{output}: {masked_summary(masked, level)}")


def _check_output(output: Path) -> None:
    """Checks the name of the copy before anything is read, which may take long.

    Raises:
        Refusal: it is bad, or there is such a file.
    """
    if output.suffix not in (".db", TEXT_SUFFIX):  # no suffix has a name that is one, as `.db`
        name = output.name or str(output)
        raise Refusal(f"expected a name that ends in .db or {TEXT_SUFFIX} for -o, got {name}")
    if os.path.lexists(output):
        raise Refusal(f"{output} exists; expected the path of a new file")


def _write(reader: RecordingReader, output: Path) -> None:
    if output.suffix == TEXT_SUFFIX:
        write_files({output: progress(write_parts(reader), label="writing")}, force=False)
        return
    lines = progress(write_text_form(reader), label="writing")
    try:
        made = import_text_form(lines, reader.path, output.parent, stem=output.stem)
    except OSError as e:
        raise Refusal(f"cannot write {output}: {reason(e)}") from None
    if made.name != output.name:  # somebody has made such a file meanwhile
        made.unlink()
        raise Refusal(f"{output} exists; expected the path of a new file")
