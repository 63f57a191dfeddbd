"""Collects the values of a recording that get stable names, and finds them in texts.

A value belongs to one session, unless values of its kind are valid in all sessions. A place of a
value is a template and a position in the template. The *introduction* of a value is its first
place, and its *profile* is a sum over all its places. Values of two recordings correspond if they
have the same profile or the same introduction.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NewType

from attrs import define, field

from acp_proxy.diff.default_rules import GLOBAL, PATH, PHRASES, REQUEST, UUID
from acp_proxy.diff.directory_names import Directories

ValueIndex = NewType("ValueIndex", int)
"""An index into `Values.every`."""
ValueNames = Mapping[ValueIndex, str]
"""Stable names of values."""
Scope = str | None
"""A session. None stands for the connection, and for values that are valid in all sessions."""
_Found = tuple[int, int, ValueIndex]
"""A value that was found in a text: its start and its end in the text, and its `ValueIndex`."""

_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,}+")
"""Matches a part of a text that may be a generated id."""
_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_PHRASES = tuple((kind, words, pattern) for kind, (words, pattern) in PHRASES.items())
_MOST_PLAIN, _LONGEST_PLAIN = 4096, 64
"""The largest number of cached texts without values, and the largest length of these texts."""


@define(weakref_slot=False)
class Value:
    """A value of a recording that gets a stable name.

    Attributes:
        kind: the kind of the value's name, such as ``session`` or ``call``.
        text: the value as it was written; for a number, its digits.
        profile: a sum over all places of the value. It is equal for values that occurred in the
            same places.
        introduction: a hash of the first place of the value; None before the value occurs.
    """

    kind: str
    text: str
    scope: Scope
    profile: int = 0
    introduction: int | None = None

    @property
    def is_seen(self) -> bool:
        """Whether the value occurred. False for a directory that only the other recording has."""
        return self.kind != PATH or self.introduction is not None


class _Tables(dict[str, dict[str, ValueIndex]]):
    """The values of one scope, by kind and text. Values of several kinds may have equal texts."""

    def __init__(self, connection: "_Tables | None" = None) -> None:
        self._connection = connection

    def __missing__(self, kind: str) -> dict[str, ValueIndex]:
        shared = self._connection if kind in GLOBAL else None
        self[kind] = {} if shared is None else shared[kind]
        return self[kind]


@define
class Values:
    """All values of one recording, in the order of their first occurrence.

    Attributes:
        every: the values by index.
        directories: finds directories in texts.
        plain: texts without a value, which are not searched again.
        renamed: how many values were first known only as UUIDs, and later got the kind of their id.
    """

    every: list[Value] = field(factory=list)
    directories: Directories = field(factory=Directories)
    plain: set[str] = field(factory=set)
    renamed: int = 0
    _tables: dict[Scope, _Tables] = field(factory=lambda: {None: _Tables()})
    _generated: defaultdict[Scope, dict[str, ValueIndex]] = field(factory=lambda: defaultdict(dict))
    """The values to search for inside texts, by scope and text."""
    _texts: set[str] = field(factory=set)
    """The texts of all values to search for, in all scopes."""
    _plain_keys: set[str] = field(factory=set)
    _layouts: list[dict[tuple[str, ...], Any]] = field(factory=list)

    def tables(self, scope: Scope) -> Mapping[str, Mapping[str, ValueIndex]]:
        """Returns the values of a session by kind and text. Values added later are included."""
        return self._tables_of(scope)

    def index(self, kind: str, text: str, scope: Scope) -> ValueIndex:
        """Returns the index of a value. A value that is not known is added.

        Args:
            kind: the kind of the value.
            text: the value as it was written.
            scope: the session where the value occurs.
        """
        tables = self._tables_of(scope)
        texts = tables[kind]
        known = texts.get(text)
        if known is not None:
            return known
        if kind in GLOBAL:
            scope, tables = None, self._tables_of(None)
        uuid = tables[UUID].pop(text, None)
        if uuid is not None:  # the id occurred in a text before its introduction
            self.every[uuid].kind = kind
            texts[text] = uuid
            self.renamed += 1
            return uuid
        index = texts[text] = ValueIndex(len(self.every))
        self.every.append(Value(kind, text, scope))
        if kind == PATH:
            self._add_directory(text)
        elif _TOKEN.fullmatch(text) and (len(text) >= 16 or any(map(str.isdigit, text))):
            self._generated[None if kind == REQUEST else scope].setdefault(text, index)
            self._search_for(text)
        return index

    def borrow(self, text: str) -> None:
        """Adds a directory of the other recording, even beyond the limit `Directories.most`."""
        self.directories.most += 1
        self.index(PATH, text, None)

    def same(self, known: str, other: str) -> None:
        """Makes two directories one value.

        Args:
            known: the path of the value.
            other: another path, which becomes a text of this value.
        """
        self._tables[None][PATH][other] = self.index(PATH, known, None)
        for path in (known, other):
            self._add_directory(path, is_sure=True)

    def place(self, template: int, placeholders: Iterable[ValueIndex]) -> None:
        """Notes the place of each value in a message.

        Args:
            template: the template of the message.
            placeholders: the values in the message, in order.
        """
        every = self.every
        for position, index in enumerate(placeholders):
            value = every[index]
            place = hash((template, position))
            value.profile += place
            if value.introduction is None:
                value.introduction = place

    def may_have_passed(self, known: int, line: bytes) -> bool:
        """Whether a line may contain a new value, unreplaced, before the place where it was found.

        Args:
            known: the number of values that were known before the line was read.
            line: the canonical JSON of the line, with placeholders.
        """
        for value in self.every[known:]:
            text = value.text
            if value.kind == PATH or (text in self._texts and line.find(text.encode()) > 0):
                return True
        return False

    def assume_plain(self, keys: Iterable[str], layouts: dict[tuple[str, ...], Any]) -> None:
        """Notes cached layouts. If one of the keys becomes a value later, the layouts are removed.

        Args:
            keys: keys without values.
            layouts: cached layouts of objects with these keys.
        """
        self._plain_keys.update(keys)
        self._layouts.append(layouts)

    def may_be_in(self, text: str) -> bool:
        """Quickly checks a text: if the result is False, the text certainly contains no values."""
        return (
            self.directories.may_be_in(text)
            or not self._texts.isdisjoint(_TOKEN.findall(text))
            or text.count("-") >= 4
            or any(words in text for _, words, _ in _PHRASES)
        )

    def found_in(self, text: str, scope: Scope) -> list[_Found]:
        """Finds values inside a text: directories, UUIDs, `PHRASES`, and ids that look generated.

        Short ids are not searched for, because they may be ordinary words.

        Args:
            text: any text.
            scope: the session where the text occurs.

        Returns:
            For each value, its start and end in the text, and its `ValueIndex`. The values are in
            order and do not overlap.
        """
        if text.isidentifier() and text.isascii():  # most texts are a single token
            if text not in self._texts:
                self._remember_plain(text)
                return []
            index = self._generated_value(text, scope)
            return [] if index is None else [(0, len(text), index)]
        places, paths = list[_Found](), self._tables[None][PATH]
        if self.directories.may_be_in(text):
            places += ((a, b, paths[path]) for a, b, path in self.directories.found_in(text))
        if text.count("-") >= 4:
            places += self._uuids_in(text, scope)
        tokens = _TOKEN.findall(text)
        if not self._texts.isdisjoint(tokens):
            places += self._ids_in(text, scope)
        for kind, words, pattern in _PHRASES:
            if words in text:
                for match in pattern.finditer(text):
                    places.append((*match.span(1), self.index(kind, match[1], scope)))
        if len(places) > 1:
            return [*_without_overlaps(sorted(places, key=lambda place: (place[0], -place[1])))]
        if not places and not tokens:  # only a directory that is added later can be in the text
            self._remember_plain(text)
        return places

    def cut_in(self, text: str) -> tuple[int, ValueIndex] | None:
        """Returns the start and the `ValueIndex` of the first directory in a text, or None.

        An agent may have cut the text. So the text may end with only the beginning of a directory.
        """
        cut = self.directories.cut_in(text)
        return None if cut is None else (cut[0], self._tables[None][PATH][cut[1]])

    def _uuids_in(self, text: str, scope: Scope) -> Iterator[_Found]:
        for match in _UUID.finditer(text):
            index = self._generated_value(match[0], scope)
            yield *match.span(), self.index(UUID, match[0], scope) if index is None else index

    def _ids_in(self, text: str, scope: Scope) -> Iterator[_Found]:
        for match in _TOKEN.finditer(text):
            index = self._generated_value(match[0], scope) if match[0] in self._texts else None
            if index is not None:
                yield *match.span(), index

    def _tables_of(self, scope: Scope) -> _Tables:
        tables = self._tables.get(scope)
        if tables is None:
            tables = self._tables[scope] = _Tables(self._tables[None])
        return tables

    def _generated_value(self, text: str, scope: Scope) -> ValueIndex | None:
        return self._generated[scope].get(text, self._generated[None].get(text))

    def _remember_plain(self, text: str) -> None:
        if len(self.plain) < _MOST_PLAIN and len(text) <= _LONGEST_PLAIN:
            self.plain.add(text)

    def _add_directory(self, path: str, *, is_sure: bool = False) -> None:
        self.directories.add(path, is_sure=is_sure)
        self.plain.clear()

    def _search_for(self, text: str) -> None:
        self._texts.add(text)
        self.plain.discard(text)
        if text in self._plain_keys:
            for layouts in self._layouts:
                layouts.clear()
            self._plain_keys.clear()
            self._layouts.clear()


def _without_overlaps(places: Iterable[_Found]) -> Iterator[_Found]:
    after = 0
    for start, end, index in places:
        if start >= after:
            yield start, end, index
            after = end
