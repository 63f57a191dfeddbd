"""Hashes of JSON values that are equal where a comparison finds no difference.

The reverse does not hold: numbers and truth values share hashes, and whoever has found a value by
its hash compares it. So `comparison` alone decides what counts.
"""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from acp_proxy.protocol.splice import Place

Live = Callable[[Place, str], str]
"""What a value at a place is called now; of a live value, itself."""
_DEEP = 0


def as_it_is(_: Place, value: str) -> str:
    """What a live value is called."""
    return value


def key_of(
    value: Any,
    places: Any = None,
    live: Live = as_it_is,
    ignored: Sequence[tuple[str, ...]] = (),
) -> int:
    """Returns the hash of a value.

    Args:
        value: decoded JSON.
        places: its typed places.
        live: what values at these are called now.
        ignored: ways to what does not count, as of `pointers.parts_of`.
    """
    try:
        return _hash(value, places, live, ignored)
    except RecursionError:
        return _DEEP


def _hash(value: Any, places: Any, live: Live, ignored: Sequence[tuple[str, ...]]) -> int:
    if isinstance(value, str):
        return hash(_called(value, places, live))
    if isinstance(value, dict):
        items = ((key, key, inner) for key, inner in value.items() if key != "_meta")
    elif isinstance(value, list):
        items = ((str(place), "*", inner) for place, inner in enumerate(value))
    else:
        return hash(value)
    found = []
    for name, key, inner in items:
        below = [way[1:] for way in ignored if way and way[0] in ("*", name)]
        place = places.get(key) if isinstance(places, dict) else None
        if () not in below and place not in (Place.FREE, Place.ID):
            found.append((name, _hash(inner, place, live, below)))
    return hash((type(value), frozenset(found)))


def _called(value: str, place: Any, live: Live) -> str:
    if place in (Place.SESSION, Place.ROOT):
        return ""
    if isinstance(place, Place):
        value = live(place, value)
    return unquote(value) if place is Place.URI else value
