"""Triggers decide when rules fire: they count the matches of each rule, and draw random numbers.

Matches are counted in *counter scopes*: one direction of a session or of the connection. So the
faults of a session do not depend on how sessions interleave.

A direction that no rule can affect is forwarded without the engine, and so at full speed.
"""

from collections.abc import Iterable
from typing import Any

from attrs import define

from acp_proxy.faults.fault import Chance
from acp_proxy.faults.plan import FaultRule, Plan
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording.filters import filter_conditions


@define
class _RuleCount:
    """How often a rule has matched and fired in one scope."""

    matches: int = 0
    fired: int = 0


class Triggers:
    """Counts matches of rules on a connection that began at `origin` (in monotonic nanoseconds)."""

    def __init__(self, rules: Iterable[FaultRule], seed: int, origin: int) -> None:
        self._seed = seed
        self._origin = origin
        self._counts: dict[str, dict[str, _RuleCount]] = {rule.name: {} for rule in rules}

    @property
    def fired(self) -> dict[str, int]:
        """How often each rule fired."""
        return {
            name: sum(count.fired for count in scopes.values())
            for name, scopes in self._counts.items()
        }

    def fires(self, rule: FaultRule, row: dict[str, Any], at: int) -> Chance | None:
        """Counts a match of a rule. Returns the random numbers of the match if the rule fires.

        Returns None if the rule does not fire. A match outside of the rule's window is not counted.

        Args:
            rule: the rule.
            row: the frame, by the column names of `frames`.
            at: when the frame was received, in monotonic nanoseconds.
        """
        trigger, window = rule.trigger, rule.trigger.window
        if window is not None and not window.begin <= at - self._origin < window.end:
            return None
        scope = f"{row['stream']} {row['session'] or ''}"
        counts = self._counts[rule.name]
        count = counts.get(scope)
        if count is None:
            count = counts[scope] = _RuleCount()
        count.matches += 1
        if count.matches <= trigger.after or (count.matches - trigger.after - 1) % trigger.every:
            return None
        if trigger.times is not None and count.fired >= trigger.times:
            return None
        chance = Chance(self._seed, rule.key, scope, count.matches)
        if trigger.probability < 1 and chance.draw("fires") >= trigger.probability:
            return None
        count.fired += 1
        return chance


def reached(plan: Plan) -> list[Direction]:
    """Returns the directions that any rule of a plan can affect."""
    firing = {direction: firing_in(plan, direction) for direction in Direction}
    touches_both = any(rule.fault.touches_both for some in firing.values() for rule in some)
    return [direction for direction in Direction if firing[direction] or touches_both]


def firing_in(plan: Plan, direction: Direction) -> list[FaultRule]:
    """Returns the rules that can fire at frames of a direction, in the order of the plan.

    Args:
        plan: the rules.
        direction: the direction.
    """
    return [rule for rule in plan.rules if _can_fire(rule, direction)]


def _can_fire(rule: FaultRule, direction: Direction) -> bool:
    if not rule.trigger.probability or direction not in rule.fault.directions:
        return False
    return _holds(rule.chosen.condition, direction) is not False


def _holds(condition: filter_conditions.Condition, direction: Direction) -> bool | None:
    """Returns True if a condition holds for all frames of a direction, and False if it never does.

    Returns None if the answer depends on the frame.
    """
    match condition:
        case filter_conditions.Among("stream", values):
            return direction.value in values
        case filter_conditions.Every(parts):
            return _all([_holds(part, direction) for part in parts])
        case filter_conditions.Some(parts):
            return _none(_all([_none(_holds(part, direction)) for part in parts]))
        case filter_conditions.No(part):
            return _none(_holds(part, direction))
        case _:  # all other conditions depend on the frame
            return None


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _none(answer: bool | None) -> bool | None:
    return None if answer is None else not answer
