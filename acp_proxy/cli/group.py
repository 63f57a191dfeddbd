"""Imports commands when they are called, reports expected errors, and formats the help.

The help of a command is its synopsis, two examples, and its options by purpose. ``--help`` fits on
a screen; ``--help-all`` prints the whole help.
"""

import contextlib
import errno
import importlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Collection
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from acp_proxy.base import system
from acp_proxy.base.errors import AcpProxyError
from acp_proxy.base.wording import did_you_mean
from acp_proxy.cli.interruption import interruptible, is_interruption, uninterruptible
from acp_proxy.cli.removed import instead, meant
from acp_proxy.recording.file_names import recordings_directory

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


CONTEXT = {"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "ACP_PROXY"}


class Refusal(click.ClickException):
    """An expected failure: one line on stderr, exit code 2."""

    exit_code = 2

    def show(self, _file: object = None) -> None:
        """Prints the line on stderr."""
        from acp_proxy.cli.screens.output import warn

        warn(self.format_message())


class LazyGroup(click.Group):
    """A group that imports a command only when it is called. Prints an expected error as one line.

    Args:
        lazy: where each command is defined, as ``module:name``, by the name of the command.
        also: where each command of a subgroup is defined, if the name of the subgroup may be left
            out.
        elsewhere: for some words that are not commands of this group: the command to suggest.
        starters: the commands that start agents, or that prepare or watch the start of an agent.
            These commands do not run on Windows.
    """

    def __init__(
        self,
        *args: Any,
        lazy: dict[str, str],
        also: dict[str, str] | None = None,
        elsewhere: dict[str, str] | None = None,
        starters: Collection[str] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._lazy = lazy
        self._also = also or {}
        self._elsewhere = elsewhere or {}
        self._starters = starters

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Reads the group's own options.

        Args:
            *args: see `click.BaseCommand.make_context`.
            **kwargs: see `click.BaseCommand.make_context`.
        """
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as e:
            raise _refusal(e) from None

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Returns the names of the commands."""
        return list(self._lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Imports a command; returns None if the group has no command with this name.

        Args:
            ctx: the context of the group.
            cmd_name: the word that names the command.
        """
        place = self._lazy.get(cmd_name) or self._also.get(cmd_name)
        if place is None:
            return None
        if cmd_name in self._starters and not system.CAN_START_AGENTS:
            return _unavailable(cmd_name)
        module, _, name = place.partition(":")
        with uninterruptible(ctx):
            command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the command that the first argument names. Refuses an unknown name with a hint.

        Args:
            ctx: the context of the group.
            args: the arguments, at least one.
        """
        word = args[0]
        command = self.get_command(ctx, word)
        if command is None and word == "help" and not ctx.resilient_parsing:
            if not args[1:]:
                click.echo(ctx.get_help())
                ctx.exit()
            return self.resolve_command(ctx, [*args[1:], "--help"])
        if command is None and not ctx.resilient_parsing and word[:1].isalnum():
            if removed := instead(word):
                raise Refusal(removed)
            raise click.UsageError(f"No such command {word!r}{self._hint(word)}", ctx)
        return super().resolve_command(ctx, args) if command is None else (word, command, args[1:])

    def _hint(self, word: str) -> str:
        if word in self._elsewhere:
            return f"; did you mean `{self._elsewhere[word]}`?"
        return meant(word) or did_you_mean(word, [*self._lazy, *self._also])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands, except if the epilog contains a table of the commands.

        Args:
            ctx: the context of the group.
            formatter: collects the text.
        """
        if not self.epilog:
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Offers the names of commands and options, without importing any command.

        Args:
            ctx: the context of the group.
            incomplete: the part of the word typed so far.
        """
        from click.shell_completion import CompletionItem

        words = [word for word in (*self._lazy, *self._also) if word.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*map(CompletionItem, words), *options]

    def invoke(self, ctx: click.Context) -> Any:
        """Runs a command. Raises an expected error as a `Refusal`, which is printed as one line."""
        try:
            with interruptible(ctx):
                result = super().invoke(ctx)
                sys.stdout.flush()
                return result
        except AcpProxyError as e:
            raise Refusal(str(e)) from None
        except click.UsageError as e:
            raise _refusal(e) from None
        except BrokenPipeError:  # `| head` has ended
            _drop_output()
            sys.exit(0)
        except OSError as e:
            if e.errno != errno.ENOSPC or e.filename is not None:
                raise
            _drop_output()
            raise Refusal(f"cannot write the output: {e.strerror}") from None
        except SystemExit:
            try:
                sys.stdout.flush()
            except BrokenPipeError:
                _drop_output()
            raise
        except BaseException as e:
            if not is_interruption(e):
                raise
            with contextlib.suppress(BrokenPipeError):
                sys.stdout.flush()
            sys.exit(130)


def _drop_output() -> None:
    from acp_proxy.cli.screens.output import drop_output

    drop_output()


def _unavailable(name: str) -> click.Command:
    """Returns a command that accepts any arguments and refuses to run."""

    def refuse(**_: object) -> None:
        raise Refusal(
            f"`{name}` does not run on this system: it needs process groups, as Linux and macOS"
            " have them; `replay` and `inspect` run here, too"
        )

    return click.Command(
        name,
        callback=refuse,
        params=[click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)],
        context_settings={"ignore_unknown_options": True},
        add_help_option=False,
        short_help="Not on this system.",
    )


def _refusal(error: click.UsageError) -> click.ClickException:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        return error  # its message is the help
    command = error.ctx.command_path if error.ctx else "acp-proxy"
    text = error.format_message().rstrip(".")
    if isinstance(error, click.BadParameter) and error.ctx and error.param is not None:
        flag, value = error.param.opts[0], error.message.partition("'")[2].partition("'")[0]
        if removed := instead(_short_name(error.ctx), flag, value):
            return Refusal(removed)
        near = meant(_short_name(error.ctx), flag, value)
        if isinstance(error.param.type, click.IntRange) and "not a valid" in error.message:
            text = f"{flag} takes a number, not {value!r}"
            if not near and "rec" in error.ctx.params:
                is_given = error.ctx.get_parameter_source("rec") is ParameterSource.COMMANDLINE
                rec = error.ctx.params["rec"] if is_given else value
                near = f": `{command} {shlex.quote(rec)} {flag} 1`"
        text += near
    if isinstance(error, click.NoSuchOption):
        if removed := instead(_short_name(error.ctx), error.option_name):
            return Refusal(removed)
        near = meant(_short_name(error.ctx), error.option_name)
        near = near or did_you_mean(error.option_name, error.possibilities or [])
        text = f"no such option {error.option_name!r}{near}"
    see = " See" if text.endswith("?") else "; see"
    return Refusal(f"{text[:1].lower()}{text[1:]}{see} `{command} --help`")


def _short_name(context: click.Context | None) -> str:
    """Returns the words that name a command, without the program's name and ``inspect``."""
    names: list[str] = []
    while context is not None and context.parent is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    return " ".join(name for name in names if name != "inspect")


def recordings() -> Path:
    """Returns the recordings directory."""
    return Path(recordings_directory(os.environ))


_WHAT = {
    "turn", "session", "seq", "around", "context", "time", "rule", "ignore_rule", "explain",
    "filter", "agent", "since", "newest", "cwd", "name", "fault", "faults", "older_than",
    "larger_than", "noted", "against", "client", "plans", "clear", "check",
}  # fmt: skip
"""Options that select the data that a command works on."""
_OUTPUT = {
    "json", "junit", "github", "report", "output", "force", "raw", "lines", "no_fold", "follow",
    "top", "count", "files_with_matches", "max_count", "most", "format", "unredacted", "full",
    "results", "dry_run", "learn", "until",
}  # fmt: skip
_RARE = {
    "executor", "jobs", "results", "idle_cap", "stall_timeout", "seed", "force", "no_fold", "grace",
    "secret", "allow_outside", "rewrite_text", "require_recording", "dialect", "update_baseline",
    "github", "max_size", "exact", "stall",
}  # fmt: skip
"""Options that only ``--help-all`` shows."""
_EXAMPLES = "\n\nExamples:\n"
_SHOWN_EXAMPLES = 2


class _Context(click.Context):
    """A context that spells the command without ``inspect``."""

    @property
    def command_path(self) -> str:
        """The command as it can be typed, without ``inspect``."""
        return super().command_path.replace("acp-proxy inspect ", "acp-proxy ", 1)


class HelpCommand(click.Command):
    """A command whose help groups options by purpose; only ``--help-all`` shows rare options.

    The docstring of the command has a section "Examples:", which stands before the options. The
    paragraphs after it, such as the exit codes, stand after the options. A command may have the
    section and these paragraphs in its ``epilog`` instead, so that its docstring is shorter.
    """

    context_class = _Context

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Returns the parameters, with ``--help-all`` before ``--help``.

        Args:
            ctx: the context of the command.
        """
        *own, last = super().get_params(ctx)
        return [*own, click.Option(
            ["--help-all"], is_flag=True, expose_value=False, is_eager=True,
            allow_from_autoenv=False, callback=self._show_all,
            help="Show all options, with more examples.",
        ), last]  # fmt: skip

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the help that fits on a screen.

        Args:
            ctx: the context of the command.
            formatter: collects the text.
        """
        self._write(ctx, formatter, is_whole=False)

    def _show_all(self, ctx: click.Context, _param: object, is_given: bool) -> None:
        if is_given and not ctx.resilient_parsing:
            formatter = ctx.make_formatter()
            self._write(ctx, formatter, is_whole=True)
            click.echo(formatter.getvalue().rstrip("\n"))
            ctx.exit()

    def _write(self, ctx: click.Context, formatter: click.HelpFormatter, is_whole: bool) -> None:
        whole = "\n\n".join(map(cleandoc, filter(None, (self.help, self.epilog))))
        text, _, after = whole.partition(_EXAMPLES)
        examples, _, rest = after.partition("\n\n")
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text if is_whole else text.partition("\n\n")[0])
        each = re.findall(r"^  \S.*(?:\n   +\S.*)*", examples, re.MULTILINE)
        with formatter.section("Examples"):
            formatter.write("\n".join([*(each if is_whole else each[:_SHOWN_EXAMPLES]), ""]))
        for title, records in self._groups(ctx, is_whole).items():
            with formatter.section(title):
                formatter.write_dl(records)
        if rest:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(rest)

    def _groups(self, ctx: click.Context, is_whole: bool) -> dict[str, list[tuple[str, str]]]:
        """Returns the options that the help shows, by group: the spelling and the text of each."""
        groups: dict[str, list[tuple[str, str]]] = {"What": [], "How": [], "Output": [], "Help": []}
        for option in self.get_params(ctx):
            record = isinstance(option, click.Option) and option.get_help_record(ctx)
            if record and (is_whole or option.name not in _RARE):
                groups[_group_of(option.name or "")].append(record)
        return {title: records for title, records in groups.items() if records}


def _group_of(name: str) -> str:
    if "help" in name:
        return "Help"
    return "What" if name in _WHAT else "Output" if name in _OUTPUT else "How"


def cli_command(
    name: str | None = None, **attributes: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declares a command, as `click.command` does. `HelpCommand` formats the help of the command.

    Args:
        name: the command's name; None to use the name of the function.
        **attributes: see `click.Command`.
    """
    return click.command(name, **{"cls": HelpCommand, **attributes})
