"""The places of typed values in a message, as a replay needs them, made from the table of all.

They are those of all dialects at once; where two use different names, both are here.
"""

from functools import cache

from acp_proxy.protocol.json_pointers import parts_of
from acp_proxy.protocol.splice import Place, Places
from acp_proxy.protocol.vocabulary import Role, positions

_PLACES = {
    Role.REQUEST: Place.ID,
    Role.SESSION: Place.SESSION,
    Role.TERMINAL: Place.TERMINAL,
    Role.CONNECTION: Place.CONNECTION,
    Role.ROOT: Place.ROOT,
    Role.ROOT_URI: Place.ROOT_URI,
    Role.DIRECTORY: Place.PATH,
    Role.PATH: Place.PATH,
    Role.URI: Place.URI,
    Role.CREDENTIAL: Place.FREE,
    Role.CONFIGURATION: Place.FREE,
    Role.REASON: Place.FREE,
    Role.MESSAGE: Place.MESSAGE,
    Role.PROCESS: Place.FREE,
    Role.TIME: Place.FREE,
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
    return _nested(kind, method, _PLACES)


@cache
def secret_places(kind: str, method: str | None) -> Places:
    """Returns the places of a message that hold credentials.

    Args:
        kind: request, notification or response.
        method: its method, or that of the request it answers.
    """
    return _nested(kind, method, {Role.CREDENTIAL: Place.FREE})


@cache
def session_places(kind: str, method: str | None) -> Places:
    """Returns the places of a message that hold session ids.

    Args:
        kind: request, notification or response.
        method: its method, or that of the request it answers.
    """
    return _nested(kind, method, {Role.SESSION: Place.SESSION})


def _nested(kind: str, method: str | None, wanted: dict[Role, Place]) -> Places:
    places: Places = {}
    if kind in ("request", "notification", "response", "error"):
        for position in positions(method, is_response=kind in ("response", "error")):
            place = wanted.get(position.role)
            if place is not None and position.pointer != _OWN_ID:
                _put(places, parts_of(position.pointer), place)
    return places


def _put(places: Places, path: tuple[str, ...], place: Place) -> None:
    """Puts a place where it belongs, unless it is part of another one."""
    *outer, last = path
    for key in outer:
        inner = places.setdefault(key, {})
        if isinstance(inner, Place):
            return
        places = inner
    places[last] = place
