"""The items of a lane in columns, and which of them have an order that is somebody's choice."""

from collections.abc import Callable, Hashable, Sequence, Set
from functools import cached_property

from attrs import frozen

from acp_proxy.difference.defaults import READING
from acp_proxy.difference.lanes import MessageSequence, SideIndex

MOST_PASSED = 1000
"""Others that somebody can pass without having meant to."""

_NEVER = (0, 0)

Group = tuple[int, ...]
"""Items that are compared together: pieces of one text, or a single one."""


@frozen
class Items:
    """One side of a lane, in columns.

    Attributes:
        keys: what tells an item from others.
        whats: what an item is; only items that are alike in that can have changed.
        texts: what tells a text from others that it is no part of; 0 for what is no text.
        calls: the tool call that an item is about, by A's index of its id, or None.
        number: of the first frame of an item.
        span: from which to which number a tool call is spoken of, in any lane.
        silent: texts that say nothing.
        looking: whether an item is about something that is only looked at.
        answers: whether an item is an answer; which request it belongs to is told by its id.
    """

    keys: Sequence[Hashable]
    whats: Sequence[Hashable]
    texts: Sequence[int]
    calls: Sequence[int | None]
    number: Callable[[int], int]
    span: Callable[[int], tuple[int, int]]
    silent: Set[int]
    looking: Sequence[bool]
    answers: Sequence[bool]

    def may_race(self, item: int) -> bool:
        """Whether an item is about anything whose order may be nobody's choice."""
        return self.looking[item] or self.answers[item] or self.calls[item] is not None

    def are_open_at_once(self, one: int | None, other: int | None) -> bool:
        """Whether each of two tool calls was spoken of before the other was done with."""
        if one is None or other is None:
            return False
        (one_first, one_last), (other_first, other_last) = self.span(one), self.span(other)
        return one_first < other_last and other_first < one_last

    def only_look(self, one: int, other: int) -> bool:
        """Whether two items are about things that are only looked at, and not about the same.

        A file that is read may be what a call that is told of first has begun with.
        """
        calls = self.calls[one], self.calls[other]
        numbers = self.number(one), self.number(other)
        begun = (call is not None and self.span(call)[0] in numbers for call in calls)
        return self.looking[one] and self.looking[other] and not (None in calls and any(begun))


class Columns:
    """Makes items of lanes.

    Args:
        told: all that one side said.
        names: of each of its values: A's index of it, or a negative number if A has none.
    """

    def __init__(self, told: SideIndex, names: Sequence[int]) -> None:
        self._told = told
        self._names = names
        self._slots = [hash(tuple(map(names.__getitem__, slots))) for slots in told.slots]
        self._answers = [what.sort == "answer" for what in told.whats]
        self._reads = [what.title in READING for what in told.whats]

    def items(self, lane: MessageSequence) -> Items:
        """A lane in columns; items are told apart by their forms and by what their values are."""
        slots = self._slots
        return Items(
            [hash((form, slots[k])) for form, k in zip(lane.forms, lane.slots, strict=True)],
            [self._told.whats[index] for index in lane.whats],
            [
                hash((base, slots[k])) if base else 0
                for base, k in zip(lane.bases, lane.base_slots, strict=True)
            ],
            [self._call(index) for index in lane.calls],
            lane.number,
            self.span,
            lane.silent,
            [
                self._reads[what] or call in self._told.looking
                for what, call in zip(lane.whats, lane.calls, strict=True)
            ],
            [self._answers[what] for what in lane.whats],
        )

    def answer(self, lane: MessageSequence, item: int) -> int:
        """What tells an answer from others by its form, and by the request that it is for."""
        slots = self._told.slots[lane.slots[item]]
        return hash((lane.forms[item], self._names[slots[0]] if slots else None))

    def request(self, lane: MessageSequence, item: int) -> int | None:
        """The request that an answer is for, by A's index; None for what is no answer."""
        slots = self._told.slots[lane.slots[item]]
        if not slots or not self._answers[lane.whats[item]] or self._names[slots[0]] < 0:
            return None
        return self._names[slots[0]]

    def span(self, call: int) -> tuple[int, int]:
        """The numbers of the first and of the last frame about a tool call."""
        return self._spans.get(call, _NEVER)

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """Of each tool call; found out when somebody asks."""
        spans: dict[int, tuple[int, int]] = {}
        for lane in self._told.lanes.values():
            for item, index in enumerate(lane.calls):
                if index >= 0:
                    call, number = self._names[index], lane.number(item)
                    first, last = spans.get(call, (number, number))
                    spans[call] = min(first, number), max(last, number)
        return spans

    def _call(self, index: int) -> int | None:
        """A tool call by A's index, if A has it."""
        return self._names[index] if index >= 0 and self._names[index] >= 0 else None


def is_race(a: Items, b: Items, item: int, passed: Sequence[int]) -> bool:
    """Whether an item has only passed others with which its order is nobody's choice.

    Which of several calls that run at the same time is told of first is for their tools to decide;
    and which of several things an agent looks at first makes no difference. Answers come when they
    are ready; the order of requests is compared where they are made.
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


def _are_open_at_once(a: Items, b: Items, item: int, other: int) -> bool:
    """Whether two items are about tool calls that ran at the same time, on both sides."""
    calls = a.calls[item], a.calls[other]
    return None not in calls and a.are_open_at_once(*calls) and b.are_open_at_once(*calls)
