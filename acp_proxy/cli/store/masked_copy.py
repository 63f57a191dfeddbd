"""The options of ``acp-proxy export`` that make a masked copy to share."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
from attrs import frozen

from acp_proxy.base.plain_files import reason
from acp_proxy.cli.explain.time_limit import TimeLimit
from acp_proxy.cli.group import Refusal
from acp_proxy.cli.masking import is_unredacted, masked_summary
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import collected
from acp_proxy.cli.output_files import check_new
from acp_proxy.cli.rules_file import pointers
from acp_proxy.cli.screens.output import progress, say
from acp_proxy.protocol.json_text import parts_of
from acp_proxy.recording.filters import Filter
from acp_proxy.store.files.side_files import SUFFIXES
from acp_proxy.store.reader import RecordingReader


@frozen
class CopyMasking:
    """The masking options: what to mask in addition to the secrets that are always masked."""

    level: str | None
    paths: tuple[str, ...]
    patterns: tuple[str, ...]

    @property
    def is_given(self) -> bool:
        """Whether an option is given; then the recording is masked even if it already was."""
        return bool(self.level or self.paths or self.patterns)

    @contextmanager
    def opened(self, rec: str) -> Iterator[RecordingReader]:
        """Opens a recording with these masking options.

        Args:
            rec: the user's words for the recording.

        Raises:
            Refusal: the recorder still runs, or --unredacted is given as well.
        """
        if not self.is_given:
            with open_recording(rec) as reader:
                yield reader
            return
        if is_unredacted():
            raise Refusal("expected --unredacted, or --level, --path and --pattern, got both")
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
                raise Refusal(f"{reader.path} is still being recorded; expected one that has ended")
            yield reader

    def report(self, reader: RecordingReader, output: Path) -> None:
        """Prints how much is masked in a recording if masking options are given.

        Args:
            reader: the recording.
            output: the copy of the recording.
        """
        if self.is_given:
            from acp_proxy.explain.masked_secrets import masked_values

            masked = list(masked_values(reader))
            say(f"{output}: {masked_summary(masked, self.level or 'secrets')}")


def masking_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--level``, ``--path`` and ``--pattern``, passed as ``masking``."""
    options = [
        click.option("--level", type=click.Choice(["secrets", "private"]),
                     help="What to mask, even in a recording that is masked: secrets; or private,"
                     " which also reduces prompts, messages and contents of files to their"
                     " lengths."),
        click.option("--path", "paths", multiple=True, metavar="PTR", callback=pointers,
                     help="Also mask the values at this JSON pointer; * matches any key or item."
                     " Can be given several times."),
        click.option("--pattern", "patterns", multiple=True, metavar="RE",
                     help="Also mask the matches of this regular expression, or its first group if"
                     " it has groups. Can be given several times."),
    ]  # fmt: skip
    return collected("masking", CopyMasking, ("level", "paths", "patterns"), options)(function)


def check_database(output: Path, *, force: bool) -> None:
    """Checks the path of a new database before the recording is read, which may take long.

    Args:
        output: the database.
        force: whether to replace an existing file.

    Raises:
        Refusal: the file exists, or there is a file beside it that SQLite would take for its own.
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
        raise Refusal(f"{reader.path} is still being recorded; expected one that has ended")
    from acp_proxy.store.copies.text_export import write_text_form
    from acp_proxy.store.copies.text_import import import_text_form

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
