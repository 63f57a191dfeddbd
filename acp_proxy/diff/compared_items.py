"""Makes the items of two recordings comparable, and decides whether the order of items matters."""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import NewType

from acp_proxy.diff.default_rules import READING
from acp_proxy.diff.frame_types import ItemType
from acp_proxy.diff.named_values import ValueIndex
from acp_proxy.diff.sequences import ItemIndex, MessageSequence, SideIndex

CommonIndex = NewType("CommonIndex", int)
"""An index that corresponding values of A and B share: the index in A. It is negative for a value
that only B has."""
MOST_PASSED = 1000
"""A moved item can have passed at most this many items by chance."""

_NEVER = (0, 0)


class ComparedSide:
    """Makes the items of one recording comparable with the items of the other recording.

    Args:
        side: the recording.
        common: for each value of this recording, its `CommonIndex`.
    """

    def __init__(self, side: SideIndex, common: Sequence[CommonIndex]) -> None:
        self.side = side
        self.common = common
        self.hashes = [*map(self.hash_of, side.placeholders)]
        """For each `PlaceholdersIndex`, a hash of the values in the message."""

    def hash_of(self, placeholders: Sequence[ValueIndex]) -> int:
        """Returns a hash of some values. Corresponding values of A and B have equal hashes."""
        return hash(tuple(map(self.common.__getitem__, placeholders)))

    def answer_key(self, sequence: MessageSequence, item: ItemIndex) -> Hashable:
        """Returns a key for an answer, made from its template and its request.

        Args:
            sequence: the sequence with the answer.
            item: the answer.
        """
        placeholders = self.side.placeholders[sequence.placeholders[item]]
        request = self.common[placeholders[0]] if placeholders else None
        return sequence.templates[item], request

    def request_of(self, sequence: MessageSequence, item: ItemIndex) -> CommonIndex | None:
        """Returns the common index of the request of an answer; None if only B has the request.

        Args:
            sequence: the sequence of the item.
            item: any item; the result is None if the item is not an answer.
        """
        placeholders = self.side.placeholders[sequence.placeholders[item]]
        if not placeholders or self.side.type_of(sequence, item).sort != "answer":
            return None
        return self.in_both(placeholders[0])

    def in_both(self, value: ValueIndex | None) -> CommonIndex | None:
        """Returns the `CommonIndex` of a value; None for None, or for a value that only B has."""
        return None if value is None or self.common[value] < 0 else self.common[value]

    def span(self, call: CommonIndex) -> tuple[int, int]:
        """Returns the numbers of the first and the last frame about a tool call."""
        return self._spans.get(call, _NEVER)

    @cached_property
    def _spans(self) -> dict[CommonIndex, tuple[int, int]]:
        """The first and the last frame about each tool call. Computed only if items have moved."""
        spans: dict[CommonIndex, tuple[int, int]] = {}
        for sequence in self.side.sequences.values():
            for index, number in zip(sequence.calls, sequence.first_frames, strict=True):
                if index is not None:
                    call = self.common[index]
                    first, last = spans.get(call, (number, number))
                    spans[call] = min(first, number), max(last, number)
        return spans


class ComparedItems:
    """The items of a sequence. At first, only the keys for aligning the items are computed.

    Args:
        side: the recording of the items.
        sequence: the items.
    """

    def __init__(self, side: ComparedSide, sequence: MessageSequence) -> None:
        self._side = side
        self._sequence = sequence
        columns = zip(sequence.templates, sequence.placeholders, strict=True)
        self.keys = [hash((template, side.hashes[k])) for template, k in columns]
        """A key for each item. Equal items have equal keys."""
        self.texts = {
            item: hash((text.chunk.template, side.hash_of(text.chunk.placeholders)))
            for item, text in sequence.texts.items()
            if text.chunk.template
        }
        """For each item that is a text, the key of the text."""

    def type_of(self, item: ItemIndex) -> ItemType:
        """Returns the type of an item."""
        return self._side.side.type_of(self._sequence, item)

    def is_empty(self, item: ItemIndex) -> bool:
        """Whether an item is an empty text."""
        text = self._sequence.texts.get(item)
        return text is not None and text.is_empty

    def is_answer(self, item: ItemIndex) -> bool:
        """Whether an item is a response or an error."""
        return self.type_of(item).sort == "answer"

    def call(self, item: ItemIndex) -> CommonIndex | None:
        """Returns the tool call of an item; None if it has none, or if only B has the call."""
        return self._side.in_both(self._sequence.calls[item])

    def looks(self, item: ItemIndex) -> bool:
        """Whether an item reads a file, or belongs to a tool call that changes nothing."""
        is_read = self.type_of(item).title in READING
        return is_read or self._sequence.calls[item] in self._side.side.looking

    def may_race(self, item: ItemIndex) -> bool:
        """Whether the position of an item can differ between any two runs by chance."""
        return self.looks(item) or self.is_answer(item) or self.call(item) is not None

    def are_open_at_once(self, call: CommonIndex | None, other: CommonIndex | None) -> bool:
        """Whether two tool calls were open at the same time.

        Args:
            call: a tool call.
            other: another tool call.
        """
        if call is None or other is None:
            return False
        first, last = self._side.span(call)
        other_first, other_last = self._side.span(other)
        return first < other_last and other_first < last

    def only_look(self, item: ItemIndex, other: ItemIndex) -> bool:
        """Whether two items change nothing, and certainly belong to different actions.

        A file request and the first message of a tool call may belong to one action.

        Args:
            item: an item.
            other: another item.
        """
        calls = self.call(item), self.call(other)
        numbers = self._sequence.first_frames[item], self._sequence.first_frames[other]
        begun = (call is not None and self._side.span(call)[0] in numbers for call in calls)
        return self.looks(item) and self.looks(other) and not (None in calls and any(begun))


def is_race(
    a: ComparedItems, b: ComparedItems, item: ItemIndex, passed: Sequence[ItemIndex]
) -> bool:
    """Whether a moved item may have passed other items by chance. Such a move is not a difference.

    Chance decides in which order parallel calls end, in which order answers come, and in which
    order an agent reads things.

    Args:
        a: the items of A.
        b: the items of B.
        item: the moved item, in A.
        passed: the items of A that are before the item in one recording and after it in the other.
    """
    if not 0 < len(passed) <= MOST_PASSED:
        return False
    return all(
        (a.is_answer(item) and a.is_answer(other)) or _calls_race(a, b, item, other)
        for other in passed
    )


def _calls_race(a: ComparedItems, b: ComparedItems, item: ItemIndex, other: ItemIndex) -> bool:
    calls = a.call(item), a.call(other)
    if calls[0] is not None and calls[0] == calls[1]:
        return False
    at_once = a.are_open_at_once(*calls) and b.are_open_at_once(*calls)
    return at_once or a.only_look(item, other)
