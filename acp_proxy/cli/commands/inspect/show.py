"""``acp-proxy inspect show``: summarize a recording."""

import time
from functools import partial
from operator import attrgetter

import click

from acp_proxy.cli.options import read_argument
from acp_proxy.cli.recordings import open_recording
from acp_proxy.cli.redaction import unredacted_option
from acp_proxy.cli.render.output import progress, say_json
from acp_proxy.cli.render.pager import pages
from acp_proxy.cli.render.summary_screen import show_summary
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.origins import known_json
from acp_proxy.store.reader import RecordingReader

_MOST_CHECKED = 1_000
"""Frames of the largest import whose broken rules are shown."""
_EXAMPLES = """\b
Examples:
  acp-proxy inspect show latest
  acp-proxy inspect show 3f2a             the start of an id
  acp-proxy inspect show bug.jsonl        the text form, from a colleague
  acp-proxy inspect show latest --json | jq '.problems[].text'
"""


@click.command(
    short_help="Summarize a recording: who, how it went, what is wrong.", epilog=_EXAMPLES
)
@read_argument
@click.option("--json", is_flag=True, help="Print one JSON object.")
@unredacted_option
@pages
def show(rec: str, json: bool) -> None:
    """Summarize a recording: who talked, how it went, what is wrong, how it ended.

    A sentence under problems is marked ✗ where something went wrong and ! where it is worth
    knowing. A person who thinks and a program that runs are no problem, however long they take.

    Of an imported excerpt of at most a thousand messages, the rules that it breaks are shown, too;
    `inspect check` has them of every recording, and as JSON.
    """
    with open_recording(rec) as reader:
        size = attrgetter("frames")
        watch = partial(progress, total=reader.count(), label="reading", size=size)
        summary = summarize(reader, time.monotonic_ns(), watch)
        is_excerpt = summary.recording.origin is not None and reader.count() <= _MOST_CHECKED
        broken = _broken_rules(reader) if is_excerpt and not json else []
    if json:
        say_json(known_json(summary.recording, summary))
    else:
        show_summary(summary, rec, broken=broken)


def _broken_rules(reader: RecordingReader) -> list[str]:
    """Returns a line for each rule that is broken; most excerpts are pasted to show one."""
    from acp_proxy.conformance.catalogue import rules  # late: only imported recordings need them
    from acp_proxy.conformance.checker import check
    from acp_proxy.conformance.report import by_rule, reported
    from acp_proxy.conformance.short_text import group_text

    return [
        group_text(found) for found in by_rule(reported(reader, check(reader), rules()).findings)
    ]
