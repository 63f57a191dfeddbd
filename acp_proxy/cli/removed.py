"""What earlier versions had: each removed command and option, and what serves instead."""

from collections.abc import Iterator
from typing import Any

import click

REMOVED: dict[str, str] = {
    "audit --markdown": "in a pipe `acp-proxy audit` prints plain text, and --json has all",
    "check --coverage": "`acp-proxy stats` counts the methods and updates of a recording",
    "check --schema FILE": "the package has the official schemas; --dialect chooses among them",
    "check --sarif FILE": "`acp-proxy check --github` annotates lines, and --json has all findings",
    "report --check": "`acp-proxy check` checks the rules of the protocol in all frames",
    "check --markdown": "`acp-proxy stats --json` counts the methods and updates of a recording",
}
"""What serves instead, by what was typed: ``COMMAND``, or ``COMMAND --option``.

An option that had a value ends with the name of the value: ``COMMAND --option VALUE``.
"""


def instead(command: str, word: str = "") -> str | None:
    """Returns a sentence on a command or option that was removed; None if it never existed.

    Args:
        command: the name of the command, without ``inspect``.
        word: an option of it; "" for the command itself.
    """
    for typed, serves in REMOVED.items():
        if typed.split()[:2] == [command, word][: 2 if word else 1] and (word or typed == command):
            return f"`{' '.join(typed.split()[:2])}` was removed: {serves}"
    return None


def removed_options(command: str) -> Iterator[click.Option]:
    """Yields hidden options for a command that has to start whatever an editor's settings say.

    Each prints its line and changes nothing; its variable is ignored.

    Args:
        command: the name of the command.
    """
    for typed in REMOVED:
        name, flag, *value = [*typed.split(), ""][:3]
        if name == command and flag:
            yield click.Option(
                [flag],
                is_flag=not value[0],
                hidden=True,
                expose_value=False,
                allow_from_autoenv=False,
                multiple=bool(value[0]),
                callback=_warn,
            )


def _warn(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    from acp_proxy.cli.render.output import warn

    if value and not ctx.resilient_parsing:
        warn(instead(ctx.info_name or "", param.opts[0]) or "")
