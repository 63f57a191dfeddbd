"""A progress bar for what takes more than a second, where there is a terminal to show it on."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

_PATIENCE_S = 1.0
"""Seconds before the bar is shown."""
_REDRAW_S = 0.1
_RAREST = 4096
"""Items after which the clock is looked at, at the latest."""
_CLEAR = "\r\x1b[2K\x1b[?25h"
"""Back to the line's start, all of it gone, the cursor visible."""

T = TypeVar("T")


def progress(
    items: Iterable[T],
    total: int | None = None,
    label: str = "",
    *,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[T]:
    """Yields the items, and shows on stderr how far it is if that takes more than a second.

    Where stderr is no terminal nothing is ever shown. The bar is gone when the items end, and also
    when the consumer stops early and closes the iterator.

    Args:
        items: what is worked on; the time between two of them counts as well.
        total: how many there are, if that is known.
        label: what is being done, in a word or two.
        clock: seconds, from any origin.
    """
    return _shown(items, total, label, clock) if sys.stderr.isatty() else iter(items)


def _shown(
    items: Iterable[T], total: int | None, label: str, clock: Callable[[], float]
) -> Iterator[T]:
    began = drawn = looked = clock()
    bar: Any = None
    step, waiting, undrawn = 1, 0, 0
    try:
        for item in items:
            yield item
            waiting += 1
            if waiting < step:
                continue
            undrawn, waiting = undrawn + waiting, 0
            now = clock()
            # Items may take microseconds or seconds each; the clock costs little beside either.
            step = min(step * 2, _RAREST) if now - looked < _REDRAW_S / 4 else max(1, step // 2)
            looked = now
            if now - began < _PATIENCE_S or now - drawn < _REDRAW_S:
                continue
            bar = bar or _bar(total, label)
            bar.update(undrawn)
            drawn, undrawn = now, 0
    finally:
        if bar is not None:
            click.echo(_CLEAR, nl=False, err=True)


def _bar(total: int | None, label: str) -> Any:
    """Returns a bar that is never finished: `finally` erases it."""
    nothing: tuple[Any, ...] = ()
    unknown = (item for item in nothing) if total is None else None  # its length cannot be asked
    return click.progressbar(
        unknown, length=total, label=label, file=sys.stderr, show_pos=True, width=0
    )
