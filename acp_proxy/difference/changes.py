"""What became of the items of a lane: which ones only one side has, which changed, which moved."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import pairwise

from attrs import define, field

from acp_proxy.difference.alignment import Pair, align, longest_in_order
from acp_proxy.difference.items import MOST_PASSED, Group, Items, is_race
from acp_proxy.difference.texts import Read, UnalignedSpan, retold, silent

_MOST_COMPARED = 100
"""Pairs of items that are compared to find out which one has become which."""


@define
class Changes:
    """The differences of a lane, by the places of items in A and in B.

    Attributes:
        only_a: what only A has.
        only_b: what only B has, each with the place in A after which it stands.
        changed: what says something else.
        beside: texts that say the same, and have something else beside them.
        moved: what says the same in another place.
    """

    only_a: list[int] = field(factory=list)
    only_b: list[Pair] = field(factory=list)
    changed: list[tuple[Group, Group]] = field(factory=list)
    beside: list[tuple[Group, Group]] = field(factory=list)
    moved: list[Pair] = field(factory=list)


Distance = Callable[[Group, Group], int]
"""In how many places items differ; in none, if all that told them apart is known to be the same."""


def changes(a: Items, b: Items, distance: Distance, read: Read) -> Changes:
    """Compares the two sides of a lane."""
    same = align(a.keys, b.keys)
    spans = [*_spans(same, len(a.keys), len(b.keys))]
    moved = _moved(a.keys, b.keys, spans)
    found = Changes(moved=[pair for pair in moved if not _is_free(a, b, same, *pair)])
    gone_a, gone_b = {i for i, _ in moved}, {j for _, j in moved}
    gaps = [_gap(*span, gone_a, gone_b) for span in spans]
    texts = retold(a, b, same, gaps, read)
    found.moved += texts.moved
    found.beside += texts.beside
    known = {*a.texts} & {*b.texts}
    for gap in gaps:
        rest_a = [i for i in gap.a if i not in texts.a]
        rest_b = [j for j in gap.b if j not in texts.b]
        pairs = _in_order(_paired(rest_a, rest_b, a, b, distance))
        found.changed += [pair for pair in pairs if distance(*pair)]
        paired_a = {i for group, _ in pairs for i in group}
        paired_b = {j for _, group in pairs for j in group}
        around = same[max(0, gap.place - 1) : gap.place + 1]
        silent_a = silent([i for i in rest_a if i not in paired_a], a, known, dict(around))
        silent_b = silent(
            [j for j in rest_b if j not in paired_b], b, known, {j: i for i, j in around}
        )
        found.beside += [((i,), (near,)) for i, near in silent_a.items() if near is not None]
        found.beside += [((near,), (j,)) for j, near in silent_b.items() if near is not None]
        found.only_a += [i for i in rest_a if i not in paired_a and i not in silent_a]
        found.only_b += [(gap.after, j) for j in rest_b if j not in paired_b and j not in silent_b]
    return found


def _gap(place: int, of_a: range, of_b: range, gone_a: set[int], gone_b: set[int]) -> UnalignedSpan:
    rest_a, rest_b = [i for i in of_a if i not in gone_a], [j for j in of_b if j not in gone_b]
    return UnalignedSpan(place, rest_a, rest_b, of_a.stop - 1)


def _spans(same: list[Pair], size_a: int, size_b: int) -> Iterator[tuple[int, range, range]]:
    """What lies between aligned pairs, where anything does, and how many pairs stand before."""
    around = pairwise([(-1, -1), *same, (size_a, size_b)])
    for place, ((a_left, b_left), (a_right, b_right)) in enumerate(around):
        if a_right - a_left > 1 or b_right - b_left > 1:
            yield place, range(a_left + 1, a_right), range(b_left + 1, b_right)


def _is_free(a: Items, b: Items, same: list[Pair], i: int, j: int) -> bool:
    """Whether nobody chose that an item stands elsewhere; it has passed some aligned ones."""
    if not a.may_race(i):
        return False
    before_a = bisect_left(same, i, key=lambda pair: pair[0])
    before_b = bisect_left(same, j, key=lambda pair: pair[1])
    first, last = sorted((before_a, before_b))
    return is_race(a, b, i, [one for one, _ in same[first : min(last, first + MOST_PASSED + 1)]])


def _moved(
    a: Sequence[Hashable], b: Sequence[Hashable], spans: list[tuple[int, range, range]]
) -> list[Pair]:
    """Pairs what is equal and not in order."""
    waiting: defaultdict[Hashable, list[int]] = defaultdict(list)
    for _, _, b_gap in reversed(spans):
        for j in reversed(b_gap):
            waiting[b[j]].append(j)
    lost = (i for _, a_gap, _ in spans for i in a_gap)
    return [(i, waiting[a[i]].pop()) for i in lost if waiting.get(a[i])]


def _paired(
    rest_a: list[int], rest_b: list[int], a: Items, b: Items, distance: Distance
) -> Iterator[tuple[Group, Group]]:
    """Pairs what stands between the same neighbours and is of one kind, in order.

    A text into which something else was put, or from which it was taken, is still one text.
    """
    left_a: dict[Hashable, list[list[int]]] = {}
    left_b: dict[Hashable, list[list[int]]] = {}
    groups_a, groups_b = _grouped(rest_a, a), _grouped(rest_b, b)
    for key in {**groups_a, **groups_b}:
        of_a, of_b = groups_a.get(key, []), groups_b.get(key, [])
        if not of_b:
            left_a.setdefault(key[0], []).append(of_a)
        elif not of_a:
            left_b.setdefault(key[0], []).append(of_b)
        elif len(of_a) == len(of_b):
            yield from (((i,), (j,)) for i, j in zip(of_a, of_b, strict=True))
        elif key[1]:
            yield tuple(of_a), tuple(of_b)
        elif len(of_a) * len(of_b) <= _MOST_COMPARED:
            yield from _likest(of_a, of_b, distance)
        else:
            yield from (((i,), (j,)) for i, j in zip(of_a, of_b, strict=False))
    for what, some in left_a.items():  # texts that differ in more than what they say
        others = left_b.get(what, [])
        yield from ((tuple(i), tuple(j)) for i, j in zip(some, others, strict=False))


def _grouped(items: list[int], side: Items) -> dict[tuple[Hashable, int], list[int]]:
    """Items by what they are, texts by what tells them from others."""
    groups: dict[tuple[Hashable, int], list[int]] = {}
    for item in items:
        groups.setdefault((side.whats[item], side.texts[item]), []).append(item)
    return groups


def _in_order(pairs: Iterable[tuple[Group, Group]]) -> list[tuple[Group, Group]]:
    """As many pairs as do not cross each other."""
    by_first = {(of_a[0], of_b[0]): (of_a, of_b) for of_a, of_b in pairs}
    return [by_first[first] for first in longest_in_order(sorted(by_first))]


def _likest(of_a: list[int], of_b: list[int], distance: Distance) -> Iterator[tuple[Group, Group]]:
    """Pairs as many as can be, in order, so that they differ in as few places as can be."""
    if len(of_a) > len(of_b):
        turned = _likest(of_b, of_a, lambda j, i: distance(i, j))
        yield from ((i, j) for j, i in turned)
        return
    spare = len(of_b) - len(of_a)
    best: list[list[tuple[int, int]]] = [[(0, -1)] * (spare + 1)]
    """Of the first items of A with some of B left out: the cost, and what was left out before."""
    for place, i in enumerate(of_a):
        row: list[tuple[int, int]] = []
        for left_out in range(spare + 1):
            cost = distance((i,), (of_b[place + left_out],))
            before = min((best[-1][k][0], k) for k in range(left_out + 1))
            row.append((before[0] + cost, before[1]))
        best.append(row)
    left_out = min(range(spare + 1), key=lambda k: best[-1][k][0])
    chosen = []
    for place in range(len(of_a) - 1, -1, -1):
        chosen.append(((of_a[place],), (of_b[place + left_out],)))
        left_out = best[place + 1][left_out][1]
    yield from reversed(chosen)
