"""Fuzzes the replacement of values in lines: all other bytes stay the same."""

from __future__ import annotations

import json
from typing import Any

from acp_proxy.protocol.jsonrpc import Kind, read
from acp_proxy.protocol.typed_places import Places, Span, places_of, spans, splice
from tests.fuzz import seeds
from tests.fuzz.classification import WORDS
from tests.fuzz.target import Target

_NEW = '{"new":[]}'


def check(data: bytes) -> None:
    """Checks that the places of values are in order, and are the same in the parsed line."""
    raw = data.replace(b"\n", b"")
    text = raw.decode(errors="surrogateescape")
    message = read(raw)
    kind = message.kind if message.kind is not Kind.BATCH else Kind.REQUEST
    for places in (places_of(kind, message.method), places_of("response", "session/new")):
        hits = spans(text, places)
        _check_order(hits, len(text))
        assert splice(text, [(span, text[span.start : span.end]) for span in hits]) == text
        value = _parsed(text)
        if value is None:
            assert not hits, "a line that is not JSON has no places"
        elif len(text) < 2000:
            _check_values(text, value[0], places, hits)


def _check_order(hits: list[Span], size: int) -> None:
    at = 0
    for span in hits:
        assert at <= span.start < span.end <= size
        at = span.end


def _check_values(text: str, value: Any, places: Places, hits: list[Span]) -> None:
    """Checks the values at all places, before and after a replacement."""
    written = [_loads(text[span.start : span.end]) for span in hits]
    assert repr(written) == repr([*_at(value, places)])
    spliced = splice(text, [(span, _NEW) for span in hits])
    assert repr(_loads(spliced)) == repr(_replaced(value, places))


Pairs = list[tuple[str, Any]]


class _Object:
    """A JSON object as its members in order, with duplicate keys."""

    def __init__(self, members: Pairs) -> None:
        self.members = members

    def __repr__(self) -> str:
        return repr(self.members)


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_Object, parse_int=str, parse_float=str)


def _parsed(text: str) -> tuple[Any] | None:
    """Returns the value of a line; None if the line is not JSON or is nested too deeply."""
    try:
        return (_loads(text),)
    except (ValueError, RecursionError):
        return None


def _members(value: Any) -> Pairs:
    if isinstance(value, _Object):
        return value.members
    return [("*", inner) for inner in value] if isinstance(value, list) else []


def _at(value: Any, places: Places) -> Any:
    for key, inner in _members(value):
        place = places.get(key)
        if isinstance(place, dict):
            yield from _at(inner, place)
        elif place is not None:
            yield inner


def _replaced(value: Any, places: Places) -> Any:
    """Returns a value in which another value is at each place."""
    new = []
    for key, inner in _members(value):
        place = places.get(key)
        if isinstance(place, dict):
            new.append((key, _replaced(inner, place)))
        else:
            new.append((key, inner if place is None else _loads(_NEW)))
    if isinstance(value, _Object):
        return _Object(new)
    return [inner for _, inner in new] if isinstance(value, list) else value


TARGET = Target("splicing", check, seeds.lines, WORDS)
