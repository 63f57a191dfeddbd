"""``acp-proxy prune``: delete old recordings."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import click

from acp_proxy.base.wording import byte_size, counted
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.options import directory_argument, directory_of_recordings
from acp_proxy.cli.screens.output import say, say_json, warn
from acp_proxy.record.capture.record_options import read_keep
from acp_proxy.store.files.directory import OldRecording, delete, prunable, read_id_and_note


def _bound(kind: str, examples: str) -> Callable[..., float | None]:
    """Makes a callback that parses an age or a size as `record --keep` does."""

    def convert(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
        if text is None:
            return None
        try:
            name, amount = read_keep(text)
        except ValueError:
            name, amount = "neither", 0.0
        if name != kind.split()[-1]:
            raise click.BadParameter(f"{text!r} is not {kind}: expected one such as {examples}")
        return amount

    return convert


@cli_command()
@directory_argument
@click.option("--older-than", metavar="AGE", callback=_bound("an age", "30s, 10m, 12h, 30d or 4w"),
              help="Delete recordings that are older than AGE: 12h, 30d.")  # fmt: skip
@click.option("--larger-than", metavar="SIZE", callback=_bound("a size", "500kB, 2GB or 2GiB"),
              help="Delete the oldest until at most SIZE is left: 500MB, 2GB.")  # fmt: skip
@click.option("--noted", is_flag=True, help="Also delete recordings that have a note.")
@click.option("--dry-run", is_flag=True, help="Delete nothing; list what would be deleted.")
@click.option("--json", is_flag=True, help="Print one JSON object per recording.")
def prune(
    directory: Path | None,
    older_than: float | None,
    larger_than: float | None,
    noted: bool,
    dry_run: bool,
    json: bool,
) -> None:
    """Delete the old recordings of DIR, or of the recordings directory.

    With both --older-than and --larger-than, a recording is deleted if either condition is true.
    The command does not delete recordings that are still running, recordings with notes (except
    with --noted), damaged recordings, or any other files.

    Examples:
      acp-proxy prune --older-than 30d --dry-run
          lists the recordings to delete
      acp-proxy prune --older-than 30d
          recordings that were last written more than 30 days ago
      acp-proxy prune --larger-than 2GB
          the oldest recordings, until those that stay take at most 2 GB
    """
    if older_than is None and larger_than is None:
        raise Refusal("expected --older-than AGE, --larger-than SIZE or both")
    where = directory_of_recordings(directory)
    chosen = prunable(where, older_than=older_than, larger_than=larger_than, with_noted=noted)
    gone = []
    for old in chosen:
        known = read_id_and_note(old.path)
        is_gone = not dry_run and delete(old.path)
        if is_gone or dry_run:
            gone.append(old)
        if json:
            say_json(_form(old, known[0] if known else None, is_gone=is_gone))
        elif is_gone or dry_run:
            say(_line(old, dry_run=dry_run))
        if not is_gone and not dry_run:
            warn(f"cannot delete {old.path}")
    if not json:
        _say_total(gone, where, dry_run=dry_run)
    if len(gone) < len(chosen):
        raise SystemExit(1)


def _line(old: OldRecording, *, dry_run: bool) -> str:
    verb = "would delete" if dry_run else "deleted"
    written = datetime.fromtimestamp(old.last_written)
    return f"{verb} {old.path.name}  {byte_size(old.size)}  last written {written:%Y-%m-%d %H:%M}"


def _say_total(gone: list[OldRecording], where: Path, *, dry_run: bool) -> None:
    if not gone:
        warn(f"nothing to delete in {where}")
        return
    verb = "would be" if dry_run else "was" if len(gone) == 1 else "were"
    total = byte_size(sum(old.size for old in gone))
    number = counted(len(gone), "recording")
    say(f"{number}, {total}, {verb} deleted from {where}", dim=True)


def _form(old: OldRecording, known: str | None, *, is_gone: bool) -> dict[str, object]:
    return {
        "path": str(old.path),
        "recording": known,
        "size": old.size,
        "last_written": datetime.fromtimestamp(old.last_written, UTC).isoformat(),
        "deleted": is_gone,
    }
