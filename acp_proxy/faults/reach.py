"""Which directions a plan can touch, as far as its filters and kinds tell."""

from typing import assert_never

from acp_proxy.faults.kinds.error_reply import ErrorReply
from acp_proxy.faults.kinds.reply import Reply
from acp_proxy.faults.plan import Plan, Rule
from acp_proxy.filters.conditions import (
    Among,
    Beyond,
    Compare,
    Condition,
    Every,
    Like,
    No,
    Present,
    Some,
)
from acp_proxy.protocol.peers import Direction

_BOTH_WAYS = (ErrorReply, Reply)
"""Kinds that answer in the other direction, or wait for a message there."""


def reached(plan: Plan) -> list[Direction]:
    """Returns the directions in which a rule of a plan can do something."""
    return [one for one in Direction if any(_reaches(rule, one) for rule in plan.rules)]


def _reaches(rule: Rule, direction: Direction) -> bool:
    if isinstance(rule.fault, _BOTH_WAYS):
        return any(_means(rule, one) for one in Direction)
    return _means(rule, direction)


def _means(rule: Rule, direction: Direction) -> bool:
    is_meant = _holds(rule.chosen.condition, direction) is not False
    return is_meant and direction in rule.fault.directions


def _holds(condition: Condition, direction: Direction) -> bool | None:
    """Whether a condition holds for all frames of a direction, for none (False), or for some."""
    match condition:
        case Among("stream", values):
            return direction.value in values
        case Every(parts):
            return _all([_holds(part, direction) for part in parts])
        case Some(parts):
            return _none(_all([_none(_holds(part, direction)) for part in parts]))
        case No(part):
            return _none(_holds(part, direction))
        case Among() | Like() | Compare() | Present() | Beyond():
            return None
        case _:
            assert_never(condition)


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _none(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
