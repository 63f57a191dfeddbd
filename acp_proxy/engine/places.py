"""The typed places of ACP messages that a replay has to know, taken from the table of all.

They hold for all dialects at once; where two use different names, both are here.
"""

from functools import cache
from typing import Any

from acp_proxy.engine.splice import Place, Places
from acp_proxy.pointers import parts_of
from acp_proxy.protocol.vocabulary import Role, positions

_PLACES = {
    Role.REQUEST: Place.ID,
    Role.SESSION: Place.SESSION,
    Role.TERMINAL: Place.TERMINAL,
    Role.ROOT: Place.ROOT,
    Role.DIRECTORY: Place.PATH,
    Role.PATH: Place.PATH,
    Role.URI: Place.URI,
    Role.CREDENTIAL: Place.FREE,
    Role.CONFIGURATION: Place.FREE,
    Role.REASON: Place.FREE,
    Role.STREAM: Place.FREE,
}
_OWN_ID = "/id"


@cache
def places_of(kind: str, method: str | None) -> Places:
    """Returns the places of a message, but not its own id.

    Args:
        kind: request, notification or response.
        method: its method, or that of the request it answers.
    """
    places: dict[str, Any] = {}
    if kind not in ("request", "notification", "response", "error"):
        return places
    for position in positions(method, is_response=kind in ("response", "error")):
        place = _PLACES.get(position.role)
        if place is not None and position.pointer != _OWN_ID:
            _put(places, parts_of(position.pointer), place)
    return places


def _put(places: dict[str, Any], way: tuple[str, ...], place: Place) -> None:
    *outer, last = way
    for key in outer:
        places = places.setdefault(key, {})
    places[last] = place
