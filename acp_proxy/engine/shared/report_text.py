"""Formats divergences as text for the terminal and for JUnit, for replays and verifications."""

from collections.abc import Iterable, Iterator

from attrs import frozen

from acp_proxy.engine.shared.comparison import Difference
from acp_proxy.engine.shared.divergence import Divergence, Rank

SHOWN = 12
"""Divergences that a text shows; the file has all of them."""
_SHOWN_FIELDS = 5
_SHOWN_CHARACTERS = 300


@frozen
class DivergenceReporter:
    """Formats the divergences of one peer.

    Attributes:
        peer: the peer that diverged: ``client`` or ``agent``.
    """

    peer: str

    def blocks(self, divergences: Iterable[Divergence], left_out: int) -> list[list[str]]:
        """Formats the divergences that count: the primary ones first, then the cascades.

        Args:
            divergences: those that were kept.
            left_out: how many more there were.

        Returns:
            the lines of each divergence; if there are too many, the last block is one line with the
            number of those that are not shown.
        """
        found = [*divergences]
        counting = [
            one for rank in (Rank.PRIMARY, Rank.CASCADE) for one in found if one.rank is rank
        ]
        shown = [[*self.lines_of(one)] for one in counting[:SHOWN]]
        if rest := len(counting) - len(shown) + left_out:
            shown.append([f"... and {rest} more; --report FILE has all of them"])
        return shown

    def lines_of(self, one: Divergence) -> Iterator[str]:
        """Yields the lines of one divergence."""
        mark = "follows from that" if one.rank is Rank.CASCADE else one.rank.value
        yield f"{one.kind} in {one.lane} ({mark}): {one.summary}"
        if one.line is not None:
            yield f"  the {self.peer}'s line {one.line}: {one.came or ''}"[:_SHOWN_CHARACTERS]
        yield from _differing(one.differences, "  ")
        for miss in one.near_misses:
            yield f"  near: {miss.method} #{miss.seq}{', used up' if miss.is_played else ''}"
            yield from _differing(miss.differences, "    ")
        if one.ignores:
            yield f"  to let it pass: {' '.join(one.ignores)}"


def _differing(differences: tuple[Difference, ...], indent: str) -> Iterator[str]:
    for one in differences[:_SHOWN_FIELDS]:
        yield f"{indent}{one.pointer}: recorded {one.recorded}, came {one.live}"
    if len(differences) > _SHOWN_FIELDS:
        yield f"{indent}... and {len(differences) - _SHOWN_FIELDS} more"
