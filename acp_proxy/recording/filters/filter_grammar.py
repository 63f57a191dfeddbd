"""Parses filters, and reports the column of a mistake."""

import re

from acp_proxy.base.errors import BadFilter
from acp_proxy.base.wording import nearest
from acp_proxy.recording.filters.filter_conditions import SEVERAL, Known
from acp_proxy.recording.filters.filter_terms import (
    EVERYTHING,
    TERMS,
    BadValue,
    Filter,
    all_of,
    any_of,
    bare_term,
    none_of,
    path_term,
    unquoted,
)

DEEPEST = 100
"""The largest number of nested parentheses and ``not`` in a filter."""
_TOKEN = re.compile(r'\s*(?:([()])|((?:"(?:[^"\\]|\\.)*"|[^\s()"])+))')
_TERM = re.compile(r"([A-Za-z_-]+):(.*)", re.DOTALL)
_SYNONYMS = {
    "duration": "latency", "time": "latency", "took": "latency", "type": "kind", "state": "is",
    "direction": "dir", "stream": "dir", "tool": "call", "tool_call": "call", "name": "method",
    "length": "size", "number": "seq", "contains": "text",
}  # fmt: skip
_PATH = re.compile(r"((?:params|result|error)(?:\.[^=.\s]+)*)=(.*)", re.DOTALL)


def parse(text: str, known: Known | None = SEVERAL) -> Filter:
    """Parses a filter; an empty filter matches everything.

    Args:
        text: the filter.
        known: the facts about the recording to filter. None for a filter of live frames, such as in
            a plan of faults: names must then be complete, and each term needs its key.

    Raises:
        BadFilter: the text is not a filter. The message names the column of the mistake and, if
            possible, the nearest accepted word.
    """
    return _Parser(text, known).parse()


def tokens_of(text: str) -> list[str]:
    """Returns the terms, words and parentheses of a filter, in order; leaves out ``and``.

    Raises:
        BadFilter: a quote is never closed.
    """
    return [token for token, _ in _Parser(text).tokens if token != "and"]


def terms_of(text: str) -> list[str]:
    """Returns all keys in a filter, and then the first parts of all paths, such as ``params``.

    Raises:
        BadFilter: a quote is never closed.
    """
    tokens = [token for token, _ in _Parser(text).tokens]
    keys = [match[1] for token in tokens if (match := _TERM.fullmatch(token))]
    return keys + [match[1].split(".")[0] for token in tokens if (match := _PATH.fullmatch(token))]


class _Parser:
    """A recursive-descent parser of tokens. For error messages, each token has its column."""

    def __init__(self, text: str, known: Known | None = SEVERAL) -> None:
        self._text = text
        self._known = known
        self.tokens: list[tuple[str, int]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong(place, "a quote that is never closed")
            group = 1 if match[1] else 2
            self.tokens.append((match[group], match.start(group)))
            place = match.end()
        self._next = 0
        self._depth = 0

    def parse(self) -> Filter:
        parsed = self._either() if self.tokens else EVERYTHING
        if self._next < len(self.tokens):
            raise self._wrong(self.tokens[self._next][1], "a parenthesis that was never opened")
        return parsed

    def _peek(self) -> str:
        return self.tokens[self._next][0] if self._next < len(self.tokens) else ""

    def _either(self) -> Filter:
        parts = [self._both()]
        while self._peek() == "or":
            self._next += 1
            parts.append(self._both())
        return any_of(parts)

    def _both(self) -> Filter:
        parts = [self._one()]
        while self._peek() not in ("", "or", ")"):
            if self._peek() == "and":
                self._next += 1
            parts.append(self._one())
        return all_of(parts)

    def _one(self) -> Filter:
        if self._next >= len(self.tokens):
            raise self._wrong(len(self._text), "expected a term here")
        token, column = self.tokens[self._next]
        self._next += 1
        if token in ("not", "("):
            self._depth += 1
            if self._depth > DEEPEST:
                raise self._wrong(column, f"nested more deeply than {DEEPEST} levels")
            inner = none_of(self._one()) if token == "not" else self._within(column)
            self._depth -= 1
            return inner
        if token in (")", "or", "and"):
            raise self._wrong(column, f"expected a term, got {token!r}")
        return self._term(token, column)

    def _within(self, column: int) -> Filter:
        """Parses the terms in a parenthesis that was opened at ``column``."""
        inner = self._either()
        if self._peek() != ")":
            raise self._wrong(column, "a parenthesis that is never closed")
        self._next += 1
        return inner

    def _term(self, token: str, column: int) -> Filter:
        if match := _PATH.fullmatch(token):
            wanted = unquoted(match[2])
            is_pattern = self._known is not None and "*" in wanted and wanted == match[2]
            return path_term(match[1], wanted, is_pattern=is_pattern)
        match = _TERM.fullmatch(token)
        if match is None:
            return self._bare(token, column)
        key, value = match[1], match[2]
        if key not in TERMS:
            near = _SYNONYMS.get(key) or nearest(key, TERMS)
            expected = "" if near else f": expected {', '.join(TERMS)}"
            raise self._wrong(column, f"unknown key {key!r}{expected}", near)
        at = column + len(key) + 1
        if not value:
            raise self._wrong(at, f"expected a value after {key}:")
        try:
            return TERMS[key].parse(value, self._known)
        except BadValue as e:
            raise self._wrong(at, str(e), e.nearest) from None

    def _bare(self, token: str, column: int) -> Filter:
        """Parses a term without a key: a text to search for in recordings."""
        if self._known is None:
            raise self._wrong(
                column,
                f"expected key:value or params.path=value, got {token!r}; text:{token} matches"
                " frames with this text",
            )
        if "=" in token and token[0] != '"':
            raise self._wrong(column, f"expected params.path=value, got {token!r}")
        return bare_term(token, self._known)

    def _wrong(self, place: int, problem: str, nearest: str = "") -> BadFilter:
        hint = f"; did you mean {nearest}?" if nearest else ""
        return BadFilter(f"bad filter at column {place + 1}: {problem}{hint}")
