"""``acp-proxy inspect``: the commands on recordings. Each is imported when it is called."""

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
"""Where each command is defined. The root group has the same commands."""


_OF_ROOT = ("record", "replay", "verify", "setup", "doctor", "faults")


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

    REC is a recording's path, a part of its name, the start of its id, or `latest`: the newest one,
    if possible of the current directory. Commands that only read use `latest` without REC. `-` is
    the text form on standard input.
    """
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.store.list_ import overview

        overview(recordings())
