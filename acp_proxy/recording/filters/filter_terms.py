"""The meaning of each filter term: a condition on columns, and an exact test of one row."""

import json
import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import partial
from operator import eq, ge, gt, le, lt
from typing import Any

from attrs import frozen

from acp_proxy.base.wording import nearest
from acp_proxy.protocol.dialects import MCP_MESSAGE
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import MESSAGE_KINDS, Direction, Kind
from acp_proxy.recording.filters.filter_conditions import (
    Among,
    Beyond,
    Compare,
    Condition,
    Every,
    Known,
    Like,
    No,
    Present,
    Some,
)
from acp_proxy.recording.recording import LABELS

Row = dict[str, Any]
KINDS = (*(kind.value for kind in Kind), "event")
DIRECTIONS = tuple(direction.value for direction in Direction)
_METHODS = (
    "initialize", "authenticate", "session/new", "session/load", "session/prompt",
    "session/update", "session/cancel", "session/set_mode", "session/request_permission",
    "fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output",
    "terminal/wait_for_exit", "terminal/kill", "terminal/release",
)  # fmt: skip
_ANY = "any"
_LAST = "last"
_OWN_STATES = ("unanswered", "failed")
"""States that can also be written without ``is:``."""
IS = (*_OWN_STATES, *KINDS)
_SYNONYMS = {"open": "unanswered", "pending": "unanswered", "running": "in_progress"}
"""Other words for a state or a status, each with the word that the filter accepts."""
STATUSES = ("pending", "awaiting_permission", "in_progress", "completed", "failed", "cancelled")
_BOUND = re.compile(r"(<=|>=|<|>|=)?\s*([0-9]*\.?[0-9]+)\s*([a-zA-Zµ]*)$")
_INDEX = re.compile("[0-9]{1,9}")
_SIZES = {"": 1, "b": 1, "k": 1000, "kb": 1000, "m": 10**6, "mb": 10**6, "g": 10**9, "gb": 10**9}
_TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "m": 60 * 10**9,
          "min": 60 * 10**9, "h": 3600 * 10**9}  # fmt: skip


@frozen
class Filter:
    """A parsed filter, or a part of a filter."""

    condition: Condition
    """A condition that is true for every matching frame. The store uses it to select frames."""
    matches: Callable[[Row], bool]
    """Whether a row of `frames` (with ``latency_ns``) or of `events` matches exactly."""

    def finds(self, row: Row) -> bool:
        """Whether a row matches. A row with ``members`` matches if one of the members matches."""
        members = row.get("members")
        return any(map(self.matches, members)) if members else self.matches(row)


def all_of(parts: list[Filter]) -> Filter:
    """Returns the filter that matches a row if all parts match it; with no parts, every row."""
    if len(parts) == 1:
        return parts[0]
    condition = Every(tuple(part.condition for part in parts))
    return Filter(condition, lambda row: all(part.matches(row) for part in parts))


def any_of(parts: list[Filter]) -> Filter:
    """Returns the filter that matches a row if at least one part matches it."""
    if len(parts) == 1:
        return parts[0]
    condition = Some(tuple(part.condition for part in parts))
    return Filter(condition, lambda row: any(part.matches(row) for part in parts))


def none_of(part: Filter) -> Filter:
    """Returns the filter that matches a row if the part does not match it."""
    return Filter(No(part.condition), lambda row: not part.matches(row))


EVERYTHING = all_of([])
"""The filter that matches everything."""


_Parse = Callable[[str, Known | None], Filter]


class BadValue(Exception):
    """Raised when a term does not accept its value; may suggest the nearest accepted word."""

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
            near = _SYNONYMS.get(word, "")
            near = near if near in words else nearest(word, words)
            raise BadValue(f"{word!r} is not a {what}: expected {', '.join(words)}", near)
    return chosen


def _direction(value: str, _known: Known | None) -> Filter:
    return _in("stream", _one_of(value, DIRECTIONS, "direction"))


def _kind(value: str, _known: Known | None) -> Filter:
    # A timeline shows kinds of updates, such as tool_call. These are not kinds of frames.
    if update := next((w for w in value.split("|") if w.isidentifier() and "_" in w), ""):
        raise BadValue(
            f"{update!r} is not a kind of frame; for an update use"
            f" params.update.sessionUpdate={update}"
        )
    chosen = _one_of(value, KINDS, "kind")

    def test(row: Row) -> bool:
        if "raw" not in row:
            return "event" in chosen
        return row["kind"] in chosen or ("member" in row and Kind.BATCH in chosen)

    return Filter(Among("kind", tuple(chosen)), test)


NAMED_BY_ANSWER = {"session": "answer_session", "terminal": "answer_terminal"}
"""The columns whose value may come from the answer to a request. For each column: the name of the
column with the answer's value."""


def of_session(session: str) -> Filter:
    """Returns the filter for a session's frames, including the request that created the session."""
    return _in("session", [session])


def _in(column: str, chosen: list[str]) -> Filter:
    return Filter(Among(column, tuple(chosen)), _test(column, lambda text: text in chosen))


def _test(column: str, fits: Callable[[str], bool]) -> Callable[[Row], bool]:
    """Returns a test of a row: whether ``fits`` accepts the text in a column of the row.

    If `NAMED_BY_ANSWER` names a second column for ``column``, ``fits`` has to accept the text in at
    least one of the two.
    """
    columns = [column, NAMED_BY_ANSWER[column]] if column in NAMED_BY_ANSWER else [column]

    def test(row: Row) -> bool:
        return any((text := row.get(name)) is not None and fits(text) for name in columns)

    return test


_NAMES = ("*/", "*_")
"""Patterns of what may precede the wanted word in the name of a method."""


def _label(column: str, words_after: tuple[str, ...] = ()) -> _Parse:
    """Makes the parser of a term that compares a column with a value.

    - A value with ``*``, ``?`` or ``[`` is a pattern.
    - A value is a whole text if it is quoted, if the recording has exactly this text, or if the
      filter is for live frames.
    - Any other value is a prefix.

    Args:
        column: the column with the text.
        words_after: patterns, such as ``*/``. A prefix may stand at the beginning of the text, or
            after a part of the text that matches one of them.
    """

    def term(value: str, known: Known | None) -> Filter:
        wanted = storable(unquoted(value))
        if any(c in wanted for c in "*?["):
            return _like(column, wanted)
        if known is None or wanted != storable(value) or known.has_label(wanted):
            return _in(column, [wanted])
        return any_of([_like(column, f"{before}{wanted}*") for before in ("", *words_after)])

    return term


def _like(column: str, pattern: str) -> Filter:
    return Filter(Like(column, pattern), _test(column, lambda text: fnmatchcase(text, pattern)))


def _rpc_id(value: str, _known: Known | None) -> Filter:
    """Returns the filter for an id: ``7`` matches number and string, ``"7"`` only the string."""
    token = storable(value)
    if token.startswith('"'):
        return _in("rpc_id", [token])
    escaped, written = json.dumps(value), json.dumps(value, ensure_ascii=False)
    return _in("rpc_id", list(dict.fromkeys([token, escaped, storable(written)])))


def _number(column: str, units: dict[str, int], what: str) -> _Parse:
    """Makes the parser of a term with a number, a bound such as ``>10k``, or a range (``10..20``).

    Args:
        column: the column with the number.
        units: the factor of each accepted unit, in lower case.
        what: how error messages name the number and its form.
    """

    def read(text: str) -> tuple[str, float]:
        match = _BOUND.fullmatch(text)
        if match is None or match[3].lower() not in units:
            raise BadValue(f"{text!r} is not a {what}")
        return match[1] or "=", float(match[2]) * units[match[3].lower()]

    def term(value: str, _known: Known | None) -> Filter:
        bounds = []
        low, dots, high = value.partition("..")
        if dots:
            if low:
                bounds.append((">=", read(low)[1]))
            if high:
                bounds.append(("<=", read(high)[1]))
        else:
            bounds.append(read(value))
        compared = tuple(Compare(column, *bound) for bound in bounds)
        condition = Every(compared or (Present(column),))

        def test(row: Row) -> bool:
            number = row.get(column)
            return number is not None and all(_COMPARE[o](number, bound) for o, bound in bounds)

        return Filter(condition, test)

    return term


_COMPARE = {"=": eq, "<": lt, ">": gt, "<=": le, ">=": ge}


_numbered_turn = _number("turn", {"": 1}, "number of a turn: expected 1, 1..3 or last")


def _turn(value: str, known: Known | None) -> Filter:
    if value != _LAST:
        return _numbered_turn(value, known)
    if known is None or known.last_turn is None:
        raise BadValue("'last' works only with a single recording; expected a number")
    return _numbered_turn(str(known.last_turn), known)


def _is(value: str, known: Known | None) -> Filter:
    """Returns the filter for ``is:`` with ``unanswered``, ``failed`` or a kind of frames."""
    return any_of([_STATES[word](known) for word in _one_of(value, IS, "state")])


def _unanswered(_known: Known | None) -> Filter:
    """Returns the filter for requests without an answer."""
    condition = Every((Among("kind", ("request",)), No(Present("response_seq"))))
    return Filter(condition, lambda r: r["kind"] == "request" and r.get("response_seq") is None)


def _failed(known: Known | None) -> Filter:
    """Returns the filter for error responses, errors of MCP servers, and failed tool calls."""
    is_mcp = Filter(Among("method", (MCP_MESSAGE,)), lambda row: row.get("method") == MCP_MESSAGE)
    has_error = path_term("result.error.code", "*", is_pattern=True)
    of_mcp = all_of([is_mcp, _kind("response", known), has_error])
    return any_of([_kind("error", known), of_mcp, _status("failed", known)])


def _status(value: str, _known: Known | None) -> Filter:
    """Returns the filter for frames that set the status of a tool call."""
    chosen = _one_of(value, STATUSES, "status of a tool call")
    status = any_of([path_term("params.update.status", word) for word in chosen])
    is_call = Filter(Present("tool_call"), lambda row: row.get("tool_call") is not None)
    return all_of([is_call, status])


def bare_term(word: str, known: Known) -> Filter:
    """Returns the filter for a word without a key: the name of a state, or a text in the line.

    Args:
        word: the word as written, possibly in quotes.
        known: the facts about the recording.
    """
    return _STATES[word](known) if word in _OWN_STATES else _text(word, known)


def _text(value: str, _known: Known | None) -> Filter:
    """Returns the filter for lines that contain a text, ignoring case."""
    wanted = unquoted(value).casefold()

    def test(row: Row) -> bool:
        raw = row["raw"] if "raw" in row else row["data"].encode()
        return wanted in bytes(raw).decode(errors="replace").casefold()

    return Filter(Beyond(), test)


def _fault(value: str, known: Known | None) -> Filter:
    if value == _ANY:
        return Filter(Present("fault"), lambda r: r.get("fault") is not None)
    return _label("fault")(value, known)


def path_term(path: str, wanted: str, *, is_pattern: bool = False) -> Filter:
    """Returns the filter for messages in which the member at a path has a given value.

    Args:
        path: member names and item numbers, joined by dots. A missing item number stands for any
            item.
        wanted: the value: a string without quotes, or any other value as JSON.
        is_pattern: whether ``*`` in the value stands for any characters.
    """
    keys = path.split(".")
    pattern = wanted.replace("[", "[[]").replace("?", "[?]")

    def fits(text: str) -> bool:
        return fnmatchcase(text, pattern) if is_pattern else text == wanted

    def test(row: Row) -> bool:
        if "raw" not in row or row["kind"] not in MESSAGE_KINDS:
            return False
        try:
            return _reaches(json.loads(row["raw"]), keys, fits)
        except (ValueError, RecursionError):
            return False

    return Filter(Every((Among("kind", MESSAGE_KINDS), Beyond())), test)


def _reaches(value: Any, keys: list[str], fits: Callable[[str], bool]) -> bool:
    """Whether a path leads to a matching value. If an item's number is missing, tries all items."""
    if isinstance(value, list) and not (keys and _INDEX.fullmatch(keys[0])):
        return any(_reaches(item, keys, fits) for item in value)
    if not keys:
        return fits(value if isinstance(value, str) else json.dumps(value))
    if isinstance(value, list):
        place = int(keys[0])
        return place < len(value) and _reaches(value[place], keys[1:], fits)
    return isinstance(value, dict) and keys[0] in value and _reaches(value[keys[0]], keys[1:], fits)


_STATES: dict[str, Callable[[Known | None], Filter]] = {
    **{kind: partial(_kind, kind) for kind in KINDS},
    "unanswered": _unanswered,
    "failed": _failed,
}


@frozen
class Term:
    """The meaning of a key in a filter."""

    parse: _Parse
    """Makes a filter from a value and the facts about the recording (None for live frames).

    Raises `BadValue` if the key does not accept the value.
    """
    values: tuple[str, ...] = ()
    """The known values of the key, for completion and for hints."""


TERMS: dict[str, Term] = {
    "dir": Term(_direction, DIRECTIONS),
    "method": Term(_label(LABELS["method"], _NAMES), _METHODS),
    "session": Term(_label(LABELS["session"])),
    "kind": Term(_kind, KINDS),
    "id": Term(_rpc_id),
    "seq": Term(_number("seq", {"": 1}, "number: expected 7, >7 or 7..9")),
    "size": Term(_number("size", _SIZES, "size: expected >10k or 1k..2M")),
    "latency": Term(_number("latency_ns", _TIMES, "time: expected 2s.. or 10ms..1s")),
    "turn": Term(_turn, (_LAST,)),
    "call": Term(_label(LABELS["call"])),
    "status": Term(_status, STATUSES),
    "is": Term(_is, IS),
    "terminal": Term(_label(LABELS["terminal"])),
    "text": Term(_text),
    "fault": Term(_fault, (_ANY,)),
}
"""The keys that a filter may have. To add a key, add a line here."""
