"""Bars: where time went, and when."""

from collections.abc import Mapping

from acp_proxy.cli.render.output import Ink
from acp_proxy.cli.render.table import Cell, Piece
from acp_proxy.inspection.measures.turn_times import Part

GLYPHS: Mapping[Part, Piece] = {
    Part.STREAMING: ("█", Ink.TO_CLIENT),
    Part.SILENT: ("░", Ink.FAINT),
    Part.PERSON: ("p", Ink.PERMISSION),
    Part.TERMINALS: ("t", Ink.STDERR),
    Part.FILES: ("f", Ink.TO_AGENT),
    Part.OTHER: ("o", Ink.TO_AGENT),
}
"""What the bar of each part is made of; also without colours all are different."""


def stacked(spent: Mapping[Part, int], whole: int, columns: int) -> Cell:
    """One bar of several parts; what took time at all has at least one column of it.

    Args:
        spent: the time of each part.
        whole: the time that takes all columns.
        columns: the longest that a bar can be.
    """
    total = sum(spent.values())
    length = max(1, round(total * columns / max(1, whole))) if total else 0
    taken: dict[Part, int] = {}
    for part, ns in spent.items():
        taken[part] = max(1, round(ns * length / total)) if ns else 0
    while sum(taken.values()) > max(length, sum(1 for n in taken.values() if n)):
        taken[max(taken, key=lambda part: taken[part])] -= 1
    return [(GLYPHS[part][0] * n, GLYPHS[part][1]) for part, n in taken.items() if n]


def placed(start: int, duration: int, whole: int, columns: int, piece: Piece) -> Cell:
    """A bar where it is in time.

    Args:
        start: when it begins.
        duration: how long it is.
        whole: the time that takes all columns.
        columns: how many there are.
        piece: what the bar is made of, and its colour.
    """
    whole = max(1, whole)
    first = min(columns - 1, max(0, start * columns // whole))
    last = min(columns, max(first + 1, round((start + duration) * columns / whole)))
    return [
        (" " * first, None),
        (piece[0] * (last - first), piece[1]),
        (" " * (columns - last), None),
    ]
