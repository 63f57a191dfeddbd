"""The arguments and options that several commands share, and how their values are read."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from attrs import evolve

from acp_proxy.base.wording import did_you_mean
from acp_proxy.cli import completion
from acp_proxy.cli.group import Refusal, recordings
from acp_proxy.cli.masking import unredacted_option
from acp_proxy.cli.removed import STARTERS, instead
from acp_proxy.cli.rules_file import ComparisonRules, pointers, rules_option
from acp_proxy.cli.screens.pager import pages
from acp_proxy.record.capture.record_options import read_name

if TYPE_CHECKING:
    from acp_proxy.playback.shared.playback_options import Pacing

F = TypeVar("F", bound=Callable[..., Any])
_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
_FILTER_WORDS = ("failed", "unanswered", "and", "or", "not")
"""Words that belong to the filter grammar even if a recording has the same name."""
_CENTURY_S = 3_200_000_000
_NS_PER_S = 10**9


complete_recording = completion.recordings_like
complete_source = partial(completion.recordings_like, directories=True)
complete_filter = completion.filters_like
complete_plan = completion.plans_like
complete_rule = completion.rules_like
complete_kind = completion.kinds_like
complete_directory = completion.directories_like
recording_argument = click.argument("rec", shell_complete=complete_recording)
"""The argument of a command that changes a recording, or makes a file from it."""
read_argument = click.argument(
    "rec", default="latest", metavar="[REC]", is_eager=True, shell_complete=complete_recording
)
"""The argument of a command that only reads a recording. It is parsed before all options, so that
error messages about options can quote it."""


def printing(command: F) -> F:
    """Declares a command that prints recordings, with a pager and the option ``--unredacted``.

    Args:
        command: the command; see `pages`.
    """
    return unredacted_option(pages(command))


def _filter(ctx: click.Context, _param: object, words: tuple[str, ...]) -> str | tuple[str, ...]:
    """A click callback that joins the words of a filter to one text, and checks this text.

    While a shell completes a command, the callback returns the words unchanged.

    Raises:
        BadFilter: the words are not a filter.
        Refusal: a word names a recording.
    """
    if ctx.resilient_parsing:
        return words
    from acp_proxy.recording.filters import UNREAD, parse
    from acp_proxy.store.files.lookup import is_named

    for word in words:
        if word in _FILTER_WORDS:
            continue
        if is_named(word, recordings()):
            compare = {"report": "--against {} compares", "diff": "diff compares two"}
            what_compares = compare.get(ctx.info_name or "", "`acp-proxy diff A {}` compares")
            raise Refusal(
                f"{word!r} is a recording; expected a FILTER: text:{word} searches for the word,"
                f" and {what_compares.format(word)} recordings"
            )
    parse(text := " ".join(words).strip(), UNREAD)
    return text


filter_argument = click.argument(
    "filter_words",
    metavar="[FILTER]...",
    nargs=-1,
    callback=_filter,
    shell_complete=complete_filter,
)
directory_argument = click.argument(
    "directory",
    metavar="[DIR]",
    required=False,
    type=click.Path(path_type=Path),
    shell_complete=complete_directory,
)


def flag_option(*names: str, text: str, **more: Any) -> Callable[[F], F]:
    """Adds a flag that no environment variable sets.

    Args:
        *names: the spellings of the option.
        text: the help text of the option.
        **more: further parameters of the option.
    """
    return click.option(*names, is_flag=True, allow_from_autoenv=False, help=text, **more)


def file_option(*names: str, text: str) -> Callable[[F], F]:
    """Adds an option that names a file.

    Args:
        *names: the spellings of the option.
        text: the help text of the option.
    """
    return click.option(*names, type=click.Path(path_type=Path), metavar="FILE", help=text)


def number_option(
    *names: str, text: str, metavar: str = "N", least: int = 1, default: int | None = None
) -> Callable[[F], F]:
    """Adds an option that is a whole number.

    Args:
        *names: the spellings of the option.
        text: the help text of the option.
        metavar: the name of the value in the help.
        least: the smallest number that is allowed.
        default: the value if the option is not given.
    """
    kind = click.IntRange(min=least)
    return click.option(
        *names, type=kind, metavar=metavar, default=default, show_default=True, help=text
    )


def directory_of_recordings(directory: Path | None) -> Path:
    """Returns DIR, or the recordings directory if DIR was not given.

    Raises:
        Refusal: DIR is not a directory.
    """
    if directory is not None and not directory.is_dir():
        raise Refusal(f"{directory} is not a directory; expected a directory of recordings")
    return directory or recordings()


def recording_name(_ctx: object, _param: object, value: str | None) -> str | None:
    """A click callback that checks the new name of a recording."""
    try:
        return value if value is None else read_name(value)
    except ValueError as e:
        raise click.BadParameter(str(e)) from None


def seconds(_ctx: object, _param: object, word: str | None) -> float | None:
    """A click callback that reads a number of seconds, less than a century."""
    try:
        value = None if word is None else float(word)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value < _CENTURY_S:
        raise click.BadParameter(f"{word!r} is not a time: expected seconds, such as 5 or 0.5")
    return value


def limit_ns(seconds: float) -> int | None:
    """Converts seconds to nanoseconds. 0 means no limit, and becomes None."""
    return max(1, int(seconds * _NS_PER_S)) if seconds else None


def playback_options(*, order: str, timing: str, strict: str, stall: str) -> _Decorator:
    """Adds the options that `replay` and `verify` share.

    The command gets the values of most of the options as one dict, in its parameter ``playback``.
    It gets ``--report`` and ``--junit`` as parameters of their own.

    Args:
        order: the help of ``--order``.
        timing: the help of ``--timing``.
        strict: the help of ``--strict/--lenient``.
        stall: the help of ``--stall-timeout``.
    """
    # Late: most commands play nothing.
    from acp_proxy.playback.shared.playback_options import Order

    metavar = "instant|recorded|xN"
    options = [
        click.option("--order", type=_Choice([*map(str, Order)]), default="session", help=order),
        click.option("--timing", callback=_timing, default="instant", metavar=metavar, help=timing),
        click.option("--idle-cap", callback=seconds, metavar="S", help="A frame's longest wait."),
        click.option("--strict/--lenient", default=True, help=strict),
        click.option("--stall-timeout", callback=seconds, default="30", metavar="S", help=stall),
        file_option("--report", text="Write a report as JSON."),
        file_option("--junit", text="Write a report as JUnit XML."),
    ]

    def value(
        order: str, timing: "Pacing", idle_cap: float | None, strict: bool, stall_timeout: float
    ) -> dict[str, Any]:
        cap_ns = None if idle_cap is None else int(idle_cap * _NS_PER_S)
        pacing, stall_ns = evolve(timing, cap_ns=cap_ns), limit_ns(stall_timeout)
        return {
            "order": Order(order),
            "pacing": pacing,
            "lenient": not strict,
            "stall_ns": stall_ns,
        }

    names = ("order", "timing", "idle_cap", "strict", "stall_timeout")
    return collected("playback", value, names, options)


def comparison_options() -> _Decorator:
    """Adds ``--expect``, ``--ignore`` and ``--rules``. The command gets them as ``compared``."""
    from acp_proxy.diff.diff_result import DiffOptions, Expect

    options = [
        click.option("--expect", type=click.Choice([*map(str, Expect)]), default="frames",
                     show_default=True,
                     help="Compare whole frames, only their kinds, or how requests and turns "
                     "ended."),
        click.option("--ignore", multiple=True, metavar="PTR", callback=pointers,
                     help="A JSON pointer to ignore, with everything below it; * matches any key "
                     "or item, ** several."),
        rules_option,
    ]  # fmt: skip

    def value(expect: str, ignore: tuple[str, ...], rules: ComparisonRules) -> DiffOptions:
        ignored = (*ignore, *rules.ignore)
        return DiffOptions(Expect(expect), ignored=ignored, aliases=rules.alias, apart=rules.apart)

    return collected("compared", value, ("expect", "ignore", "rules"), options)


def collected(
    name: str, value: Callable[..., Any], members: tuple[str, ...], options: Sequence[_Decorator]
) -> _Decorator:
    """Adds options, and passes some of them to the command as a single parameter.

    Args:
        name: the name of the parameter.
        value: a function that makes the value of the parameter from the values of `members`.
        members: the names of the options that the parameter replaces.
        options: all options to add.
    """

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def collect(**values: Any) -> Any:
            values[name] = value(**{member: values.pop(member) for member in members})
            return function(**values)

        command: Callable[..., Any] = collect
        for option in reversed(options):
            command = option(command)
        return command

    return add


class _Choice(click.Choice[str]):
    """A choice of values that also accepts removed values."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Returns the value, or the default if acp-proxy no longer supports the value.

        Args:
            value: the typed value.
            param: the option.
            ctx: the context of the command.
        """
        if param is not None and ctx is not None:
            value = _unless_removed(ctx, param, value)
        return super().convert(value, param, ctx)


def _unless_removed(ctx: click.Context, param: click.Parameter, value: str) -> str:
    """Returns the value of an option, or its default if acp-proxy no longer supports the value.

    Raises:
        Refusal: acp-proxy no longer supports the value, and the command is not one of `STARTERS`.
    """
    command = ctx.info_name or ""
    if (removed := instead(command, param.opts[0], value)) is None or ctx.resilient_parsing:
        return value
    if command not in STARTERS:
        raise Refusal(removed)
    from acp_proxy.cli.screens.output import warn  # late: a replay starts sooner

    warn(removed)
    return str(param.default)


def _timing(ctx: click.Context, param: click.Parameter, word: str) -> "Pacing":
    """A click callback that reads a timing: ``instant``, ``recorded`` or ``xN``."""
    from acp_proxy.playback.shared.playback_options import Pacing

    word = _unless_removed(ctx, param, word)
    if word == "instant":
        return Pacing()
    if word == "recorded":
        return Pacing(1.0)
    if match := re.fullmatch(r"x(\d*\.?\d+)", word):
        return Pacing(float(match[1]))
    raise click.BadParameter(f"{word!r} is not a timing: expected instant, recorded or x0.5")


class _OneALine(click.types.StringParamType):
    """A text option with several values. An environment variable has one value on each line."""

    def split_envvar_value(self, rv: str) -> list[str]:
        return [line for line in rv.split("\n") if line.strip()]


ONE_A_LINE = _OneALine()
"""The type of an option with several values that may contain spaces."""


def agent_command(command: tuple[str, ...]) -> tuple[str, ...]:
    """Returns a command in which the command of a known agent replaces ``@NAME``.

    Raises:
        Refusal: the command begins with ``@``, but no known agent has this name.
    """
    if not command[0].startswith("@"):
        return command
    from acp_proxy.editors.known_agents import expanded, known_names
    from acp_proxy.record.capture.agent_lookup import replace_name

    result = replace_name(command, expanded)
    if result is None:
        raise Refusal(unknown(command[0], [f"@{name}" for name in known_names()], "known agent"))
    return tuple(result)


def complete_agent(_ctx: object, _param: object, incomplete: str) -> list[str]:
    """A click callback that offers ``@NAME`` for a command that begins with ``@``."""
    if not incomplete.startswith("@"):
        return []
    from acp_proxy.editors.known_agents import known_names

    return [f"@{name}" for name in known_names() if name.startswith(incomplete[1:].lower())]


def unknown(
    word: str, words: Iterable[str], what: str, otherwise: str = "docs/known-agents.md lists them"
) -> str:
    """Returns a message about an unknown word, with the nearest known word.

    Args:
        word: the given word.
        words: all known words.
        what: the kind of thing that the word should name.
        otherwise: the hint if no known word is similar.
    """
    hint = did_you_mean(word.lower(), [each.lower() for each in words])
    return f"no {what} {word!r}{hint or f'; {otherwise}'}"


AGENT: dict[str, Any] = {
    "nargs": -1,
    "required": True,
    "type": click.UNPROCESSED,
    "metavar": "-- AGENT [ARGS]...",
    "shell_complete": complete_agent,
}
"""The settings of a click argument that is the command of an agent."""
agent_argument = click.argument("command", **AGENT)
