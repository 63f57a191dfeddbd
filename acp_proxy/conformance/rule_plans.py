"""Finds the functions that look at a message, by its kind, its method and its direction."""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from acp_proxy.conformance.methods import UPDATE_KINDS, kind_of
from acp_proxy.conformance.registry import ANY, Condition, Registered
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import UPDATE

_MOST = 1_000
"""Plans that are kept; methods of a recording may be any."""


class RulePlan(NamedTuple):
    """The functions that look at a kind of message."""

    always: list[Registered]
    conditional: list[tuple[Condition, list[Registered]]]
    """Those that look at it when a condition holds, by the condition."""


class RulePlans:
    """The functions of the rules that are checked.

    Args:
        by_trigger: the functions of all rules, by a kind of message and a method.
        rules: the ids of the rules that are checked.
        dialect: the dialect whose rules hold.
    """

    def __init__(
        self,
        by_trigger: Mapping[tuple[str, str], Sequence[Registered]],
        rules: Container[str],
        dialect: str | None,
    ) -> None:
        self._by_trigger = {
            trigger: [one for one in entries if one.rule in rules]
            for trigger, entries in by_trigger.items()
        }
        self._dialect = dialect
        self._plans: dict[tuple[str, str, Direction], RulePlan] = {}

    def find(self, trigger: str, name: str, direction: Direction = Direction.TO_AGENT) -> RulePlan:
        """Returns the functions that look at messages of a method, or at updates of a kind.

        Args:
            trigger: the kind of message.
            name: the method or the kind of update; `ANY` for what looks at all.
            direction: of a request or a notification.
        """
        key = trigger, name, direction
        plan = self._plans.get(key)
        if plan is None:
            find = self._by_trigger.get
            found = [*find((trigger, ANY), ())]
            found += find(("message", ANY), ()) if name != ANY else ()
            if trigger == "update":
                found += find(("notification", UPDATE), ())
                found += find(("notification", ANY), ())
            found += find((trigger, name), ()) if name != ANY else ()
            if self._is_usual(*key):
                found = [one for one in found if not one.is_for_odd]
            plan = _planned(found)
            if len(self._plans) < _MOST:
                self._plans[key] = plan
        return plan

    def _is_usual(self, trigger: str, name: str, direction: Direction) -> bool:
        """Whether the dialect has a method in a direction, or a kind of update."""
        if trigger == "update":
            return name in UPDATE_KINDS.get(self._dialect or "", ())
        return kind_of(self._dialect, direction, name) == trigger


def _planned(entries: Iterable[Registered]) -> RulePlan:
    plan, conditional = RulePlan([], []), dict[Condition, list[Registered]]()
    for entry in entries:
        if entry.when is None:
            plan.always.append(entry)
        else:
            conditional.setdefault(entry.when, []).append(entry)
    plan.conditional.extend(conditional.items())
    return plan
