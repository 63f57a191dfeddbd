"""Finds secrets in text: secrets with a known form, and secrets that were recognized earlier."""

import base64
import binascii
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from urllib.parse import unquote

from acp_proxy.redaction import secret_patterns
from acp_proxy.redaction.edits import MaskedSpan, join_spans
from acp_proxy.redaction.known_secrets import HashedSecrets, SecretValues
from acp_proxy.redaction.markers import MARKER, Markers
from acp_proxy.redaction.needles import GrowingNeedles, of_all_words, one_byte_each
from acp_proxy.redaction.randomness import is_path, is_plain, is_random, is_switch
from acp_proxy.redaction.text_search import Search

_SCHEME = re.compile(r"(?i:bearer|basic|token|digest|negotiate)\s+")
_REFERENCE = re.compile(r"\$\{[\w:. -]+\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|<[\w -]+>|\{\{[^{}]*\}\}")
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_HOST = re.compile(r"[A-Za-z][\w+.-]*://[^/?#]*")
_ADDRESS_PART = re.compile(r"/((?!v[0-9]+(?:[/?#]|$))[^/?#]+)|[?&#](?:[^=&#]*=)?([^&#]+)")
_COOKIE = re.compile(r"[^=;\s]+=([^;\s]+)")


class SecretFinder:
    """Finds secrets in the texts of one recording, and remembers them.

    Args:
        markers: makes the markers.
        extra: further patterns. The match of a pattern's first group is a secret; without a group,
            the whole match is a secret.
        hashes: hashes of further secrets; see `HashedSecrets`.

    Attributes:
        needles: all words that are searched for.
        values: the secrets recognized so far.
        hashed: secrets that are known only by their hashes.
    """

    def __init__(
        self, markers: Markers, extra: tuple[re.Pattern[str], ...], hashes: Sequence[str] = ()
    ) -> None:
        self.markers = markers
        self.needles = GrowingNeedles(of_all_words())
        self.values = SecretValues(self.needles)
        self.hashed = HashedSecrets(hashes, markers.key, self.needles)
        self._extra = extra

    def may_hold(self, raw: bytes) -> bool:
        """Whether a line or a text may have anything to mask; fast, and True when in doubt."""
        return self.needles.are_in(raw)

    def spans(self, text: str, *, loose: bool) -> list[MaskedSpan]:
        """Returns the spans to mask in a text, and remembers the secrets in these spans.

        Args:
            text: any text.
            loose: whether the text is a command, an error or the like; see `secret_patterns.find`.
        """
        spans = self.spans_of(self.search(text, loose=loose))
        return self._with_coloured(text, spans, loose=loose) if "\x1b[" in text else spans

    def _with_coloured(
        self, text: str, spans: list[MaskedSpan], *, loose: bool
    ) -> list[MaskedSpan]:
        """Returns the given spans, and the spans of secrets with terminal colours inside."""
        starts, shifts = [0], [0]
        for code in _COLOUR.finditer(text):
            starts.append(code.start() - shifts[-1])
            shifts.append(code.end() - starts[-1])

        def place(index: int) -> int:
            return index + shifts[bisect_right(starts, index) - 1]

        bare = self.spans_of(self.search(_COLOUR.sub("", text), loose=loose))
        coloured = (MaskedSpan(place(a), place(b - 1) + 1, new) for a, b, new in bare)
        return join_spans([*spans, *coloured])

    def address(self, url: str) -> list[MaskedSpan]:
        """Returns the spans to mask in the path and the query of a URL.

        Plain words are not masked. A part that looks like a key is remembered, and masked elsewhere
        too. Other parts are masked only in this URL.
        """
        host, spans = _HOST.match(url), []
        for part in _ADDRESS_PART.finditer(url, host.end() if host is not None else len(url)):
            value, place = part[part.lastindex or 0], part.span(part.lastindex or 0)
            if is_plain(value) or MARKER.search(value) or _REFERENCE.fullmatch(value):
                continue
            if is_random(value):
                self.remember(value, "url", named=True)
            marker = self.values.markers.get(value) or self.markers.of("url", value)
            spans.append(MaskedSpan(*place, marker))
        return spans

    def search(self, text: str, *, loose: bool, seams: Sequence[int] = ()) -> Search:
        """Searches a text for secrets with a known form, and for needles of secrets found earlier.

        Args:
            text: any text.
            loose: see `spans`.
            seams: the indexes where pieces of the text begin.
        """
        places = self.needles.places(one_byte_each(text))
        if self.hashed.longest and (values := [*self.hashed.recognized(text, places)]):
            for value in values:
                self.hashed.markers.add(self.remember(value, "env", named=True))
            places = self.needles.places(one_byte_each(text))
        return secret_patterns.search(text, loose=loose, places=places, seams=seams)

    def tail(self, searched: Search) -> int:
        """If a text may end inside a secret, returns the index where this secret begins.

        Otherwise returns the length of the text.
        """
        text = searched.text
        return min(secret_patterns.tail(text, searched), self.values.tail(text, searched.places))

    def spans_of(self, searched: Search) -> list[MaskedSpan]:
        """Returns the spans to mask in a searched text, and remembers the secrets in them."""
        text, places = searched.text, searched.places
        if not (places or self._extra):
            return []
        spans = []
        masked = [match.span() for match in MARKER.finditer(text)] if "[redacted:" in text else []
        for pattern in self._extra:
            for match in pattern.finditer(text):
                group = 1 if pattern.groups and match[1] is not None else 0
                if (place := _around(masked, *match.span(group))) is not None:
                    value = text[slice(*place)]
                    spans.append(MaskedSpan(*place, self.remember(value, "secret", named=True)))
        for start, end, kind in searched.secrets:
            value = text[start:end]
            if not _overlaps(masked, start, end) and not _REFERENCE.fullmatch(value):
                spans.append(MaskedSpan(start, end, self.remember(value, kind, named=True)))
        if spans:  # new secrets may occur again in this text
            places = self.needles.places(one_byte_each(text))
        for start, end, marker in self.values.find(text, places):
            if not _overlaps(masked, start, end):
                spans.append(MaskedSpan(start, end, marker))
        return join_spans(spans)

    def remember(self, value: str, kind: str, *, named: bool) -> str:
        """Remembers a secret and returns its marker.

        Args:
            value: the secret.
            kind: the kind of the secret, for its marker.
            named: whether the name or the form of the value marks it as a secret.
        """
        marker = self.values.markers.get(value) or self.markers.of(kind, value)
        self.values.add(value, marker, named=named)
        if "%" in value:  # percent-encoded in a URL; elsewhere the value may be unencoded
            self.values.add(unquote(value), marker, named=named)
        return marker

    def secret(self, text: str, kind: str, *, named: bool = True) -> list[MaskedSpan]:
        """Returns the spans to mask in a text that is a secret as a whole.

        There are no spans for:

        - an empty text, or a text with a marker;
        - a reference such as ``$TOKEN``, or a switch such as ``1``;
        - a plain word, if ``named`` is False.

        The name of an authentication scheme at the beginning of the text is not masked.

        Args:
            text: the text.
            kind: the kind of the secret, for its marker.
            named: whether the name of the text marks it as a secret.
        """
        if not text.strip() or MARKER.fullmatch(text) or _REFERENCE.fullmatch(text):
            return []
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme is not None else 0
        secret = text[start:]
        if MARKER.search(secret) or is_switch(secret) or (not named and is_plain(secret)):
            return []
        if kind == "password" and is_path(secret):  # PWD, the directory
            return []
        marker = self.remember(secret, kind, named=named)
        if scheme is not None and scheme[0].lower().startswith("basic"):
            self._remember_basic(secret, marker)
        if ";" in text and "=" in text:
            for cookie in _COOKIE.finditer(text):
                self.values.add(cookie[1], marker, named=False)
        self.spans(secret, loose=True)  # remembers inner secrets, such as a password in a URL
        return [MaskedSpan(start, len(text), marker)]

    def requested(self, text: str) -> list[MaskedSpan]:
        """Returns the spans to mask in a text that the user wants masked as a whole.

        Unlike `secret`, this method also masks references and texts that contain a marker.
        """
        if not text.strip() or MARKER.fullmatch(text):
            return []
        return [MaskedSpan(0, len(text), self.remember(text, "secret", named=False))]

    def _remember_basic(self, code: str, marker: str) -> None:
        """Remembers the decoded credentials of basic authentication, and also their password."""
        try:
            user, _, password = base64.b64decode(code).decode().partition(":")
        except (binascii.Error, ValueError):
            return
        self.values.add(f"{user}:{password}", marker, named=True)
        self.values.add(password, marker, named=True)


def _around(masked: list[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """Returns a range, extended so that it does not cut any marker.

    Args:
        masked: the ranges of markers.
        start: the start of the range.
        end: the end of the range.

    Returns:
        The range, or None if it is empty or within a marker.
    """
    if start == end or any(first <= start and end <= last for first, last in masked):
        return None
    for first, last in masked:
        if first < end and start < last:
            start, end = min(start, first), max(end, last)
    return start, end


def _overlaps(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether a range overlaps one of several sorted ranges."""
    number = bisect_left(places, (end,))
    return number > 0 and places[number - 1][1] > start
