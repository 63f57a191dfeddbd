"""Rules for values that differ between any two runs, and the places where they apply.

A rule's place is a JSON pointer (RFC 6901) in which ``*`` is any one key or item and ``**`` any
number of them. All rules are compiled into one state machine, which takes one step for each key of
a message. So the cost of a message does not depend on the number of rules. A state is created when
it is first reached.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from attrs import frozen

from acp_proxy.protocol.json_text import parts_of

PLACEHOLDER = "\ue000{}\ue001"
"""Private characters, so that no text of a message looks like one."""
_KEPT = 4096
"""Keys of one state whose next states are remembered."""


@frozen
class PlaceRule:
    """A rule for the values at a place.

    Attributes:
        pointer: the place, from the message's root.
        alias: the kind of name that a value gets, such as ``session``; None to leave out the
            value and everything below it.
        is_cut: whether the value is a text that agents cut at some length. Of such a text, only
            what follows a directory is left out.
    """

    pointer: str
    alias: str | None = None
    is_cut: bool = False


_Position = tuple[int, int]
"""A rule, and how many parts of its pointer have been matched."""


class Layout(NamedTuple):
    """How to compare objects that have the same keys at the same place."""

    ignored: tuple[str, ...]
    """Keys of the members to leave out."""
    members: tuple[tuple[str, "PlaceState", bool], ...]
    """The other members by sorted key: key, state, and whether a rule applies to a text there."""


class PlaceState(dict[str, "PlaceState"]):
    """The state at a place in a message; maps each key or item number to the state below."""

    def __init__(self, machine: "_Machine", positions: frozenset[_Position]) -> None:
        super().__init__()
        self._machine = machine
        self._positions = positions
        ends = machine.ends(positions)
        self.is_ignored = any(rule.alias is None and not rule.is_cut for rule in ends)
        self.is_cut = any(rule.is_cut for rule in ends)
        self.alias = next((rule.alias for rule in ends if rule.alias is not None), None)
        self.has_text_rule = self.is_cut or self.alias is not None
        self.placeholder = PLACEHOLDER.format(self.alias)
        self.layouts: dict[tuple[str, ...], Layout] = {}
        """The layouts of the objects that were seen here, by their keys."""

    def __missing__(self, key: str) -> "PlaceState":
        if self.is_ignored:
            return self
        state = self._machine.after(self._positions, key)
        if len(self) < _KEPT:
            self[key] = state
        return state


def compiled(rules: Iterable[PlaceRule]) -> PlaceState:
    """Returns the state in which every message begins."""
    machine = _Machine(tuple(rules))
    return machine.state(frozenset(machine.closed((rule, 0) for rule in range(len(machine.rules)))))


class _Machine:
    """Creates each state once, even if several paths lead to it."""

    def __init__(self, rules: tuple[PlaceRule, ...]) -> None:
        self.rules = rules
        self._parts = [parts_of(rule.pointer) for rule in rules]
        self._states: dict[frozenset[_Position], PlaceState] = {}

    def state(self, positions: frozenset[_Position]) -> PlaceState:
        """Returns the state for a set of positions; for none, no rule can apply any more."""
        if positions not in self._states:
            self._states[positions] = PlaceState(self, positions)
        return self._states[positions]

    def after(self, positions: frozenset[_Position], key: str) -> PlaceState:
        """Returns the state below a key."""
        return self.state(frozenset(self.closed(self._steps(positions, key))))

    def ends(self, positions: frozenset[_Position]) -> list[PlaceRule]:
        """Returns the rules whose pointers end at one of the positions."""
        return [self.rules[rule] for rule, at in sorted(positions) if at == len(self._parts[rule])]

    def closed(self, positions: Iterable[_Position]) -> Iterator[_Position]:
        """Yields positions, and those after each ``**``, which may match no key at all."""
        for rule, at in positions:
            yield rule, at
            parts = self._parts[rule]
            while at < len(parts) and parts[at] == "**":
                at += 1
                yield rule, at

    def _steps(self, positions: Iterable[_Position], key: str) -> Iterator[_Position]:
        for rule, at in positions:
            parts = self._parts[rule]
            if at == len(parts):
                continue
            if parts[at] == "**":
                yield rule, at
            elif parts[at] in ("*", key):
                yield rule, at + 1
