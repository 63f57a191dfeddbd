"""Aligns the two sides of each sequence. Finds items that changed, moved, or are only on one side.

A recording may lack the request of a response. Then the session of the response is unknown in this
recording, so A and B have the response in different sequences. Only the missing request is
reported.

A response that creates a session is in the sequence of this session, but an error is not. If a
request creates a session in only one recording, its response is reported as changed.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import cast

from attrs import define, evolve, field

from acp_proxy.base.alignment import align, gaps, longest_in_order
from acp_proxy.diff.compared_items import (
    MOST_PASSED,
    CommonIndex,
    ComparedItems,
    ComparedSide,
    is_race,
)
from acp_proxy.diff.explanation import SequenceMessages
from acp_proxy.diff.frame_types import NO_ANSWER, ItemType
from acp_proxy.diff.resplit_text import GroupPair, UnalignedSpan, empty_texts, resplit_texts
from acp_proxy.diff.sequences import ItemGroup, ItemIndex, ItemPair

_MOST_COMPARED = 100
"""The largest number of pairs of items that are compared to find changed items."""


@define
class Changes:
    """The differences between the two sides of a sequence, as indexes of items."""

    only_a: list[ItemIndex] = field(factory=list)
    only_b: list[tuple[int, ItemIndex]] = field(factory=list)
    """The items that only B has. Each pair is the preceding item of A (-1 if no item precedes) and
    the item of B."""
    changed: list[GroupPair] = field(factory=list)
    beside: list[GroupPair] = field(factory=list)
    """Pairs of equal texts whose chunks differ in members other than the text."""
    moved: list[ItemPair] = field(factory=list)


@define
class SequenceDiff:
    """Both sides of a sequence, and their differences. A side that lacks the sequence is empty."""

    messages: SequenceMessages
    changes: Changes


def changes(a: ComparedItems, b: ComparedItems, messages: SequenceMessages) -> Changes:
    """Compares the two sides of a sequence.

    Args:
        a: the items of A.
        b: the items of B.
        messages: reads the messages of the items that are not equal.
    """
    same = cast("list[ItemPair]", align(a.keys, b.keys))
    spans = [*_spans(same, len(a.keys), len(b.keys))]
    if not spans:
        return Changes()
    moved = _moved(a.keys, b.keys, spans)
    spans = _without(spans, moved)
    result = Changes(moved=[pair for pair in moved if not _is_free(a, b, same, *pair)])
    texts = resplit_texts(a, b, same, spans, messages)
    result.moved += texts.moved
    result.beside += texts.beside
    common = {*a.texts.values()} & {*b.texts.values()}
    for span in spans:
        rest_a = [i for i in span.a if i not in texts.a]
        rest_b = [j for j in span.b if j not in texts.b]
        pairs = _in_order(_paired(rest_a, rest_b, a, b, messages))
        result.changed += [pair for pair in pairs if messages.distance(*pair)]
        paired_a = {i for group, _ in pairs for i in group}
        paired_b = {j for _, group in pairs for j in group}
        around = same[max(0, span.place - 1) : span.place + 1]
        empty_a = empty_texts((i for i in rest_a if i not in paired_a), a, common, dict(around))
        turned = {j: i for i, j in around}
        empty_b = empty_texts((j for j in rest_b if j not in paired_b), b, common, turned)
        result.beside += [((i,), (near,)) for i, near in empty_a.items() if near is not None]
        result.beside += [((near,), (j,)) for j, near in empty_b.items() if near is not None]
        only_a = (i for i in rest_a if i not in paired_a and i not in empty_a)
        only_b = (j for j in rest_b if j not in paired_b and j not in empty_b)
        result.only_a += [i for i in only_a if not messages.a.is_chance(i)]
        result.only_b += [(span.after, j) for j in only_b if not messages.b.is_chance(j)]
    return result


def remove_equal_responses(
    sequences: Sequence[SequenceDiff], side_a: ComparedSide, side_b: ComparedSide
) -> None:
    """Cleans up `only_a` and `only_b`: removes each response that both sides have.

    If one side lacks the request of a response, the two sides have the response in different
    sequences. So the response was not aligned.

    Args:
        sequences: all sequences, which are modified.
        side_a: the items of A.
        side_b: the items of B.
    """
    left_a = [(sequence, i) for sequence in sequences for i in sequence.changes.only_a]
    left_b = [(sequence, j) for sequence in sequences for _, j in sequence.changes.only_b]
    items_a = [(sequence.messages.a, i) for sequence, i in left_a]
    items_b = [(sequence.messages.b, j) for sequence, j in left_b]
    titles_a, titles_b = (
        [sequence.title(i) for sequence, i in items] for items in (items_a, items_b)
    )
    if NO_ANSWER not in titles_a and NO_ANSWER not in titles_b:
        return
    keys_a = [
        (sequence.key.direction, side_a.answer_key(sequence.sequence, i)) for sequence, i in items_a
    ]
    keys_b = [
        (sequence.key.direction, side_b.answer_key(sequence.sequence, j)) for sequence, j in items_b
    ]
    places = {key: place for place, key in enumerate(keys_b)}
    for (sequence, i), title, key in zip(left_a, titles_a, keys_a, strict=True):
        place = places.get(key)
        if place is not None and (title == NO_ANSWER) != (titles_b[place] == NO_ANSWER):
            other, j = left_b[places.pop(key)]
            _remove(sequence, i, other, j)


def changed_responses(
    sequences: Sequence[SequenceDiff], side_a: ComparedSide, side_b: ComparedSide
) -> list[SequenceDiff]:
    """Pairs the responses of A and B to one request if they are in different sequences.

    Args:
        sequences: all sequences. Paired responses are removed from them.
        side_a: the items of A.
        side_b: the items of B.

    Returns:
        A sequence for each pair, in which the pair is the only change.
    """
    left_b: dict[tuple[str, str, CommonIndex], tuple[SequenceDiff, ItemIndex]] = {}
    for sequence in sequences:
        b = sequence.messages.b
        for _, j in sequence.changes.only_b:
            if (request := side_b.request_of(b.sequence, j)) is not None:
                left_b[b.key.direction, b.title(j), request] = sequence, j
    sequence_diffs: list[SequenceDiff] = []
    for sequence in sequences if left_b else ():
        a = sequence.messages.a
        for i in [*sequence.changes.only_a]:
            request = side_a.request_of(a.sequence, i)
            if request is None:
                continue
            other, j = left_b.pop((a.key.direction, a.title(i), request), (sequence, i))
            if other is not sequence:
                _remove(sequence, i, other, j)
                messages = evolve(sequence.messages, b=other.messages.b)
                sequence_diffs.append(SequenceDiff(messages, Changes(changed=[((i,), (j,))])))
    return sequence_diffs


def _spans(same: list[ItemPair], size_a: int, size_b: int) -> Iterator[UnalignedSpan]:
    """Yields each group of unaligned items that is between two aligned pairs."""
    for place, (of_a, of_b) in enumerate(gaps(same, size_a, size_b)):
        if of_a or of_b:
            items_a, items_b = [*map(ItemIndex, of_a)], [*map(ItemIndex, of_b)]
            yield UnalignedSpan(place, items_a, items_b, of_a.stop - 1)


def _without(spans: list[UnalignedSpan], moved: list[ItemPair]) -> list[UnalignedSpan]:
    gone_a, gone_b = {i for i, _ in moved}, {j for _, j in moved}
    return [
        evolve(
            span, a=[i for i in span.a if i not in gone_a], b=[j for j in span.b if j not in gone_b]
        )
        for span in spans
    ]


def _is_free(
    a: ComparedItems, b: ComparedItems, same: list[ItemPair], i: ItemIndex, j: ItemIndex
) -> bool:
    """Whether a moved item may have passed the items between its two positions by chance."""
    if not a.may_race(i):
        return False
    before_a = bisect_left(same, i, key=lambda pair: pair[0])
    before_b = bisect_left(same, j, key=lambda pair: pair[1])
    first, last = sorted((before_a, before_b))
    return is_race(a, b, i, [at for at, _ in same[first : min(last, first + MOST_PASSED + 1)]])


def _moved(a: Sequence[int], b: Sequence[int], spans: list[UnalignedSpan]) -> list[ItemPair]:
    """Pairs equal items whose order differs between A and B."""
    waiting: defaultdict[int, list[ItemIndex]] = defaultdict(list)
    for span in reversed(spans):
        for j in reversed(span.b):
            waiting[b[j]].append(j)
    lost = (i for span in spans for i in span.a)
    return [(i, waiting[a[i]].pop()) for i in lost if waiting.get(a[i])]


def _paired(
    rest_a: list[ItemIndex],
    rest_b: list[ItemIndex],
    a: ComparedItems,
    b: ComparedItems,
    messages: SequenceMessages,
) -> Iterator[GroupPair]:
    """Pairs items of the same type within one span, in order.

    If one side has a message in the middle of a text, the text has several parts on that side. All
    parts are paired with the whole text of the other side.
    """
    left_a: dict[Hashable, list[list[ItemIndex]]] = {}
    left_b: dict[Hashable, list[list[ItemIndex]]] = {}
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
            yield from _likest(of_a, of_b, messages)
        else:
            yield from (((i,), (j,)) for i, j in zip(of_a, of_b, strict=False))
    for item_type, some in left_a.items():  # the rest includes texts whose chunks differ
        others = left_b.get(item_type, [])
        yield from ((tuple(i), tuple(j)) for i, j in zip(some, others, strict=False))


def _grouped(
    items: list[ItemIndex], side: ComparedItems
) -> dict[tuple[ItemType, int | None], list[ItemIndex]]:
    """Groups items by type. Items that are texts are also grouped by the key of the text."""
    groups: dict[tuple[ItemType, int | None], list[ItemIndex]] = {}
    for item in items:
        groups.setdefault((side.type_of(item), side.texts.get(item)), []).append(item)
    return groups


def _in_order(pairs: Iterable[GroupPair]) -> list[GroupPair]:
    """Returns as many pairs as possible whose order is the same in A and B."""
    by_first: dict[tuple[int, int], tuple[ItemGroup, ItemGroup]] = {
        (of_a[0], of_b[0]): (of_a, of_b) for of_a, of_b in pairs
    }
    return [by_first[first] for first in longest_in_order(sorted(by_first))]


def _likest(
    of_a: list[ItemIndex], of_b: list[ItemIndex], messages: SequenceMessages
) -> Iterator[GroupPair]:
    """Pairs each item of the shorter list with an item of the longer list, in order.

    Chooses the pairs that together have the fewest differing places.
    """
    distances = [[messages.distance((i,), (j,)) for j in of_b] for i in of_a]
    if len(of_a) > len(of_b):
        turned = _cheapest([*zip(*distances, strict=True)])
        yield from (((of_a[i],), (of_b[j],)) for j, i in turned)
    else:
        yield from (((of_a[i],), (of_b[j],)) for i, j in _cheapest(distances))


def _cheapest(costs: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """Chooses one column for each row of a table of costs, so that the sum of costs is smallest.

    The chosen columns increase from row to row. Returns pairs of row and column.
    """
    spare = len(costs[0]) - len(costs)
    best: list[list[tuple[int, int]]] = [[(0, -1)] * (spare + 1)]
    """The first list describes the state before the first row. Each row that is read adds a list.
    Item n of a list is the best choice that leaves out n columns: its sum of costs, and the index
    of the preceding choice in the previous list."""
    for place, row in enumerate(costs):
        sums: list[tuple[int, int]] = []
        for left_out in range(spare + 1):
            before = min((best[-1][k][0], k) for k in range(left_out + 1))
            sums.append((before[0] + row[place + left_out], before[1]))
        best.append(sums)
    left_out = min(range(spare + 1), key=lambda k: best[-1][k][0])
    chosen: list[tuple[int, int]] = []
    for place in range(len(costs) - 1, -1, -1):
        chosen.append((place, place + left_out))
        left_out = best[place + 1][left_out][1]
    return chosen[::-1]


def _remove(sequence_diff: SequenceDiff, i: ItemIndex, other: SequenceDiff, j: ItemIndex) -> None:
    sequence_diff.changes.only_a.remove(i)
    other.changes.only_b[:] = [pair for pair in other.changes.only_b if pair[1] != j]
