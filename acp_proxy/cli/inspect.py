"""``acp-proxy inspect``: the commands on recordings, and the purpose of every command.

To add a command, write a module for it, and list it in `INSPECT` and in `WANTS`.
"""

import click

from acp_proxy.cli.group import CONTEXT, LazyGroup, recordings
from acp_proxy.cli.masking import unredacted_option
from acp_proxy.cli.shared_flags import NO_PAGER

INSPECT = {
    "list": "acp_proxy.cli.store.list_:list_",
    "show": "acp_proxy.cli.explain.show:show",
    "log": "acp_proxy.cli.explain.log:log",
    "transcript": "acp_proxy.cli.explain.transcript:transcript",
    "stats": "acp_proxy.cli.explain.stats:stats",
    "audit": "acp_proxy.cli.explain.audit:audit",
    "check": "acp_proxy.cli.check.check:check",
    "diff": "acp_proxy.cli.diff.diff:diff",
    "report": "acp_proxy.cli.report:report",
    "export": "acp_proxy.cli.store.export:export",
    "bundle": "acp_proxy.cli.store.bundle:bundle",
    "secrets": "acp_proxy.cli.store.secrets:secrets",
    "import": "acp_proxy.cli.store.import_:import_",
    "search": "acp_proxy.cli.explain.search:search",
    "note": "acp_proxy.cli.store.note:note",
    "prune": "acp_proxy.cli.store.prune:prune",
}
"""The commands of ``acp-proxy inspect``, each with the function that defines it. All are also
commands of the root group."""
WANTS = """\b
I want to ...                                     Command
  start my editor's agent through acp-proxy       setup
  record an agent                                 record -- AGENT
  talk to an agent without an editor              try -- AGENT
  check the installation and the settings         doctor
  watch a chat while it runs, in a browser        web
  find a recording                                list
  find a text in recordings                       search
  know what went wrong, and who is to blame       show
  know every broken rule, and fail a build        check
  read each message                               log
  read the conversation, or quote it              transcript
  see where time and tokens went                  stats
  see what the agent read, changed, and ran       audit
  see and share everything on one page            report
  hand a problem to somebody, as one archive      bundle
  make a masked copy, or a regression test        export
  see which secrets a recording contains          secrets
  read the log of another tool                    import
  keep a recording and note why                   note
  delete old recordings                           prune
  compare two recordings                          diff
  test a client without its agent                 replay
  test an agent without its client                verify
  test a client with an agent that misbehaves     faults

`acp-proxy COMMAND --help` has examples. Commands on recordings can also be typed after `inspect`,
as in `acp-proxy inspect show`.
"""
"""A table of purposes, each with its command. The table lists every command."""
_OF_ROOT = ("record", "try", "replay", "verify", "web", "setup", "doctor", "faults")


_EPILOG = f"""Commands: {", ".join(INSPECT)}.

They can be typed without `inspect`: `acp-proxy show` is `acp-proxy inspect show`. `acp-proxy
--help` says what each is for.
"""


@click.group(
    cls=LazyGroup,
    epilog=_EPILOG,
    lazy=INSPECT,
    elsewhere={word: f"acp-proxy {word}" for word in _OF_ROOT},
    invoke_without_command=True,
    context_settings=CONTEXT,
)
@unredacted_option
@NO_PAGER.option
@click.pass_context
def inspect(ctx: click.Context) -> None:
    """Look at recordings.

    REC is a recording: its path, a part of its name, the start of its id, or `latest`. `latest` is
    the newest recording, if possible of the current directory; `latest~1` is the recording before
    it. Commands that only read use `latest` if REC is missing. `-` stands for standard input, which
    must be the text form of a recording.
    """
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.store.list_ import overview

        overview(recordings())
