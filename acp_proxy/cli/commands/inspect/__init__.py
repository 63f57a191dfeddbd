"""``acp-proxy inspect``: look at recordings; one module per command, imported when it is called."""

import click

from acp_proxy.cli.group import CONTEXT, LazyGroup, recordings
from acp_proxy.cli.redaction import unredacted_option
from acp_proxy.cli.shared_flags import NO_PAGER

_COMMANDS = {
    "list": "list_:list_",
    "show": "show:show",
    "log": "log:log",
    "transcript": "transcript:transcript",
    "stats": "stats:stats",
    "audit": "audit:audit",
    "check": "check:check",
    "diff": "diff:diff",
    "report": "report:report",
    "export": "export:export",
    "bundle": "bundle:bundle",
    "secrets": "secrets:secrets",
    "import": "import_:import_",
    "search": "search:search",
    "note": "note:note",
    "prune": "prune:prune",
}
INSPECT = {word: f"{__name__}.{place}" for word, place in _COMMANDS.items()}
"""Where each command lives; the root has them as well."""


_OF_ROOT = ("record", "replay", "verify", "setup", "doctor", "faults")


_EPILOG = f"""Commands: {", ".join(_COMMANDS)}.

They can be typed without `inspect`: `acp-proxy show` is `acp-proxy inspect show`. `acp-proxy
--help` has what each of them is for.
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

    REC is a recording's path, a part of its name, the start of its id, or `latest`: the newest
    one, of the current directory where there is one. Commands that only read take it without
    REC. `-` is the text form on standard input.
    """
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.commands.inspect.list_ import overview

        overview(recordings())
