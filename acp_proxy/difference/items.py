"""The items of a lane in columns, and which of them have an order that is somebody's choice."""

from collections.abc import Hashable, Sequence, Set
from functools import cached_property

from attrs import frozen

from acp_proxy.difference.defaults import CALL, READING
from acp_proxy.difference.lanes import Lane, Told

MOST_PASSED = 1000
"""Others that somebody can pass without having meant to."""

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
        silent: texts that say nothing.
        looking: whether an item is about something that is only looked at.
        answers: whether an item is an answer; which request it belongs to is told by its id.
    """

    keys: Sequence[Hashable]
    whats: Sequence[Hashable]
    texts: Sequence[int]
    calls: Sequence[int | None]
    silent: Set[int]
    looking: Sequence[bool]
    answers: Sequence[bool]

    def may_race(self, item: int) -> bool:
        """Whether an item is about anything whose order may be nobody's choice."""
        return self.looking[item] or self.answers[item] or self.calls[item] is not None

    def are_open_at_once(self, one: int | None, other: int | None) -> bool:
        """Whether each of two tool calls was spoken of before the other was done with."""
        spans = self._spans
        return (
            one in spans
            and other in spans
            and (spans[one][0] < spans[other][1] and spans[other][0] < spans[one][1])
        )

    def only_look(self, one: int, other: int) -> bool:
        """Whether two items are about things that are only looked at, and not about the same.

        A file that is read may be what a call that is told of first has begun with.
        """
        calls = self.calls[one], self.calls[other]
        begun = (call is not None and self._spans[call][0] in (one, other) for call in calls)
        return self.looking[one] and self.looking[other] and not (None in calls and any(begun))

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """Where the first and the last item of each tool call stand."""
        spans: dict[int, tuple[int, int]] = {}
        for place, call in enumerate(self.calls):
            if call is not None:
                spans[call] = spans.get(call, (place, place))[0], place
        return spans


class Columns:
    """Makes items of lanes.

    Args:
        told: all that one side said.
        names: of each of its values: A's index of it, or a negative number if A has none.
    """

    def __init__(self, told: Told, names: Sequence[int]) -> None:
        every = told.former.values.every
        self._told = told
        self._slots = [hash(tuple(map(names.__getitem__, slots))) for slots in told.slots]
        calls = [next((i for i in one if every[i].kind == CALL), -1) for one in told.slots]
        self._calls = [names[call] if call >= 0 and names[call] >= 0 else None for call in calls]
        self._looks = [call in told.looking for call in calls]
        self._answers = [what.sort == "answer" for what in told.whats]
        self._reads = [what.title in READING for what in told.whats]

    def items(self, lane: Lane) -> Items:
        """A lane in columns; items are told apart by their forms and by what their values are."""
        slots = self._slots
        return Items(
            [hash((form, slots[k])) for form, k in zip(lane.forms, lane.slots, strict=True)],
            [self._told.whats[index] for index in lane.whats],
            [
                hash((base, slots[k])) if base else 0
                for base, k in zip(lane.bases, lane.base_slots, strict=True)
            ],
            [self._calls[k] for k in lane.slots],
            lane.silent,
            [
                self._reads[what] or self._looks[k]
                for what, k in zip(lane.whats, lane.slots, strict=True)
            ],
            [self._answers[what] for what in lane.whats],
        )


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
