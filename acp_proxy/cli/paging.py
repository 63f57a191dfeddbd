"""Whether a command may show its output in a pager; `render.pager` runs it."""

import click

_NO_PAGER = "acp_proxy.no_pager"
"""Where click's contexts keep it; a group and its commands share it."""


def is_pager_refused() -> bool:
    """Whether the user has asked for no pager."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_NO_PAGER))


def _refuse_pager(ctx: click.Context, _param: object, value: bool) -> None:
    if value:
        ctx.meta[_NO_PAGER] = True


no_pager_option = click.option(
    "--no-pager",
    is_flag=True,
    expose_value=False,
    allow_from_autoenv=False,
    callback=_refuse_pager,
    help="Print long output without a pager.",
)
"""What it sets is read by `is_pager_refused`, so no command passes it on."""
