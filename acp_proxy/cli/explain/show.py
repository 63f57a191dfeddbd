"""``acp-proxy show``: summarize a recording."""

import time
from functools import partial
from operator import attrgetter

import click

from acp_proxy.check.judgement import summarize_whole
from acp_proxy.cli.explain.show_screen import show_summary
from acp_proxy.cli.group import cli_command
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import printing, read_argument
from acp_proxy.cli.screens.output import progress, say_json
from acp_proxy.cli.screens.wait_line import WaitLine
from acp_proxy.explain.origins import known_json
from acp_proxy.explain.show.summary_values import Summary
from acp_proxy.store.queries.frames import last_frame
from acp_proxy.store.reader import RecordingReader

_POLL_S = 0.1


@cli_command()
@read_argument
@click.option("--json", is_flag=True, help="Print one JSON object.")
@click.option("--follow", "-f", is_flag=True,
              help="Also say who is waited for while the recorder runs, in the last line, and print"
              " the summary again at the end. `latest` then waits for a running recording."
              )  # fmt: skip
@printing
def show(rec: str, json: bool, follow: bool) -> None:
    """Summarize a recording: the peers, the turns, the problems, and the ending.

    Findings are marked ✗ for an error, ! for a warning, and - for a note. A long wait for a person
    or for a program is not a problem.

    The findings are those of `check`, except that `show` checks the rules of the protocol only for
    the first 3,000 messages.

    Examples:
      acp-proxy show latest
      acp-proxy show 3f2a             the start of an id
      acp-proxy show bug.jsonl        the text form, from a colleague
      acp-proxy show latest --json | jq '.problems[].text'
      acp-proxy show latest --follow  of a running chat: now, and when it has ended
    """
    with open_recording(rec, follow=follow) as reader:
        if follow and reader.live:
            if not json:
                show_summary(_summary(reader), rec)
            _follow(reader)
        summary = _summary(reader)
    if json:
        say_json(known_json(summary.recording, summary))
    else:
        show_summary(summary, rec)


def _summary(reader: RecordingReader) -> Summary:
    size = attrgetter("frames")
    watch = partial(progress, total=last_frame(reader), label="reading", size=size)
    return summarize_whole(reader, time.monotonic_ns(), watch)


def _follow(reader: RecordingReader) -> None:
    """Shows in one line who has to act, until the recorder ends."""
    line = WaitLine(reader)
    while reader.live:
        line.draw()
        time.sleep(_POLL_S)
        reader.refresh()
    line.clear()
