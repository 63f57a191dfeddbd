"""``acp-proxy inspect``: look at recordings; one module per command, imported when it is called."""

import click

from acp_proxy.cli.main import CONTEXT, LazyGroup, recordings

_COMMANDS = {
    "list": "list_:list_",
    "show": "show:show",
    "log": "log:log",
    "stats": "stats:stats",
    "export": "export:export",
    "import": "import_:import_",
    "search": "search:search",
    "note": "annotate:note",
    "rename": "annotate:rename",
    "prune": "prune:prune",
}


@click.group(
    cls=LazyGroup,
    lazy={word: f"{__name__}.{place}" for word, place in _COMMANDS.items()},
    invoke_without_command=True,
    context_settings=CONTEXT,
)
@click.pass_context
def inspect(ctx: click.Context) -> None:
    """Look at recordings.

    REC is a recording's path, its name, the start of its id, or `latest`: the newest one, of the
    current directory where there is one. `-` is the text form on standard input.
    """
    if ctx.invoked_subcommand is None:
        from acp_proxy.cli.overview import overview

        overview(recordings())
