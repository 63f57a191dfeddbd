"""What lets rules fire: each counts its matches, and draws if it is a matter of chance.

Matches are counted in *counter scopes*: a direction of a session, or of the connection. So what
happens in a scope depends on its frames, and not on how those of several scopes interleave.
"""

from collections.abc import Iterable
from typing import Any

from attrs import define

from acp_proxy.faults.chance import Chance
from acp_proxy.faults.plan import FaultRule


@define
class _RuleCount:
    """How often a rule has matched, and how often it fired, in one scope."""

    matches: int = 0
    fired: int = 0


class Triggers:
    """The counts of all rules on one connection.

    Args:
        rules: those that can fire.
        seed: of all chance.
        origin: when the connection began, monotonic nanoseconds.
    """

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
        """Counts a match of a rule, if its window is open.

        Args:
            rule: which.
            row: the frame, with the names of the columns of `frames`.
            at: when it was received, monotonic nanoseconds.

        Returns:
            The rule's draws if it fires, else None.
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
