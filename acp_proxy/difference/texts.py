"""Texts that say the same, though they are not cut alike by what stands in between, or beside.

A text ends where its agent says something else, and where its chunks begin to differ in more than
what they say. So two frames that were swapped, or one chunk with another `_meta`, make other texts
of what is still said word for word; and only the frame, or what stands beside, is different.
"""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from attrs import define, field, frozen

from acp_proxy.difference.alignment import Pair, longest_in_order
from acp_proxy.difference.items import Group, Items

_MOST_GAPS = 4
"""How many gaps in a row the pieces of a text may lie in."""
_MOST_BETWEEN = 16
"""How many aligned items may stand between them."""
_MOST_READ = 4096
"""Pieces of a lane that are read; where that much is different, each is told by itself."""
_WEIGHT = 2
"""How many other items a part of a text outweighs, less one, where it is told what has moved."""

Read = Callable[[bool, int], str | None]
"""Returns what an item of A, or of B, says, with stable names; None where that is left out."""


@frozen
class UnalignedSpan:
    """What lies between two pairs of aligned items, and has no equal.

    Attributes:
        place: how many pairs stand before it.
        a: items of A.
        b: items of B.
        after: the last item of A before the pair that ends it.
    """

    place: int
    a: list[int]
    b: list[int]
    after: int


@define
class ResplitText:
    """What became of the texts that say the same.

    Attributes:
        a: their pieces in A.
        b: and in B.
        moved: what stands in another order.
        beside: pieces that differ in what stands beside the text.
    """

    a: set[int] = field(factory=set)
    b: set[int] = field(factory=set)
    moved: list[Pair] = field(factory=list)
    beside: list[tuple[Group, Group]] = field(factory=list)


def retold(
    a: Items, b: Items, same: Sequence[Pair], gaps: Sequence[UnalignedSpan], read: Read
) -> ResplitText:
    """Finds texts that are the same, in another number of pieces or around something else.

    Args:
        a: the items of A.
        b: and of B.
        same: the aligned ones.
        gaps: what is left between them.
        read: tells what a piece says.
    """
    found = ResplitText()
    texts = sorted(_same_texts(a, b, gaps, read), key=lambda text: text.first)
    for text in texts:
        found.a.update(text.a)
        found.b.update(text.b)
        found.beside += _beside(a, b, text)
    while texts:
        together = [texts.pop(0)]
        last = together[0].last
        while texts and texts[0].first <= last:
            together.append(texts.pop(0))
            last = max(last, together[-1].last)
        found.moved += _moved(together, same[together[0].first : last])
    return found


def silent(
    items: Iterable[int], side: Items, known: Set[int], around: dict[int, int]
) -> dict[int, int | None]:
    """Finds texts that say nothing, and are not told by themselves.

    Args:
        items: what only one side has.
        side: that side.
        known: what texts go by that both sides have.
        around: the aligned items that stand next to these, and those of the other side.

    Returns:
        Each with the item of the other side that its neighbour is, if it differs from that in what
        stands beside the text, or else with None.
    """
    found: dict[int, int | None] = {}
    for item in items:
        if item not in side.silent:
            continue
        if side.texts[item] in known:
            found[item] = None
            continue
        for near in (item - 1, item + 1):
            if near in around and side.texts[near] and side.whats[near] == side.whats[item]:
                found[item] = around[near]
    return found


class _Text(NamedTuple):
    """A text that says the same.

    Attributes:
        first: how many aligned pairs stand before its first piece, on either side.
        last: and before its last one.
        a: its pieces in A.
        b: and in B.
        parts: what remains where it is cut wherever one of both is: the pieces of A and of B in
            which each part stands.
    """

    first: int
    last: int
    a: Group
    b: Group
    parts: list[Pair]


def _same_texts(a: Items, b: Items, gaps: Sequence[UnalignedSpan], read: Read) -> Iterator[_Text]:
    budget = _MOST_READ
    for what, places in _by_what(a, b, gaps).items():
        start = 0
        while start < len(places) and budget > 0:
            first, step = places[start], 1
            of_a: list[int] = []
            of_b: list[int] = []
            for size, gap in enumerate(places[start : start + _MOST_GAPS], 1):
                if gap.place - first.place > _MOST_BETWEEN:
                    break
                of_a += _pieces(gap.a, a, what)
                of_b += _pieces(gap.b, b, what)
                if not of_a or not of_b or (size == len(of_a) == len(of_b) == 1):
                    continue
                budget -= len(of_a) + len(of_b)
                if budget < 0:
                    break
                said_a = [said for item in of_a if (said := read(True, item)) is not None]
                said_b = [said for item in of_b if (said := read(False, item)) is not None]
                if said_a and said_b and "".join(said_a) == "".join(said_b):
                    parts = _parts(of_a, [*map(len, said_a)], of_b, [*map(len, said_b)])
                    yield _Text(first.place, gap.place, tuple(of_a), tuple(of_b), [*parts])
                    step = size
                    break
            start += step


def _by_what(
    a: Items, b: Items, gaps: Sequence[UnalignedSpan]
) -> dict[Hashable, list[UnalignedSpan]]:
    """The gaps that have texts, by what these are."""
    places: dict[Hashable, list[UnalignedSpan]] = {}
    for gap in gaps:
        whats = [a.whats[i] for i in gap.a if a.texts[i]]
        whats += [b.whats[j] for j in gap.b if b.texts[j]]
        for what in dict.fromkeys(whats):
            places.setdefault(what, []).append(gap)
    return places


def _pieces(gap: list[int], side: Items, what: Hashable) -> Iterator[int]:
    return (item for item in gap if side.texts[item] and side.whats[item] == what)


def _parts(a: list[int], sizes_a: list[int], b: list[int], sizes_b: list[int]) -> Iterator[Pair]:
    """Cuts a text wherever one of both sides cuts it."""
    ends_a, ends_b = [*accumulate(sizes_a)], [*accumulate(sizes_b)]
    after = 0
    for end in sorted({*ends_a, *ends_b}):
        if end > after:
            yield a[bisect_left(ends_a, end)], b[bisect_left(ends_b, end)]
        after = end


def _beside(a: Items, b: Items, text: _Text) -> Iterator[tuple[Group, Group]]:
    """Pairs the pieces of a text that differ in what stands beside it."""
    for i, j in dict.fromkeys(text.parts):
        if a.texts[i] != b.texts[j]:
            yield (i,), (j,)


def _moved(texts: list[_Text], between: Sequence[Pair]) -> list[Pair]:
    """What stands in another order: as little as can be, and rather something else than a part."""
    points: list[tuple[tuple[int, int], tuple[int, int], Pair]] = []
    number = 0
    for text in texts:
        for part in text.parts:
            for _ in range(_WEIGHT):
                number += 1
                points.append(((part[0], number), (part[1], number), part))
    points += [((pair[0], 0), (pair[1], 0), pair) for pair in between]
    points.sort()
    ranks = {place: rank for rank, place in enumerate(sorted(point[1] for point in points))}
    order = longest_in_order([(n, ranks[point[1]]) for n, point in enumerate(points)])
    kept = {points[n][2] for n, _ in order}
    return list(dict.fromkeys(point[2] for point in points if point[2] not in kept))
