"""Hints for removed commands and options, and for wrong words that people type.

In `removed.json`, each key is a sentence about the replacement, and its value lists the removed
spellings. In `meant.json`, each key is a wrong spelling, and its value is a line that works. A
``*`` in a key stands for any command, and ``-N`` for any negative number.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

_ROWS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_MEANT_FILE = Path(__file__).with_name("meant.json")
MEANT: dict[str, str] = json.loads(_MEANT_FILE.read_text(encoding="utf-8"))
"""For each wrong command, option or value, a line that works."""
REMOVED: dict[str, str] = {typed: serves for serves, row in _ROWS.items() for typed in row}
"""The replacement for each removed command, option or argument.

Each key has one of these forms:

- ``COMMAND`` or ``COMMAND --option``;
- ``COMMAND --option VALUE``, for an option that had a value;
- ``COMMAND --option value``, for one value of an option; any text may follow a colon in the value;
- ``COMMAND FIRST SECOND``, for the arguments of a command.
"""
STARTERS = ("record", "replay")
"""Commands that start even with removed options, since editor settings contain such options."""


def instead(command: str, word: str = "", value: str = "") -> str | None:
    """Returns a sentence about a removed command or option; None for any other command or option.

    Args:
        command: the name of the command, without ``inspect``.
        word: an option of the command; "" for the command itself.
        value: the value of this option; if ``word`` is empty, the arguments as in a key,
            such as ``PLAN REC``.
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
    """Splits a key of `REMOVED` into the command, the option and the rest; "" for a missing part.

    Args:
        typed: the key.
    """
    words = typed.split()
    after = (n for n, word in enumerate(words) if word.startswith("-") or word.isupper())
    place = next(after, len(words))
    option = next((word for word in words[place : place + 1] if word.startswith("-")), "")
    rest = words[place + bool(option) :]
    return " ".join(words[:place]), option, " ".join(rest)


def of_variable(name: str, value: str) -> str | None:
    """Returns a sentence about a removed environment variable; None for any other variable.

    Args:
        name: the name of the variable.
        value: the value of the variable.
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
    """Yields a hidden option for each removed option of a command.

    A hidden option only prints a message. Its environment variable is ignored.

    Args:
        command: the name of the command.
    """
    for typed in REMOVED:
        name, flag, argument = parts(typed)
        if name == command and flag and not _is_value(argument):
            yield click.Option(
                [flag], is_flag=not argument, multiple=bool(argument), callback=_warn,
                hidden=True, expose_value=False, allow_from_autoenv=False,
            )  # fmt: skip


def _is_value(argument: str) -> bool:
    """Whether the argument in a key of `REMOVED` is a value, not a placeholder in capitals."""
    return argument != argument.upper()


def _warn(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    from acp_proxy.cli.screens.output import warn

    if value and not ctx.resilient_parsing:
        warn(instead(ctx.info_name or "", param.opts[0]) or "")


def meant(command: str, option: str = "", value: str = "") -> str:
    """Returns a hint for the end of a message: a command line that works; empty if none is known.

    Args:
        command: the name of the command, without ``inspect``.
        option: the option as it was typed; empty for the command itself.
        value: the value of the option.
    """
    option = "-N" if option[1:].isdecimal() else option
    typed = (" ".join(filter(None, (name, option, value))) for name in (command, "*"))
    line = next((MEANT[words] for words in typed if words in MEANT), "")
    return line and f"; did you mean `{line}`?"
