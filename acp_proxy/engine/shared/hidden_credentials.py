"""Hides credentials in what a report shows of a client's own line."""

from typing import Any

from acp_proxy.protocol.splice import Place, spans, splice
from acp_proxy.protocol.typed_places import secret_places

HIDDEN = "(hidden)"
"""What stands in the place of a credential, or of anything that the client configures freely."""

_ANY = "surrogateescape"


def concealed(raw: bytes, kind: str, method: str | None) -> bytes:
    """Hides the credentials at typed places of a line; without any it is returned as it is.

    Args:
        raw: the line.
        kind: request, notification or response.
        method: its method, or that of the request it answers.
    """
    places = secret_places(kind, method)
    text = raw.decode("utf-8", _ANY)
    found = spans(text, places) if places else []
    if not found:
        return raw
    return splice(text, [(span, f'"{HIDDEN}"') for span in found]).encode("utf-8", _ANY)


def without_free(value: Any, places: Any) -> Any:
    """Returns a decoded value with `HIDDEN` at the places where any value is as good as another.

    Args:
        value: decoded; it is not changed.
        places: those in it, as of `places.places_of`.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if places is Place.FREE:
        return HIDDEN
    if not isinstance(places, dict):
        return value
    if isinstance(value, dict):
        return {key: without_free(inner, places.get(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_free(inner, places.get("*")) for inner in value]
    return value
