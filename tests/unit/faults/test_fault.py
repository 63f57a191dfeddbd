"""A kind of fault keeps state between frames, and draws random numbers from a seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, frozen

from acp_proxy.faults.fault import Chance, Fault, PassingFrame
from acp_proxy.faults.plan import KINDS
from tests.support.fault_playbook import check

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.faults.fault import Effect


@define
class Numbers:
    """The number of frames so far, and the time of the last frame."""

    count: int = 0
    last: int = 0


@frozen
class NumberedFault(Fault):
    """A fault that replaces a frame by its number and the milliseconds since the frame before."""

    kind = "numbered"

    def new_state(self) -> Numbers:
        """Returns a new count."""
        return Numbers()

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Counts the frame."""
        state: Numbers = frame.state
        state.count += 1
        since = (frame.at - state.last) // 10**6 if state.last else 0
        state.last = frame.at
        yield frame.delivery.with_data(b"%d %d" % (state.count, since))


def test_a_kind_keeps_its_state_for_each_rule_and_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each fault rule keeps a state of its own, such as a count, for each direction."""
    monkeypatch.setitem(KINDS, "numbered", NumberedFault)
    rules = ["numbered where='not text:zz'", "numbered name=other where=text:zz"]
    for _ in range(2):
        check(
            rules,
            r"""
            1 <- session/update {"sessionId": "s"}
            <- | 1 0
            .. 2s
            2 <- session/update {"sessionId": "t"}
            <- | 2 2000
            3 -> | a
            -> | 1 0
            4 <- | zz
            <- | 1 0
            .. 500ms
            5 <- | a
            <- | 3 500
            """,
        )


def test_each_copy_of_a_frame_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a `duplicate` fault doubles a frame, the next rule of the plan counts both copies."""
    monkeypatch.setitem(KINDS, "numbered", NumberedFault)
    check(["duplicate", "numbered"], "1 <- | a\n<- | 1 0\n<- | 2 0\n2 <- | b\n<- | 3 0\n<- | 4 0")


CHANCE = Chance(42, "rule", "to-client s", 7)


def test_the_same_question_has_the_same_answer() -> None:
    """For one seed, rule and match, a fault always draws the same random number."""
    first = CHANCE.draw("place")
    CHANCE.draw("other")
    assert CHANCE.draw("place") == first == Chance(42, "rule", "to-client s", 7).draw("place")


@pytest.mark.parametrize(
    "change", [{"seed": 43}, {"rule": "r"}, {"scope": "to-agent s"}, {"match": 8}]
)
def test_each_part_of_the_key_counts(change: dict[str, Any]) -> None:
    """A fault draws another random number for another seed, rule, direction or match."""
    assert CHANCE._replace(**change).draw() != CHANCE.draw()


def test_parts_of_the_key_do_not_run_together() -> None:
    """A fault draws other random numbers for the words "ab" and "c" than for "a" and "bc"."""
    assert Chance(1, "ab", "c", 1).draw() != Chance(1, "a", "bc", 1).draw()
    assert Chance(1, "a", "b", 11).draw("") != Chance(1, "a", "b", 1).draw("1")


def test_draws_are_spread_evenly() -> None:
    """About a tenth of the random numbers of a fault rule are below 0.1."""
    draws = [Chance(0, "r", "l", match).draw() for match in range(10_000)]
    assert all(0 <= draw < 1 for draw in draws)
    assert 900 < sum(draw < 0.1 for draw in draws) < 1100
    whole = {Chance(0, "r", "l", match).below(6) for match in range(200)}
    assert whole == set(range(6))
    between = [Chance(0, "r", "l", match).between(-2, 3) for match in range(200)]
    assert all(-2 <= item < 3 for item in between)


def test_the_numbers_of_a_seed_are_written_down() -> None:
    """The seed of a fault plan gives the same random numbers in every version of acp-proxy."""
    draws = [
        round(Chance(42, "drop", "to-client s", match).draw("fires"), 6) for match in (1, 2, 3)
    ]
    assert draws == [0.975145, 0.366322, 0.471319]
