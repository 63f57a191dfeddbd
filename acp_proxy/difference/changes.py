"""What became of the items of a lane: which ones only one side has, which changed, which moved."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise

from attrs import define, field

from acp_proxy.difference.alignment import Pair, align, longest_in_order

_MOST_COMPARED = 100
"""Pairs of items that are compared to find out which one has become which."""


@define
class Changes:
    """The differences of a lane, by the places of items in A and in B.

    Attributes:
        only_a: what only A has.
        only_b: what only B has, each with the place in A after which it stands.
        changed: what says something else.
        moved: what says the same in another place.
    """

    only_a: list[int] = field(factory=list)
    only_b: list[Pair] = field(factory=list)
    changed: list[Pair] = field(factory=list)
    moved: list[Pair] = field(factory=list)


def changes(
    a: Sequence[Hashable],
    b: Sequence[Hashable],
    titles_a: Sequence[Hashable],
    titles_b: Sequence[Hashable],
    distance: Callable[[int, int], int],
) -> Changes:
    """Compares two lanes.

    Args:
        a: what tells an item of A from others.
        b: the same for B.
        titles_a: what an item of A is; only items that are alike in that can have changed.
        titles_b: the same for B.
        distance: in how many places two items differ.
    """
    same = align(a, b)
    gaps = [
        (range(a_left + 1, a_right), range(b_left + 1, b_right))
        for (a_left, b_left), (a_right, b_right) in pairwise([(-1, -1), *same, (len(a), len(b))])
        if a_right - a_left > 1 or b_right - b_left > 1
    ]
    found = Changes()
    found.moved = _moved(a, b, gaps)
    gone_a, gone_b = {i for i, _ in found.moved}, {j for _, j in found.moved}
    for a_gap, b_gap in gaps:
        rest_a = [i for i in a_gap if i not in gone_a]
        rest_b = [j for j in b_gap if j not in gone_b]
        changed = list(_changed(rest_a, rest_b, titles_a, titles_b, distance))
        found.changed += changed
        changed_a, changed_b = {i for i, _ in changed}, {j for _, j in changed}
        found.only_a += [i for i in rest_a if i not in changed_a]
        found.only_b += [(a_gap.stop - 1, j) for j in rest_b if j not in changed_b]
    return found


def _moved(
    a: Sequence[Hashable], b: Sequence[Hashable], gaps: list[tuple[range, range]]
) -> list[Pair]:
    """Pairs what is equal and not in order."""
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for _, b_gap in reversed(gaps):
        for j in reversed(b_gap):
            waiting[b[j]].append(j)
    lost = (i for a_gap, _ in gaps for i in a_gap)
    return [(i, waiting[a[i]].pop()) for i in lost if waiting.get(a[i])]


def _changed(
    rest_a: list[int],
    rest_b: list[int],
    titles_a: Sequence[Hashable],
    titles_b: Sequence[Hashable],
    distance: Callable[[int, int], int],
) -> Iterator[Pair]:
    """Pairs what stands between the same neighbours and is of one kind, in order."""
    by_title: dict[Hashable, tuple[list[int], list[int]]] = {}
    for i in rest_a:
        by_title.setdefault(titles_a[i], ([], []))[0].append(i)
    for j in rest_b:
        by_title.setdefault(titles_b[j], ([], []))[1].append(j)
    pairs: list[Pair] = []
    for of_a, of_b in by_title.values():
        if len(of_a) != len(of_b) and len(of_a) * len(of_b) <= _MOST_COMPARED:
            pairs += _likest(of_a, of_b, distance)
        else:
            pairs += zip(of_a, of_b, strict=False)
    yield from longest_in_order(sorted(pairs))


def _likest(
    of_a: list[int], of_b: list[int], distance: Callable[[int, int], int]
) -> Iterator[Pair]:
    """Pairs as many as can be, in order, so that they differ in as few places as can be."""
    if len(of_a) > len(of_b):
        yield from ((i, j) for j, i in _likest(of_b, of_a, lambda j, i: distance(i, j)))
        return
    spare = len(of_b) - len(of_a)
    best: list[list[tuple[int, int]]] = [[(0, -1)] * (spare + 1)]
    """Of the first items of A with some of B left out: the cost, and what was left out before."""
    for place, i in enumerate(of_a):
        row: list[tuple[int, int]] = []
        for left_out in range(spare + 1):
            cost = distance(i, of_b[place + left_out])
            before = min((best[-1][k][0], k) for k in range(left_out + 1))
            row.append((before[0] + cost, before[1]))
        best.append(row)
    left_out = min(range(spare + 1), key=lambda k: best[-1][k][0])
    chosen = []
    for place in range(len(of_a) - 1, -1, -1):
        chosen.append((of_a[place], of_b[place + left_out]))
        left_out = best[place + 1][left_out][1]
    yield from reversed(chosen)
