"""The command ``acp-proxy``, and its output without a subcommand."""

import io
import os
import sys
from pathlib import Path

import click

from acp_proxy import __version__
from acp_proxy.base import system
from acp_proxy.cli.group import CONTEXT, LazyGroup, recordings
from acp_proxy.cli.inspect import INSPECT
from acp_proxy.cli.masking import unredacted_option
from acp_proxy.cli.shared_flags import NO_PAGER

_COMMANDS = {
    "record": "acp_proxy.cli.record:record",
    "replay": "acp_proxy.cli.playback.replay:replay",
    "verify": "acp_proxy.cli.playback.verify:verify",
    "inspect": "acp_proxy.cli.inspect:inspect",
    "setup": "acp_proxy.cli.editors.setup:setup",
    "doctor": "acp_proxy.cli.editors.doctor:doctor",
    "faults": "acp_proxy.cli.faults:faults",
}


_WANTS = """\b
I want to ...                                     Command
  put it before an agent in my editor             setup
  record an agent                                 record -- AGENT
  check the installation and the settings         doctor
  find a recording                                list, search
  know what went wrong, and who is to blame       show
  know every broken rule; fail a build by it      check
  read each message                               log
  read the conversation, or quote it              transcript
  see where time and tokens went                  stats
  see what the agent read, changed, and ran       audit
  look at all of it on a page, and share that     report
  hand a problem to somebody, as one archive      bundle
  get the recording, masked, or a test of it      export
  see which secrets it holds                      secrets
  read what another tool has logged               import
  keep it and say why; delete old ones            note, prune
  compare two recordings                          diff
  test a client without its agent                 replay
  test an agent without its client                verify
  test a client by an agent that misbehaves       faults

`acp-proxy COMMAND --help` has examples. Commands on recordings can also be typed after `inspect`,
as in `acp-proxy inspect show`.
"""
"""The purpose of each command; the table lists every command."""
_ELSEWHERE = {
    "explain": "acp-proxy faults explain",
    "sweep": "acp-proxy faults sweep",
    "ls": "acp-proxy list",
    "tail": "acp-proxy log --follow",
    "cat": "acp-proxy log",
    "grep": "acp-proxy search",
    "find": "acp-proxy search",
    "compare": "acp-proxy diff",
    "delete": "acp-proxy prune",
    "rm": "acp-proxy prune",
    "play": "acp-proxy replay",
    "test": "acp-proxy verify",
    "diagnose": "acp-proxy doctor",
    "help": "acp-proxy --help",
    "version": "acp-proxy --version",
}
"""Words that people may try as commands, and the command to suggest for each."""


@click.group(
    cls=LazyGroup,
    epilog=_WANTS,
    lazy=_COMMANDS,
    also=INSPECT,
    elsewhere=_ELSEWHERE,
    starters=("record", "verify", "setup", "doctor"),
    invoke_without_command=True,
    context_settings=CONTEXT,
)
@unredacted_option
@NO_PAGER.option
@click.version_option(__version__, prog_name="acp-proxy", allow_from_autoenv=False)
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Record, replay and debug the Agent Client Protocol.

    Put `acp-proxy record --` before the agent's command in your editor's settings, work as
    before, and type `acp-proxy show`.
    """
    if sys.stdout is None:  # it was closed by the caller
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):  # whatever the locale, nothing is unprintable
        sys.stdout.reconfigure(encoding=system.OUTPUT_ENCODING, errors="backslashreplace")
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.store.list_ import overview

        overview(recordings())
