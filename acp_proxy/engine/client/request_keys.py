"""Hashes JSON values so that those have equal hashes in which a comparison finds no difference.

The reverse does not hold: numbers and truth values share hashes. So a value that was found by its
hash is compared, and `comparison` alone decides what counts.
"""

from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote

from acp_proxy.protocol.splice import Place

Live = Callable[[Place, str], str]
"""Returns the live name of a value at a typed place; of a live value, itself."""
_DEEP = 0


def as_it_is(_: Place, value: str) -> str:
    """The live name of a live value."""
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
        live: returns the live names of values at these.
        ignored: paths that do not count, as of `json_pointers.parts_of`.
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
        below = [path[1:] for path in ignored if path and path[0] in ("*", name)]
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
