"""Rules are chosen by their names and by those of their groups."""

from __future__ import annotations

import pytest

from acp_proxy.conformance.catalogue import rules
from acp_proxy.conformance.choice import chosen_rules, looked_at, names
from acp_proxy.errors import NoSuchRule


def test_a_group_is_all_of_its_rules() -> None:
    """By its name, or as a pattern; without a name all rules but one are chosen."""
    every = {one for one in rules() if one.startswith("rpc.")}
    assert chosen_rules(["rpc"], []) == chosen_rules(["rpc.*"], []) == every
    assert chosen_rules([], []) == {*rules()} - {"tool.no-progress"}


def test_a_rule_that_many_break_is_chosen_by_its_own_name_only() -> None:
    """Not by that of its group."""
    assert "tool.no-progress" not in chosen_rules(["tool"], [])
    assert chosen_rules(["tool.no-progress"], []) == {"tool.no-progress"}


def test_what_is_ignored_is_not_chosen() -> None:
    """Also if it was chosen by its group."""
    chosen = chosen_rules(["rpc", "init.first"], ["rpc.unanswered", "init"])
    assert "rpc.id-reused" in chosen
    assert not chosen & {"rpc.unanswered", "init.first"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rpc.unansered", "no rule is named 'rpc.unansered'; did you mean rpc.unanswered?"),
        ("sesion", "no rule is named 'sesion'; did you mean session?"),
        ("", "no rule is named ''"),
        ("secret.leaked", "rule secret.leaked is not checked: that a peer shows a secret"),
    ],
)
def test_a_name_that_no_rule_has_is_an_error(name: str, said: str) -> None:
    """It names the nearest one; a rule that is left out says why."""
    with pytest.raises(NoSuchRule) as raised:
        chosen_rules([name], [])
    assert str(raised.value).startswith(said)


def test_a_rule_is_looked_at_in_its_dialects() -> None:
    """If the dialect is unknown, in those of v1, as they are checked."""
    chosen = chosen_rules(["rpc", "s4"], [])
    assert not [one for one in looked_at(chosen, "v1") if one.startswith("s4.")]
    assert looked_at(chosen, "v1") == looked_at(chosen, None)


def test_names_begin_with_the_groups() -> None:
    """As completion offers them."""
    assert names()[:2] == ["frame", "rpc"]
    assert len(names()) == len({*names()})
