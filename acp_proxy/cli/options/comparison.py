"""The options that say how two runs are compared: by `inspect diff` and by `verify`."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from acp_proxy.cli.options.arguments import pointers
from acp_proxy.difference.options import Expect

F = TypeVar("F", bound=Callable[..., Any])


def comparison_options(other: str) -> Callable[[F], F]:
    """Adds ``--expect``, ``--ignore``, ``--alias`` and ``--apart``.

    Args:
        other: what the command calls the run that ids are looked up in.
    """
    options = (
        click.option(
            "--expect",
            type=click.Choice([expect.value for expect in Expect]),
            default=Expect.FRAMES.value,
            show_default=True,
            help="What counts: all that was said, which kinds of it, or how requests and turns"
            " ended.",
        ),
        click.option(
            "--ignore",
            multiple=True,
            metavar="PTR",
            callback=pointers,
            help="A JSON pointer that does not count, with all below it; * is any key or item, **"
            " several.",
        ),
        click.option(
            "--alias",
            multiple=True,
            metavar="PTR",
            callback=pointers,
            help=f"A JSON pointer to ids: each counts as the one in its place in {other}.",
        ),
        click.option(
            "--apart",
            multiple=True,
            metavar="KIND",
            callback=_kinds,
            help="A kind of update, or a method: whether it comes before or after others does not"
            " count.",
        ),
    )

    def add(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return add


def _kinds(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Takes kinds of messages as they are, if they can be some."""
    for kind in value:
        if not kind or kind.startswith("/"):
            raise click.BadParameter(
                f"{kind!r} is no kind of message: expected one such as tool_call_update or"
                " fs/read_text_file"
            )
    return value
