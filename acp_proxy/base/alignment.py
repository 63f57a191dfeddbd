"""Aligns two sequences: pairs equal items, in order.

The algorithm extends patience diff:

- Items that occur once in A and once in B are paired.
- The longest chain of pairs in which both positions increase is kept.
- The algorithm repeats this in each gap between two kept pairs.
- If no single item is unique, unique runs of 2 items are paired. If no run of 2 items is unique,
  longer runs are tried.
- In small ranges, a longest common subsequence is paired.

Time is O(n log n) and memory O(n), where n is the number of items that differ.

Libraries were considered. `difflib` takes quadratic time. Libraries that compute the longest common
subsequence need n * m bits. The best-known implementation of patience diff has an incompatible
licence.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from operator import lt

Items = Sequence[Hashable]
Pair = tuple[int, int]
_STRETCHES = (1, 2, 4, 8, 16, 32)
"""The lengths of runs of items, in the order in which unique runs are searched for."""
_PASSES = 32
"""After this many passes over all items, the remaining ranges are aligned in one pass that is less
precise."""
_EXACT = 1024
"""Two ranges are aligned exactly if the product of their lengths is at most this number."""


def align(a: Items, b: Items) -> list[Pair]:
    """Pairs equal items, and returns the two positions of each pair.

    The positions increase in A and in B.

    Args:
        a: the items of A.
        b: the items of B.
    """
    matches: list[Pair] = []
    spans = [(0, len(a), 0, len(b))]
    budget = _PASSES * (len(a) + len(b))
    while spans:
        a_start, a_end, b_start, b_end = spans.pop()
        while a_start < a_end and b_start < b_end and a[a_start] == b[b_start]:
            matches.append((a_start, b_start))
            a_start, b_start = a_start + 1, b_start + 1
        while a_start < a_end and b_start < b_end and a[a_end - 1] == b[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            matches.append((a_end, b_end))
        if a_start == a_end or b_start == b_end:
            continue
        range_a, range_b = range(a_start, a_end), range(b_start, b_end)
        if len(range_a) * len(range_b) <= _EXACT:
            matches += _exactly(a, range_a, b, range_b)
            continue
        budget -= len(range_a) + len(range_b)
        if budget < 0:
            matches += _at_once(a, range_a, b, range_b)
            continue
        anchors = _anchors(a, range_a, b, range_b)
        if not anchors:
            continue
        matches += anchors
        bounds = [(a_start - 1, b_start - 1), *anchors, (a_end, b_end)]
        for (a_left, b_left), (a_right, b_right) in pairwise(bounds):
            if a_right - a_left > 1 and b_right - b_left > 1:
                spans.append((a_left + 1, a_right, b_left + 1, b_right))
    return sorted(matches)


def gaps(pairs: Sequence[Pair], size_a: int, size_b: int) -> Iterator[tuple[range, range]]:
    """Yields the unpaired ranges of A and B: before, between and after the pairs.

    A range of A, a range of B or both may be empty.

    Args:
        pairs: the positions of the paired items, in order.
        size_a: the number of items in A.
        size_b: the number of items in B.
    """
    for (a_left, b_left), (a_right, b_right) in pairwise([(-1, -1), *pairs, (size_a, size_b)]):
        yield range(a_left + 1, a_right), range(b_left + 1, b_right)


def longest_in_order(pairs: Sequence[Pair]) -> list[Pair]:
    """Returns the longest subsequence of pairs in which both positions increase."""
    places = [place for _, place in pairs]
    if all(map(lt, places, places[1:])):
        return list(pairs)  # the usual case
    tails: list[int] = []
    last: list[int] = []  # by length of a chain: the index of its last pair
    before = [-1] * len(pairs)
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(tails, place)
        before[index] = last[length - 1] if length else -1
        if length == len(tails):
            tails.append(place)
            last.append(index)
        else:
            tails[length], last[length] = place, index
    chosen: list[Pair] = []
    index = last[-1] if last else -1
    while index >= 0:
        chosen.append(pairs[index])
        index = before[index]
    return chosen[::-1]


def _anchors(a: Items, range_a: range, b: Items, range_b: range) -> list[Pair]:
    """Pairs the items that occur once in A and once in B, and returns the positions of each pair.

    If there are no such items, pairs runs of items; each run occurs once in A and once in B. If
    there are no such runs, pairs the rarest items that A and B have in common.

    In the result, the positions in A and the positions in B increase.
    """
    for length in _STRETCHES:
        in_a, in_b = _once(a, range_a, length), _once(b, range_b, length)
        pairs = [(place, in_b[item]) for item, place in in_a.items() if item in in_b]
        if pairs:
            return longest_in_order(pairs)
    return longest_in_order(list(_rarest(a, range_a, b, range_b)))


def _once(items: Items, within: range, length: int) -> dict[Hashable, int]:
    """Returns the items (or runs of ``length`` items) that occur once, each with its position."""
    places: dict[Hashable, int] = {}
    twice: set[Hashable] = set()
    for place in range(within.start, within.stop - length + 1):
        item = items[place] if length == 1 else tuple(items[place : place + length])
        if item in places:
            twice.add(item)
        else:
            places[item] = place
    for item in twice:
        del places[item]
    return places


def _rarest(a: Items, range_a: range, b: Items, range_b: range) -> Iterator[Pair]:
    """Pairs the rarest common items: the n-th occurrence in A with the n-th in B, in order."""
    in_a, in_b = _places(a, range_a), _places(b, range_b)
    common = [item for item in in_a if item in in_b]
    fewest = min((max(len(in_a[item]), len(in_b[item])) for item in common), default=0)
    wanted = [item for item in common if max(len(in_a[item]), len(in_b[item])) == fewest]
    yield from sorted(pair for item in wanted for pair in zip(in_a[item], in_b[item], strict=False))


def _at_once(a: Items, range_a: range, b: Items, range_b: range) -> list[Pair]:
    """Pairs the n-th occurrence of an item in A with the n-th in B; drops pairs that cross."""
    in_a, in_b = _places(a, range_a), _places(b, range_b)
    pairs = (pair for item in in_a if item in in_b for pair in zip(in_a[item], in_b[item]))  # noqa: B905
    return longest_in_order(sorted(pairs))


def _places(items: Items, within: range) -> defaultdict[Hashable, list[int]]:
    places: defaultdict[Hashable, list[int]] = defaultdict(list)
    for place in within:
        places[items[place]].append(place)
    return places


def _exactly(a: Items, range_a: range, b: Items, range_b: range) -> Iterator[Pair]:
    """Yields the pairs of the longest common subsequence. Compares each item of A with each of B.

    If several subsequences are longest, chooses the subsequence that leaves the most unpaired items
    of A directly opposite unpaired items of B.
    """
    width, b_start = len(range_b), range_b.start
    a_start, a_end = range_a.start, range_a.stop
    same = width + len(range_a) + 1  # outweighs all unequal pairs together
    rows = [[0] * (width + 1)]
    for i in range(a_end - 1, a_start - 1, -1):
        below, row = rows[-1], [0] * (width + 1)
        for j in range(width - 1, -1, -1):
            weight = same if a[i] == b[b_start + j] else 1
            row[j] = max(below[j + 1] + weight, below[j], row[j + 1])
        rows.append(row)
    i, j = a_start, 0
    while i < a_end and j < width:
        row, below = rows[a_end - i], rows[a_end - i - 1]
        is_same = a[i] == b[b_start + j]
        if row[j] == below[j + 1] + (same if is_same else 1):
            if is_same:
                yield i, b_start + j
            i, j = i + 1, j + 1
        elif row[j] == below[j]:
            i += 1
        else:
            j += 1
