"""The options that define how two runs are compared: for `inspect diff` and for `verify`."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from acp_proxy.cli.options.arguments import pointers
from acp_proxy.difference.options import DiffOptions, Expect


def comparison_options(other: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds ``--expect``, ``--ignore``, ``--alias`` and ``--apart``, as ``compared``: DiffOptions.

    Args:
        other: what the command calls the run that ids are looked up in.
    """
    options = (
        click.option(
            "--expect",
            type=click.Choice([expect.value for expect in Expect]),
            default=Expect.FRAMES.value,
            show_default=True,
            help="What counts: all frames, only their kinds, or how requests and turns ended.",
        ),
        _pointers("--ignore", "A JSON pointer to ignore, with all below it; * matches any key or"
                  " item, ** several."),
        _pointers("--alias", "A JSON pointer to ids: each counts as the one in its place in"
                  f" {other}."),
        click.option(
            "--apart",
            multiple=True,
            metavar="KIND",
            callback=_kinds,
            help="A kind of update, or a method, whose order among other messages does not count.",
        ),
    )  # fmt: skip

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def collect(
            expect: str,
            ignore: tuple[str, ...],
            alias: tuple[str, ...],
            apart: tuple[str, ...],
            **values: Any,
        ) -> Any:
            compared = DiffOptions(Expect(expect), ignored=ignore, aliases=alias, apart=apart)
            return function(compared=compared, **values)

        found: Callable[..., Any] = collect
        for option in reversed(options):
            found = option(found)
        return found

    return add


def _pointers(name: str, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(name, multiple=True, metavar="PTR", callback=pointers, help=text)


def _kinds(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    """Checks kinds of messages."""
    for kind in value:
        if not kind or kind.startswith("/"):
            raise click.BadParameter(
                f"{kind!r} is not a kind of message: expected one such as tool_call_update or"
                " fs/read_text_file"
            )
    return value
