"""Finds texts that are equal as a whole but are split into different parts.

A text is split where its agent sends another message, and where a member besides the text changes.
If the whole text is equal in A and B, only the message or the member that splits it is a
difference.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import accumulate
from typing import NamedTuple

from attrs import define, field, frozen

from acp_proxy.base.alignment import longest_in_order
from acp_proxy.diff.compared_items import ComparedItems
from acp_proxy.diff.explanation import SequenceMessages
from acp_proxy.diff.frame_types import ItemType
from acp_proxy.diff.sequences import ItemGroup, ItemIndex, ItemPair

_MOST_SPANS = 4
"""The parts of a text may be spread over at most this many consecutive spans."""
_MOST_BETWEEN = 16
"""The largest number of aligned items between the first and the last span with parts of a text."""
_MOST_READ = 4096
"""The largest number of parts that are read. Each further part is a separate difference."""
_WEIGHT = 2
"""The weight of a part of a text when moved items are chosen. Any other item has the weight 1."""

GroupPair = tuple[ItemGroup, ItemGroup]
"""Items of A and of B that are compared with each other."""


@frozen
class UnalignedSpan:
    """The unaligned items between two aligned pairs."""

    place: int
    """The number of aligned pairs before the span."""
    a: list[ItemIndex]
    b: list[ItemIndex]
    after: int
    """The last item of A before the pair at the end of the span; -1 without an item."""


@define
class ResplitText:
    """The parts of texts that are equal but split differently."""

    a: set[ItemIndex] = field(factory=set)
    b: set[ItemIndex] = field(factory=set)
    moved: list[ItemPair] = field(factory=list)
    """Pairs whose order differs between A and B. Most are items between the parts of a text."""
    beside: list[GroupPair] = field(factory=list)
    """Pairs of parts whose chunks differ in members other than the text."""


def resplit_texts(
    a: ComparedItems,
    b: ComparedItems,
    same: Sequence[ItemPair],
    spans: Sequence[UnalignedSpan],
    messages: SequenceMessages,
) -> ResplitText:
    """Finds texts that are equal in A and B, but are split differently.

    Args:
        a: the items of A.
        b: the items of B.
        same: the aligned items.
        spans: the spans between the aligned items.
        messages: the texts of the items.
    """
    resplit = ResplitText()
    texts = sorted(_equal_texts(a, b, spans, messages), key=lambda text: text.first)
    for text in texts:
        resplit.a.update(text.a)
        resplit.b.update(text.b)
        resplit.beside += _beside(a, b, text)
    while texts:
        together = [texts.pop(0)]
        last = together[0].last
        while texts and texts[0].first <= last:
            together.append(texts.pop(0))
            last = max(last, together[-1].last)
        resplit.moved += _moved(together, same[together[0].first : last])
    return resplit


def empty_texts(
    items: Iterable[ItemIndex],
    side: ComparedItems,
    common: Set[int],
    around: dict[ItemIndex, ItemIndex],
) -> dict[ItemIndex, ItemIndex | None]:
    """Finds empty texts that are not differences: some agents send empty texts at random.

    Args:
        items: the items that only one side has.
        side: the side of the items.
        common: the keys of the texts that both sides have.
        around: the aligned items directly before and after the items, each with its partner on the
            other side.

    Returns:
        Each empty text, with the item of the other side that it is compared with: the partner of a
        neighbouring text of the same type. If the key of the empty text is in `common`, the text is
        not compared, and its item is None.
    """
    pairs: dict[ItemIndex, ItemIndex | None] = {}
    for item in items:
        if not side.is_empty(item):
            continue
        if side.texts.get(item) in common:
            pairs[item] = None
            continue
        for near in (ItemIndex(item - 1), ItemIndex(item + 1)):
            if near in around and near in side.texts and side.type_of(near) == side.type_of(item):
                pairs[item] = around[near]
    return pairs


class _EqualText(NamedTuple):
    """A text that is equal on both sides."""

    first: int
    """The number of aligned pairs before the first part of the text."""
    last: int
    """The number of aligned pairs before the last part of the text."""
    a: ItemGroup
    b: ItemGroup
    cuts: list[ItemPair]
    """Pairs of parts, one of A and one of B, that overlap in the text."""


def _equal_texts(
    a: ComparedItems, b: ComparedItems, spans: Sequence[UnalignedSpan], messages: SequenceMessages
) -> Iterator[_EqualText]:
    budget = _MOST_READ
    for item_type, places in _by_type(a, b, spans).items():
        start = 0
        while start < len(places) and budget > 0:
            first, step = places[start], 1
            of_a: list[ItemIndex] = []
            of_b: list[ItemIndex] = []
            for size, span in enumerate(places[start : start + _MOST_SPANS], 1):
                if span.place - first.place > _MOST_BETWEEN:
                    break
                of_a += _parts(span.a, a, item_type)
                of_b += _parts(span.b, b, item_type)
                if not of_a or not of_b or (size == len(of_a) == len(of_b) == 1):
                    continue
                budget -= len(of_a) + len(of_b)
                if budget < 0:
                    break
                texts_a = [text for i in of_a if (text := messages.a.text(i)) is not None]
                texts_b = [text for j in of_b if (text := messages.b.text(j)) is not None]
                if texts_a and texts_b and "".join(texts_a) == "".join(texts_b):
                    cuts = _cuts(of_a, [*map(len, texts_a)], of_b, [*map(len, texts_b)])
                    yield _EqualText(first.place, span.place, tuple(of_a), tuple(of_b), [*cuts])
                    step = size
                    break
            start += step


def _by_type(
    a: ComparedItems, b: ComparedItems, spans: Sequence[UnalignedSpan]
) -> dict[ItemType, list[UnalignedSpan]]:
    """Returns the spans that contain texts, by the type of the texts."""
    places: dict[ItemType, list[UnalignedSpan]] = {}
    for span in spans:
        types = [a.type_of(i) for i in span.a if i in a.texts]
        types += [b.type_of(j) for j in span.b if j in b.texts]
        for item_type in dict.fromkeys(types):
            places.setdefault(item_type, []).append(span)
    return places


def _parts(items: list[ItemIndex], side: ComparedItems, item_type: ItemType) -> Iterator[ItemIndex]:
    return (item for item in items if item in side.texts and side.type_of(item) == item_type)


def _cuts(
    a: list[ItemIndex], sizes_a: list[int], b: list[ItemIndex], sizes_b: list[int]
) -> Iterator[ItemPair]:
    """Yields the pairs of parts, one of A and one of B, that overlap in the text."""
    ends_a, ends_b = [*accumulate(sizes_a)], [*accumulate(sizes_b)]
    after = 0
    for end in sorted({*ends_a, *ends_b}):
        if end > after:
            yield a[bisect_left(ends_a, end)], b[bisect_left(ends_b, end)]
        after = end


def _beside(a: ComparedItems, b: ComparedItems, text: _EqualText) -> Iterator[GroupPair]:
    """Yields overlapping parts, one of A and one of B, that differ in more than the text."""
    for i, j in dict.fromkeys(text.cuts):
        if a.texts[i] != b.texts[j]:
            yield (i,), (j,)


def _moved(texts: list[_EqualText], between: Sequence[ItemPair]) -> list[ItemPair]:
    """Returns the pairs of items that count as moved. These are as few pairs as possible.

    All remaining pairs have the same order in A and B. A part of a text counts as `_WEIGHT` pairs,
    so that it seldom counts as moved.
    """
    points: list[tuple[tuple[int, int], tuple[int, int], ItemPair]] = []
    number = 0
    for text in texts:
        for cut in text.cuts:
            for _ in range(_WEIGHT):
                number += 1
                points.append(((cut[0], number), (cut[1], number), cut))
    points += [((pair[0], 0), (pair[1], 0), pair) for pair in between]
    points.sort()
    ranks = {place: rank for rank, place in enumerate(sorted(point[1] for point in points))}
    order = longest_in_order([(n, ranks[point[1]]) for n, point in enumerate(points)])
    kept = {points[n][2] for n, _ in order}
    return list(dict.fromkeys(point[2] for point in points if point[2] not in kept))
