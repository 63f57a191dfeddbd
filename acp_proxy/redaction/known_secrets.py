"""The secrets that were found in a recording. They are masked wherever they occur again.

A value is searched for unchanged, percent-encoded, in base64, and with the escapes of JSON. A value
that is short, a number, a path or a plain word is masked only where it was recognized as a secret.

Some secrets are known only by a keyed hash, their length and four of their characters. A hash is
computed only where these four characters occur.
"""

import base64
import json
import re
from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from operator import neg
from urllib.parse import quote, quote_plus

from attrs import define, field

from acp_proxy.base.limits import LONG_LIST, REMEMBERED
from acp_proxy.redaction.markers import MARKER
from acp_proxy.redaction.needles import GrowingNeedles, Places, one_byte_each
from acp_proxy.redaction.randomness import is_path, is_plain, is_random
from acp_proxy.redaction.text_search import SecretMatch

BEGINNING = 3
"""The fewest characters at the end of a text that count as the beginning of a secret."""
_WORD = 8
"""The longest needle, in bytes. A needle is usually the beginning of a value, plain or encoded."""
SHORTEST = 8
"""The shortest value, in characters, that is searched for."""
LONGEST = 64 << 10
"""The longest value, in characters, that is searched for as a whole. A longer value is searched for
line by line."""
_LONG_LINE = 20
"""The shortest line of a value, in characters, that is also searched for by itself."""
_PLAIN = re.compile(r"[-+]?[0-9.,:]+")
_HOST = re.compile(r"localhost:\d+|(?:[a-z0-9-]{1,63}\.)+[a-z]{2,20}(?::\d+)?")
_ESCAPED = re.compile(rb'["\\/\x00-\x1f\x7f-\xff]')
_SETTING = re.compile(
    r"[A-Za-z]+|https?://[^@?#]*|[a-z]{2,3}_[A-Z]{2}(?:\.[\w-]+)?|[a-z]{2}-[a-z]+-\d"
    r"|v?\d+(?:\.\d+)+[\w.+-]{0,20}|o[1-9](?:-[a-z-]+)?|(?:[\w.-]+/)?(?i:claude|codestral|command|deepseek|devstral|gemini|gemma"
    r"|glm|gpt|grok|kimi|llama|magistral|mistral|qwen|sonar)[\w.:-]{0,40}"
)
"""Matches usual settings: a word, an address, a language, a region, a version, a model. A usual
setting is searched for only if it is the value of a variable with the name of a secret."""
_MOST_FRAGMENTS = 200_000


@define
class SecretValues:
    """The values of secrets, each with the marker that replaces it."""

    needles: GrowingNeedles = field(factory=GrowingNeedles)
    """The words to search for. A text or a line of JSON that contains a value also contains at
    least one of these words. The owner of this object may add words."""
    markers: dict[str, str] = field(factory=dict)
    """The marker of each value."""
    forms: dict[str, str] = field(factory=dict)
    """The marker of each form of a value: the value unchanged, or the value encoded."""
    _sizes: dict[int, list[int]] = field(factory=dict)
    """By the number of a needle: the lengths of the forms that begin with the needle, longest
    first."""
    _sorted: list[str] = field(factory=list)
    """All forms of the values, sorted."""
    _beginnings: dict[str, tuple[str, ...]] = field(factory=dict)
    """All short prefixes of the forms, by the last three characters of the prefix."""
    _fragments: GrowingNeedles = field(factory=lambda: GrowingNeedles(small=True))
    """All substrings of `SHORTEST` bytes of the forms."""
    _fragment_markers: list[str] = field(factory=list)
    """The marker of each fragment, by the fragment's number."""
    _unbroken: list[str] = field(factory=list)
    """The forms whose substrings are not in `_fragments` yet."""

    def add(self, value: str, marker: str, *, named: bool, is_known: bool = False) -> bool:
        """Adds a secret. Returns whether the secret is new and is searched for from now on.

        Args:
            value: the secret.
            marker: the marker that replaces the secret.
            named: whether the name or the form of the value marks it as a secret. If not, a usual
                setting, such as a word or a version, is not searched for.
            is_known: whether to search for the value even if it is short, a number or a path.
        """
        if value in self.markers or len(self.markers) >= REMEMBERED or MARKER.fullmatch(value):
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
        # JSON may escape some characters of the form, so a part without them is a needle too.
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
        """Whether a text without needles may end with the beginning of a value; fast."""
        return text.endswith(self._beginnings.get(text[-BEGINNING:], ()))

    def find(self, text: str, places: Places | None = None) -> list[SecretMatch]:
        """Returns the values in a text, in order and without overlaps.

        The ``kind`` of each match is the marker of the value. If several values begin at one index,
        only the longest is returned.

        Args:
            text: any text.
            places: the matches of `needles` in the text, if they are known.
        """
        starts = self._starts(text, places)
        matches: list[SecretMatch] = []
        end = 0
        for start in sorted(starts):
            if start < end:
                continue
            for size in starts[start]:
                marker = self.forms.get(text[start : start + size])
                if marker is not None and start + size <= len(text):
                    end = start + size
                    matches.append(SecretMatch(start, end, marker))
                    break
        return matches

    def _starts(self, text: str, places: Places | None) -> dict[int, list[int]]:
        """Returns each index where a value may start, and the possible lengths, longest first."""
        if not self.forms:
            return {}
        starts: dict[int, list[int]] = {}
        for number, start in self.needles.places(one_byte_each(text)) if places is None else places:
            if (sizes := self._sizes.get(number)) is not None:
                known = starts.get(start)
                starts[start] = sizes if known is None else sorted({*known, *sizes}, reverse=True)
        return starts

    def fragments(self, data: bytes) -> Iterator[tuple[int, int, str]]:
        """Searches data for pieces of the values; yields start, end and marker of each piece.

        The search is slow, and does not find pieces of fewer than `SHORTEST` bytes. The yielded
        pieces may overlap, and are in any order.
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
        """If a text may end inside a value, returns the index where this value begins.

        The value must have at least `BEGINNING` characters in the text.

        Args:
            text: any text.
            places: the matches of `needles` in the text, if they are known.

        Returns:
            The index; the length of the text if no value can be cut off.
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
    """Whether a value is so unusual that an equal text elsewhere is probably the same secret."""
    if len(value) < SHORTEST or _PLAIN.fullmatch(value) or is_path(value) or is_plain(value):
        return False
    if _HOST.fullmatch(value) and not is_random(value):
        return False
    return named or not _SETTING.fullmatch(value)


def _forms(value: str) -> Iterator[str]:
    data = _bytes_of(value)
    yield value
    yield quote(data, safe="")
    yield quote_plus(data)
    yield re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), quote(data, safe=""))
    for ensure_ascii in (True, False):
        inner = json.dumps(value, ensure_ascii=ensure_ascii)[1:-1]
        yield inner
        yield json.dumps(inner, ensure_ascii=ensure_ascii)[1:-1]  # for lines that are not JSON
    for shift in range(3):  # base64 depends on the number of preceding bytes, modulo 3
        code = base64.b64encode(b"\0" * shift + data)
        # A character encodes six bits; characters shared with neighbouring bytes are left out.
        core = code[-(-shift * 8 // 6) : (shift + len(data)) * 8 // 6].decode()
        if len(core) >= SHORTEST:
            yield core
            yield core.translate(_URL_SAFE)


_URL_SAFE = str.maketrans("+/", "-_")


def _bytes_of(text: str) -> bytes:
    """Encodes a text, even if it comes from invalid UTF-8 or has half of a surrogate pair."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


_LINE = re.compile(r"([0-9a-f]{32}) ([0-9]{1,4}) ([0-9]{1,4}) (\S{4})", re.ASCII)


class HashedSecrets:
    """Secrets that are known only by their hashes.

    Args:
        lines: one line for each secret: its hash, its length, the offset of four neighbouring
            characters in the secret, and these four characters.
        key: the key of the hashes.
        needles: the words to search for. The four characters of each secret are added.

    Attributes:
        longest: the length of the longest secret.
        markers: the markers of the secrets recognized so far.
    """

    def __init__(self, lines: Sequence[str], key: bytes, needles: GrowingNeedles) -> None:
        self._key = key
        self._by_word: dict[int, list[tuple[int, int, str]]] = {}
        self.longest = 0
        self.markers: set[str] = set()
        for match in filter(None, map(_LINE.fullmatch, lines[:LONG_LIST])):
            digest, length, start, word = match.groups()
            number = needles.add(word.encode())
            self._by_word.setdefault(number, []).append((int(length), int(start), digest))
            self.longest = max(self.longest, int(length))

    def recognized(self, text: str, places: Places) -> Iterator[str]:
        """Searches a text for the secrets, and yields each secret that it finds.

        Args:
            text: any text.
            places: the matches of the needles in the text.
        """
        for number, place in places:
            for length, start, digest in self._by_word.get(number, ()):
                begin, end = place - start, place - start + length
                if begin >= 0 and end <= len(text) and self._hash(text[begin:end]) == digest:
                    yield text[begin:end]

    def _hash(self, value: str) -> str:
        import hashlib  # imported late, as in `markers`

        data = value.encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, key=self._key, digest_size=16).hexdigest()
