"""Flags that may be typed after the name of a group or after the name of a command."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class SharedFlag:
    """A flag. Its value is in click's context, so commands do not pass it on.

    Args:
        name: the spelling of the flag, such as ``--no-pager``.
        text: the help text of the flag.
    """

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._key = f"{__name__}{name}"

    def option(self, command: F) -> F:
        """Adds the flag to a command or a group."""
        add = click.option(
            self._name,
            is_flag=True,
            expose_value=False,
            allow_from_autoenv=False,
            callback=self._keep,
            help=self._text,
        )
        return add(command)

    def is_given(self) -> bool:
        """Whether the user gave the flag; False outside of commands."""
        context = click.get_current_context(silent=True)
        return context is not None and bool(context.meta.get(self._key))

    def _keep(self, ctx: click.Context, _param: object, value: bool) -> None:
        if value:
            ctx.meta[self._key] = True


NO_PAGER = SharedFlag("--no-pager", "Print long output without a pager.")
UNREDACTED = SharedFlag("--unredacted", "Show the secrets that the file holds.")
