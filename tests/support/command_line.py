"""Runs the command line in this process, and lists its commands.

Output has no colours and no terminal's width.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.testing import CliRunner, Result

from acp_proxy.cli.main import cli

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def run(*arguments: str | Path, home: Path | None = None, **environment: str | None) -> Result:
    """Runs ``acp-proxy`` in this process, with recordings in ``home``.

    Raises:
        Exception: the command raised it, which a command should never do.
    """
    env: dict[str, str | None] = {"NO_COLOR": None, "FORCE_COLOR": None}
    if home is not None:
        env["ACP_PROXY_RECORDINGS"] = str(home)
    runner = CliRunner(env=env | environment)
    return runner.invoke(
        cli,
        [str(argument) for argument in arguments],
        prog_name="acp-proxy",
        catch_exceptions=False,
    )


def complaint(*arguments: str | Path, home: Path | None = None, **environment: str) -> str:
    """Runs a command that must exit with 2, and returns its one line on stderr."""
    result = run(*arguments, home=home, **environment)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("acp-proxy: ")
    assert result.stderr.endswith("\n")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("acp-proxy: ").rstrip("\n")


def commands(group: click.Command, name: str = "acp-proxy") -> Iterator[tuple[str, click.Command]]:
    """Yields every command and group of commands, each with its full name."""
    yield name, group
    if isinstance(group, click.Group):
        context = click.Context(group)
        for word in group.list_commands(context):
            command = group.get_command(context, word)
            assert command is not None
            yield from commands(command, f"{name.removesuffix(' inspect')} {word}")


COMMANDS = dict(commands(cli))
"""Every command by its full name, such as ``acp-proxy faults list``."""
_OPTIONS = {"prune": ("--larger-than", "0kB", "--noted", "--dry-run")}
"""Options that a command needs to show anything about a recording."""


def commands_with(flag: str = "") -> list[str]:
    """Returns all commands that have an option, without ``acp-proxy``; no groups."""
    return [
        name.removeprefix("acp-proxy ")
        for name, command in COMMANDS.items()
        if not isinstance(command, click.Group) and (not flag or flag in flags(command))
    ]


def flags(command: click.Command) -> set[str]:
    """Returns all spellings of a command's options, except ``--help`` and hidden options."""
    options = (option for option in command.params if isinstance(option, click.Option))
    return {
        flag
        for option in options
        if not option.hidden
        for flag in (*option.opts, *option.secondary_opts)
    }


def words_for(name: str, rec: str | Path, pattern: str = "e") -> list[str | Path]:
    """Returns the arguments with which a command shows a recording.

    Args:
        name: the command, as `commands_with` returns it.
        rec: the recording.
        pattern: the argument of a command that searches.
    """
    values = {"pattern": pattern, **dict.fromkeys(("rec", "recs", "other", "where"), rec)}
    command = COMMANDS[f"acp-proxy {name}"]
    arguments = [param for param in command.params if isinstance(param, click.Argument)]
    unknown = [each.name for each in arguments if each.required and each.name not in values]
    assert not unknown, f"words_for has no value for {unknown} of {name}"
    words = (values[each.name] for each in arguments if each.name in values)
    return [*name.split(), *_OPTIONS.get(name, ()), *words]
