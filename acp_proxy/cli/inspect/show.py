"""``acp-proxy inspect show``: the first screen."""

import click

from acp_proxy.cli.inspect.screen import show_summary
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.output import say_json
from acp_proxy.inspection.summary import summarize


@click.command()
@click.argument("rec")
@click.option("--json", is_flag=True, help="Print one JSON object.")
def show(rec: str, json: bool) -> None:
    """Summarize a recording: who talked, how it went, what is open, how it ended."""
    with open_recording(rec) as reader:
        summary = summarize(reader)
    if json:
        say_json(summary)
    else:
        show_summary(summary)
