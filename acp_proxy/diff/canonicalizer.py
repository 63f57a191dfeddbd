"""Splits a message into its template and the values that placeholders replace.

The template of a message is the message without the data that differs between any two runs: times
are left out, and placeholders replace ids and directories. Two messages are equal if their
templates are equal and their placeholders stand for values with equal stable names.

Each message is read once. The values of the two recordings are paired after all messages were read.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import reduce
from math import isfinite
from operator import getitem
from typing import Any, NamedTuple

from attrs import define, field

from acp_proxy.base.limits import CACHED
from acp_proxy.diff.default_rules import PATH, PROCESS, REQUEST, RUNNING, TITLED, TITLES
from acp_proxy.diff.directory_names import is_relative
from acp_proxy.diff.frame_types import CLIENTS, RequestPeers, canonical_json
from acp_proxy.diff.named_values import Scope, ValueIndex, ValueNames, Values
from acp_proxy.diff.place_rules import PLACEHOLDER, Layout, PlaceRule, PlaceState, compiled

_DIGITS = re.compile(r"(?<![\w.:-])\d{3,}(?!\w)")
_MARKS = re.compile("[\ue000\ue001]|\ue002\\d*\ue003")
_REPEATED = "\ue002{}\ue003"
"""The suffix of a key that would otherwise equal another key of its object."""
_TIME = "(a time)"
_MOST_MEMBERS = 64
"""The layout of an object with more members than this is not cached."""


class Canonical(NamedTuple):
    """A message without the data that differs between runs. It is a tuple, to save memory."""

    template: int
    """A hash of the template; 0 if no part of the message is compared."""
    placeholders: tuple[ValueIndex, ...] = ()
    """The values that placeholders replace, in the order of the message's sorted keys."""


class Canonicalizer:
    """Replaces values in the messages of one recording, by placeholders or by names.

    The messages have to be passed in recorded order.

    Args:
        rules: the places that are left out, and the places that contain values.
        values: the values that are already known.
    """

    def __init__(self, rules: tuple[PlaceRule, ...], values: Values | None = None) -> None:
        self.values = values or Values()
        self._rules = compiled(rules)
        self._titled = compiled((*rules, *(PlaceRule(pattern, is_cut=True) for pattern in TITLES)))
        self._running = compiled(rule for rule in rules if rule.alias != PATH)

    def walk(
        self,
        kind: str,
        scope: Scope,
        title: str = "",
        peers: RequestPeers = CLIENTS,
        place: tuple[str, ...] = (),
    ) -> "Walk":
        """Returns the `Walk` that replaces the values in messages of one type.

        Args:
            kind: the kind and the method of the messages. Both are part of the hash of each
                template.
            scope: the session of the messages.
            title: the title of the type, as in `ItemType`.
            peers: whose request ids are in the messages; see `RequestPeers`.
            place: the keys that lead to the part to walk; empty to walk whole messages.
        """
        return Walk(self.values, reduce(getitem, place, self._begin(title)), kind, scope, peers)

    def named(
        self,
        message: Any,
        scope: Scope,
        names: ValueNames,
        title: str = "",
        peers: RequestPeers = CLIENTS,
    ) -> Any:
        """Returns a message in which stable names replace values. Marks surround each name.

        `unmarked` removes the marks.

        Args:
            message: the decoded message, which is modified.
            scope: the session of the message.
            names: the stable names of values.
            title: the title of the message's type.
            peers: whose request ids are in the message; see `RequestPeers`.

        Raises:
            RecursionError: the message is nested too deeply.
        """
        return Walk(self.values, self._begin(title), "", scope, peers, names).replaced(message)

    def _begin(self, title: str) -> PlaceState:
        if title in RUNNING:
            return self._running
        return self._titled if title in TITLED else self._rules


@define(eq=False)
class Walk:
    """Walks through messages of one type, and replaces values by placeholders or by names."""

    _values: Values
    _rules: PlaceState
    kind: str
    _scope: Scope
    _peers: RequestPeers
    _names: ValueNames | None = None
    _known: Mapping[str, Mapping[str, ValueIndex]] = field(init=False)
    _found: list[ValueIndex] = field(init=False, factory=list)
    """The values in the latest message, in order."""
    _processes: dict[str, ValueIndex] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        self._known = self._values.tables(self._scope)

    def canonical(self, message: Any, reread: Callable[[], Any]) -> Canonical:
        """Returns the template of a message and the values of its placeholders.

        Args:
            message: the decoded message, which is modified.
            reread: a function that returns another copy of the message.

        Raises:
            RecursionError: the message is nested too deeply.
        """
        if self._rules.is_ignored:
            return Canonical(0)
        values = self._values
        known, renamed = len(values.every), values.renamed
        rest = canonical_json(self.replaced(message))
        has_new = len(values.every) > known
        if (has_new and values.may_have_passed(known, rest)) or values.renamed > renamed:
            # The message contains a new value before the place that introduces the value.
            # In test_canonicalizer.py, for example, a text contains the id of a later tool call.
            rest = canonical_json(self.replaced(reread()))
        # The constructor of the NamedTuple does the same, but takes twice as long.
        return tuple.__new__(Canonical, (hash((self.kind, rest)), tuple(self._found)))

    def replaced(self, message: Any) -> Any:
        """Returns a message or a batch in which placeholders, or names, replace the values."""
        self._found = []
        if self._processes:
            self._processes = {}
        if type(message) is dict and "id" not in message:
            self._object(message, self._rules)
        elif isinstance(message, list):
            message = [self._message(member) for member in message]
        else:
            message = self._message(message)
        return self._with_processes(message) if self._processes else message

    def _message(self, message: Any) -> Any:
        rules = self._rules
        rpc_id = message.get("id") if isinstance(message, dict) else None
        if type(rpc_id) not in (str, int, float) or rules["id"].alias != REQUEST:
            return self._inner(message, rules)
        del message["id"]
        text = str(int(rpc_id) if isinstance(rpc_id, float) and rpc_id.is_integer() else rpc_id)
        name = self._put(self._values.index(REQUEST, text, self._peers.own), is_whole=True)
        self._object(message, rules)
        message["id"] = name
        return message

    def _inner(self, value: Any, place: PlaceState) -> Any:
        if place.is_time:
            return None if value is None else _TIME
        kind = type(value)
        if kind is str:
            return self._by_rule(value, place) if place.has_text_rule else self._text(value)
        if kind is dict:
            self._object(value, place)
        elif kind is list:
            value[:] = [
                self._inner(item, at)
                for number, item in enumerate(value)
                if not (at := place[str(number)]).is_ignored
            ]
        elif kind is float:
            if not isfinite(value):
                return f"({value})"
            return int(value) if value.is_integer() else value
        elif kind is int and place.alias is not None:
            index = self._index(place.alias, str(value))
            if place.alias == PROCESS and value > 99:
                self._processes[str(value)] = index
            return self._put(index, is_whole=True)
        return value

    def _object(self, value: dict[str, Any], place: PlaceState) -> None:
        layout = place.layouts.get(tuple(value)) or self._new_layout(value, place)
        if layout is None:
            self._object_by_key(value, place)
            return
        for key in layout.ignored:
            del value[key]
        for key in layout.times:
            if value[key] is not None:  # null means that there is no time
                value[key] = _TIME
        plain = self._values.plain
        for key, below, has_rule in layout.members:
            inner = value[key]
            kind = type(inner)
            if kind is str:
                if has_rule:
                    value[key] = self._by_rule(inner, below)
                elif inner not in plain:
                    value[key] = self._text(inner)
            elif kind is dict:
                self._object(inner, below)
            else:
                value[key] = self._inner(inner, below)

    def _new_layout(self, value: dict[str, Any], place: PlaceState) -> Layout | None:
        """Returns the layout for objects with the same place and the same keys as this object.

        The result is None if a key may contain a value, such as a path.
        """
        keys = sorted(value)
        if not all(key.isidentifier() and key.isascii() for key in keys):
            return None
        if any(self._values.may_be_in(key) for key in keys):
            return None
        below = {key: place[key] for key in keys}
        layout = Layout(
            tuple(key for key in keys if below[key].is_ignored),
            tuple(key for key in keys if below[key].is_time),
            tuple((key, at, at.has_text_rule) for key, at in below.items() if at.is_kept),
        )
        if len(place.layouts) < CACHED and len(keys) <= _MOST_MEMBERS:
            self._values.assume_plain(keys, place.layouts)
            place.layouts[tuple(value)] = layout
        return layout

    def _object_by_key(self, value: dict[str, Any], place: PlaceState) -> None:
        naming: set[str] = set()
        for key in sorted(value):
            if self._values.may_be_in(key):
                naming.add(key)
            elif place[key].is_ignored:
                del value[key]
            else:
                value[key] = self._inner(value[key], place[key])
        if naming:
            self._name_keys(value, naming, place)

    def _name_keys(self, value: dict[str, Any], naming: set[str], place: PlaceState) -> None:
        """Replaces values, such as paths, in keys. The changed keys keep their relative order."""
        alike: Counter[str] = Counter()
        for key in [key for key in value if key in naming]:
            inner = value.pop(key)
            if place[key].is_ignored:
                continue
            spelled = name = self._text(key, is_key=True)
            while name in value:  # values of one kind have similar names
                alike[spelled] += 1
                name = spelled + _REPEATED.format(alike[spelled])
            value[name] = self._inner(inner, place[key])

    def _text(self, text: str, *, is_key: bool = False) -> str:
        replaced, after = "", 0
        for start, end, index in self._values.found_in(text, self._scope):
            is_whole = end - start == len(text) and not is_key
            replaced += text[after:start] + self._put(index, is_whole=is_whole)
            after = end
        return replaced + text[after:] if after else text

    def _cut(self, text: str) -> str:
        """Cuts a text after its first directory, and replaces the directory as `_put` does.

        Agents cut session titles at a fixed length, so a long directory in a title makes the
        title end earlier.
        """
        cut = self._values.cut_in(text)
        if cut is None:
            return text
        return text[: cut[0]] + self._put(cut[1], is_whole=False)

    def _with_processes(self, value: Any) -> Any:
        """Replaces the process ids of a message in the texts of this message.

        In any other message, an equal number may mean something else.
        """
        if isinstance(value, dict):
            return {key: self._with_processes(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self._with_processes(inner) for inner in value]
        return _DIGITS.sub(self._process, value) if isinstance(value, str) else value

    def _process(self, digits: re.Match[str]) -> str:
        index = self._processes.get(digits[0])
        return digits[0] if index is None else self._put(index, is_whole=False)

    def _by_rule(self, text: str, place: PlaceState) -> str:
        """Returns what replaces a text whose place has a rule."""
        kind = place.alias
        if kind is None or place.is_cut:
            return self._cut(text)
        index = self._known[kind].get(text)
        if index is None:
            if kind == PATH and is_relative(text):
                return text
            index = self._index(kind, text)
        if self._names is not None:
            return self._put(index, is_whole=True)
        self._found.append(index)
        return place.placeholder

    def _index(self, kind: str, text: str) -> ValueIndex:
        scope = self._peers.named if kind == REQUEST else self._scope
        return self._values.index(kind, text, scope)

    def _put(self, index: ValueIndex, *, is_whole: bool) -> str:
        """Notes a value. Returns its placeholder or its name.

        A name within a longer text is enclosed in «».
        """
        self._found.append(index)
        value = self._values.every[index]
        if self._names is None:
            return PLACEHOLDER.format(value.kind)
        name = self._names.get(index, value.text)
        return PLACEHOLDER.format(name if is_whole else f"«{name}»")


def unmarked(value: Any) -> Any:
    """Returns a JSON value without the marks around names."""
    if isinstance(value, str):
        return _MARKS.sub("", value)
    if isinstance(value, dict):
        return {unmarked(key): unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value
