"""A fault plan that is written as text is equal when it is read again."""

from __future__ import annotations

import tomllib

from attrs import evolve

from acp_proxy.faults.plan import Plan, joined, parse_rule, plan_text, structure_plan
from acp_proxy.recording.filters import EVERYTHING
from tests.support.cases import each_case

RULES = (
    "noop",
    "latency latency_ms=1.5 jitter_ms=2",
    'drop where="method:session/update dir:to-client" after=3 every=2 times=1 probability=0.25',
    "drop window=1500ms..2m 'name=a \"name\" of\ttwo'",
    'replace frame=\'{"jsonrpc":"2.0","x":"\\\\u00fc \\u007f ü"}\'',
    """replace set='{"/params/x" = [1, 2.5, true, {a = "b"}], "/id" = "7"}'""",
    "error-reply code=-32000 message='no \\\\ way' data='{a = [1]}'",
    "truncate keep_bytes=0 newline=false",
    "corrupt mode=bad-utf8",
    "terminate grace_ms=5",
)


def same(plan: Plan) -> Plan:
    """Returns a plan without the places of its rules."""
    rules = [evolve(rule, place="", chosen=EVERYTHING) for rule in plan.rules]
    return evolve(plan, rules=tuple(rules))


@each_case("rule", RULES)
def test_a_rule_comes_back(rule: str) -> None:
    """A fault rule that is written as text and read again is the same rule."""
    plan = joined([], [parse_rule(rule)], 42)
    again = structure_plan(tomllib.loads(plan_text(plan)), "again")
    assert same(again) == same(plan)


def test_a_whole_plan_comes_back() -> None:
    """A fault plan that is written as text and read again has its rules in the same order."""
    plan = joined([], [parse_rule(rule) for rule in RULES], None)
    again = structure_plan(tomllib.loads(plan_text(plan, 7)), "again")
    assert [rule.name for rule in again.rules] == [rule.name for rule in plan.rules]
    assert again.seed == 7


def test_the_plans_own_seed_counts() -> None:
    """If a fault plan with a seed is written as text, the text contains this seed."""
    assert plan_text(Plan(seed=3), 4) == "seed = 3\n"
    assert plan_text(Plan()) == ""
