"""Which rules can fire in which direction, and so which directions a plan can touch.

A rule that can never fire, by its filter, its kind or its ``probability``, costs nothing: a
direction that no other rule touches keeps its bare pump.
"""

from typing import assert_never

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


def reached(plan: Plan) -> list[Direction]:
    """Returns the directions in which a rule of a plan can do something."""
    firing = {one: firing_in(plan, one) for one in Direction}
    touches_both = any(rule.fault.touches_both for some in firing.values() for rule in some)
    return [one for one in Direction if firing[one] or touches_both]


def firing_in(plan: Plan, direction: Direction) -> list[FaultRule]:
    """Returns the rules that can fire at a frame of a direction, in order.

    Args:
        plan: the rules.
        direction: where the frame goes.
    """
    return [rule for rule in plan.rules if _can_fire(rule, direction)]


def _can_fire(rule: FaultRule, direction: Direction) -> bool:
    if not rule.trigger.probability or direction not in rule.fault.directions:
        return False
    return _holds(rule.chosen.condition, direction) is not False


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
