"""Separates code from text in Markdown: fences and code spans."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FENCE = re.compile(r"(`{3,})([a-z]+)")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")


def outside_of_code(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines outside of code fences, with their code spans removed.

    Args:
        lines: the lines of a Markdown document.

    Raises:
        AssertionError: a fence does not end.
    """
    fence = None
    for line in lines:
        if fence is not None:
            is_end = re.fullmatch(r" {0,3}(`{3,}) *", line)
            if is_end and len(is_end[1]) >= len(fence):
                fence = None
        elif opening := _FENCE.fullmatch(line):
            fence = opening[1]
        else:
            yield _SPAN.sub("", line)
    assert fence is None


def fences(lines: Iterable[str]) -> list[str]:
    """Returns the text of each code fence.

    Args:
        lines: the lines of a Markdown document.
    """
    results: list[str] = []
    fence = None
    for line in lines:
        if fence is None:
            if opening := _FENCE.fullmatch(line):
                fence = opening[1]
                results.append("")
        elif line == fence:
            fence = None
        else:
            results[-1] += f"{line}\n"
    return results
