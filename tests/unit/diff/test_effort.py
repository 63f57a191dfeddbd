"""`diff` takes bounded work and memory."""

from __future__ import annotations

import random
import tracemalloc
from itertools import repeat
from typing import Any

import pytest

from acp_proxy.base.alignment import align
from acp_proxy.diff.diff import diff
from tests.support.scenario_runs import Run

FRAMES = 100_000


class Seen(list[Any]):
    """A list that counts the accesses to its items."""

    looked = 0

    def __getitem__(self, place: Any) -> Any:
        """Counts the accessed items."""
        items = super().__getitem__(place)
        Seen.looked += len(items) if isinstance(place, slice) else 1
        return items


def changed(items: list[int], chance: random.Random, edits: int) -> list[int]:
    """Returns a copy with some items removed, added or moved."""
    other = list(items)
    for _ in range(edits):
        item = other.pop(chance.randrange(len(other)))
        if chance.random() < 0.7:
            other.insert(chance.randrange(len(other)), item if chance.random() < 0.3 else -1)
    return other


@pytest.mark.parametrize(
    ("kinds", "edits", "looks"),
    [
        (1, 1, 2),
        (3, 300, 40),
        (FRAMES, 1000, 3),
        pytest.param(FRAMES, 50_000, 10, marks=pytest.mark.soak),
    ],
)
def test_long_sequences_are_aligned_with_few_comparisons(
    kinds: int, edits: int, looks: int
) -> None:
    """When `diff` aligns 100,000 frames, it looks at each item at most 40 times on average."""
    chance = random.Random(kinds)
    a = [chance.randrange(kinds) for _ in range(FRAMES)]
    b = changed(a, chance, edits)
    Seen.looked = 0
    pairs = align(Seen(a), Seen(b))
    assert Seen.looked < (len(a) + len(b)) * looks
    assert len(pairs) > FRAMES - 3 * edits


def peak(frames: int, size: int) -> int:
    """Returns the peak memory of a `diff` of two equal texts, with chunks of the given size."""
    a, b = (Run(n).words(*repeat("x" * (size - 1) + " ", frames)).end() for n in (0, 1))
    with a.open() as of_a, b.open() as of_b:
        tracemalloc.start()
        result = diff(of_a, of_b)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert result.is_equal
    return most


def test_memory_grows_with_frames_and_not_with_their_texts() -> None:
    """The memory of `diff` grows with the number of chunks, not with the length of their texts."""
    peak(10, 60)  # whatever is made once
    short, long = peak(5000, 60), peak(5000, 600)
    assert long < short + 100_000
    more = peak(10_000, 60)
    assert more - short < 2 * 5_000 * 20
