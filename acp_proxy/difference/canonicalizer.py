"""Turns a message into a template and the values that were taken out of it.

What differs between any two runs is removed: times are left out, ids and directories are replaced
by placeholders. The rest is the template. Two messages are equal if their templates are equal and
their placeholders hold values that have the same stable names. So each message is read once, and
which value is which in the other recording can be found out later.
"""

import re
from collections import Counter
from collections.abc import Callable
from math import isfinite
from typing import Any, NamedTuple

from acp_proxy.difference.defaults import PATH, PROCESS, REQUEST, RUNNING, TITLED, TITLES
from acp_proxy.difference.frames import CLIENTS, RequestPeers, canonical_json
from acp_proxy.difference.rules import PlaceRule, PlaceState, compiled
from acp_proxy.difference.values import Scope, ValueIndex, ValueNames, Values

_SHORTEST = 2
"""Characters of the shortest text that may name a directory."""
_DIGITS = re.compile(r"(?<![\w.:-])\d{3,}(?!\w)")
_MARKS = re.compile("[\ue000\ue001]|\ue002\\d*\ue003")
_PLACEHOLDER = "\ue000{}\ue001"
"""Private characters, so that no text of a message looks like one."""
_REPEATED = "\ue002{}\ue003"
"""Follows a key that would look like another key of its object."""
_MOST_LAYOUTS = 4096
"""Layouts of objects that are remembered at one place of a message."""
_MOST_MEMBERS = 64
"""Members of an object whose layout is remembered."""


class Canonical(NamedTuple):
    """A message without what differs between any two runs; a tuple, since there are many."""

    template: int
    """A hash of what is left; 0 if nothing is compared."""
    placeholders: tuple[ValueIndex, ...] = ()
    """The values that were taken out, in the order of the sorted keys."""


class _Layout(NamedTuple):
    """What is done with objects that have the same keys at the same place."""

    ignored: tuple[str, ...]
    """Members that are left out."""
    members: tuple[tuple[str, "_Place", bool], ...]
    """The others, by their sorted keys, and whether a rule applies to a text there."""


class _Place:
    """A place in messages, with what holds there for all messages."""

    __slots__ = ("alias", "is_cut", "is_ignored", "items", "layouts", "placeholder", "state")

    def __init__(self, state: PlaceState) -> None:
        self.state = state
        self.alias = state.alias
        self.is_cut = state.is_cut
        self.is_ignored = state.is_ignored
        self.placeholder = _PLACEHOLDER.format(state.alias)
        self.layouts: dict[tuple[str, ...], _Layout] = {}
        """Of the objects that were seen here, by their keys."""
        self.items: list[_Place] = []
        """The places of the items of lists that were seen here."""


class Canonicalizer:
    """Takes values out of the messages of one recording, which come in recorded order.

    Args:
        rules: which places are left out, and which hold values.
    """

    def __init__(self, rules: tuple[PlaceRule, ...]) -> None:
        self.values = Values()
        self._rules = compiled(rules)
        self._titled = compiled((*rules, *(PlaceRule(one, is_cut=True) for one in TITLES)))
        self._running = compiled(tuple(rule for rule in rules if rule.alias != PATH))
        self._walk = self._naming = _Walk(self.values)

    def begin(self, title: str) -> PlaceState:
        """Returns the rules at the root of a message with a title, as `ItemType` has it."""
        if title in RUNNING:
            return self._running
        return self._titled if title in TITLED else self._rules

    def canonical(
        self,
        message: Any,
        reread: Callable[[], Any],
        scope: Scope,
        kind: str,
        rules: PlaceState | None = None,
        peers: RequestPeers = CLIENTS,
    ) -> Canonical:
        """Returns the template of a message, and the values in its placeholders.

        Args:
            message: decoded; it is used up.
            reread: returns another copy of the message.
            scope: the session of its sequence.
            kind: what else distinguishes the template: the kind and the method.
            rules: that hold at its root, if these are not those of all messages.
            peers: who numbered the requests that it names.

        Raises:
            RecursionError: it is nested too deeply.
        """
        rules = self._rules if rules is None else rules
        if rules.is_ignored:
            return Canonical(0)
        values, walk = self.values, self._walk
        known, renamed = len(values.every), values.renamed
        rest = canonical_json(walk.through(message, rules, scope, peers))
        has_new = len(values.every) > known
        if (has_new and values.may_have_passed(known, rest)) or values.renamed > renamed:
            # It names a value before the place that introduces it, as text and id of a tool call
            # do in test_canonicalizer.py.
            rest = canonical_json(walk.through(reread(), rules, scope, peers))
        return Canonical(hash((kind, rest)), tuple(walk.found))

    def named(
        self,
        message: Any,
        scope: Scope,
        names: ValueNames,
        title: str = "",
        peers: RequestPeers = CLIENTS,
    ) -> Any:
        """Returns a message with names in place of values; `unmarked` removes their marks.

        Args:
            message: decoded; it is used up.
            scope: the session of its sequence.
            names: of values.
            title: of its type.
            peers: who numbered the requests that it names.

        Raises:
            RecursionError: it is nested too deeply.
        """
        if self._naming.names is not names:
            self._naming = _Walk(self.values, names)
        return self._naming.through(message, self.begin(title), scope, peers)


class _Walk:
    """Goes through messages and replaces each value by a placeholder, or by its name."""

    def __init__(self, values: Values, names: ValueNames | None = None) -> None:
        self.found: list[ValueIndex] = []
        """The values in the latest message, in order."""
        self._values = values
        self.names = names
        self._scope: Scope = None
        self._known = values.tables(None)
        self._peers = CLIENTS
        self._processes: dict[str, ValueIndex] = {}
        self._places: dict[int, _Place] = {}
        self._generation = 0

    def through(self, message: Any, rules: PlaceState, scope: Scope, peers: RequestPeers) -> Any:
        """Returns a message, or a batch, without its values; see `Canonicalizer.named`."""
        self.found = []
        self._peers = peers
        if scope != self._scope:
            self._scope, self._known = scope, self._values.tables(scope)
        if self._generation != self._values.generation:
            self._forget_layouts()
        if self._processes:
            self._processes = {}
        start = self._place(rules)
        if type(message) is dict and "id" not in message:
            self._object(message, start)
        elif isinstance(message, list):
            message = [self._message(member, start) for member in message]
        else:
            message = self._message(message, start)
        return self._with_processes(message) if self._processes else message

    def _message(self, message: Any, start: _Place) -> Any:
        rpc_id = message.get("id") if isinstance(message, dict) else None
        if type(rpc_id) not in (str, int, float) or start.state["id"].alias != REQUEST:
            return self._inner(message, start)
        del message["id"]
        text = str(int(rpc_id) if isinstance(rpc_id, float) and rpc_id.is_integer() else rpc_id)
        name = self._replaced(self._values.index(REQUEST, text, self._peers.own), is_whole=True)
        self._object(message, start)
        message["id"] = name
        return message

    def _inner(self, value: Any, place: _Place) -> Any:
        kind = type(value)
        if kind is str:
            if place.alias is not None:
                return self._by_rule(place, value)
            return value if len(value) < _SHORTEST else self._text(value)
        if kind is dict:
            self._object(value, place)
        elif kind is list:
            value[:] = self._items(value, place)
        elif kind is float:
            if not isfinite(value):
                return f"({value})"
            return int(value) if value.is_integer() else value
        elif kind is int and place.alias is not None:
            index = self._index(place.alias, str(value))
            if place.alias == PROCESS and value > 99:
                self._processes[str(value)] = index
            return self._replaced(index, is_whole=True)
        return value

    def _items(self, items: list[Any], place: _Place) -> list[Any]:
        below = place.items
        while len(below) < len(items):
            below.append(self._place(place.state[str(len(below))]))
        pairs = zip(items, below, strict=False)
        return [self._inner(item, at) for item, at in pairs if not at.is_ignored]

    def _object(self, value: dict[str, Any], place: _Place) -> None:
        layout = place.layouts.get(tuple(value)) or self._new_layout(value, place)
        if layout is None:
            self._object_by_key(value, place.state)
            return
        for key in layout.ignored:
            del value[key]
        plain = self._values.plain
        for key, below, has_rule in layout.members:
            inner = value[key]
            kind = type(inner)
            if kind is str:
                if has_rule:
                    value[key] = self._by_rule(below, inner)
                elif inner not in plain and self._may_hold_values(inner):
                    value[key] = self._text(inner)
            elif kind is dict:
                self._object(inner, below)
            else:
                value[key] = self._inner(inner, below)

    def _may_hold_values(self, text: str) -> bool:
        return len(text) >= _SHORTEST and self._values.may_be_in(text)

    def _new_layout(self, value: dict[str, Any], place: _Place) -> _Layout | None:
        """Returns what is done with objects like this one; None if a key may hold values."""
        keys = sorted(value)
        if not all(key.isidentifier() and key.isascii() for key in keys):
            return None
        if any(self._values.may_be_in(key) for key in keys):
            return None
        below = {key: place.state[key] for key in keys}
        layout = _Layout(
            tuple(key for key in keys if below[key].is_ignored),
            tuple(
                (key, self._place(at), at.is_cut or at.alias is not None)
                for key, at in below.items()
                if not at.is_ignored
            ),
        )
        if len(place.layouts) < _MOST_LAYOUTS and len(keys) <= _MOST_MEMBERS:
            self._values.plain_keys.update(keys)
            place.layouts[tuple(value)] = layout
        return layout

    def _object_by_key(self, value: dict[str, Any], state: PlaceState) -> None:
        naming: set[str] = set()
        for key in sorted(value):
            inner, at = value[key], state[key]
            if len(key) >= _SHORTEST and self._values.may_be_in(key):
                naming.add(key)
            elif at.is_ignored:
                del value[key]
            elif at.is_cut and type(inner) is str:
                value[key] = self._cut(inner)
            else:
                value[key] = self._inner(inner, self._place(at))
        if naming:
            self._name_keys(value, naming, state)

    def _name_keys(self, value: dict[str, Any], naming: set[str], state: PlaceState) -> None:
        """Replaces the values in keys, such as paths; their spelling gives keys no order."""
        alike: Counter[str] = Counter()
        for key in [key for key in value if key in naming]:
            inner, at = value.pop(key), state[key]
            if at.is_ignored:
                continue
            spelled = name = self._text(key, is_key=True)
            while name in value:  # values of one kind look alike
                alike[spelled] += 1
                name = spelled + _REPEATED.format(alike[spelled])
            is_cut = at.is_cut and isinstance(inner, str)
            value[name] = self._cut(inner) if is_cut else self._inner(inner, self._place(at))

    def _text(self, text: str, *, is_key: bool = False) -> str:
        replaced, after = "", 0
        for start, end, index in self._values.found_in(text, self._scope):
            is_whole = end - start == len(text) and not is_key
            replaced += text[after:start] + self._replaced(index, is_whole=is_whole)
            after = end
        return replaced + text[after:] if after else text

    def _cut(self, text: str) -> str:
        """Returns a text up to the first directory in it.

        Agents cut titles of sessions at some length: vibe-edit differs without this.
        """
        found = self._values.cut_in(text)
        if found is None:
            return text
        return text[: found[0]] + self._replaced(found[1], is_whole=False)

    def _with_processes(self, value: Any) -> Any:
        """Replaces the ids of processes, small numbers, in texts of their message."""
        if isinstance(value, dict):
            return {key: self._with_processes(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._with_processes(inner) for inner in value]
        return _DIGITS.sub(self._process, value) if isinstance(value, str) else value

    def _process(self, digits: re.Match[str]) -> str:
        index = self._processes.get(digits[0])
        return digits[0] if index is None else self._replaced(index, is_whole=False)

    def _by_rule(self, place: _Place, text: str) -> str:
        """Returns what replaces a text at a place that has a rule."""
        kind = place.alias
        if kind is None or place.is_cut:
            return self._cut(text)
        index = self._known[kind].get(text)
        if index is None:
            index = self._index(kind, text)
        if self.names is not None:
            return self._replaced(index, is_whole=True)
        self.found.append(index)
        return place.placeholder

    def _index(self, kind: str, text: str) -> ValueIndex:
        scope = self._peers.named if kind == REQUEST else self._scope
        return self._values.index(kind, text, scope)

    def _replaced(self, index: ValueIndex, *, is_whole: bool) -> str:
        """Returns the placeholder of a value, or its name, in «» if other text is around it."""
        self.found.append(index)
        value = self._values.every[index]
        if self.names is None:
            return f"\ue000{value.kind}\ue001"
        name = self.names.get(index, value.text)
        return _PLACEHOLDER.format(name if is_whole else f"«{name}»")

    def _place(self, state: PlaceState) -> _Place:
        place = self._places.get(id(state))
        if place is None:
            place = self._places[id(state)] = _Place(state)
        return place

    def _forget_layouts(self) -> None:
        self._generation = self._values.generation
        for place in self._places.values():
            place.layouts.clear()


def unmarked(value: Any) -> Any:
    """Returns a value of any type in which names are not marked."""
    if isinstance(value, str):
        return _MARKS.sub("", value)
    if isinstance(value, dict):
        return {unmarked(key): unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value
