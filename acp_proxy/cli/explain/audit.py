"""``acp-proxy audit``: what the agent did, where, and by whose permission."""

from collections.abc import Iterator
from operator import attrgetter

import click

from acp_proxy.cli.help import cli_command
from acp_proxy.cli.masking import unredacted_option
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import filter_argument, number_option, read_argument
from acp_proxy.cli.screens.output import progress, say_json, warn
from acp_proxy.cli.screens.pager import pages
from acp_proxy.explain.audit.audit import audit as read_audit
from acp_proxy.explain.choice import chosen_in, why_nothing
from acp_proxy.explain.origins import known_json
from acp_proxy.recording.filters import EVERYTHING, UNREAD, parse
from acp_proxy.recording.recording import FrameRun

_EXAMPLES = """\b
Examples:
  acp-proxy audit latest
      what the agent read, changed, ran and fetched
  acp-proxy audit latest turn:3
      only in the third turn
  acp-proxy audit latest --json |
    jq -r '.actions[] | select(.kind == "run" and .permissions == []) | .command'
      commands that nobody was asked about
"""


@cli_command(epilog=_EXAMPLES)
@read_argument
@filter_argument
@click.option("--json", is_flag=True, help="Print one JSON object, with all actions.")
@number_option(
    "--top",
    text="How many rows of each table to show; unless given, 20 on a terminal and all elsewhere.",
)
@unredacted_option
@pages
def audit(rec: str, filter_words: tuple[str, ...], json: bool, top: int | None) -> None:
    """Show what the agent read, wrote, ran and fetched, where, and by whose permission.

    The list begins with points for a reviewer: ✗ marks an action that was refused, that nobody was
    asked about, or that was outside the session's directory; ! marks one worth knowing. A table for
    each kind of action follows: time, frame, action, result, and who allowed it.

    If the client did something for the agent, the recording has the request. Anything else is the
    agent's own claim, in a tool call. A recording cannot show what an agent did without reporting
    it.

    FILTER selects the actions that have a matching frame, as in `log`.
    """
    parse(words := " ".join(filter_words), UNREAD)
    with open_recording(rec) as reader:
        chosen = chosen_in(reader, words)

        def watched(runs: Iterator[FrameRun]) -> Iterator[FrameRun]:
            return progress(runs, reader.count(), "reading", size=attrgetter("frames"))

        found = read_audit(reader, chosen, watched)
        if not found.actions and chosen is not EVERYTHING:
            has_frame = next(iter(reader.heads(chosen)), None) is not None
            no_action = "no frame of an action matches FILTER"
            warn(no_action if has_frame else why_nothing(reader, words))
    if json:
        say_json(known_json(found.recording, found))
    else:
        from acp_proxy.cli.explain.audit_screen import show_audit

        show_audit(found, rec, most=top)
