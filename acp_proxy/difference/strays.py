"""Answers that one side has without their requests.

Where a request is gone, nobody knows any more which session its answer is of, nor of which session
the values in it are. It stands in another lane then, but its form is the same, and so is its id;
and it is the request alone that is gone.
"""

from collections.abc import Callable, Hashable, Sequence

from attrs import define

from acp_proxy.difference.changes import Changes
from acp_proxy.difference.lanes import NO_ANSWER, Lane, LaneKey, Told

AnswerOf = Callable[[Lane, int], Hashable]
"""What tells an answer from others."""


@define
class LaneDiff:
    """A lane of both sides; an empty one where a side has none."""

    a_key: LaneKey
    b_key: LaneKey
    a: Lane
    b: Lane
    changes: Changes


def forgive(
    lanes: Sequence[LaneDiff], a: Told, b: Told, answer_a: AnswerOf, answer_b: AnswerOf
) -> None:
    """Takes such answers from what only one side has."""
    left_a = [(lane, i) for lane in lanes for i in lane.changes.only_a]
    left_b = [(lane, j) for lane in lanes for _, j in lane.changes.only_b]
    titles_a = [_title(a, lane.a, i) for lane, i in left_a]
    titles_b = [_title(b, lane.b, j) for lane, j in left_b]
    if NO_ANSWER not in titles_a and NO_ANSWER not in titles_b:
        return
    keys_a = [(lane.a_key.direction, answer_a(lane.a, i)) for lane, i in left_a]
    keys_b = [(lane.b_key.direction, answer_b(lane.b, j)) for lane, j in left_b]
    places = {key: place for place, key in enumerate(keys_b)}
    for (lane, i), title, key in zip(left_a, titles_a, keys_a, strict=True):
        place = places.get(key)
        if place is not None and (title == NO_ANSWER) != (titles_b[place] == NO_ANSWER):
            other, j = left_b[places.pop(key)]
            lane.changes.only_a.remove(i)
            other.changes.only_b[:] = [one for one in other.changes.only_b if one[1] != j]


def _title(told: Told, lane: Lane, item: int) -> str:
    return told.whats[lane.whats[item]].title
