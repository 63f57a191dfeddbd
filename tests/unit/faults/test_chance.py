"""Chance is keyed: the same question has the same answer, whatever else was asked."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.faults.chance import Chance

CHANCE = Chance(42, "rule", "to-client s", 7)


def test_the_same_question_has_the_same_answer() -> None:
    """A draw neither moves nor remembers anything."""
    first = CHANCE.draw("place")
    CHANCE.draw("other")
    assert CHANCE.draw("place") == first == Chance(42, "rule", "to-client s", 7).draw("place")


@pytest.mark.parametrize(
    "change", [{"seed": 43}, {"rule": "r"}, {"scope": "to-agent s"}, {"match": 8}]
)
def test_each_part_of_the_key_counts(change: dict[str, Any]) -> None:
    """Another seed, rule, scope or match draws another number."""
    assert CHANCE._replace(**change).draw() != CHANCE.draw()


def test_parts_of_the_key_do_not_run_together() -> None:
    """What ends one part is never mistaken for the beginning of the next."""
    assert Chance(1, "ab", "c", 1).draw() != Chance(1, "a", "bc", 1).draw()
    assert Chance(1, "a", "b", 11).draw("") != Chance(1, "a", "b", 1).draw("1")


def test_draws_are_spread_evenly() -> None:
    """Of many draws a tenth is below a tenth, and none is 1."""
    draws = [Chance(0, "r", "l", match).draw() for match in range(10_000)]
    assert all(0 <= draw < 1 for draw in draws)
    assert 900 < sum(draw < 0.1 for draw in draws) < 1100
    whole = {Chance(0, "r", "l", match).below(6) for match in range(200)}
    assert whole == set(range(6))
    between = [Chance(0, "r", "l", match).between(-2, 3) for match in range(200)]
    assert all(-2 <= one < 3 for one in between)


def test_the_numbers_of_a_seed_are_written_down() -> None:
    """A seed means the same in every version."""
    draws = [
        round(Chance(42, "drop", "to-client s", match).draw("fires"), 6) for match in (1, 2, 3)
    ]
    assert draws == [0.975145, 0.366322, 0.471319]
