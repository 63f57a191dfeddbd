"""Pairs responses that stand in another sequence than those which they are compared with.

Where a request is missing, it is unknown which session its response belongs to, nor the session of
the values in it. The response stands in another sequence then, but its template and its id are the
same, so only the request is missing: test_a_removed_request_is_only_in_a tries that with every
capture. A response that creates a session is of that session, and one that refuses to is of none:
two such responses to one request have changed into each other (test_unpaired_responses.py).
"""

from collections.abc import Sequence

from attrs import define

from acp_proxy.difference.changes import Changes
from acp_proxy.difference.compared_items import CommonIndex, ComparedSide
from acp_proxy.difference.explanation import SequenceMessages
from acp_proxy.difference.frames import NO_ANSWER
from acp_proxy.difference.sequences import ItemIndex, MessageSequence, SequenceKey


@define
class SequenceDiff:
    """What differs in a sequence, which is empty in a recording that does not have it."""

    a_key: SequenceKey
    b_key: SequenceKey
    messages: SequenceMessages
    changes: Changes

    @property
    def a(self) -> MessageSequence:
        """The sequence in A."""
        return self.messages.sequence_a

    @property
    def b(self) -> MessageSequence:
        """The sequence in B."""
        return self.messages.sequence_b

    def title_a(self, item: ItemIndex) -> str:
        """Returns what an item of A is."""
        return self.messages.a.side.type_of(self.a, item).title

    def title_b(self, item: ItemIndex) -> str:
        """Returns what an item of B is."""
        return self.messages.b.side.type_of(self.b, item).title


def remove_equal_responses(
    sequences: Sequence[SequenceDiff], side_a: ComparedSide, side_b: ComparedSide
) -> None:
    """Removes responses that are equal from what only one side has.

    Args:
        sequences: all of them, which are changed.
        side_a: compares the items of A.
        side_b: compares the items of B.
    """
    left_a = [(one, i) for one in sequences for i in one.changes.only_a]
    left_b = [(one, j) for one in sequences for _, j in one.changes.only_b]
    titles_a = [one.title_a(i) for one, i in left_a]
    titles_b = [one.title_b(j) for one, j in left_b]
    if NO_ANSWER not in titles_a and NO_ANSWER not in titles_b:
        return
    keys_a = [(one.a_key.direction, side_a.answer_key(one.a, i)) for one, i in left_a]
    keys_b = [(one.b_key.direction, side_b.answer_key(one.b, j)) for one, j in left_b]
    places = {key: place for place, key in enumerate(keys_b)}
    for (one, i), title, key in zip(left_a, titles_a, keys_a, strict=True):
        place = places.get(key)
        if place is not None and (title == NO_ANSWER) != (titles_b[place] == NO_ANSWER):
            other, j = left_b[places.pop(key)]
            _remove(one, i, other, j)


def changed_responses(
    sequences: Sequence[SequenceDiff], side_a: ComparedSide, side_b: ComparedSide
) -> list[SequenceDiff]:
    """Takes the responses to one request that are left in two sequences.

    Args:
        sequences: all of them, which are changed.
        side_a: compares the items of A.
        side_b: compares the items of B.

    Returns:
        Each such pair as a sequence of its own.
    """
    left_b: dict[tuple[str, str, CommonIndex], tuple[SequenceDiff, ItemIndex]] = {}
    for one in sequences:
        for _, j in one.changes.only_b:
            if (request := side_b.request_of(one.b, j)) is not None:
                left_b[one.b_key.direction, one.title_b(j), request] = one, j
    found: list[SequenceDiff] = []
    for one in sequences if left_b else ():
        for i in [*one.changes.only_a]:
            request = side_a.request_of(one.a, i)
            if request is None:
                continue
            other, j = left_b.pop((one.a_key.direction, one.title_a(i), request), (one, i))
            if other is not one:
                _remove(one, i, other, j)
                found.append(_pair_of(one, i, other, j))
    return found


def _pair_of(one: SequenceDiff, i: ItemIndex, other: SequenceDiff, j: ItemIndex) -> SequenceDiff:
    of_a, of_b = one.messages, other.messages
    messages = SequenceMessages(
        of_a.a, of_b.b, one.a, other.b, of_a.session_a, of_b.session_b, of_a.is_exact
    )
    return SequenceDiff(one.a_key, other.b_key, messages, Changes(changed=[((i,), (j,))]))


def _remove(one: SequenceDiff, i: ItemIndex, other: SequenceDiff, j: ItemIndex) -> None:
    one.changes.only_a.remove(i)
    other.changes.only_b[:] = [pair for pair in other.changes.only_b if pair[1] != j]
