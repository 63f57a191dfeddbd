"""Tells a person of departures: of a client's in a replay, of an agent's in a verification."""

from collections.abc import Iterable, Iterator

from acp_proxy.engine.shared.comparison import Difference
from acp_proxy.engine.shared.divergence import Divergence, Rank

SHOWN = 12
"""Departures that a text shows; the file has all of them."""
_SHOWN_FIELDS = 5


def blocks(divergences: Iterable[Divergence], left_out: int, peer: str) -> list[list[str]]:
    """What there is to say of the departures that count, what follows from others last.

    Args:
        divergences: those that were written down.
        left_out: how many more there were.
        peer: whose they are: ``client`` or ``agent``.

    Returns:
        the lines of each; of many, the last line is how many more there are.
    """
    found = [*divergences]
    told = [one for rank in (Rank.PRIMARY, Rank.CASCADE) for one in found if one.rank is rank]
    shown = [[*lines_of(one, peer)] for one in told[:SHOWN]]
    if rest := len(told) - len(shown) + left_out:
        shown.append([f"... and {rest} more; --report FILE has all of them"])
    return shown


def lines_of(one: Divergence, peer: str) -> Iterator[str]:
    """A departure for a person.

    Args:
        one: the departure.
        peer: whose it is: ``client`` or ``agent``.
    """
    mark = "follows from that" if one.rank is Rank.CASCADE else one.rank.value
    yield f"{one.kind} in {one.lane} ({mark}): {one.summary}"
    if one.line is not None:
        yield f"  the {peer}'s line {one.line}: {one.came or ''}"[:300]
    yield from _differing(one.differences, "  ")
    for miss in one.near_misses:
        yield f"  near: {miss.method} #{miss.seq}{', used up' if miss.is_played else ''}"
        yield from _differing(miss.differences, "    ")
    if one.ignores:
        yield f"  to let it pass: {' '.join(one.ignores)}"


def counted(number: int, what: str) -> str:
    """A number of things: ``1 frame``, ``2 frames``."""
    return f"{number} {what}{'s' * (number != 1)}"


def _differing(differences: tuple[Difference, ...], indent: str) -> Iterator[str]:
    for one in differences[:_SHOWN_FIELDS]:
        yield f"{indent}{one.pointer}: recorded {one.recorded}, came {one.live}"
    if len(differences) > _SHOWN_FIELDS:
        yield f"{indent}... and {len(differences) - _SHOWN_FIELDS} more"
