"""Rules for values that differ between any two runs, and where in a message they hold.

A rule's place is a JSON pointer (RFC 6901) in which ``*`` is any one key or item and ``**`` any
number of them. All rules together become one machine that takes a step for each key on the way down
a message, so that a message costs the same whatever the number of rules. Its states are made when
they are first reached.
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
        alias: what kind of name a value gets, ``session``, say; None to leave it out, and all
            that is below.
        is_cut: whether it is a text that agents cut at some length, so that everything behind a
            directory in it is left out, and nothing else.
    """

    pointer: str
    alias: str | None = None
    is_cut: bool = False


_Position = tuple[int, int]
"""A rule, and how many parts of its pointer lie behind."""


class Layout(NamedTuple):
    """What is done with objects that have the same keys at the same place."""

    ignored: tuple[str, ...]
    """Members that are left out."""
    members: tuple[tuple[str, "PlaceState", bool], ...]
    """The others, by their sorted keys, and whether a rule applies to a text there."""


class PlaceState(dict[str, "PlaceState"]):
    """Where one is in a message: the states below, by key, or by the number of an item."""

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
        """Of the objects that were seen here, by their keys."""

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
    """Makes each state once, however many ways lead there."""

    def __init__(self, rules: tuple[PlaceRule, ...]) -> None:
        self.rules = rules
        self._parts = [parts_of(rule.pointer) for rule in rules]
        self._states: dict[frozenset[_Position], PlaceState] = {}

    def state(self, positions: frozenset[_Position]) -> PlaceState:
        """The state of being at some positions at once; at none of them, no rule is left."""
        if positions not in self._states:
            self._states[positions] = PlaceState(self, positions)
        return self._states[positions]

    def after(self, positions: frozenset[_Position], key: str) -> PlaceState:
        """The state below a key."""
        return self.state(frozenset(self.closed(self._steps(positions, key))))

    def ends(self, positions: frozenset[_Position]) -> list[PlaceRule]:
        """The rules that mean the place where one is."""
        return [self.rules[rule] for rule, at in sorted(positions) if at == len(self._parts[rule])]

    def closed(self, positions: Iterable[_Position]) -> Iterator[_Position]:
        """``**`` may also be nothing at all."""
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
