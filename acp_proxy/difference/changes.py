"""What became of the items of a lane: which ones only one side has, which changed, which moved."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from attrs import define, field, frozen

from acp_proxy.difference.alignment import Pair, align, longest_in_order

_MOST_COMPARED = 100
"""Pairs of items that are compared to find out which one has become which."""


Group = tuple[int, ...]
"""Items that are compared together: pieces of one text, or a single one."""


@frozen(slots=False)
class Items:
    """One side of a lane, in columns.

    Attributes:
        keys: what tells an item from others.
        whats: what an item is; only items that are alike in that can have changed.
        texts: what tells a text from others that it is no part of; 0 for what is no text.
        calls: the tool call that an item is about, by A's index of its id, or None.
    """

    keys: Sequence[Hashable]
    whats: Sequence[Hashable]
    texts: Sequence[int]
    calls: Sequence[int | None]

    def are_open_at_once(self, one: int, other: int) -> bool:
        """Whether each of two tool calls was spoken of before the other was done with."""
        spans = self._spans
        return (
            one in spans
            and other in spans
            and (spans[one][0] < spans[other][1] and spans[other][0] < spans[one][1])
        )

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """Where the first and the last item of each tool call stand."""
        spans: dict[int, tuple[int, int]] = {}
        for place, call in enumerate(self.calls):
            if call is not None:
                spans[call] = spans.get(call, (place, place))[0], place
        return spans


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
    changed: list[tuple[Group, Group]] = field(factory=list)
    moved: list[Pair] = field(factory=list)


Distance = Callable[[Group, Group], int]
"""In how many places items differ; in none, if all that told them apart is known to be the same."""


def changes(a: Items, b: Items, distance: Distance) -> Changes:
    """Compares the two sides of a lane."""
    same = align(a.keys, b.keys)
    ends = (len(a.keys), len(b.keys))
    gaps = [
        (range(a_left + 1, a_right), range(b_left + 1, b_right))
        for (a_left, b_left), (a_right, b_right) in pairwise([(-1, -1), *same, ends])
        if a_right - a_left > 1 or b_right - b_left > 1
    ]
    found = Changes(moved=_moved(a.keys, b.keys, gaps))
    places_a, places_b = [i for i, _ in same], [j for _, j in same]
    gone_a, gone_b = {i for i, _ in found.moved}, {j for _, j in found.moved}
    for a_gap, b_gap in gaps:
        rest_a = [i for i in a_gap if i not in gone_a]
        rest_b = [j for j in b_gap if j not in gone_b]
        pairs = _in_order(_paired(rest_a, rest_b, a, b, distance))
        found.changed += [pair for pair in pairs if distance(*pair)]
        paired_a = {i for group, _ in pairs for i in group}
        paired_b = {j for _, group in pairs for j in group}
        found.only_a += [i for i in rest_a if i not in paired_a]
        found.only_b += [(a_gap.stop - 1, j) for j in rest_b if j not in paired_b]
    found.moved = [
        (i, j)
        for i, j in found.moved
        if not _is_race(a, b, i, [places_a[k] for k in _passed(places_a, places_b, i, j)])
    ]
    return found


def _passed(places_a: list[int], places_b: list[int], i: int, j: int) -> range:
    """The aligned pairs that a moved item has passed."""
    before_a, before_b = bisect_left(places_a, i), bisect_left(places_b, j)
    return range(min(before_a, before_b), max(before_a, before_b))


def _is_race(a: Items, b: Items, item: int, passed: Iterable[int]) -> bool:
    """Whether an item has only passed what was said of tool calls that ran at the same time.

    Which of several calls is told of first is for their tools to decide, and not for the agent.
    """
    call = a.calls[item]
    others = {a.calls[other] for other in passed}
    return call is not None and all(
        other is not None
        and other != call
        and a.are_open_at_once(call, other)
        and b.are_open_at_once(call, other)
        for other in others
    )


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
