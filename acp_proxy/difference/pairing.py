"""Which session and which value of one recording is which of the other.

Frames can be compared only when it is known which ids mean the same; and that is best told by where
they stood. So sessions and values are paired first: those that stood in all the same places, then
those that are spelled alike, those that were introduced alike, and at last what is left, in order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any

from attrs import define, field

from acp_proxy.difference.defaults import GLOBAL, PATH, SESSION
from acp_proxy.difference.lanes import Told
from acp_proxy.difference.values import Scope, Value, Values

_MASK = (1 << 64) - 1
_MOST_COMPARED = 64
"""Sessions on either side that are compared one by one."""


@define
class Names:
    """Stable names of values.

    Attributes:
        a: by index, of A's values.
        b: by index, of B's; values that are the same have the same name.
        pairs: indexes in A by indexes in B.
        sessions: B's session by A's.
    """

    a: dict[int, str] = field(factory=dict)
    b: dict[int, str] = field(factory=dict)
    pairs: dict[int, int] = field(factory=dict)
    sessions: dict[Scope, Scope] = field(factory=dict)


def pair(a: Told, b: Told) -> Names:
    """Pairs the sessions and the values of two recordings, and names them."""
    names = Names(sessions=_pair_sessions(a, b))
    names.pairs = _pair_values(a.former.values, b.former.values, names.sessions)
    _name(names, a.former.values, b.former.values)
    return names


def _pair_sessions(a: Told, b: Told) -> dict[Scope, Scope]:
    forms_a, forms_b = _forms(a), _forms(b)
    paired: dict[Scope, Scope] = {None: None}
    rest_a = [one for one in forms_a if one is not None]
    rest_b = [one for one in forms_b if one is not None]
    _match(rest_a, rest_b, paired, lambda one: _sum(forms_a[one]), lambda one: _sum(forms_b[one]))
    _match(rest_a, rest_b, paired, lambda one: one, lambda one: one)
    if len(rest_a) <= _MOST_COMPARED and len(rest_b) <= _MOST_COMPARED:
        alike = [
            (-(forms_a[one] & forms_b[other]).total(), place_a, place_b)
            for place_a, one in enumerate(rest_a)
            for place_b, other in enumerate(rest_b)
        ]
        left_a, left_b = list(rest_a), list(rest_b)
        for common, place_a, place_b in sorted(alike):
            one, other = left_a[place_a], left_b[place_b]
            if common and one in rest_a and other in rest_b:
                _take(one, other, rest_a, rest_b, paired)
    _match(rest_a, rest_b, paired, lambda _: None, lambda _: None)
    return paired


def _forms(told: Told) -> dict[Scope, Counter[int]]:
    """What was said in each session, in the order of their first frames."""
    forms: dict[Scope, Counter[int]] = {}
    for key, lane in told.lanes.items():
        forms.setdefault(key.session, Counter()).update(lane.forms)
    return forms


def _sum(forms: Counter[int]) -> int:
    return sum(hash(item) for item in forms.items()) & _MASK


def _pair_values(a: Values, b: Values, sessions: dict[Scope, Scope]) -> dict[int, int]:
    groups_a, groups_b = _groups(a), _groups(b)
    pairs: dict[int, int] = {}
    for (kind, scope), rest_a in groups_a.items():
        rest_b = groups_b.get((kind, None if kind in GLOBAL else sessions.get(scope)))
        if rest_b is None or (scope is not None and scope not in sessions):
            continue
        found: dict[Any, Any] = {}
        if kind == SESSION:
            texts_b = {b.every[index].text: index for index in rest_b}
            for one in list(rest_a):
                other = texts_b.get(sessions.get(a.every[one].text) or "")
                if other is not None:
                    _take(one, other, rest_a, rest_b, found)
        for told in (_profile, _text, _introduction, _nothing):
            _match(rest_a, rest_b, found, _of(a, told), _of(b, told))
        pairs.update({other: one for one, other in found.items()})
    return pairs


def _groups(values: Values) -> dict[tuple[str, Scope], list[int]]:
    groups: dict[tuple[str, Scope], list[int]] = {}
    for index, value in enumerate(values.every):
        groups.setdefault((value.kind, value.scope), []).append(index)
    return groups


def _of(values: Values, told: Callable[[Value], Hashable]) -> Callable[[int], Hashable]:
    return lambda index: told(values.every[index])


def _profile(value: Value) -> Hashable:
    return value.profile


def _text(value: Value) -> Hashable:
    return value.text


def _introduction(value: Value) -> Hashable:
    return value.introduction


def _nothing(_: Value) -> Hashable:
    return None


def _match(
    rest_a: list[Any],
    rest_b: list[Any],
    paired: dict[Any, Any],
    told_a: Callable[[Any], Hashable],
    told_b: Callable[[Any], Hashable],
) -> None:
    """Pairs what is told alike, the first with the first, and takes it from what is left."""
    waiting: defaultdict[Hashable, list[Any]] = defaultdict(list)
    for other in reversed(rest_b):
        waiting[told_b(other)].append(other)
    for one in rest_a:
        if others := waiting.get(told_a(one)):
            paired[one] = others.pop()
    gone = {paired[one] for one in rest_a if one in paired}
    rest_a[:] = [one for one in rest_a if one not in paired]
    rest_b[:] = [other for other in rest_b if other not in gone]


def _take(
    one: Any, other: Any, rest_a: list[Any], rest_b: list[Any], paired: dict[Any, Any]
) -> None:
    paired[one] = other
    rest_a.remove(one)
    rest_b.remove(other)


def _name(names: Names, a: Values, b: Values) -> None:
    """Numbers values by their first appearance in A, and then those that only B has."""
    numbers: Counter[str] = Counter()
    for index, value in enumerate(a.every):
        names.a[index] = _next(value.kind, numbers)
    for index, value in enumerate(b.every):
        known = names.pairs.get(index)
        names.b[index] = names.a[known] if known is not None else _next(value.kind, numbers)


def _next(kind: str, numbers: "Counter[str]") -> str:
    numbers[kind] += 1
    return "path:cwd" if kind == PATH and numbers[kind] == 1 else f"{kind}:{numbers[kind]}"


def titles(told: Told, keys: Iterable[Scope], names: dict[int, str]) -> dict[Scope, str]:
    """What lanes are called: by the names of their sessions."""
    values = told.former.values.every
    by_text = {value.text: names[i] for i, value in enumerate(values) if value.kind == SESSION}
    return {key: by_text.get(key, key) if key is not None else "connection" for key in keys}
