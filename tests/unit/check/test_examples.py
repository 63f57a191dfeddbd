"""Every rule has examples that keep it and examples that break it, without other findings."""

from __future__ import annotations

import pytest

from acp_proxy.check.catalogue import left_out, rules
from acp_proxy.check.examples import examples, examples_of
from acp_proxy.check.rules import load
from acp_proxy.explain.findings import CONVERSATION
from tests.support.example_checker import judge

GROUPS = sorted({rule.group for rule in rules().values()})
EXAMPLES = [example for group in GROUPS for example in examples(group)]


@pytest.mark.parametrize("group", GROUPS)
def test_finds_what_is_written(group: str) -> None:
    """`check` reports exactly the findings that are noted in each example of its rules."""
    is_whole = group in CONVERSATION
    for example in examples(group):
        actual = judge(example.lines, example.after, is_whole=is_whole)
        assert actual == list(example.lines), f"{example.rule}-{example.is_broken}"


def test_each_rule_is_kept_and_broken() -> None:
    """Each rule of `check` has an example that breaks the rule and an example that keeps it."""
    for rule_id in rules():
        mine = examples_of(rule_id)
        breaks = [
            any(line.strip().startswith(f"{rule_id} by ") for line in it.lines) for it in mine
        ]
        assert breaks == [it.is_broken for it in mine], rule_id
        assert {True, False} == {*breaks}, rule_id


def test_each_rule_has_a_function() -> None:
    """For each documented rule about messages, `check` has a function that tests the rule."""
    assert load() == {other.id for other in rules().values() if other.group not in CONVERSATION}
    assert not {*rules()} & {*left_out()}


def test_blames_who_is_obliged() -> None:
    """In examples of broken rules, `check` blames only the side that the rule obliges."""
    findings = [
        line.split() for example in EXAMPLES for line in example.lines if line.startswith("   ")
    ]
    assert findings
    for rule_id, _, side, *_ in findings:
        assert rule_id == "before" or rules()[rule_id].by in (side, "either"), rule_id
