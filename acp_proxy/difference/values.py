"""The values of one recording that get stable names, and where each was seen.

A value belongs to the lane in which it was seen, but for those that mean the same everywhere. How
it is recognized in the other recording: by its *profile*, which is the sum of all places where it
stood, or by its *introduction*, the first of them. A place is a message's form and a slot in it.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import quote

from attrs import define, field

from acp_proxy.difference.defaults import GLOBAL, PATH, PHRASES, REQUEST, UUID

_MASK = (1 << 64) - 1
_SYSTEM = {
    *("", "/bin", "/dev", "/etc", "/home", "/mnt", "/opt", "/private", "/root", "/srv", "/tmp"),
    *("/usr", "/Users", "/var", "C:"),
}
_URI = "file://"
_ABSOLUTE = re.compile(r"/|[A-Za-z](?::|%3[Aa])[/\\]")
_ENCODED = re.compile(r"%[0-9A-F]{2}")
_LINKED = ("/tmp/", "/var/")
"""Directories that are links to others below `/private` on macOS."""
_MOST_ROOTS = 128
"""Directories that are looked for in texts."""
_LEAST_CUT = 4
"""Characters of a directory by which it is recognized where a text was cut."""
_TOKEN = re.compile(r"[A-Za-z0-9_-]{8,}")
"""What may be a value that somebody has minted, in the middle of a text."""
_UUID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)
_WORDS = tuple(words for words, _ in PHRASES.values())
_SHORT = min(map(len, _WORDS))

Scope = str | None
"""A lane's session; None for the connection, and for values that mean the same everywhere."""


@define
class Value:
    """One value.

    Attributes:
        kind: what it is the name of.
        text: as it was written; a number by its digits.
        scope: where it belongs.
        profile: a number that is the same for values that stood in the same places.
        introduction: the place where it stood first.
    """

    kind: str
    text: str
    scope: Scope
    profile: int = 0
    introduction: tuple[int, int] | None = None


@define
class Values:
    """All values of one recording, by their index, in the order in which they appeared."""

    every: list[Value] = field(factory=list)
    _known: dict[tuple[Scope, str, str], int] = field(factory=dict)
    """By scope, kind and text: small numbers are ids of many kinds."""
    _minted: dict[tuple[Scope, str], int] = field(factory=dict)
    _texts: set[str] = field(factory=set)
    """Texts that are looked for in the middle of others."""
    _roots: dict[str, int] = field(factory=dict)
    _common: dict[str, int] = field(factory=dict)
    """Directories of the system, which are named in texts that have nothing to do with them; only
    a text that begins with one means it."""
    _bare: set[str] = field(factory=set)
    """Words, one of which stands in each text that names a directory."""
    _pattern: re.Pattern[str] | None = None

    def index(self, kind: str, text: str, scope: Scope) -> int:
        """The index of a value, which may be new."""
        if kind in GLOBAL:
            scope = None
        known = self._known.get((scope, kind, text))
        if known is not None:
            return known
        if (index := self._known.pop((scope, UUID, text), -1)) >= 0:  # now it is known of what
            self.every[index].kind = kind
            self._known[scope, kind, text] = index
            return index
        index = self._known[scope, kind, text] = len(self.every)
        self.every.append(Value(kind, text, scope))
        if kind == PATH:
            self._add_root(text, index)
        elif _is_minted(text):
            self._minted.setdefault((None if kind == REQUEST else scope, text), index)
            self._texts.add(text)
        return index

    def same(self, known: str, other: str) -> None:
        """Lets two directories be one."""
        index = self._known[None, PATH, other] = self.index(PATH, known, None)
        for path in (known, other):
            self._add_root(path, index, is_sure=True)

    def place(self, slots: Iterable[int], form: int) -> None:
        """Notes where values stood: in the slots of a message, which has a form."""
        for slot, index in enumerate(slots):
            value = self.every[index]
            value.profile = (value.profile + hash((form, slot))) & _MASK
            if value.introduction is None:
                value.introduction = (form, slot)

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
        if "/" in text:
            for root in self._bare:
                if root in text:
                    return True
        if not self._texts.isdisjoint(_TOKEN.findall(text)):
            return True
        if text.count("-") >= 4 or "\\" in text:
            return True
        return len(text) > _SHORT and any(map(text.__contains__, _WORDS))

    def found_in(self, text: str, scope: Scope) -> Iterator[tuple[int, int, int]]:
        """Finds values in the middle of a text: where each begins and ends, and its index.

        Directories, which stand there with what is below them; UUIDs, known or not; `PHRASES`; and
        what was minted before, as it seems by its length and its digits. A short id is an ordinary
        word.
        """
        places: list[tuple[int, int, int]] = []
        if self._roots and ("/" in text or "\\" in text):
            for match in self._root.finditer(text):
                places.append((*match.span(), self._roots[match[0]]))
        for root, index in self._common.items():
            start = len(_URI) if text.startswith(_URI) else 0
            if f"{text}/".startswith(f"{root}/", start):
                places.append((start, start + len(root), index))
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

    def directory_in(self, text: str) -> tuple[int, int] | None:
        """Where a directory begins in a text that may have been cut within it, and its index."""
        found = self._root.search(text) if self._roots else None
        if found is not None:
            return found.start(), self._roots[found[0]]
        text = text.rstrip("….")
        for root, index in self._roots.items():
            for size in range(min(len(root), len(text)), _LEAST_CUT - 1, -1):
                if root.startswith("/") and text.endswith(root[:size]):
                    return len(text) - size, index
        return None

    def _named(self, text: str, scope: Scope, otherwise: str | None) -> int:
        """A value in a text, of whatever kind it is; a new one, or -1."""
        known = self._minted.get((scope, text), self._minted.get((None, text)))
        if known is not None:
            return known
        return -1 if otherwise is None else self.index(otherwise, text, scope)

    def _add_root(self, path: str, index: int, *, is_sure: bool = False) -> None:
        """A directory of the system is named in texts that have nothing to do with it."""
        trimmed = path.rstrip("/\\")
        if not trimmed or not ("/" in trimmed or "\\" in trimmed):
            return
        if len(self._roots) + len(self._common) >= _MOST_ROOTS:
            return
        if trimmed in _SYSTEM and not is_sure:
            self._common[trimmed] = index
            self._bare.add(trimmed)
            return
        for spelled in _spellings(trimmed):
            self._roots[spelled] = index
            self._bare.add(spelled)
        self._pattern = None

    @property
    def _root(self) -> re.Pattern[str]:
        """What finds directories, the longest first."""
        if self._pattern is None:
            longest_first = sorted(self._roots, key=len, reverse=True)
            escaped = {root: re.escape(root) for root in longest_first}
            whole = "|".join(escaped[root] for root in longest_first if _ABSOLUTE.match(root))
            bare = "|".join(escaped[root] for root in longest_first if not _ABSOLUTE.match(root))
            spelled = [rf"(?<![\w.-])(?:{whole})"] if whole else []
            spelled += [rf"(?<![\w./\\-])(?:{bare})"] if bare else []
            self._pattern = re.compile(rf"(?:{'|'.join(spelled)})(?![\w-]|\.\w)")
        return self._pattern


def _spellings(directory: str) -> Iterator[str]:
    """How a directory is called: by itself, without what it begins with, in a URI, on macOS."""
    slashed = directory.replace("\\", "/")
    encoded = [quote(slashed, safe=safe) for safe in ("/:", "/:@", "/")]
    lower = [_ENCODED.sub(lambda one: one[0].lower(), one) for one in encoded]
    for spelled in dict.fromkeys((directory, slashed, *encoded, *lower)):
        yield spelled
        if spelled.count("/") > 1 and spelled.startswith("/"):
            yield spelled[1:]
    if directory.startswith(_LINKED):
        yield f"/private{directory}"


def _is_minted(text: str) -> bool:
    if _TOKEN.fullmatch(text) is None:
        return False
    return len(text) >= 16 or any(character.isdigit() for character in text)
