"""Says what there is where a recording was expected: a directory, a pipe, or what is hidden."""

import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from acp_proxy.plain_files import kind_of, trouble_with

_NAMED = 3
"""Recordings of a directory that are named."""


def something_else(
    places: Iterable[Path], recordings_in: Callable[[Path], list[Path]]
) -> str | None:
    """Says what is at the first of some places at which there is something; opens nothing there.

    Args:
        places: where no recording was found.
        recordings_in: finds those of a directory.

    Returns:
        A sentence, or None if there is nothing at all.
    """
    for place in places:
        if (problem := trouble_with(place)) is not None:
            return f"cannot look at {place}: {problem}"
        if place.is_dir():
            return _directory(place, [path.name for path in recordings_in(place)])
        if (kind := kind_of(place)) is not None:
            way = "; `acp-proxy inspect` reads a text from a pipe as -" if kind == "a pipe" else ""
            return f"{place} is {kind}: expected the file of a recording{way}"
    return None


def _directory(place: Path, names: list[str]) -> str:
    if not names:
        return (
            f"{place} is a directory without recordings: expected a recording; "
            "`acp-proxy inspect list` shows them"
        )
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{place} is a directory: expected one of its recordings, {', '.join(names[:_NAMED])}{more}"
        f"; `acp-proxy inspect list {shlex.quote(str(place))}` shows them"
    )
