"""What each term of a filter means: a condition on columns, and the exact answer for one row."""

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

from attrs import frozen

from acp_proxy.filters.conditions import (
    Among,
    Beyond,
    Compare,
    Condition,
    Every,
    Like,
    No,
    Present,
    Some,
)
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Direction
from acp_proxy.wording import nearest

Row = dict[str, Any]
_PARSED = ("request", "response", "error", "notification", "batch")
KINDS = (*(kind.value for kind in Kind), "event")
DIRECTIONS = tuple(direction.value for direction in Direction)
_METHODS = (
    "initialize", "authenticate", "session/new", "session/load", "session/prompt",
    "session/update", "session/cancel", "session/set_mode", "session/request_permission",
    "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output",
    "terminal/wait_for_exit", "terminal/kill", "terminal/release",
)  # fmt: skip
_ANY = "any"
_BOUND = re.compile(r"(<=|>=|<|>|=)?\s*([0-9]*\.?[0-9]+)\s*([a-zA-Z]*)$")
_INDEX = re.compile("[0-9]{1,9}")
_SIZES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9,
          "min": 60 * 10**9, "h": 3600 * 10**9}  # fmt: skip


@frozen
class Filter:
    """A parsed filter, or a part of one."""

    condition: Condition
    """What every match fulfils; the store looks frames up by it."""
    matches: Callable[[Row], bool]
    """Whether a row of `frames` (with ``latency_ns``) or of `events` matches exactly."""

    def finds(self, row: Row) -> bool:
        """Whether a row matches, or, of a batch that has its ``members``, one of them."""
        members = row.get("members")
        return any(map(self.matches, members)) if members else self.matches(row)


def all_of(parts: list[Filter]) -> Filter:
    """Returns the filter that matches what all parts match; without parts, everything."""
    if len(parts) == 1:
        return parts[0]
    condition = Every(tuple(part.condition for part in parts))
    return Filter(condition, lambda row: all(part.matches(row) for part in parts))


def any_of(parts: list[Filter]) -> Filter:
    """Returns the filter that matches what at least one part matches."""
    if len(parts) == 1:
        return parts[0]
    condition = Some(tuple(part.condition for part in parts))
    return Filter(condition, lambda row: any(part.matches(row) for part in parts))


def none_of(part: Filter) -> Filter:
    """Returns the filter that matches what a part does not match."""
    return Filter(No(part.condition), lambda row: not part.matches(row))


EVERYTHING = all_of([])
"""The filter that lets everything through."""


class BadValue(Exception):
    """A value that a term does not accept, and the nearest word that it accepts."""

    def __init__(self, problem: str, nearest: str = "") -> None:
        super().__init__(problem)
        self.nearest = nearest


def unquoted(value: str) -> str:
    """Returns a value without its quotes, if it has any."""
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value


def _one_of(value: str, words: tuple[str, ...], what: str) -> list[str]:
    chosen = list(dict.fromkeys(value.split("|")))
    for word in chosen:
        if word not in words:
            raise BadValue(
                f"{word!r} is no {what}: expected {', '.join(words)}", nearest(word, words)
            )
    return chosen


def _direction(value: str) -> Filter:
    chosen = _one_of(value, DIRECTIONS, "direction")
    return _in("stream", chosen)


def _kind(value: str) -> Filter:
    chosen = _one_of(value, KINDS, "kind")

    def test(row: Row) -> bool:
        if "raw" not in row:
            return "event" in chosen
        return row["kind"] in chosen or ("member" in row and Kind.BATCH in chosen)

    return Filter(Among("kind", tuple(chosen)), test)


NAMED_BY_ANSWER = {"session": "answer_session", "terminal": "answer_terminal"}
"""Columns that match a request also by its answer, and the column with the answer's value."""


def of_session(session: str) -> Filter:
    """Returns the filter for the frames of one session, and the request that created it."""
    return _in("session", [session])


def _in(column: str, chosen: list[str]) -> Filter:
    return Filter(Among(column, tuple(chosen)), _test(column, lambda text: text in chosen))


def _test(column: str, fits: Callable[[str], bool]) -> Callable[[Row], bool]:
    """Tests a column, and the column of `NAMED_BY_ANSWER`, if there is one."""
    columns = [column, NAMED_BY_ANSWER[column]] if column in NAMED_BY_ANSWER else [column]

    def test(row: Row) -> bool:
        return any((text := row.get(name)) is not None and fits(text) for name in columns)

    return test


def _glob(column: str) -> Callable[[str], Filter]:
    """A text that is equal, or matches a pattern with ``*`` and ``?``."""

    def term(value: str) -> Filter:
        wanted = storable(unquoted(value))
        if not any(c in wanted for c in "*?["):
            return _in(column, [wanted])
        return Filter(Like(column, wanted), _test(column, lambda text: fnmatchcase(text, wanted)))

    return term


def _rpc_id(value: str) -> Filter:
    """An id: ``7`` means the number and the string, ``"7"`` the string alone."""
    token = storable(value)
    if token.startswith('"'):
        return _in("rpc_id", [token])
    escaped, written = json.dumps(value), json.dumps(value, ensure_ascii=False)
    return _in("rpc_id", list(dict.fromkeys([token, escaped, storable(written)])))


def _number(column: str, units: dict[str, int], what: str) -> Callable[[str], Filter]:
    """A number, a bound such as ``>10k``, or a range such as ``10..20``."""

    def read(text: str) -> tuple[str, float]:
        match = _BOUND.fullmatch(text)
        if match is None or match[3].lower() not in units:
            raise BadValue(f"{text!r} is no {what}")
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
        condition = Every(tuple(Compare(column, *bound) for bound in bounds))

        def test(row: Row) -> bool:
            found = row.get(column)
            return found is not None and all(_COMPARE[o](found, bound) for o, bound in bounds)

        return Filter(condition, test)

    return term


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}


def _text(value: str) -> Filter:
    """A text that occurs in the line, in upper or lower case."""
    wanted = unquoted(value).casefold()

    def test(row: Row) -> bool:
        raw = row["raw"] if "raw" in row else row["data"].encode()
        return wanted in bytes(raw).decode(errors="replace").casefold()

    return Filter(Beyond(), test)


def _fault(value: str) -> Filter:
    if value == _ANY:
        return Filter(Present("fault"), lambda r: r.get("fault") is not None)
    return _glob("fault")(value)


def path_term(path: str, wanted: str) -> Filter:
    """Returns the filter for messages in which a member has a value.

    Args:
        path: its names, joined by dots; of a list that has no number after it, every item counts.
        wanted: the value: a string as it is, anything else as JSON.
    """
    keys = path.split(".")

    def test(row: Row) -> bool:
        if "raw" not in row:
            return False
        try:
            value = json.loads(row["raw"])
            return any(_reaches(one, keys, wanted) for one in _members(value))
        except (ValueError, RecursionError):
            return False

    return Filter(Every((Among("kind", _PARSED), Beyond())), test)


def _members(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _reaches(value: Any, keys: list[str], wanted: str) -> bool:
    """Whether a path leads to a value; a list on the way offers all of its items."""
    if isinstance(value, list) and not (keys and _INDEX.fullmatch(keys[0])):
        return any(_reaches(item, keys, wanted) for item in value)
    if not keys:
        return (value if isinstance(value, str) else json.dumps(value)) == wanted
    if isinstance(value, list):
        place = int(keys[0])
        return place < len(value) and _reaches(value[place], keys[1:], wanted)
    return (
        isinstance(value, dict) and keys[0] in value and _reaches(value[keys[0]], keys[1:], wanted)
    )


@frozen
class Term:
    """A key of the grammar."""

    parse: Callable[[str], Filter]
    """Makes a filter of a value; raises `BadValue`."""
    values: tuple[str, ...] = ()
    """What completion offers after the key; for methods, where no recording offers its own."""


TERMS: dict[str, Term] = {
    "dir": Term(_direction, DIRECTIONS),
    "method": Term(_glob("method"), _METHODS),
    "session": Term(_glob("session")),
    "kind": Term(_kind, KINDS),
    "id": Term(_rpc_id),
    "seq": Term(_number("seq", {"": 1}, "number: expected 7, >7 or 7..9")),
    "size": Term(_number("size", _SIZES, "size: expected >10k or 1k..2M")),
    "latency": Term(_number("latency_ns", _TIMES, "time: expected >2s or 10ms..1s")),
    "turn": Term(_number("turn", {"": 1}, "number of a turn: expected 1 or 1..3")),
    "call": Term(_glob("tool_call")),
    "terminal": Term(_glob("terminal")),
    "text": Term(_text),
    "fault": Term(_fault, (_ANY,)),
}
"""The keys of the grammar; to add one, add a line here."""
