"""The help of a command: its synopsis, two examples, and its options, grouped by purpose.

``--help`` fits on a screen. ``--help-all`` adds the other paragraphs, examples and rare options.
"""

import re
from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import click

_WHAT = {
    "turn", "session", "seq", "around", "context", "time", "rule", "ignore_rule", "explain",
    "filter", "agent", "since", "newest", "cwd", "name", "fault", "faults", "older_than",
    "larger_than", "noted", "against", "client", "plans", "clear", "check",
}  # fmt: skip
"""Options that select what a command works on. Options that are neither here nor in `_OUTPUT`
choose how it works."""
_OUTPUT = {
    "json", "junit", "github", "report", "output", "force", "raw", "lines", "no_fold", "follow",
    "top", "count", "files_with_matches", "max_count", "most", "format", "unredacted", "full",
    "results", "dry_run", "learn",
}  # fmt: skip
_RARE = {
    "executor", "jobs", "results", "idle_cap", "stall_timeout", "seed", "force", "no_fold", "grace",
    "secret", "allow_outside", "rewrite_text", "require_recording", "dialect", "update_baseline",
    "github", "max_size", "exact",
}  # fmt: skip
"""Options that only ``--help-all`` shows."""
_EXAMPLES = "\b\nExamples:\n"
_SHOWN_EXAMPLES = 2


class _Context(click.Context):
    """A context that spells the command without ``inspect``, even if the user typed ``inspect``."""

    @property
    def command_path(self) -> str:
        """The command as it can be typed, without ``inspect``."""
        return super().command_path.replace("acp-proxy inspect ", "acp-proxy ", 1)


class HelpCommand(click.Command):
    """A command whose help groups options by purpose; only ``--help-all`` shows rare options."""

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
        text = cleandoc(self.help or "")
        examples, rest = _examples(cleandoc(self.epilog or ""))
        self.format_usage(ctx, formatter)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text if is_whole else text.partition("\n\n")[0])
        shown = examples if is_whole else examples[:_SHOWN_EXAMPLES]
        with formatter.section("Examples"):
            formatter.write("\n".join([*shown, ""]))
        for title, records in self._groups(ctx, is_whole).items():
            with formatter.section(title):
                formatter.write_dl(records)
        if rest:
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(rest)

    def _groups(self, ctx: click.Context, is_whole: bool) -> dict[str, list[tuple[str, str]]]:
        """Returns the options of each group by its title: for each, the spelling and the help."""
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


def _examples(epilog: str) -> tuple[list[str], str]:
    """Divides an epilog into its examples, each with its explanation, and the text after them."""
    before, _, after = epilog.partition(_EXAMPLES)
    examples, _, rest = after.partition("\n\n")
    return re.findall(r"^  \S.*(?:\n   +\S.*)*", examples, re.MULTILINE), f"{before}{rest}".strip()


def cli_command(
    name: str | None = None, **attributes: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Declares a command as `click.command` does, with help by `HelpCommand`.

    Args:
        name: the command's name; None for the name of the function.
        **attributes: see `click.Command`.
    """
    return click.command(name, **{"cls": HelpCommand, **attributes})
