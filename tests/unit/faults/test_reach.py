"""Only the directions that a plan can touch are held up."""

from __future__ import annotations

import pytest

from acp_proxy.faults.plan import joined, parse_rule
from acp_proxy.faults.reach import firing_in, reached
from acp_proxy.protocol.peers import Direction

A, C = Direction.TO_AGENT, Direction.TO_CLIENT


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("drop", [A, C]),
        ("drop where=dir:to-client", [C]),
        ("drop where=dir:to-agent", [A]),
        ("drop where='method:a dir:to-client'", [C]),
        ("drop where='method:a or dir:to-client'", [A, C]),
        ("drop where='not dir:to-client'", [A]),
        ("drop where='not (method:a dir:to-client)'", [A, C]),
        ("drop where='not (method:a or dir:to-client)'", [A]),
        ("drop where='dir:to-client dir:to-agent'", []),
        ("stray-stdout", [C]),
        ("stray-stdout where=dir:to-agent", []),
        ("error-reply where=dir:to-agent", [A, C]),
        ("reply where=dir:to-client", [A, C]),
        ("drop probability=0", []),
        ("error-reply probability=0", []),
        ("reply where='dir:to-client dir:to-agent'", []),
    ],
)
def test_what_a_rule_reaches(rule: str, expected: list[Direction]) -> None:
    """The filter and the kind both restrict it; what answers needs both ways."""
    assert reached(joined([], [parse_rule(rule)], None)) == expected


def test_what_a_plan_reaches() -> None:
    """A plan reaches what any of its rules reaches; one without rules reaches nothing."""
    rules = [parse_rule("drop where=dir:to-agent"), parse_rule("stray-stdout")]
    assert reached(joined([], rules, None)) == [A, C]
    assert reached(joined([], [], None)) == []


def test_rules_that_can_fire() -> None:
    """One that never fires takes no part, and the others keep their order."""
    rules = [parse_rule(f"drop name={name} {rest}") for name, rest in RULES.items()]
    plan = joined([], rules, None)
    assert [rule.name for rule in firing_in(plan, A)] == ["every", "agent"]
    assert [rule.name for rule in firing_in(plan, C)] == ["client", "every"]


RULES = {
    "client": "where=dir:to-client",
    "every": "",
    "never": "probability=0",
    "agent": "where=dir:to-agent probability=0.1",
    "neither": "where='dir:to-agent not dir:to-agent'",
}
