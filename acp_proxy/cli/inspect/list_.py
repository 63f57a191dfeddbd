"""``acp-proxy inspect list``: the recordings of a directory."""

from pathlib import Path

import click

from acp_proxy.cli.main import Refusal, recordings
from acp_proxy.cli.output import say, say_json, warn
from acp_proxy.cli.overview import table
from acp_proxy.inspection.timeline import size
from acp_proxy.store.library import entries


@click.command("list")
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--json", is_flag=True, help="One JSON object per recording.")
def list_(directory: Path | None, json: bool) -> None:
    """List recordings, newest first.

    DIR is the directory to look in; without it, the recordings directory.
    """
    where = directory or recordings()
    if directory is not None and not directory.is_dir():
        raise Refusal(f"{directory} is no directory; expected one that holds recordings")
    found = entries(where)
    if json:
        for entry in found:
            say_json(
                {
                    "path": str(entry.path),
                    "recording": entry.recording,
                    "live": entry.live,
                    "problem": entry.problem,
                    "frames": entry.frames,
                    "turns": entry.turns,
                    "size": entry.size,
                }
            )
        return
    if not found:
        warn(f"no recordings in {where}")
        return
    table(found)
    total = size(sum(entry.size for entry in found))
    say(f"{len(found)} recording{'s' * (len(found) > 1)}, {total} in {where}", dim=True)
