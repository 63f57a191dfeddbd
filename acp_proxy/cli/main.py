"""The command ``acp-proxy``, and its output without a subcommand."""

import io
import os
import sys
from pathlib import Path

import click

from acp_proxy import __version__
from acp_proxy.base import system
from acp_proxy.cli.group import CONTEXT, LazyGroup, recordings
from acp_proxy.cli.inspect import INSPECT, WANTS
from acp_proxy.cli.masking import unredacted_option
from acp_proxy.cli.shared_flags import NO_PAGER

_COMMANDS = {
    "record": "acp_proxy.cli.record:record",
    "try": "acp_proxy.cli.try_.try_:try_",
    "replay": "acp_proxy.cli.playback.replay:replay",
    "verify": "acp_proxy.cli.playback.verify:verify",
    "web": "acp_proxy.cli.web:web",
    "inspect": "acp_proxy.cli.inspect:inspect",
    "setup": "acp_proxy.cli.editors.setup:setup",
    "doctor": "acp_proxy.cli.editors.doctor:doctor",
    "faults": "acp_proxy.cli.faults:faults",
}


@click.group(
    cls=LazyGroup,
    epilog=WANTS,
    lazy=_COMMANDS,
    also=INSPECT,
    starters=("record", "verify", "try", "web", "setup", "doctor"),
    invoke_without_command=True,
    context_settings=CONTEXT,
)
@unredacted_option
@NO_PAGER.option
@click.version_option(
    __version__, "-V", "--version", prog_name="acp-proxy", allow_from_autoenv=False
)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Record, replay and debug the Agent Client Protocol.

    Put `acp-proxy record --` before the agent's command in your editor's settings, work as
    before, and type `acp-proxy show`.
    """
    if sys.stdout is None:  # the caller has closed stdout
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # all text can be printed in any locale
        sys.stdout.reconfigure(encoding=system.OUTPUT_ENCODING, errors="backslashreplace")
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.store.list_ import overview

        overview(recordings())
