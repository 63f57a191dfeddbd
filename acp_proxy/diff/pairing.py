"""Pairs the sessions and values of two recordings, and gives each pair a stable name.

Frames can be compared only if corresponding ids are known. The best evidence for an id is where it
occurred. Sessions are paired first, by their contents (`_pair_sessions`). Then values are paired,
in these steps (`named_values` explains *profile* and *introduction*):

- values with the same profile, if both recordings have equally many values with this profile;
- values at the same place of two frames, after frames were aligned regardless of unpaired values;
- the other values with the same profile;
- values with the same spelling, and then values with the same introduction;
- the remaining values, in recorded order.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field

from acp_proxy.base.alignment import align
from acp_proxy.diff.default_rules import PATH, REQUEST, SESSION
from acp_proxy.diff.named_values import Scope, Value, ValueIndex, ValueNames, Values
from acp_proxy.diff.sequences import ItemIndex, MessageSequence, SideIndex

_Group = tuple[list[ValueIndex], list[ValueIndex]]
"""Unpaired values of A, and unpaired values of B, that may correspond."""
_ValuePair = tuple[ValueIndex, ValueIndex]
_MASK = (1 << 64) - 1
_MOST_COMPARED = 64
"""The largest number of sessions on a side that are compared one by one."""


@define
class Pairing:
    """The corresponding sessions and values of both recordings, and their stable names."""

    session_of_b: dict[Scope, Scope]
    """The paired session of B for each session of A."""
    value_of_a: dict[ValueIndex, ValueIndex]
    """The paired value of A for each value of B."""
    names_a: dict[ValueIndex, str] = field(factory=dict)
    names_b: dict[ValueIndex, str] = field(factory=dict)
    """The names of the values of B. Paired values have the same name."""


def pair(a: SideIndex, b: SideIndex) -> Pairing:
    """Pairs the sessions and the values of two recordings, and names them.

    Args:
        a: one recording.
        b: the other recording.
    """
    sessions = _pair_sessions(a, b)
    pairing = Pairing(sessions, _ValuePairs(a, b, sessions).paired())
    _name(pairing, a.canonicalizer.values, b.canonicalizer.values)
    return pairing


def titles(side: SideIndex, sessions: Iterable[Scope], names: ValueNames) -> dict[Scope, str]:
    """Returns the titles of sessions: their stable names, or ``connection``.

    Args:
        side: the recording.
        sessions: the sessions; None is the connection.
        names: the names of the recording's values.
    """
    every = side.canonicalizer.values.every
    by_text = {every[i].text: name for i, name in names.items() if every[i].kind == SESSION}
    return {key: by_text.get(key, key) if key is not None else "connection" for key in sessions}


def _name(pairing: Pairing, a: Values, b: Values) -> None:
    """Gives names to all values of A, in order of occurrence, and then to those that only B has."""
    numbers: Counter[str] = Counter()
    for index, value in _seen(a):
        pairing.names_a[index] = _next_name(value.kind, numbers)
    for index, value in _seen(b):
        known = pairing.value_of_a.get(index)
        pairing.names_b[index] = (
            _next_name(value.kind, numbers) if known is None else pairing.names_a[known]
        )


def _seen(values: Values) -> Iterator[tuple[ValueIndex, Value]]:
    for index, value in enumerate(values.every):
        if value.is_seen:
            yield ValueIndex(index), value


def _next_name(kind: str, numbers: "Counter[str]") -> str:
    numbers[kind] += 1
    return "path:cwd" if kind == PATH and numbers[kind] == 1 else f"{kind}:{numbers[kind]}"


def _pair_sessions(a: SideIndex, b: SideIndex) -> dict[Scope, Scope]:
    paired: dict[Scope, Scope] = {None: None}
    rest_a, rest_b = _sessions(a), _sessions(b)
    if len(rest_a) == len(rest_b) == 1:
        return {None: None, rest_a[0]: rest_b[0]}
    templates_a, templates_b = _templates(a), _templates(b)
    sums_a = {name: _sum(templates) for name, templates in templates_a.items()}
    sums_b = {name: _sum(templates) for name, templates in templates_b.items()}
    if {*rest_a} == {*rest_b}:  # people chose these ids, so equal ids mean the same session
        _match(rest_a, rest_b, paired, lambda name: (sums_a[name], name), lambda n: (sums_b[n], n))
    _match(rest_a, rest_b, paired, sums_a.__getitem__, sums_b.__getitem__)
    _match(rest_a, rest_b, paired, lambda name: name, lambda name: name)
    if len(rest_a) <= _MOST_COMPARED and len(rest_b) <= _MOST_COMPARED:
        _match_likest(rest_a, rest_b, paired, lambda name, other: (
            templates_a[name] & templates_b[other]).total())  # fmt: skip
    _match(rest_a, rest_b, paired, lambda _: None, lambda _: None)
    return paired


def _match_likest(
    rest_a: list[Any], rest_b: list[Any], paired: dict[Any, Any], common: Callable[[Any, Any], int]
) -> None:
    """Pairs sessions that have templates in common. The most similar sessions are paired first."""
    counts = [
        (-common(name, other), place_a, place_b)
        for place_a, name in enumerate(rest_a)
        for place_b, other in enumerate(rest_b)
    ]
    left_a, left_b = list(rest_a), list(rest_b)
    for count, place_a, place_b in sorted(counts):
        name, other = left_a[place_a], left_b[place_b]
        if count and name in rest_a and other in rest_b:
            paired[name] = other
            rest_a.remove(name)
            rest_b.remove(other)


def _sessions(side: SideIndex) -> list[Scope]:
    """Returns the sessions in the order of their first frames."""
    keys = dict.fromkeys(key.session for key in side.sequences)
    return [session for session in keys if session is not None]


def _templates(side: SideIndex) -> dict[Scope, Counter[int]]:
    counts: dict[Scope, Counter[int]] = {}
    for key, sequence in side.sequences.items():
        counts.setdefault(key.session, Counter()).update(sequence.templates)
    return counts


def _sum(templates: Counter[int]) -> int:
    return sum(hash(item) for item in templates.items()) & _MASK


class _ValuePairs:
    """Pairs values of A and B. The result maps values of B to values of A."""

    def __init__(self, a: SideIndex, b: SideIndex, sessions: dict[Scope, Scope]) -> None:
        self._a, self._b = a, b
        self._every_a = a.canonicalizer.values.every
        self._every_b = b.canonicalizer.values.every
        self._sessions = sessions
        self._pairs: dict[ValueIndex, ValueIndex] = {}
        self._groups = list(self._grouped())

    def paired(self) -> dict[ValueIndex, ValueIndex]:
        """Pairs as many values as possible."""
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
        """Distinguishes requests by the sessions and calls in them and in their answers.

        For example, two requests for a new session have equal templates, but their answers name
        different sessions.
        """
        _refine(self._a, {i: i for i in self._pairs.values()})
        _refine(self._b, self._pairs)

    def _grouped(self) -> Iterator[_Group]:
        """Groups unpaired values by kind and session. Only values of one group may correspond."""
        groups_b = _by_kind(self._b.canonicalizer.values)
        for (kind, scope), rest_a in _by_kind(self._a.canonicalizer.values).items():
            sessions = {scope: scope} if kind == REQUEST else self._sessions
            if scope in sessions:
                rest_b = groups_b.get((kind, sessions[scope]))
                if rest_b is not None:
                    yield rest_a, rest_b

    def _match(
        self, group: _Group, key: Callable[[Value], Hashable], *, only_sure: bool = False
    ) -> None:
        rest_a, rest_b = group
        if not rest_a or not rest_b:
            return
        pairs: dict[ValueIndex, ValueIndex] = {}
        every_a, every_b = self._every_a, self._every_b
        key_a: Callable[[ValueIndex], Hashable] = lambda i: key(every_a[i])  # noqa: E731
        key_b: Callable[[ValueIndex], Hashable] = lambda j: key(every_b[j])  # noqa: E731
        _match(rest_a, rest_b, pairs, key_a, key_b, only_sure=only_sure)
        self._pairs.update({j: i for i, j in pairs.items()})

    def _pair_session_ids(self) -> None:
        """Pairs the ids of paired sessions."""
        pairs: dict[ValueIndex, ValueIndex] = {}
        for rest_a, rest_b in self._groups:
            ids = {self._every_b[j].text: j for j in rest_b if self._every_b[j].kind == SESSION}
            for i in rest_a:
                session = self._sessions.get(self._every_a[i].text)
                if self._every_a[i].kind == SESSION and session in ids:
                    pairs[ids[session]] = i
        self._take(pairs)

    def _pair_by_alignment(self) -> None:
        """Pairs values by their places in frames, which are aligned regardless of unpaired values.

        Each place is a vote for a pair. The pairs with the most votes are chosen.
        """
        votes: Counter[_ValuePair] = Counter()
        sides = _UnpairedSides(self._a, self._b, self._groups, self._pairs)
        for key, sequence_a in self._a.sequences.items():
            if key.session not in self._sessions:
                continue
            key_b = key._replace(session=self._sessions[key.session])
            sequence_b = self._b.sequences.get(key_b)
            if sequence_b is not None:
                votes.update(sides.side_by_side(sequence_a, sequence_b))
        pairs: dict[ValueIndex, ValueIndex] = {}
        taken: set[ValueIndex] = set()
        for (i, j), _ in votes.most_common():
            if i not in taken and j not in pairs:
                pairs[j] = i
                taken.add(i)
        self._take(pairs)

    def _take(self, pairs: dict[ValueIndex, ValueIndex]) -> None:
        self._pairs.update(pairs)
        taken = set(pairs.values())
        for rest_a, rest_b in self._groups:
            rest_a[:] = [i for i in rest_a if i not in taken]
            rest_b[:] = [j for j in rest_b if j not in pairs]


def _refine(side: SideIndex, pairs: Mapping[ValueIndex, ValueIndex]) -> None:
    every = side.canonicalizer.values.every
    # The first value of a message is the id of its request, if it has one.
    is_named = [
        bool(placeholder) and every[placeholder[0]].kind == REQUEST
        for placeholder in side.placeholders
    ]
    known = {i: n for i, n in pairs.items() if every[i].kind != PATH}
    for value in every:
        if value.kind == REQUEST:
            value.profile = 0
    for sequence in side.sequences.values():
        request_ids = sequence.request_ids
        columns = zip(sequence.templates, sequence.placeholders, strict=True)
        for item, (template, k) in enumerate(columns):
            request_id = request_ids.get(ItemIndex(item)) if request_ids else None
            if request_id is not None or is_named[k]:
                placeholders = side.placeholders[k]
                value = every[placeholders[0] if request_id is None else request_id]
                others = hash(tuple(map(known.get, placeholders)))
                value.profile = (value.profile + hash((template, others))) & _MASK


class _UnpairedSides:
    """Both recordings, with their unpaired values."""

    def __init__(
        self,
        a: SideIndex,
        b: SideIndex,
        groups: Iterable[_Group],
        pairs: Mapping[ValueIndex, ValueIndex],
    ) -> None:
        self._placeholders_a, self._placeholders_b = a.placeholders, b.placeholders
        self._groups_a: dict[ValueIndex, int] = {}
        self._groups_b: dict[ValueIndex, int] = {}
        for number, (rest_a, rest_b) in enumerate(groups):
            self._groups_a.update(dict.fromkeys(rest_a, number))
            self._groups_b.update(dict.fromkeys(rest_b, number))
        self._open = {
            k
            for k, placeholder in enumerate(a.placeholders)
            if not self._groups_a.keys().isdisjoint(placeholder)
        }
        """The indexes of those placeholders of A that contain unpaired values."""
        self._hashes_a = _hashes(a, {i: i for i in pairs.values()})
        self._hashes_b = _hashes(b, pairs)

    def side_by_side(self, a: MessageSequence, b: MessageSequence) -> Iterator[_ValuePair]:
        """Yields pairs: an unpaired value of A, and one of B at the same place of an aligned frame.

        Args:
            a: a sequence of A.
            b: the corresponding sequence of B.
        """
        for i, j in align(_keys(a, self._hashes_a), _keys(b, self._hashes_b)):
            if a.placeholders[i] not in self._open and i not in a.request_ids:
                continue
            item_a, item_b = ItemIndex(i), ItemIndex(j)
            pairs = [*zip(
                self._placeholders_a[a.placeholders[item_a]],
                self._placeholders_b[b.placeholders[item_b]],
                strict=False,
            )]  # fmt: skip
            request_a, request_b = a.request_ids.get(item_a), b.request_ids.get(item_b)
            if request_a is not None and request_b is not None:
                # A request has two votes: in one of the recordings, an answer may have a wrong id.
                pairs += [(request_a, request_b)] * 2
            for mine, other in pairs:
                if mine in self._groups_a and self._groups_a[mine] == self._groups_b.get(other):
                    yield mine, other


def _hashes(side: SideIndex, pairs: Mapping[ValueIndex, ValueIndex]) -> list[int]:
    """Returns a hash for each tuple of values. All unpaired values count as equal."""
    return [hash(tuple(map(pairs.get, placeholder))) for placeholder in side.placeholders]


def _keys(sequence: MessageSequence, hashes: list[int]) -> list[int]:
    """Returns a key for each item. Keys are equal if templates and paired values are equal."""
    columns = zip(sequence.templates, sequence.placeholders, strict=True)
    return [hash((template, hashes[k])) for template, k in columns]


def _by_kind(values: Values) -> dict[tuple[str, Scope], list[ValueIndex]]:
    groups: dict[tuple[str, Scope], list[ValueIndex]] = {}
    for index, value in _seen(values):
        groups.setdefault((value.kind, value.scope), []).append(index)
    return groups


def _match(
    rest_a: list[Any],
    rest_b: list[Any],
    paired: dict[Any, Any],
    key_a: Callable[[Any], Hashable],
    key_b: Callable[[Any], Hashable],
    *,
    only_sure: bool = False,
) -> None:
    """Pairs values with equal keys, in order. Removes the paired values from both lists.

    With ``only_sure``, a key pairs values only if both sides have equally many values with this
    key.
    """
    waiting: defaultdict[Hashable, list[Any]] = defaultdict(list)
    for other in reversed(rest_b):
        waiting[key_b(other)].append(other)
    count = Counter(map(key_a, rest_a)) if only_sure else Counter[Hashable]()
    unsure = {key for key, number in count.items() if number != len(waiting.get(key, ()))}
    for item in rest_a:
        key = key_a(item)
        if key not in unsure and (others := waiting.get(key)):
            paired[item] = others.pop()
    gone = {paired[item] for item in rest_a if item in paired}
    rest_a[:] = [item for item in rest_a if item not in paired]
    rest_b[:] = [other for other in rest_b if other not in gone]
