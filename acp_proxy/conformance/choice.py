"""Chooses rules by their names, and by those of their groups: ``rpc.id-reused``, ``rpc``."""

from collections.abc import Collection, Iterable

from acp_proxy.conformance.catalogue import left_out, rules
from acp_proxy.conformance.values import UncheckedRules
from acp_proxy.errors import NoSuchRule
from acp_proxy.inspection.findings import CONVERSATION
from acp_proxy.protocol.dialects import V1
from acp_proxy.wording import did_you_mean

_ASKED_FOR = frozenset({"tool.no-progress"})
"""Rules that are only told when they are asked for by name: many healthy agents break them."""


def chosen_rules(wanted: Collection[str], ignored: Collection[str]) -> frozenset[str]:
    """Returns the rules that are to be reported.

    Args:
        wanted: names of rules and of groups; if there are none, all but `_ASKED_FOR`.
        ignored: names of those that are not to be reported.

    Raises:
        NoSuchRule: no rule or group has a name, or the rule is not checked.
    """
    chosen = frozenset(_named(wanted)) if wanted else frozenset(rules()) - _ASKED_FOR
    return chosen - frozenset(_named(ignored))


def looked_at(
    chosen: Collection[str], dialect: str | None, unchecked: Iterable[UncheckedRules] = ()
) -> list[str]:
    """Returns the rules that a recording was checked for, in the order of the catalogue.

    Args:
        chosen: those that are to be reported.
        dialect: that of the recording; None if it is not known, when the rules of v1 hold.
        unchecked: those that it could not be checked for.
    """
    from acp_proxy.conformance.rules import load  # late: it takes a while, and names need no rule

    found = {*load().ids(), *(one.id for one in rules().values() if one.group in CONVERSATION)}
    found -= {name for one in unchecked for name in one.rules}
    return [
        rule.id
        for rule in rules().values()
        if rule.id in found and rule.id in chosen and (dialect or V1) in rule.dialects
    ]


def names() -> list[str]:
    """Returns what can be chosen: the groups, and the rules."""
    return [*dict.fromkeys(rule.group for rule in rules().values()), *rules()]


def no_such_rule(name: str) -> NoSuchRule:
    """Returns the error for a name that no rule and no group has."""
    return NoSuchRule(f"no rule is named {name!r}{did_you_mean(name, [*names(), *left_out()])}")


def _named(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        name = word.removesuffix(".*")
        if name in left_out():
            raise NoSuchRule(f"rule {name} is not checked: {left_out()[name]}")
        found = [
            rule.id
            for rule in rules().values()
            if name == rule.id or (name == rule.group and rule.id not in _ASKED_FOR)
        ]
        if not found:
            raise no_such_rule(word)
        yield from found
