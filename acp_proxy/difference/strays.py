"""Answers that stand in another lane than those which they are compared with.

Where a request is gone, nobody knows any more which session its answer is of, nor of which session
the values in it are. It stands in another lane then, but its form is the same, and so is its id;
and it is the request alone that is gone. An answer that makes a session is of that session; one
that refuses to is of none, and so they have changed into each other.
"""

from collections.abc import Callable, Hashable, Sequence

from attrs import define

from acp_proxy.difference.changes import Changes
from acp_proxy.difference.lanes import NO_ANSWER, MessageSequence, SequenceKey, SideIndex

AnswerOf = Callable[[MessageSequence, int], Hashable]
"""What tells an answer from others."""
RequestOf = Callable[[MessageSequence, int], int | None]
"""The request that an answer is for; None for what is no answer, or to one that only B has."""


@define
class SequenceDiff:
    """A lane of both sides; an empty one where a side has none."""

    a_key: SequenceKey
    b_key: SequenceKey
    a: MessageSequence
    b: MessageSequence
    changes: Changes


def forgive(
    lanes: Sequence[SequenceDiff],
    a: SideIndex,
    b: SideIndex,
    answer_a: AnswerOf,
    answer_b: AnswerOf,
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
            _take(lane, i, other, j)


def changed(
    lanes: Sequence[SequenceDiff],
    a: SideIndex,
    b: SideIndex,
    request_a: RequestOf,
    request_b: RequestOf,
) -> list[SequenceDiff]:
    """Answers to one request that are left in two lanes, each as a lane of its own."""
    left_b: dict[tuple[str, str, int], tuple[SequenceDiff, int]] = {}
    for lane in lanes:
        for _, j in lane.changes.only_b:
            if (request := request_b(lane.b, j)) is not None:
                left_b[lane.b_key.direction, _title(b, lane.b, j), request] = lane, j
    found: list[SequenceDiff] = []
    for lane in lanes:
        for i in [*lane.changes.only_a] if left_b else ():
            request = request_a(lane.a, i)
            key = (lane.a_key.direction, _title(a, lane.a, i), -1 if request is None else request)
            other, j = left_b.pop(key, (lane, -1))
            if other is not lane:
                _take(lane, i, other, j)
                both = Changes(changed=[((i,), (j,))])
                found.append(SequenceDiff(lane.a_key, other.b_key, lane.a, other.b, both))
    return found


def _take(lane: SequenceDiff, i: int, other: SequenceDiff, j: int) -> None:
    lane.changes.only_a.remove(i)
    other.changes.only_b[:] = [one for one in other.changes.only_b if one[1] != j]


def _title(told: SideIndex, lane: MessageSequence, item: int) -> str:
    return told.whats[lane.whats[item]].title
