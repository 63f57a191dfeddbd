"""The secrets that were found in a recording, to be masked wherever they come again.

A value is looked for as it is, and as it looks percent-encoded, base64-encoded at any place of a
longer text, and inside of JSON within a string. What is short, a number, a path or a plain word is
masked only where it was found: elsewhere it is more likely to be something else.
"""

import base64
import json
import re
from bisect import bisect_right, insort
from collections.abc import Iterator
from operator import neg
from urllib.parse import quote, quote_plus

from attrs import define, field

from acp_proxy.redaction.markers import MARKER
from acp_proxy.redaction.needles import GrowingNeedles, Places, one_byte_each
from acp_proxy.redaction.search import Found

BEGINNING = 3
"""Characters of a secret that a piece of text must end with to be its beginning."""
_WORD = 8
"""Characters of a form that are looked for in a line to see whether it may be there."""
SHORTEST = 8
"""Characters of the shortest value that is looked for."""
LONGEST = 64 << 10
"""Characters of the longest; of a longer one its lines are looked for."""
_LONG_LINE = 20
"""Characters of a line of a secret that is a secret by itself."""
_PLAIN = re.compile(r"true|false|null|[-+]?[0-9.,:]+|[A-Za-z]:\\.*|file://.*")
_PATH = re.compile(r"(?:~|\.{0,2})(?:/[\w.@ ,-]+)+/?")
_ESCAPED = re.compile(rb'["\\/\x00-\x1f\x7f-\xff]')
_SETTING = re.compile(
    r"[A-Za-z]+|https?://[^@?#]*|[a-z]{2,3}_[A-Z]{2}(?:\.[\w-]+)?|[a-z]{2}-[a-z]+-\d"
    r"|v?\d+(?:\.\d+)+[\w.+-]{0,20}|o[1-9](?:-[a-z-]+)?|(?:[\w.-]+/)?(?i:claude|codestral|command|deepseek|devstral|gemini|gemma"
    r"|glm|gpt|grok|kimi|llama|magistral|mistral|qwen|sonar)[\w.:-]{0,40}"
)
"""What a variable without the name of a secret may hold and is no secret elsewhere: a word, an
address, a language, a region, a version, a model."""
_MOST_FRAGMENTS = 200_000
MOST = 1000
"""Values that are remembered at most, so that a hostile recording makes nothing slow."""


@define
class SecretValues:
    """Values, each with the marker that replaces it."""

    needles: GrowingNeedles = field(factory=GrowingNeedles)
    """Words of which one is in each line of JSON, or text, that holds a value; perhaps among others
    that the owner looks for."""
    markers: dict[str, str] = field(factory=dict)
    """The marker of each value."""
    forms: dict[str, str] = field(factory=dict)
    """The marker of each form in which a value may come again."""
    _sizes: dict[int, list[int]] = field(factory=dict)
    """How many characters the forms have that begin with a word; longer ones first."""
    _sorted: list[str] = field(factory=list)
    """The forms, so that those with the same beginning stand together."""
    _beginnings: dict[str, tuple[str, ...]] = field(factory=dict)
    """Beginnings of forms that are too short to have one of the words, by their ends."""
    _fragments: GrowingNeedles = field(factory=lambda: GrowingNeedles(small=True))
    """Pieces of the forms."""
    _fragment_markers: list[str] = field(factory=list)
    _unbroken: list[str] = field(factory=list)
    """Forms whose pieces are not among the fragments yet."""

    def add(self, value: str, marker: str, *, named: bool, is_known: bool = False) -> bool:
        """Adds a secret; returns whether it is looked for from now on.

        Args:
            value: as it was found.
            marker: what replaces it.
            named: whether its name or its form shows that it is a secret; otherwise only what no
                person would write is looked for elsewhere.
            is_known: whether it is a secret wherever it stands, however it looks.
        """
        if value in self.markers or len(self.markers) >= MOST or MARKER.fullmatch(value):
            return False
        if not (is_known or _is_distinct(value, named=named)):
            return False
        self.markers[value] = marker
        whole = [value] if len(value) <= LONGEST else []
        lines = [line.strip() for line in value.splitlines()] if "\n" in value else []
        for part in (*whole, *(line for line in lines if len(line) >= _LONG_LINE)):
            for form in _forms(part):
                if form and form not in self.forms:
                    self.forms[form] = marker
                    self._index(form)
        return True

    def _index(self, form: str) -> None:
        raw = _bytes_of(form)
        # A line of JSON may have it in escapes; the longest part without any shows it.
        for word in (raw[:_WORD], max(_ESCAPED.split(raw), key=len)[:_WORD]):
            if word:
                self.needles.add(word)
        word = self.needles.add(one_byte_each(form[:_WORD]))
        sizes = self._sizes.setdefault(word, [])
        if len(form) not in sizes:
            insort(sizes, len(form), key=neg)
        insort(self._sorted, form)
        self._unbroken.append(form)
        for size in range(BEGINNING, _WORD):
            end, beginning = form[size - BEGINNING : size], form[:size]
            known = self._beginnings.get(end, ())
            if beginning not in known:
                self._beginnings[end] = (*known, beginning)

    def ends_open(self, text: str) -> bool:
        """Whether the end of a text without `needles` may be the beginning of a value; fast."""
        return text.endswith(self._beginnings.get(text[-BEGINNING:], ()))

    def find(self, text: str, places: Places | None = None) -> list[Found]:
        """Returns where values stand in a text, in order, and their markers as kinds.

        Where several begin, the longest counts; none overlaps the one before.

        Args:
            text: any text.
            places: where the words of `needles` stand in it, if that is known.
        """
        starts = self._starts(text, places)
        found: list[Found] = []
        end = 0
        for start in sorted(starts):
            if start < end:
                continue
            for size in starts[start]:
                marker = self.forms.get(text[start : start + size])
                if marker is not None and start + size <= len(text):
                    end = start + size
                    found.append(Found(start, end, marker))
                    break
        return found

    def _starts(self, text: str, places: Places | None) -> dict[int, list[int]]:
        """Returns where values may begin, and how long those are, longer ones first."""
        if not self.forms:
            return {}
        starts: dict[int, list[int]] = {}
        for number, start in self.needles.places(one_byte_each(text)) if places is None else places:
            if (sizes := self._sizes.get(number)) is not None:
                known = starts.get(start)
                starts[start] = sizes if known is None else sorted({*known, *sizes}, reverse=True)
        return starts

    def fragments(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Yields where pieces of values stand in bytes, and the marker of each; slow.

        Pieces of less than `SHORTEST` characters are not found, nor is their order.
        """
        for form in self._unbroken:
            if self._fragments.count > _MOST_FRAGMENTS:
                break
            raw = _bytes_of(form)
            for at in range(len(raw) - SHORTEST + 1):
                if self._fragments.add(raw[at : at + SHORTEST]) == len(self._fragment_markers):
                    self._fragment_markers.append(self.forms[form])
        self._unbroken.clear()
        for number, start in self._fragments.places(data):
            yield start, start + SHORTEST, self._fragment_markers[number]

    def tail(self, text: str, places: Places | None = None) -> int:
        """Returns where the end of a text begins that may be the beginning of a value.

        Less than `BEGINNING` characters are none.

        Args:
            text: any text.
            places: where the words of `needles` stand in it, if that is known.
        """
        starts = self._starts(text, places)
        last = len(text) - BEGINNING
        possible = {at for at, sizes in starts.items() if at + sizes[0] > len(text) and at <= last}
        if self.ends_open(text):
            possible.update(range(max(0, len(text) - _WORD + 1), last + 1))
        for at in sorted(possible):
            rest = text[at:]
            number = bisect_right(self._sorted, rest)
            if number < len(self._sorted) and self._sorted[number].startswith(rest):
                return at
        return len(text)


def _is_distinct(value: str, *, named: bool) -> bool:
    """Whether a value that comes again is the same secret, as far as one can tell."""
    if len(value) < SHORTEST or _PLAIN.fullmatch(value) or _is_path(value):
        return False
    return named or not _SETTING.fullmatch(value)


def _is_path(value: str) -> bool:
    """Whether a value is a path; a random one may begin with a slash as well."""
    return bool(_PATH.fullmatch(value)) and (value.count("/") > 1 or len(value) < _LONG_LINE)


def _forms(value: str) -> Iterator[str]:
    data = _bytes_of(value)
    yield value
    yield quote(data, safe="")
    yield quote_plus(data)
    yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quote(data, safe=""))
    for ensure_ascii in (True, False):
        inner = json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
        yield inner
        yield json.dumps(inner, ensure_ascii=ensure_ascii)[1:-1]  # in a line that is no JSON
    for shift in range(3):  # by what stands before it in the encoded text
        code = base64.b64encode(b"\0" * shift + data)
        # A character has six bits; those that it shares with its neighbours are left out.
        core = code[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6].decode()
        if len(core) >= SHORTEST:
            yield core
            yield core.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _bytes_of(text: str) -> bytes:
    """Returns the bytes of a text that may have been no UTF-8, or have half of a character."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
