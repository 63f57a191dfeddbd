"""The options of a batch, and the part of its command line that every job gets."""

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from attrs import frozen
from click.core import ParameterSource

from acp_proxy.cli.group import HelpCommand
from acp_proxy.cli.masking import is_unredacted
from acp_proxy.cli.options import collected, file_option, number_option

_RAW = f"{__name__}.raw"
_MORE = f"{__name__}.more"
_GIVEN = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
LOCAL = "local"
_NAMES = ("results", "jobs", "executor")


@frozen
class BatchOptions:
    """How a batch is run, and where its results are written."""

    results: Path | None = None
    jobs: int | None = None
    executor: str | None = None

    @property
    def is_here(self) -> bool:
        """Whether the jobs run on this machine, so that their files can be checked in advance."""
        return self.executor in (None, LOCAL)

    @property
    def is_given(self) -> bool:
        """Whether any option of a batch was given. Then even one recording is a batch."""
        return self != BatchOptions()


def batch_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of a batch. The command gets them as the parameter ``batch``."""
    options = [
        file_option("--results", text="Write each recording's verdict as a line of JSON. "
                    "Recordings that are in the file already are not run again."),
        number_option("--jobs", text="How many recordings to process at once, by default one for "
                      "each processor."),
        click.option("--executor", metavar="local|dask=ADDRESS",
                     help="Run in processes of this machine, or of a Dask cluster."),
    ]  # fmt: skip
    return collected("batch", BatchOptions, _NAMES, options)(function)


class BatchCommand(HelpCommand):
    """A command that accepts many recordings.

    All words before ``--`` are recordings. All words after ``--`` are another command, such as an
    agent's.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the arguments, and keeps the words of each option and argument in the context.

        Args:
            ctx: the context of the command.
            args: the words after the command's name.
        """
        whole: dict[str, Any] = {}
        before: dict[str, Any] = {}
        with suppress(click.UsageError):  # super().parse_args reports it
            whole = self.make_parser(ctx).parse_args([*args])[0]
            if "--" in args:
                before = self.make_parser(ctx).parse_args(args[: args.index("--")])[0]
        ctx.meta[_RAW] = whole
        more = before.get("command")
        is_alone = not isinstance(whole.get("command"), tuple)
        if "command" in before and is_alone and not isinstance(before.get("recording"), str):
            raise click.MissingParameter(ctx=ctx, param=self.get_params(ctx)[0])
        ctx.meta[_MORE] = len(more) if isinstance(more, tuple | list) else 0
        return super().parse_args(ctx, args)


def split_words(ctx: click.Context, words: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """Splits the words after the first recording into further recordings and another command.

    Args:
        ctx: the context of a `BatchCommand`.
        words: the value of the command's last argument.
    """
    count: int = ctx.meta[_MORE]
    return words[:count], words[count:]


def option_words(ctx: click.Context, without: Collection[str] = ()) -> Iterator[str]:
    """Yields the options that arguments or variables have set, as words of a command line.

    Args:
        ctx: the context of a `BatchCommand`.
        without: options to leave out, in addition to the options of a batch.
    """
    for option in ctx.command.params:
        if option.name == "unredacted":
            if is_unredacted():  # a group's option may be set instead
                yield "--unredacted"
            continue
        if not isinstance(option, click.Option) or option.name in {*without, *_NAMES}:
            continue
        value, source = option.consume_value(ctx, ctx.meta[_RAW])
        if source not in _GIVEN or value is None:
            continue
        if option.is_flag:
            is_on = click.BOOL.convert(value, option, ctx)
            flags = option.opts if is_on else option.secondary_opts
            yield from flags[-1:]
        else:
            flag = max(option.opts, key=len)
            values = value if option.multiple and not isinstance(value, str) else [value]
            yield from (f"{flag}={item}" for item in values)
