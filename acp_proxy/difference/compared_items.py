"""The items of a sequence as both recordings see them, and which of them have a chosen order."""

from collections.abc import Hashable, Sequence, Set
from functools import cached_property
from typing import NewType

from attrs import frozen

from acp_proxy.difference.defaults import READING
from acp_proxy.difference.frames import ItemType
from acp_proxy.difference.sequences import ItemIndex, MessageSequence, SideIndex

CommonIndex = NewType("CommonIndex", int)
"""A value of either recording: its index in A, or a negative number if only B has it."""
MOST_PASSED = 1000
"""Items that another one may have passed by chance."""

_NEVER = (0, 0)


class ComparedSide:
    """Makes the items of one recording comparable with those of the other.

    Args:
        side: the recording.
        common: each of its values, as both recordings know it.
    """

    def __init__(self, side: SideIndex, common: Sequence[CommonIndex]) -> None:
        self._side = side
        self._common = common
        self._hashes = [hash(tuple(map(common.__getitem__, one))) for one in side.placeholders]
        self._is_answer = [one.sort == "answer" for one in side.item_types]
        self._reads = [one.title in READING for one in side.item_types]

    def items(self, sequence: MessageSequence) -> "ComparedItems":
        """Returns the items of a sequence; they are equal if template and values are."""
        hashes, types = self._hashes, self._side.item_types
        texts = [0] * len(sequence)
        for item, text in sequence.texts.items():
            if text.chunk.template:
                texts[item] = hash((text.chunk.template, self._hash(text.chunk.placeholders)))
        columns = zip(sequence.templates, sequence.placeholders, strict=True)
        looking = self._side.looking
        return ComparedItems(
            self,
            sequence,
            [hash((template, hashes[k])) for template, k in columns],
            [types[index] for index in sequence.types],
            texts,
            [None if call is None else self._call(self._common[call]) for call in sequence.calls],
            {item for item, text in sequence.texts.items() if text.is_empty},
            [
                self._reads[index] or call in looking
                for index, call in zip(sequence.types, sequence.calls, strict=True)
            ],
            [self._is_answer[index] for index in sequence.types],
        )

    def answer_key(self, sequence: MessageSequence, item: ItemIndex) -> Hashable:
        """Tells an answer from others by its template, and by the request that it is for.

        Args:
            sequence: where it stands.
            item: the answer.
        """
        placeholders = self._side.placeholders[sequence.placeholders[item]]
        request = self._common[placeholders[0]] if placeholders else None
        return sequence.templates[item], request

    def request_of(self, sequence: MessageSequence, item: ItemIndex) -> CommonIndex | None:
        """Returns the request that an answer is for, if both recordings have it.

        Args:
            sequence: where it stands.
            item: any item; None is returned for one that is not an answer.
        """
        placeholders = self._side.placeholders[sequence.placeholders[item]]
        if not placeholders or not self._is_answer[sequence.types[item]]:
            return None
        return self._call(self._common[placeholders[0]])

    def span(self, call: CommonIndex) -> tuple[int, int]:
        """Returns the numbers of the first and of the last frame about a tool call."""
        return self._spans.get(call, _NEVER)

    @cached_property
    def _spans(self) -> dict[CommonIndex, tuple[int, int]]:
        """Of each tool call; computed when items have another order, which is rare."""
        spans: dict[CommonIndex, tuple[int, int]] = {}
        for sequence in self._side.sequences.values():
            for item, index in enumerate(sequence.calls):
                if index is not None:
                    call, number = self._common[index], sequence.first_frames[item]
                    first, last = spans.get(call, (number, number))
                    spans[call] = min(first, number), max(last, number)
        return spans

    def _hash(self, placeholders: Sequence[int]) -> int:
        return hash(tuple(map(self._common.__getitem__, placeholders)))

    @staticmethod
    def _call(common: CommonIndex) -> CommonIndex | None:
        return common if common >= 0 else None


@frozen
class ComparedItems:
    """The items of a sequence, in columns.

    Attributes:
        side: whose items they are.
        sequence: the same items by themselves.
        keys: of each item; equal items have equal keys.
        types: of each item.
        texts: of each item that is a text, a number that tells the text from others that it is no
            part of; 0 for all others.
        calls: the tool calls that items are about, if both recordings have them.
        empty: the texts without a character.
        looking: whether an item is about something that is only looked at.
        answers: whether an item is an answer; its id tells which request it is for.
    """

    side: ComparedSide
    sequence: MessageSequence
    keys: Sequence[int]
    types: Sequence[ItemType]
    texts: Sequence[int]
    calls: Sequence[CommonIndex | None]
    empty: Set[ItemIndex]
    looking: Sequence[bool]
    answers: Sequence[bool]

    def may_race(self, item: ItemIndex) -> bool:
        """Returns whether an item is about anything whose order may be chance."""
        return self.looking[item] or self.answers[item] or self.calls[item] is not None

    def are_open_at_once(self, one: CommonIndex | None, other: CommonIndex | None) -> bool:
        """Returns whether each of two tool calls began before the other one ended.

        Args:
            one: a tool call.
            other: another one.
        """
        if one is None or other is None:
            return False
        (one_first, one_last), (other_first, other_last) = (
            self.side.span(one),
            self.side.span(other),
        )
        return one_first < other_last and other_first < one_last

    def only_look(self, one: ItemIndex, other: ItemIndex) -> bool:
        """Returns whether two items only look at something, and not at the same.

        A file is read by the call that began just before, so these two have an order.

        Args:
            one: an item.
            other: another one.
        """
        calls = self.calls[one], self.calls[other]
        numbers = self.sequence.first_frames[one], self.sequence.first_frames[other]
        begun = (call is not None and self.side.span(call)[0] in numbers for call in calls)
        return self.looking[one] and self.looking[other] and not (None in calls and any(begun))


def is_race(
    a: ComparedItems, b: ComparedItems, item: ItemIndex, passed: Sequence[ItemIndex]
) -> bool:
    """Returns whether an item has only passed others with which its order is chance.

    Which of several calls that run at once ends first depends on their tools, and the order in
    which an agent looks at things has no effect. Answers come when they are ready; the order of
    requests is compared where they are made. test_changes.py has them.

    Args:
        a: the items of A.
        b: the items of B.
        item: of A.
        passed: items of A that stand on its other side in B.
    """
    if not 0 < len(passed) <= MOST_PASSED:
        return False
    return all(
        (a.answers[item] and a.answers[other])
        or (
            (a.calls[item] is None or a.calls[item] != a.calls[other])
            and (a.only_look(item, other) or _are_open_at_once(a, b, item, other))
        )
        for other in passed
    )


def _are_open_at_once(
    a: ComparedItems, b: ComparedItems, item: ItemIndex, other: ItemIndex
) -> bool:
    """Whether two items are about tool calls that ran at the same time, in both recordings."""
    calls = a.calls[item], a.calls[other]
    return a.are_open_at_once(*calls) and b.are_open_at_once(*calls)
