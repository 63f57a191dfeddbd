"""Which rules can fire where, and so which directions a plan can touch: as far as it says itself.

What can never fire, by its filter, its kind or its ``probability``, costs nothing: a direction that
no other rule touches has no detour.
"""

from typing import assert_never

from acp_proxy.faults.kinds.error_reply import ErrorReplyFault
from acp_proxy.faults.kinds.reply import ReplyFault
from acp_proxy.faults.plan import FaultRule, Plan
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

_BOTH_WAYS = (ErrorReplyFault, ReplyFault)
"""Kinds that answer in the other direction, or wait for a message there."""


def reached(plan: Plan) -> list[Direction]:
    """Returns the directions in which a rule of a plan can do something."""
    firing = {one: firing_in(plan, one) for one in Direction}
    answering = any(isinstance(rule.fault, _BOTH_WAYS) for some in firing.values() for rule in some)
    return [one for one in Direction if firing[one] or answering]


def firing_in(plan: Plan, direction: Direction) -> list[FaultRule]:
    """Returns the rules that can fire at a frame of a direction, in order."""
    return [rule for rule in plan.rules if rule.trigger.probability > 0 and _means(rule, direction)]


def _means(rule: FaultRule, direction: Direction) -> bool:
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
