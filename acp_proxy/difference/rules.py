"""Rules for values that differ between any two runs, and where in a message they hold.

A rule's place is a JSON pointer (RFC 6901) in which ``*`` is any one key or item and ``**`` any
number of them. All rules together become one machine that takes a step for each key on the way down
a message, so that a message costs the same whatever the number of rules.
"""

from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

from acp_proxy.pointers import parts_of


@frozen
class Rule:
    """What is done with the values at a place.

    Attributes:
        pointer: the place, from the message's root.
        alias: what kind of name a value gets, ``session``, say; None to leave it out, and all
            that is below.
    """

    pointer: str
    alias: str | None = None


@define(eq=False)
class State:
    """Where one is in a message.

    Attributes:
        keys: the states below for the keys that any rule names.
        other: the state below for all other keys; it is the state itself where nothing follows.
        is_ignored: whether what stands here is left out.
        alias: what kind of name a value here gets, or None.
    """

    keys: dict[str, "State"] = field(factory=dict, repr=False)
    is_ignored: bool = False
    alias: str | None = None
    _other: "State | None" = field(default=None, repr=False)

    @property
    def other(self) -> "State":
        """The state below for a key that no rule names."""
        return self._other or self

    def below(self, key: str) -> "State":
        """The state below for a key, or for an item by its number."""
        return self.keys.get(key, self._other or self)


_Position = tuple[int, int]
"""A rule, and how many parts of its pointer lie behind."""


def compiled(rules: Iterable[Rule]) -> State:
    """Returns the state in which every message begins."""
    compiler = _Compiler(list(rules))
    return compiler.state(compiler.start)


class _Compiler:
    """Makes each state once, however many ways lead there."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules
        self._parts = [parts_of(rule.pointer) for rule in rules]
        self._states: dict[frozenset[_Position], State] = {}
        self.start = frozenset(self._closed((rule, 0) for rule in range(len(rules))))

    def state(self, positions: frozenset[_Position]) -> State:
        """The state of being at some positions at once; at none of them, no rule is left."""
        if positions in self._states:
            return self._states[positions]
        ends = [self._rules[rule] for rule, at in positions if at == len(self._parts[rule])]
        names = [rule.alias for rule in self._rules if rule in ends and rule.alias is not None]
        made = State(
            is_ignored=any(rule.alias is None for rule in ends),
            alias=names[0] if names else None,
        )
        self._states[positions] = made
        named = {self._parts[r][at] for r, at in positions if at < len(self._parts[r])}
        for key in sorted(named - {"*", "**"}):
            made.keys[key] = self.state(self._after(positions, key))
        other = self.state(self._after(positions, None))
        made._other = None if other is made else other
        return made

    def _after(self, positions: frozenset[_Position], key: str | None) -> frozenset[_Position]:
        return frozenset(self._closed(self._steps(positions, key)))

    def _steps(self, positions: Iterable[_Position], key: str | None) -> Iterator[_Position]:
        for rule, at in positions:
            parts = self._parts[rule]
            if at == len(parts):
                continue
            if parts[at] == "**":
                yield rule, at
            elif parts[at] in ("*", key):
                yield rule, at + 1

    def _closed(self, positions: Iterable[_Position]) -> Iterator[_Position]:
        """``**`` may also be nothing at all."""
        for rule, at in positions:
            yield rule, at
            parts = self._parts[rule]
            while at < len(parts) and parts[at] == "**":
                at += 1
                yield rule, at
