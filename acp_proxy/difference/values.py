"""The values of one recording that get stable names, and where each was seen.

A value belongs to the lane in which it was seen, but for those that mean the same everywhere. How
it is recognized in the other recording: by its *profile*, which is the sum of all places where it
stood, or by its *introduction*, the first of them. A place is a message's form and a slot in it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from attrs import define, field

from acp_proxy.difference.defaults import GLOBAL, PATH, PHRASES, REQUEST, UUID
from acp_proxy.difference.directories import Directories

_MASK = (1 << 64) - 1
_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,}")
"""What may be a value that somebody has minted, in the middle of a text."""
_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_WORDS = tuple(words for words, _ in PHRASES.values())
_SHORT = min(map(len, _WORDS))

Scope = str | None
"""A lane's session; None for the connection, and for values that mean the same everywhere."""


@define(weakref_slot=False)
class Value:
    """One value.

    Attributes:
        kind: what it is the name of.
        text: as it was written; a number by its digits.
        scope: where it belongs.
        profile: a number that is the same for values that stood in the same places.
        introduction: the place where it stood first, as a number.
    """

    kind: str
    text: str
    scope: Scope
    profile: int = 0
    introduction: int | None = None

    @property
    def is_seen(self) -> bool:
        """Whether it stood anywhere; a directory may be known from the other recording alone."""
        return self.kind != PATH or self.introduction is not None


@define
class Values:
    """All values of one recording, by their index, in the order in which they appeared."""

    every: list[Value] = field(factory=list)
    directories: Directories = field(factory=Directories)
    renamed: int = 0
    """How often it turned out what a UUID is the id of."""
    _known: defaultdict[tuple[Scope, str], dict[str, int]] = field(
        factory=lambda: defaultdict(dict)
    )
    """By scope and kind, and then by text: small numbers are ids of many kinds."""
    _minted: defaultdict[Scope, dict[str, int]] = field(factory=lambda: defaultdict(dict))
    """By scope, and then by text: what is looked for in the middle of others."""
    _texts: set[str] = field(factory=set)
    """The same in any scope."""

    def index(self, kind: str, text: str, scope: Scope) -> int:
        """The index of a value, which may be new."""
        if kind in GLOBAL:
            scope = None
        texts = self._known[scope, kind]
        known = texts.get(text)
        if known is not None:
            return known
        if (index := self._known[scope, UUID].pop(text, -1)) >= 0:  # now it is known of what
            self.every[index].kind = kind
            texts[text] = index
            self.renamed += 1
            return index
        index = texts[text] = len(self.every)
        self.every.append(Value(kind, text, scope))
        if kind == PATH:
            self.directories.add(text, index)
        elif _is_minted(text):
            self._minted[None if kind == REQUEST else scope].setdefault(text, index)
            self._texts.add(text)
        return index

    def known(self, kind: str, text: str, scope: Scope) -> int | None:
        """The index of a value that has been seen."""
        return self._known[None if kind in GLOBAL else scope, kind].get(text)

    def borrow(self, text: str) -> None:
        """Knows a directory that the other recording names; of its own there may be as many."""
        self.directories.most += 1
        self.index(PATH, text, None)

    def same(self, known: str, other: str) -> None:
        """Lets two directories be one."""
        index = self._known[None, PATH][other] = self.index(PATH, known, None)
        for path in (known, other):
            self.directories.add(path, index, is_sure=True)

    def place(self, slots: Iterable[int], form: int) -> None:
        """Notes where values stood: in the slots of a message, which has a form."""
        for slot, index in enumerate(slots):
            value = self.every[index]
            place = hash((form, slot))
            value.profile = (value.profile + place) & _MASK
            if value.introduction is None:
                value.introduction = place

    def may_have_passed(self, known: int, line: bytes) -> bool:
        """Whether a value that is new may stand in a line where it was not known yet.

        Args:
            known: how many values there were before.
            line: canonical JSON, with slots in place of the values that were known.
        """
        new = self.every[known:]
        return any(
            one.kind == PATH or (one.text in self._texts and one.text.encode() in line)
            for one in new
        )

    def may_be_in(self, text: str) -> bool:
        """Whether it is worth looking for values in a text; quick."""
        if text.isidentifier() and text.isascii():  # one token, as most are
            return text in self._texts
        if self.directories.may_be_in(text) or not self._texts.isdisjoint(_TOKEN.findall(text)):
            return True
        if text.count("-") >= 4:
            return True
        return len(text) > _SHORT and any(map(text.__contains__, _WORDS))

    def found_in(self, text: str, scope: Scope) -> Iterator[tuple[int, int, int]]:
        """Finds values in the middle of a text: where each begins and ends, and its index.

        Directories, which stand there with what is below them; UUIDs, known or not; `PHRASES`; and
        what was minted before, as it seems by its length and its digits. A short id is an ordinary
        word.
        """
        places = [*self.directories.found_in(text)]
        if "-" in text:
            for match in _UUID.finditer(text):
                places.append((*match.span(), self._named(match[0], scope, UUID)))
        if not self._texts.isdisjoint(_TOKEN.findall(text)):
            for match in _TOKEN.finditer(text):
                if match[0] in self._texts:
                    places.append((*match.span(), self._named(match[0], scope, None)))
        for kind, (words, pattern) in PHRASES.items():
            if words in text:
                for match in pattern.finditer(text):
                    places.append((*match.span(1), self.index(kind, match[1], scope)))
        after = 0
        for start, end, index in sorted(places, key=lambda place: (place[0], -place[1])):
            if start >= after and index >= 0:
                yield start, end, index
                after = end

    def _named(self, text: str, scope: Scope, otherwise: str | None) -> int:
        """A value in a text, of whatever kind it is; a new one, or -1."""
        known = self._minted[scope].get(text, self._minted[None].get(text))
        if known is not None:
            return known
        return -1 if otherwise is None else self.index(otherwise, text, scope)


def _is_minted(text: str) -> bool:
    if _TOKEN.fullmatch(text) is None:
        return False
    return len(text) >= 16 or any(character.isdigit() for character in text)
