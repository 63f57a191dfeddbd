"""The options that `replay` and `verify` share: order, timing, and where reports go."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from acp_proxy.engine.shared.playback_options import NS_PER_S, Order, Pacing

F = TypeVar("F", bound=Callable[..., Any])
_CENTURY_S = 3_200_000_000


def timing(_ctx: click.Context, _param: click.Parameter, word: str) -> Pacing:
    """Reads ``instant``, ``recorded``, ``xN`` or ``fixed:MS``."""
    if word == "instant":
        return Pacing()
    if word == "recorded":
        return Pacing(1.0)
    if match := re.fullmatch(r"x(\d*\.?\d+)", word):
        return Pacing(float(match[1]))
    if match := re.fullmatch(r"fixed:(\d*\.?\d+)", word):
        return Pacing(fixed_ns=int(float(match[1]) * 1e6))
    expected = "instant, recorded, x0.5 or fixed:20"
    raise click.BadParameter(f"{word!r} is not a timing: expected {expected}")


def seconds(_ctx: click.Context, _param: click.Parameter, word: str | None) -> float | None:
    """Reads a number of seconds, of which there are fewer than in a century."""
    try:
        value = None if word is None else float(word)
    except ValueError:
        value = -1.0
    if value is not None and not 0 <= value < _CENTURY_S:
        raise click.BadParameter(f"{word!r} is not a time: expected seconds, such as 5 or 0.5")
    return value


def limit_ns(seconds: float) -> int | None:
    """A limit in nanoseconds; none for 0."""
    return max(1, int(seconds * NS_PER_S)) if seconds else None


def order_option(text: str) -> Callable[[F], F]:
    """Adds ``--order``."""
    choices = click.Choice([order.value for order in Order])
    return click.option("--order", type=choices, default="session", help=text)


def timing_options(timing_text: str, cap_text: str) -> Callable[[F], F]:
    """Adds ``--timing`` and ``--idle-cap``.

    Args:
        timing_text: the help of ``--timing``.
        cap_text: the help of ``--idle-cap``.
    """
    first = click.option(
        "--timing",
        callback=timing,
        default="instant",
        metavar="instant|recorded|xN|fixed:MS",
        help=timing_text,
    )
    cap = click.option("--idle-cap", callback=seconds, metavar="S", help=cap_text)
    return lambda function: first(cap(function))


def stall_option(text: str) -> Callable[[F], F]:
    """Adds ``--stall-timeout``."""
    return click.option("--stall-timeout", callback=seconds, default="30", metavar="S", help=text)


def report_options(function: F) -> F:
    """Adds ``--report`` and ``--junit``."""
    report = click.option("--report", type=click.Path(path_type=Path), metavar="FILE",
                          help="Write a report as JSON.")  # fmt: skip
    junit = click.option("--junit", type=click.Path(path_type=Path), metavar="FILE",
                         help="Write a report as JUnit XML.")  # fmt: skip
    return report(junit(function))
