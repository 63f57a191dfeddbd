"""The one filter grammar: which frames a person means.

``dir:to-client method:session/* not kind:error (size:>10k or latency:>2s)``: terms side by side
must all hold, ``or`` and ``not`` and parentheses do what they say. A term is ``key:value`` or a
path into the message, ``params.update.sessionUpdate=tool_call``.

A filter is used in two ways. Its `where` is a condition for a database's `frames`, which may let
through too much, and `matches` is the exact answer for one row. Both are pure; neither knows a
file.
"""

import json
import re
from collections.abc import Callable
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from attrs import frozen

from acp_proxy.errors import BadFilter
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Direction

Row = dict[str, Any]
Condition = tuple[str, list[Any], bool]
"""SQL, its parameters, and whether it says all that the filter says."""

KINDS = (*(kind.value for kind in Kind), "event")
_TOKEN = re.compile(r'\s*(?:([()])|((?:"(?:[^"\\]|\\.)*"|[^\s()"])+))')
_TERM = re.compile(r"([A-Za-z_-]+):(.*)", re.DOTALL)
_PATH = re.compile(r"((?:params|result|error)(?:\.[^=.\s]+)*)=(.*)", re.DOTALL)
_BOUND = re.compile(r"(<=|>=|<|>|=)?\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)$")
_SIZES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9,
          "min": 60 * 10**9, "h": 3600 * 10**9}  # fmt: skip


@frozen
class Filter:
    """A parsed filter, or a part of one."""

    where: Condition
    """A condition on the columns of `frames` that every match fulfils."""
    matches: Callable[[Row], bool]
    """Whether a row of `frames` (with ``latency_ns``) or of `events` is meant."""


def _joined(sql: str, parts: list[Filter]) -> Condition:
    parameters = [parameter for part in parts for parameter in part.where[1]]
    return sql, parameters, all(part.where[2] for part in parts)


def all_of(parts: list[Filter]) -> Filter:
    """Every part holds; no part at all holds always."""
    sql = " AND ".join(f"({part.where[0]})" for part in parts) or "1"
    return Filter(_joined(sql, parts), lambda row: all(part.matches(row) for part in parts))


def any_of(parts: list[Filter]) -> Filter:
    """At least one part holds."""
    sql = " OR ".join(f"({part.where[0]})" for part in parts)
    return Filter(_joined(sql, parts), lambda row: any(part.matches(row) for part in parts))


def none_of(part: Filter) -> Filter:
    """The part does not hold."""
    sql, parameters, exact = part.where
    where = (f"NOT coalesce(({sql}), 0)", parameters, True) if exact else ("1", [], False)
    return Filter(where, lambda row: not part.matches(row))


EVERYTHING = all_of([])
"""The filter that lets everything through."""


def parse(text: str) -> Filter:
    """Parses a filter; an empty one lets everything through.

    Raises:
        BadFilter: with the column of the mistake and the nearest word that would do.
    """
    return _Parser(text).parse()


class _Parser:
    """Recursive descent over tokens that know their column."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, int]] = []
        place = 0
        while place < len(text.rstrip()):
            match = _TOKEN.match(text, place)
            if match is None:
                raise self._wrong(place, "a quote that is never closed")
            group = 1 if match[1] else 2
            self._tokens.append((match[group], match.start(group)))
            place = match.end()
        self._next = 0

    def parse(self) -> Filter:
        parsed = self._either() if self._tokens else EVERYTHING
        if self._next < len(self._tokens):
            raise self._wrong(self._tokens[self._next][1], "a parenthesis that was never opened")
        return parsed

    def _peek(self) -> str:
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

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
        if self._next >= len(self._tokens):
            raise self._wrong(len(self._text), "expected a term here")
        token, column = self._tokens[self._next]
        self._next += 1
        if token == "not":
            return none_of(self._one())
        if token == "(":
            inner = self._either()
            if self._peek() != ")":
                raise self._wrong(column, "a parenthesis that is never closed")
            self._next += 1
            return inner
        if token in (")", "or", "and"):
            raise self._wrong(column, f"expected a term, got {token!r}")
        return self._term(token, column)

    def _term(self, token: str, column: int) -> Filter:
        if match := _PATH.fullmatch(token):
            return _path_term(match[1], _unquoted(match[2]))
        match = _TERM.fullmatch(token)
        if match is None:
            raise self._wrong(column, f"expected key:value or params.path=value, got {token!r}")
        key, value = match[1], match[2]
        if key not in TERMS:
            raise self._wrong(column, f"unknown key {key!r}", _nearest(key, TERMS))
        at = column + len(key) + 1
        if not value:
            raise self._wrong(at, f"expected a value after {key}:")
        try:
            return TERMS[key](value)
        except _BadValue as e:
            raise self._wrong(at, str(e), e.nearest) from None

    def _wrong(self, place: int, problem: str, nearest: str = "") -> BadFilter:
        hint = f"; did you mean {nearest}?" if nearest else ""
        return BadFilter(f"bad filter at column {place + 1}: {problem}{hint}")


class _BadValue(Exception):
    def __init__(self, problem: str, nearest: str = "") -> None:
        super().__init__(problem)
        self.nearest = nearest


def _nearest(word: str, words: Any) -> str:
    return next(iter(get_close_matches(word, list(words), 1, 0.5)), "")


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value


def _one_of(value: str, words: tuple[str, ...], what: str) -> list[str]:
    chosen = value.split("|")
    for word in chosen:
        if word not in words:
            raise _BadValue(
                f"{word!r} is no {what}: expected {', '.join(words)}", _nearest(word, words)
            )
    return chosen


def _direction(value: str) -> Filter:
    chosen = _one_of(value, tuple(direction.value for direction in Direction), "direction")
    return _in("stream", chosen)


def _kind(value: str) -> Filter:
    chosen = _one_of(value, KINDS, "kind")
    marks = ",".join("?" * len(chosen))

    def test(row: Row) -> bool:
        return ("event" if "raw" not in row else row["kind"]) in chosen

    return Filter((f"kind IN ({marks})", list(chosen), True), test)


def _in(column: str, chosen: list[str]) -> Filter:
    marks = ",".join("?" * len(chosen))
    return Filter((f"{column} IN ({marks})", list(chosen), True), lambda r: r.get(column) in chosen)


def _glob(column: str) -> Callable[[str], Filter]:
    """A text that is equal, or fits a pattern with ``*`` and ``?``."""

    def term(value: str) -> Filter:
        wanted = _unquoted(value)
        if not any(c in wanted for c in "*?["):
            return Filter((f"{column} = ?", [wanted], True), lambda r: r.get(column) == wanted)
        return Filter(
            (f"{column} GLOB ?", [wanted], True),
            lambda r: r.get(column) is not None and fnmatchcase(r[column], wanted),
        )

    return term


def _rpc_id(value: str) -> Filter:
    """An id: ``7`` means the number and the string, ``"7"`` the string alone."""
    return _in("rpc_id", [value] if value.startswith('"') else [value, json.dumps(value)])


def _number(column: str, units: dict[str, int], what: str) -> Callable[[str], Filter]:
    """A number, a bound such as ``>10k``, or a range such as ``10..20``."""

    def read(text: str) -> tuple[str, float]:
        match = _BOUND.fullmatch(text)
        if match is None or match[3].lower() not in units:
            raise _BadValue(f"{text!r} is no {what}")
        return match[1] or "=", float(match[2]) * units[match[3].lower()]

    def term(value: str) -> Filter:
        bounds = []
        low, dots, high = value.partition("..")
        if dots:
            if low:
                bounds.append((">=", read(low)[1]))
            if high:
                bounds.append(("<=", read(high)[1]))
        else:
            bounds.append(read(value))
        sql = " AND ".join(f"{column} {operator} ?" for operator, _ in bounds) or "1"

        def test(row: Row) -> bool:
            found = row.get(column)
            return found is not None and all(_COMPARE[o](found, bound) for o, bound in bounds)

        return Filter((sql, [bound for _, bound in bounds], True), test)

    return term


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def _text(value: str) -> Filter:
    """A text that occurs in the line, whatever its case."""
    wanted = _unquoted(value).casefold()

    def test(row: Row) -> bool:
        raw = row["raw"] if "raw" in row else row["data"].encode()
        return wanted in bytes(raw).decode(errors="replace").casefold()

    return Filter(("1", [], False), test)


def _fault(value: str) -> Filter:
    if value == "any":
        return Filter(("fault IS NOT NULL", [], True), lambda r: r.get("fault") is not None)
    return _glob("fault")(value)


def _path_term(path: str, wanted: str) -> Filter:
    keys = path.split(".")

    def test(row: Row) -> bool:
        if "raw" not in row:
            return False
        try:
            value = json.loads(row["raw"])
        except (ValueError, RecursionError):
            return False
        return any(_reaches(one, keys, wanted) for one in _members(value))

    return Filter(
        ("kind IN ('request','response','error','notification','batch')", [], False), test
    )


def _members(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _reaches(value: Any, keys: list[str], wanted: str) -> bool:
    """Whether a path leads to a value; a list on the way offers all of its items."""
    if isinstance(value, list) and not (keys and keys[0].isdigit()):
        return any(_reaches(item, keys, wanted) for item in value)
    if not keys:
        return (value if isinstance(value, str) else json.dumps(value)) == wanted
    if isinstance(value, list):
        place = int(keys[0])
        return place < len(value) and _reaches(value[place], keys[1:], wanted)
    return (
        isinstance(value, dict) and keys[0] in value and _reaches(value[keys[0]], keys[1:], wanted)
    )


TERMS: dict[str, Callable[[str], Filter]] = {
    "dir": _direction,
    "method": _glob("method"),
    "session": _glob("session"),
    "kind": _kind,
    "id": _rpc_id,
    "seq": _number("seq", {"": 1}, "number: expected 7, >7 or 7..9"),
    "size": _number("size", _SIZES, "size: expected >10k or 1k..2M"),
    "latency": _number("latency_ns", _TIMES, "time: expected >2s or 10ms..1s"),
    "turn": _number("turn", {"": 1}, "number of a turn: expected 1 or 1..3"),
    "call": _glob("tool_call"),
    "terminal": _glob("terminal"),
    "text": _text,
    "fault": _fault,
}
"""The keys of the grammar."""
