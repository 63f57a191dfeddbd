"""Translates a filter's condition into SQL over coded rows, which have numbers instead of words.

The SQL is for queries from ``frame_rows AS f LEFT JOIN exchanges AS e``. In rows, the SQL
compares only numbers, which is fast. It compares texts only in ``labels``, which contains each text
a single time.
"""

from collections.abc import Mapping
from typing import Any, assert_never

from attrs import evolve

from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.recording.filters.filter_conditions import (
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
from acp_proxy.store.tables.checked_values import FITS
from acp_proxy.store.tables.schema import EVERY_ROW, KIND_CODES, STREAM_CODES, Where

_CODED: dict[str, tuple[str, Mapping[Any, int]]] = {
    "stream": ("f.flags & 3", STREAM_CODES),
    "kind": ("f.kind", KIND_CODES),
}
_LABELLED = ("method", "session", "tool_call", "terminal")
_REQUEST = KIND_CODES[Kind.REQUEST]
_MOST_TESTS = 400
"""The most comparisons in a query; a longer filter is tested in Python. SQLite allows 1,000 levels
in an expression, and each ``OR`` adds a level."""
_MOST_LEVELS = 15
"""The deepest nesting in a query. SQLite's parser has 100 entries on its stack, and each level uses
up to five entries."""
_MOST_STARS = 3
"""The most stars in a pattern for SQLite, since SQLite tries every way in which stars can match."""
_LIKE = f"CASE WHEN instr({{0}}, char(0)) THEN {FITS}({{0}}, ?) ELSE {{0}} GLOB ? END"
"""SQL that matches a text with a pattern. SQLite's GLOB stops at NUL, so a text with NUL is matched
by our own function."""
_OPERATORS = ("=", "<", ">", "<=", ">=")


_OF_EXCHANGES = ("response_seq", "latency_ns")
_UNKNOWN = evolve(EVERY_ROW, exact=False)


def translate(condition: Condition, labels: str, every: str, size: str = "length(f.raw)") -> Where:
    """Translates the condition of a filter to SQL.

    Args:
        condition: the condition of a filter.
        labels: the labels of the rows to search: a table, or a SELECT in parentheses.
        every: the labels of all rows of the recording, in the same form.
        size: SQL for the size of a line.
    """
    match condition:
        case Among(column, values) if column in _CODED:
            expression, codes = _CODED[column]
            known = [str(codes[value]) for value in values if value in codes]
            return Where(f"{expression} IN ({', '.join(known)})")
        case Among(column, values):
            test = f"{{0}} IN ({', '.join('?' * len(values))})"
            return _text(column, test, values, labels, every)
        case Like(column, pattern) if _is_simple(pattern):
            return _text(column, _LIKE, (pattern, pattern), labels, every)
        case Compare(column, operator, bound) if operator in _OPERATORS:
            return Where(f"{_named(column, size)} {operator} ?", (bound,))
        case Present(column):
            return Where(f"{_named(column, size)} IS NOT NULL")
        case Every(parts):
            return _joined(" AND ", parts, labels, every, size) if parts else EVERY_ROW
        case Some(parts):
            return _joined(" OR ", parts, labels, every, size) if parts else Where("0")
        case No(part):
            inner = translate(part, labels, every, size)
            if not inner.exact or inner.levels == _MOST_LEVELS:
                return _UNKNOWN
            sql = f"NOT coalesce(({inner.sql}), 0)"
            return evolve(inner, sql=sql, levels=inner.levels + 1)
        case Like() | Compare() | Beyond():
            return _UNKNOWN
        case _:
            assert_never(condition)


def _named(column: str, size: str) -> str:
    if column == "size":
        return size
    return f"{'e' if column in _OF_EXCHANGES else 'f'}.{column}"


def _is_simple(pattern: str) -> bool:
    """Whether SQLite can match a pattern fast: no NUL, no set such as ``[a-c]``, and few stars."""
    return not {"[", "\0"} & {*pattern} and pattern.count("*") <= _MOST_STARS


def with_batches(where: Where) -> Where:
    """Makes a condition select all batches too, since a message of a batch could meet it."""
    return evolve(where, sql=f"({where.sql}) OR f.kind = {KIND_CODES[Kind.BATCH]}")


def _text(column: str, test: str, values: tuple[str, ...], labels: str, every: str) -> Where:
    """Returns SQL that tests the text of a column. In ``test``, ``{0}`` stands for the text.

    A request also matches if its answer has a matching session or terminal.
    """
    if column not in _LABELLED:
        return Where(test.format(f"f.{column}"), values)
    if column == "terminal":  # by the index of terminals, which an OR would not use
        ids = f"SELECT id FROM {every} WHERE {test.format('text')}"
        named = f"SELECT seq FROM frame_rows WHERE terminal IN ({ids})"
        asked = (
            "SELECT request_seq FROM exchanges WHERE method = 'terminal/create'"
            f" AND response_seq IN ({named})"
        )
        return Where(f"f.seq IN ({named} UNION {asked})", values * 2)
    sql = f"f.{column} IN (SELECT id FROM {labels} WHERE {test.format('text')})"
    if column != "session":
        return Where(sql, values)
    asked = f"SELECT request_seq FROM exchanges WHERE {test.format('session')}"
    return Where(f"({sql} OR (f.kind = {_REQUEST} AND f.seq IN ({asked})))", values * 2)


def _joined(word: str, parts: tuple[Condition, ...], labels: str, every: str, size: str) -> Where:
    translated = [translate(part, labels, every, size) for part in parts]
    tests = sum(part.tests for part in translated)
    levels = 1 + max(part.levels for part in translated)
    if tests > _MOST_TESTS or levels > _MOST_LEVELS:
        return _UNKNOWN
    needed = [part for part in translated if not (part.is_open and word == " AND ")]
    return Where(
        word.join(f"({part.sql})" for part in needed) or EVERY_ROW.sql,
        tuple(value for part in needed for value in part.parameters),
        all(part.exact for part in translated),
        tests,
        levels,
    )
