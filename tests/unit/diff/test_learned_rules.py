"""`diff` proposes rules only if they do not hide real changes."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff_result import Counts
from tests.support.log_writer import error, result
from tests.support.scenario_runs import IN, Run, rules

PLACE = "/params/update/n"


def said(number: int, *values: Any) -> Run:
    """Returns a run with one value in each update."""
    made = Run(number)
    for value in values:
        made.tell("plan", n=value)
    return made.end()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([4711], [4712]),
        ([1000], [2000]),
        (["ref-a1", "ref-b2", "ref-a1"], ["ref-x3", "ref-y4", "ref-x3"]),
        (["123456"], ["654321"]),
    ],
)
def test_an_alias_is_proposed_for_values_that_look_generated(a: list[Any], b: list[Any]) -> None:
    """`diff --learn` proposes an alias for generated values that correspond one to one."""
    learned = rules(said(0, *a), said(1, *b))
    assert (learned.aliases, learned.ignored, learned.rest) == ((PLACE,), (), Counts())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        pytest.param([5], [6], id="small counts"),
        pytest.param([999], [998], id="counts below a thousand"),
        pytest.param([0.5], [1000.5], id="fractions"),
        pytest.param([True], [False], id="truth values"),
        pytest.param(["yes"], ["no"], id="words"),
        pytest.param(["ordinary"], ["unusual"], id="longer words"),
        pytest.param(["a1234"], ["b5678"], id="short words with digits"),
        pytest.param(["step 1 of 20"], ["step 2 of 20"], id="sentences"),
        pytest.param([4711, 4711], [4712, 4713], id="one that became two"),
        pytest.param(["ref-a1", "ref-b2", "ref-c3"], ["ref-x4", "ref-x4", "ref-y5"],
                     id="two that became one"),
        pytest.param([4711], [None], id="one that is gone"),
    ],
)  # fmt: skip
def test_no_alias_is_proposed_for_other_values(a: list[Any], b: list[Any]) -> None:
    """If a changed value does not look generated, `diff --learn` proposes to ignore the value."""
    learned = rules(said(0, *a), said(1, *b))
    assert (learned.aliases, learned.ignored, learned.rest) == ((), (PLACE,), Counts())


def test_a_refusal_is_never_left_out() -> None:
    """If a result in A is an error in B, `diff --learn` proposes no rule that hides this."""
    a, b = Run(0).end(), Run(1).add(IN, error(2, -32603, "no"))
    learned = rules(a, b)
    assert (learned.aliases, learned.ignored, learned.apart) == ((), (), ())
    assert learned.rest == Counts(changed=1)


def test_all_parameters_are_never_left_out() -> None:
    """`diff --learn` never proposes to ignore the whole `params` of a message."""
    a, b = (Run(n).add(IN, {"jsonrpc": "2.0", "method": "x", "params": n}) for n in (0, 1))
    learned = rules(a, b)
    assert (learned.ignored, learned.rest) == ((), Counts(changed=1))


def test_an_item_of_a_list_can_be_left_out() -> None:
    """If an item of a list differs, `diff --learn` proposes to ignore all items of this list."""
    learned = rules(said(0, ["a", 1]), said(1, ["b", 1]))
    assert (learned.ignored, learned.rest) == ((f"{PLACE}/*",), Counts())


def test_rules_are_learned_from_the_handshake_too() -> None:
    """`diff --learn` proposes rules for differences in the handshake, too."""
    a, b = Run(0).end(), Run(1).end()
    for run in (a, b):
        info = {"version": "1.0", "build": f"build-77{run.number}"}
        run.said[1] = (IN, result(0, protocolVersion=1, agentInfo=info))
    learned = rules(a, b)
    assert learned.aliases == ("/result/agentInfo/build",)
    assert (learned.ignored, learned.rest) == ((), Counts())


def test_without_a_difference_there_is_no_rule() -> None:
    """If two recordings are equal, `diff --learn` proposes no rules."""
    learned = rules(said(0, 1), said(1, 1))
    assert (learned.aliases, learned.ignored, learned.apart, learned.rest) == ((), (), (), Counts())
