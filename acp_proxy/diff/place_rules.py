"""Rules for the places of values that differ between any two runs.

The place of a rule is a JSON pointer (RFC 6901). In it, ``*`` matches any key or item, and ``**``
any number of keys and items.

All rules are compiled into one state machine, which makes one step for each key of a message. The
number of rules therefore does not matter for the speed. States are created when they are needed.
"""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from attrs import frozen

from acp_proxy.base.limits import CACHED
from acp_proxy.protocol.json_text import parts_of

PLACEHOLDER = "\ue000{}\ue001"
"""The form of a placeholder. Its private-use characters occur in no message."""


@frozen
class PlaceRule:
    """A rule for the values at a place.

    Attributes:
        pointer: the place, from the root of the message.
        alias: the kind of name that the value gets, such as ``session``. None leaves out the value
            and everything below it, unless `is_cut` or `is_time` is set.
        is_cut: whether the value is a text that agents cut. If so, only the text after the first
            directory is left out.
        is_time: whether the value is a time. If so, the value is left out, but a missing member is
            a difference.
    """

    pointer: str
    alias: str | None = None
    is_cut: bool = False
    is_time: bool = False


_Positions = frozenset[tuple[int, int]]
"""Rules that match so far: the index of each rule, and how many parts of its pointer are
matched."""


class Layout(NamedTuple):
    """How objects with the same keys at one place are compared."""

    ignored: tuple[str, ...]
    """Keys of members to leave out."""
    times: tuple[str, ...]
    """Keys of members whose values are left out."""
    members: tuple[tuple[str, "PlaceState", bool], ...]
    """The remaining members, sorted by key: the key, the state below it, and whether a rule applies
    to a text that is the value of the member."""


class PlaceState(dict[str, "PlaceState"]):
    """The state at a place in a message: a mapping of keys and item numbers to the next states."""

    def __init__(self, states: "_States", positions: _Positions) -> None:
        super().__init__()
        self._states = states
        self._positions = positions
        ends = states.machine.ends(positions)
        keeps = [rule.is_cut or rule.is_time or rule.alias is not None for rule in ends]
        self.is_ignored = not all(keeps)
        self.is_time = not self.is_ignored and any(rule.is_time for rule in ends)
        self.is_kept = not (self.is_ignored or self.is_time)
        self.is_cut = any(rule.is_cut for rule in ends)
        self.alias = next((rule.alias for rule in ends if rule.alias is not None), None)
        self.has_text_rule = self.is_cut or self.alias is not None
        self.placeholder = PLACEHOLDER.format(self.alias)
        self.layouts: dict[tuple[str, ...], Layout] = {}
        """The layouts of the objects at this place, by their keys."""

    def __missing__(self, key: str) -> "PlaceState":
        if self.is_ignored:
            return self
        state = self._states[self._states.machine.after(self._positions, key)]
        if len(self) < CACHED:
            self[key] = state
        return state


def compiled(rules: Iterable[PlaceRule]) -> PlaceState:
    """Compiles rules into a state machine. Returns the state for the root of a message."""
    machine = _machine(tuple(rules))
    return _States(machine)[machine.start]


class _States(dict[_Positions, PlaceState]):
    """A mapping of sets of positions to states. A state to which several paths lead is shared."""

    def __init__(self, machine: "_Machine") -> None:
        super().__init__()
        self.machine = machine

    def __missing__(self, positions: _Positions) -> PlaceState:
        state = self[positions] = PlaceState(self, positions)
        return state


class _Machine:
    """The transitions between sets of positions in the pointers of rules.

    At a place whose set is empty, and below this place, no rule applies.
    """

    def __init__(self, rules: tuple[PlaceRule, ...]) -> None:
        self._rules = rules
        self._parts = [parts_of(rule.pointer) for rule in rules]
        self._named = {part for parts in self._parts for part in parts}
        self.start = self._closed((rule, 0) for rule in range(len(rules)))
        self.ends = cache(self._ends)
        self._after = cache(self._after_part)

    def after(self, positions: _Positions, key: str) -> _Positions:
        """Returns the positions that are reached from the given positions by one more key."""
        return self._after(positions, key if key in self._named else None)

    def _ends(self, positions: _Positions) -> list[PlaceRule]:
        """Returns the rules whose pointers end at one of the positions."""
        return [self._rules[rule] for rule, at in sorted(positions) if at == len(self._parts[rule])]

    def _after_part(self, positions: _Positions, key: str | None) -> _Positions:
        """Does the work of `after`. The key None stands for any key that no pointer contains."""
        return self._closed(self._steps(positions, key))

    def _closed(self, positions: Iterable[tuple[int, int]]) -> _Positions:
        """Adds to positions the position after each ``**``, since ``**`` also matches zero keys."""
        reached = set()
        for rule, at in positions:
            reached.add((rule, at))
            parts = self._parts[rule]
            while at < len(parts) and parts[at] == "**":
                at += 1
                reached.add((rule, at))
        return frozenset(reached)

    def _steps(self, positions: _Positions, key: str | None) -> Iterator[tuple[int, int]]:
        for rule, at in positions:
            parts = self._parts[rule]
            if at == len(parts):
                continue
            if parts[at] == "**":
                yield rule, at
            elif parts[at] in ("*", key):
                yield rule, at + 1


_machine = lru_cache(maxsize=16)(_Machine)
