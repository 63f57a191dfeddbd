"""Tests how `diff` aligns sequences: in order, only equal items, and almost as many as possible."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.base.alignment import align, longest_in_order

few = st.lists(st.integers(0, 3), max_size=40)


def longest(a: list[int], b: list[int]) -> int:
    """Returns the length of the longest common subsequence, computed by its definition."""
    row = [0] * (len(b) + 1)
    for item in a:
        before, row = row, [0]
        for place, other in enumerate(b):
            row.append(before[place] + 1 if item == other else max(before[place + 1], row[place]))
    return row[-1]


def assert_sound(a: list[int], b: list[int], pairs: list[tuple[int, int]]) -> None:
    """Asserts that the items of each pair are equal, and that the pairs are in order."""
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(left[0] < right[0] and left[1] < right[1] for left, right in pairwise(pairs))


@given(few, few)
def test_pairs_are_equal_and_in_order(a: list[int], b: list[int]) -> None:
    """`diff` pairs equal items in order; of two short sequences, it pairs as many as possible."""
    pairs = align(a, b)
    assert_sound(a, b, pairs)
    if len(a) * len(b) <= 1024:
        assert len(pairs) == longest(a, b)


@given(st.lists(st.integers(0, 300), max_size=200, unique=True), st.randoms(use_true_random=False))
def test_unique_items_are_aligned_optimally(a: list[int], chance: random.Random) -> None:
    """If two sequences of unique items are shuffled, `diff` pairs as many items as possible."""
    b = sorted(a, key=lambda item: item + chance.randrange(40))
    pairs = align(a, b)
    assert_sound(a, b, pairs)
    assert len(pairs) == longest(a, b)


@pytest.mark.parametrize("kinds", [2, 3, 50, 100_000])
def test_long_sequences_with_few_changes_lose_few_items(kinds: int) -> None:
    """If two sequences of 20,000 items differ in 200 places, `diff` pairs more than 19,600."""
    chance = random.Random(kinds)
    a = [chance.randrange(kinds) for _ in range(20_000)]
    b = list(a)
    for _ in range(200):
        place = chance.randrange(len(b))
        if chance.random() < 0.5:
            del b[place]
        else:
            b.insert(place, -1)
    pairs = align(a, b)
    assert_sound(a, b, pairs)
    assert len(pairs) > len(a) - 400


def test_a_chain_of_anchors_takes_linear_work() -> None:
    """When `diff` pairs two sequences, its work grows in proportion to their length."""

    class Seen(list[str]):
        looked = 0

        def __getitem__(self, place: Any) -> Any:
            Seen.looked += 1
            return super().__getitem__(place)

    def chain(side: str, length: int) -> Seen:
        links = (word for n in range(length) for word in (f"d{n + 1}", f"{side}{n}", f"d{n}"))
        return Seen(links)

    align(chain("a", 3000), chain("b", 3000))
    assert Seen.looked < 18_000 * 300


@given(st.lists(st.integers(0, 30), max_size=30))
def test_the_longest_increasing_choice(places: list[int]) -> None:
    """Of pairs of equal items, `diff` keeps a longest subsequence whose places in B increase."""
    pairs = list(enumerate(places))
    chosen = longest_in_order(pairs)
    assert_sound([0] * 31, [0] * 31, chosen)
    best = [1] * len(places)
    for end, place in enumerate(places):
        best[end] += max((best[k] for k in range(end) if places[k] < place), default=0)
    assert len(chosen) == max(best, default=0)
