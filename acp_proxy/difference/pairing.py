"""Which session and which value of one recording is which of the other.

Frames can be compared only when it is known which ids mean the same; and that is best told by where
they stood. So sessions and values are paired first: those that stood in all the same places; then
those that stand in frames which belong together when the lanes are aligned without them; then those
that are spelled alike, those that were introduced alike, and at last what is left, in order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from acp_proxy.difference.alignment import align
from acp_proxy.difference.defaults import PATH, REQUEST, SESSION
from acp_proxy.difference.lanes import MessageSequence, SideIndex
from acp_proxy.difference.names import StableNames
from acp_proxy.difference.values import Scope, Value, Values

_Group = tuple[list[int], list[int]]
"""Values of A and of B that have no partner yet, and that may be the same."""
_MASK = (1 << 64) - 1
_MOST_COMPARED = 64
"""Sessions on either side that are compared one by one."""


def pair(a: SideIndex, b: SideIndex) -> StableNames:
    """Pairs the sessions and the values of two recordings, and names them."""
    names = StableNames(sessions=_pair_sessions(a, b))
    names.pairs = _ValuePairs(a, b, names.sessions).found()
    names.give(a.former.values, b.former.values)
    return names


def _pair_sessions(a: SideIndex, b: SideIndex) -> dict[Scope, Scope]:
    forms_a, forms_b = _forms(a), _forms(b)
    paired: dict[Scope, Scope] = {None: None}
    rest_a = [one for one in forms_a if one is not None]
    rest_b = [one for one in forms_b if one is not None]
    sums_a = {one: _sum(forms) for one, forms in forms_a.items()}
    sums_b = {one: _sum(forms) for one, forms in forms_b.items()}
    if {*rest_a} == {*rest_b}:  # they are called so, and not numbered by chance
        _match(
            rest_a, rest_b, paired, lambda one: (sums_a[one], one), lambda one: (sums_b[one], one)
        )
    _match(rest_a, rest_b, paired, sums_a.__getitem__, sums_b.__getitem__)
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
                paired[one] = other
                rest_a.remove(one)
                rest_b.remove(other)
    _match(rest_a, rest_b, paired, lambda _: None, lambda _: None)
    return paired


def _forms(told: SideIndex) -> dict[Scope, Counter[int]]:
    """What was said in each session, in the order of their first frames."""
    forms: dict[Scope, Counter[int]] = {}
    for key, lane in told.lanes.items():
        forms.setdefault(key.session, Counter()).update(lane.forms)
    return forms


def _sum(forms: Counter[int]) -> int:
    return sum(hash(item) for item in forms.items()) & _MASK


class _ValuePairs:
    """Pairs values: indexes in A by indexes in B."""

    def __init__(self, a: SideIndex, b: SideIndex, sessions: dict[Scope, Scope]) -> None:
        self._a, self._b = a, b
        self._every_a, self._every_b = a.former.values.every, b.former.values.every
        self._sessions = sessions
        self._pairs: dict[int, int] = {}
        self._groups = list(self._grouped())

    def found(self) -> dict[int, int]:
        """Pairs all that can be paired."""
        self._pair_session_ids()
        for group in self._groups:
            if not self._is_of_requests(group):
                self._match(group, lambda value: value.profile, only_sure=True)
        self._refine_requests()
        for group in self._groups:
            if self._is_of_requests(group):
                self._match(group, lambda value: value.profile, only_sure=True)
        if any(rest_a and rest_b for rest_a, rest_b in self._groups):
            self._pair_by_alignment()
        for group in self._groups:
            self._match(group, lambda value: value.profile)
            self._match(group, lambda value: value.text)
            self._match(group, lambda value: value.introduction)
            self._match(group, lambda _: None)
        return self._pairs

    def _is_of_requests(self, group: _Group) -> bool:
        return any(self._every_a[i].kind == REQUEST for i in group[0][:1])

    def _refine_requests(self) -> None:
        """Lets it count for requests which sessions and calls they and their answers name.

        Two that ask for a new session say the same; what tells them apart is the session.
        """
        _refine(self._a, {i: i for i in self._pairs.values()})
        _refine(self._b, self._pairs)

    def _grouped(self) -> Iterator[_Group]:
        """What may be the same: values of one kind and of one session."""
        groups_b = _by_kind(self._b.former.values)
        for (kind, scope), rest_a in _by_kind(self._a.former.values).items():
            sessions = {scope: scope} if kind == REQUEST else self._sessions
            if scope in sessions:
                rest_b = groups_b.get((kind, sessions[scope]))
                if rest_b is not None:
                    yield rest_a, rest_b

    def _match(
        self, group: _Group, told: Callable[[Value], Hashable], *, only_sure: bool = False
    ) -> None:
        found: dict[int, int] = {}
        every_a, every_b = self._every_a, self._every_b
        told_a: Callable[[int], Hashable] = lambda i: told(every_a[i])  # noqa: E731
        told_b: Callable[[int], Hashable] = lambda j: told(every_b[j])  # noqa: E731
        _match(*group, found, told_a, told_b, only_sure=only_sure)
        self._pairs.update({j: i for i, j in found.items()})

    def _pair_session_ids(self) -> None:
        """What is known of sessions holds for their ids."""
        found: dict[int, int] = {}
        for rest_a, rest_b in self._groups:
            ids = {self._every_b[j].text: j for j in rest_b if self._every_b[j].kind == SESSION}
            for i in rest_a:
                session = self._sessions.get(self._every_a[i].text)
                if self._every_a[i].kind == SESSION and session in ids:
                    found[ids[session]] = i
        self._take(found)

    def _pair_by_alignment(self) -> None:
        """Aligns lanes as if values that have no partner yet were all the same.

        Whatever stand in most places side by side are the same.
        """
        votes: Counter[tuple[int, int]] = Counter()
        sides = _Sides(self._a, self._b, self._groups, self._pairs)
        for key, lane_a in self._a.lanes.items():
            if key.session not in self._sessions:
                continue
            lane_b = self._b.lanes.get(key._replace(session=self._sessions[key.session]))
            if lane_b is not None:
                votes.update(sides.side_by_side(lane_a, lane_b))
        found: dict[int, int] = {}
        taken: set[int] = set()
        for (i, j), _ in votes.most_common():
            if i not in taken and j not in found:
                found[j] = i
                taken.add(i)
        self._take(found)

    def _take(self, found: dict[int, int]) -> None:
        self._pairs.update(found)
        taken = set(found.values())
        for rest_a, rest_b in self._groups:
            rest_a[:] = [i for i in rest_a if i not in taken]
            rest_b[:] = [j for j in rest_b if j not in found]


def _refine(told: SideIndex, names: dict[int, int]) -> None:
    every = told.former.values.every
    # What names a request names it before all else.
    is_named = [bool(one) and every[one[0]].kind == REQUEST for one in told.slots]
    named = {i: n for i, n in names.items() if every[i].kind != PATH}
    for value in every:
        if value.kind == REQUEST:
            value.profile = 0
    for lane in told.lanes.values():
        for item, (form, k) in enumerate(zip(lane.forms, lane.slots, strict=True)):
            if is_named[k] or item in lane.asked:
                slots = told.slots[k]
                value = every[lane.asked.get(item, slots[0] if slots else 0)]
                (others,) = _hashes([slots], named)
                value.profile = (value.profile + hash((form, others))) & _MASK


class _Sides:
    """Both sides as they are before all values have a partner."""

    def __init__(
        self, a: SideIndex, b: SideIndex, groups: Iterable[_Group], pairs: dict[int, int]
    ) -> None:
        self._slots_a, self._slots_b = a.slots, b.slots
        self._groups_a: dict[int, int] = {}
        self._groups_b: dict[int, int] = {}
        for place, (rest_a, rest_b) in enumerate(groups):
            self._groups_a.update(dict.fromkeys(rest_a, place))
            self._groups_b.update(dict.fromkeys(rest_b, place))
        self._open = {
            k for k, one in enumerate(a.slots) if not self._groups_a.keys().isdisjoint(one)
        }
        """Which slots of A hold values without a partner."""
        self._hashes_a = _hashes(a.slots, {i: i for i in pairs.values()})
        self._hashes_b = _hashes(b.slots, pairs)

    def side_by_side(
        self, lane_a: MessageSequence, lane_b: MessageSequence
    ) -> Iterator[tuple[int, int]]:
        """Values without a partner that stand in the same places of frames that belong together."""
        keys_a, keys_b = _keys(lane_a, self._hashes_a), _keys(lane_b, self._hashes_b)
        for item_a, item_b in align(keys_a, keys_b):
            if lane_a.slots[item_a] not in self._open and item_a not in lane_a.asked:
                continue
            of_a = self._slots_a[lane_a.slots[item_a]]
            of_b = self._slots_b[lane_b.slots[item_b]]
            asked = (lane_a.asked.get(item_a, -1), lane_b.asked.get(item_b, -1))
            # A request counts for more than its answer, which may have got another one's id.
            for i, j in (*zip(of_a, of_b, strict=False), asked, asked):
                if i in self._groups_a and self._groups_a[i] == self._groups_b.get(j):
                    yield i, j


def _hashes(slots: list[tuple[int, ...]], names: dict[int, int]) -> list[int]:
    return [hash(tuple(map(names.get, one))) for one in slots]


def _keys(lane: MessageSequence, hashes: list[int]) -> list[int]:
    """What tells items from others as far as their values have names."""
    return [hash((form, hashes[k])) for form, k in zip(lane.forms, lane.slots, strict=True)]


def _by_kind(values: Values) -> dict[tuple[str, Scope], list[int]]:
    groups: dict[tuple[str, Scope], list[int]] = {}
    for index, value in enumerate(values.every):
        if value.is_seen:
            groups.setdefault((value.kind, value.scope), []).append(index)
    return groups


def _match(
    rest_a: list[Any],
    rest_b: list[Any],
    paired: dict[Any, Any],
    told_a: Callable[[Any], Hashable],
    told_b: Callable[[Any], Hashable],
    *,
    only_sure: bool = False,
) -> None:
    """Pairs what is told alike, the first with the first, and takes it from what is left.

    It is sure that they are the same if there are as many of them on both sides.
    """
    waiting: defaultdict[Hashable, list[Any]] = defaultdict(list)
    for other in reversed(rest_b):
        waiting[told_b(other)].append(other)
    count = Counter(map(told_a, rest_a)) if only_sure else Counter[Hashable]()
    unsure = {told for told, number in count.items() if number != len(waiting.get(told, ()))}
    for one in rest_a:
        told = told_a(one)
        if told not in unsure and (others := waiting.get(told)):
            paired[one] = others.pop()
    gone = {paired[one] for one in rest_a if one in paired}
    rest_a[:] = [one for one in rest_a if one not in paired]
    rest_b[:] = [other for other in rest_b if other not in gone]
