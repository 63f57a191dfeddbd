"""``acp-proxy inspect upgrade``: a copy of an older recording with the views of today."""

from pathlib import Path

import click

from acp_proxy.cli.group import Refusal
from acp_proxy.cli.options import recording_argument
from acp_proxy.cli.recordings import find_recording
from acp_proxy.cli.render.output import say
from acp_proxy.plain_files import reason
from acp_proxy.store.schema import VERSION
from acp_proxy.store.upgrade import Upgrade
from acp_proxy.store.upgrade import upgrade as copy


@click.command(
    short_help="Copy an older recording, with the views of today.",
    epilog="""\b
    Examples:
      acp-proxy inspect upgrade latest -o new.db
          then: datasette new.db
    """,
)
@recording_argument
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="FILE", required=True,
              help="The copy, a database. It must not exist.")  # fmt: skip
def upgrade(rec: str, output: Path) -> None:
    """Make a copy of a recording that an earlier acp-proxy has made, with the views of today.

    The commands of acp-proxy read an older recording as it is. Other programs, such as Datasette,
    find in it the views that there were when it was made; in the copy they find all of them. Its
    rows are the same, and the recording itself is not changed. Only its owner can read the copy.
    """
    if output.suffix != ".db":
        raise Refusal(f"expected a name that ends in .db for -o, got {output.name or output}")
    path = find_recording(rec)
    try:
        done = copy(path, output)
    except FileExistsError as e:
        raise Refusal(f"{e.filename or output} exists; expected the path of a new file") from None
    except OSError as e:
        raise Refusal(f"cannot write {output}: {reason(e)}") from None
    say(f"{output}: {_summary(done)}")


def _summary(done: Upgrade) -> str:
    if not done.views and done.version == VERSION:
        return "a copy, since nothing is missing in the recording"
    parts = [f"new views: {', '.join(done.views)}"] if done.views else []
    if done.version != VERSION:
        parts.insert(0, f"format {VERSION} in place of {done.version}")
    return "; ".join(parts)
