"""``acp-proxy audit``: the agent's actions, where they happened, and who permitted them."""

from functools import partial
from operator import attrgetter

import click

from acp_proxy.cli.group import cli_command
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import filter_argument, number_option, printing, read_argument
from acp_proxy.cli.screens.output import progress, say_json, warn
from acp_proxy.explain.audit.audit import audit as read_audit
from acp_proxy.explain.choice import chosen_in, why_nothing
from acp_proxy.explain.origins import known_json
from acp_proxy.recording.filters import EVERYTHING


@cli_command()
@read_argument
@filter_argument
@click.option("--json", is_flag=True, help="Print one JSON object, with all actions.")
@number_option("--top", text="Rows of each table to show. Default: 20 on a terminal, else all.")
@printing
def audit(rec: str, filter_words: str, json: bool, top: int | None) -> None:
    """Show what the agent read, wrote, ran and fetched, where, and who permitted it.

    The findings come first. ✗ marks a problem: an action that was refused, or that nobody
    permitted, or that was outside the session's directory. ! marks a remark. A table for each kind
    of action follows, with the time, frame, subject, status and permission of each action.

    "client" means that the agent asked its client to act, and the client's answer shows the result.
    "claimed" means that only the agent reports the action, in a tool call. An action that the agent
    does not report is not in a recording.

    FILTER selects actions that have at least one matching frame.

    Examples:
      acp-proxy audit latest
          what the agent read, changed, ran and fetched
      acp-proxy audit latest turn:3
          only in the third turn
      acp-proxy audit latest --json |
        jq -r '.actions[] | select(.kind=="run" and .permissions==[]) | .command'
          commands that ran without a permission request
    """
    with open_recording(rec) as reader:
        chosen = chosen_in(reader, filter_words)
        size = attrgetter("frames")
        watch = partial(progress, total=reader.count(), label="reading", size=size)
        result = read_audit(reader, chosen, watch)
        if not result.actions and chosen is not EVERYTHING:
            has_frame = next(iter(reader.heads(chosen)), None) is not None
            no_action = "no frame of an action matches FILTER"
            warn(no_action if has_frame else why_nothing(reader, filter_words))
    if json:
        say_json(known_json(result.recording, result))
    else:
        from acp_proxy.cli.explain.audit_screen import show_audit

        show_audit(result, rec, most=top)
