"""What earlier versions had: each removed command and option, and what serves instead.

`removed.json` lists, for each sentence on what serves instead, what was typed.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

_ROWS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
REMOVED: dict[str, str] = {typed: serves for serves, row in _ROWS.items() for typed in row}
"""What serves instead, by what was typed: ``COMMAND``, or ``COMMAND --option``.

An option that had a value ends with the name of the value in capitals: ``COMMAND --option VALUE``.
Where only a value of an option was removed, it ends with that: ``COMMAND --option value``; what
follows a colon in it may be anything. Where only an argument was removed, it ends with all of them:
``COMMAND FIRST SECOND``. The words of a command are without ``inspect``.
"""
STARTERS = ("record", "replay")
"""Commands that start whatever was removed, since their lines stand in the settings of editors."""


def instead(command: str, word: str = "", value: str = "") -> str | None:
    """Returns a sentence on what was removed; None if it never existed.

    Args:
        command: the name of the command, without its group.
        word: an option of it; "" for the command itself.
        value: the value of that option; or the names of the arguments.
    """
    for typed, serves in REMOVED.items():
        name, flag, argument = parts(typed)
        if (name, flag) != (command, word):
            continue
        if flag and not _is_value(argument):
            return f"`{name} {flag}` was removed: {serves}"
        if value.partition(":")[0] == argument.partition(":")[0]:
            return f"`{typed}` was removed: {serves}"
    return None


def parts(typed: str) -> tuple[str, str, str]:
    """Returns the command, the option and the rest of a row of `REMOVED`; "" for what it has not.

    Args:
        typed: the row.
    """
    words = typed.split()
    after = (n for n, word in enumerate(words) if word.startswith("-") or word.isupper())
    place = next(after, len(words))
    option = next((word for word in words[place : place + 1] if word.startswith("-")), "")
    rest = words[place + bool(option) :]
    return " ".join(words[:place]), option, " ".join(rest)


def of_variable(name: str, value: str) -> str | None:
    """Returns a sentence on what a variable of the environment was for; None if it was not removed.

    Args:
        name: of the variable.
        value: of the variable.
    """
    for typed in REMOVED:
        command, option, argument = parts(typed)
        words = [*command.split(), *option.removeprefix("--").split("-")]
        if words[0] == "record":
            del words[0]
        variable = "_".join(["ACP_PROXY", *words]).upper()
        if option and name == variable:
            return instead(command, option, value)
        if not option and not argument and name.startswith(variable):
            return instead(command)
    return None


def removed_options(command: str) -> Iterator[click.Option]:
    """Yields hidden options for a command that has to start whatever an editor's settings say.

    Each prints its line and changes nothing; its variable is ignored.

    Args:
        command: the name of the command.
    """
    for typed in REMOVED:
        name, flag, argument = parts(typed)
        if name == command and flag and not _is_value(argument):
            yield click.Option(
                [flag],
                is_flag=not argument,
                hidden=True,
                expose_value=False,
                allow_from_autoenv=False,
                multiple=bool(argument),
                callback=_warn,
            )


def _is_value(argument: str) -> bool:
    """Whether it is a value that was removed, and not the name of any value."""
    return argument != argument.upper()


def _warn(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    from acp_proxy.cli.screens.output import warn

    if value and not ctx.resilient_parsing:
        warn(instead(ctx.info_name or "", param.opts[0]) or "")
