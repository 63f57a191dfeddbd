"""Finds values of a known kind in a line of JSON, to replace them without changing the rest.

A *typed value* is an id, a path, a setting or another value whose place in a message tells its kind
(see `vocabulary`). The places of all dialects are searched together.

Each replacement is inserted at the character range of the value. A line is never serialized again:
this would change numbers such as ``1e3``, escapes, and repeated keys.
"""

from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

from attrs import frozen

from acp_proxy.protocol.json_text import members, parts_of
from acp_proxy.protocol.vocabulary import Role, positions


class Place(Enum):
    """Decides how a typed value is replaced. Several roles may be replaced in the same way."""

    ID = "id"
    """The id of a request; in ``$/cancel_request``, the id of the request to cancel."""
    SESSION = "session"
    ROOT = "root"
    """A directory that the client chose: the working directory, or an additional directory."""
    ROOT_URI = "root-uri"
    """A directory that the client chose, as a URI."""
    PATH = "path"
    URI = "uri"
    TERMINAL = "terminal"
    MESSAGE = "message"
    """The id of a message. The client may choose the id, and the agent then refers to it."""
    CONNECTION = "connection"
    """The id of a connection to an MCP server; the client opens the connection."""
    FREE = "free"
    """A setting of the client, or a value that differs between runs; any value is accepted."""


Places = dict[str, Any]
"""The places to search, as nested dicts by the names of members; ``*`` is every item of an
array."""


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


@cache
def places_of(kind: str, method: str | None, *roles: Role) -> Places:
    """Returns the places of typed values in a message, except the place of the message's id.

    Args:
        kind: request, notification, response or error; messages of other kinds have no places.
        method: the method of the message; for an answer, the method of the request.
        *roles: the roles of the wanted values; all roles if none are given.
    """
    places: Places = {}
    if kind in ("request", "notification", "response", "error"):
        for position in positions(method, is_response=kind in ("response", "error")):
            place = _PLACES.get(position.role)
            is_wanted = not roles or position.role in roles
            if place is not None and is_wanted and position.pointer != "/id":
                _put(places, parts_of(position.pointer), place)
    return places


def _put(places: Places, path: tuple[str, ...], place: Place) -> None:
    """Adds a place at its path; does nothing if a part of the path already leads to a place."""
    *outer, last = path
    for key in outer:
        inner = places.setdefault(key, {})
        if isinstance(inner, Place):
            return
        places = inner
    places[last] = place


@frozen
class Span:
    """A typed value in a line: its character range and its kind."""

    start: int
    end: int
    place: Place


def spans(text: str, places: Places) -> list[Span]:
    """Finds all typed values in a line, in order; returns an empty list if the line is not JSON.

    Args:
        text: the line.
        places: the places to search.
    """
    hits: list[Span] = []
    try:
        end = _collect(text, 0, places, hits)
    except (ValueError, IndexError, RecursionError):
        return []
    return hits if text[end:].strip(" \t\r\n") in ("}", "]") else []


def _collect(text: str, at: int, places: Places, hits: list[Span]) -> int:
    """Appends to ``hits`` the typed values in the JSON value that begins at ``at``.

    Returns:
        The index after the last member of the JSON value.
    """
    end = at
    for key, start, end in members(text, at):
        inner = places.get(key)
        if inner is None:
            continue
        if isinstance(inner, Place):
            hits.append(Span(start, end, inner))
        else:
            _collect(text, start, inner, hits)
    return end


def splice(
    text: str, replacements: list[tuple[Span, str]], between: Callable[[str], str] = str
) -> str:
    """Replaces typed values in a line.

    Args:
        text: the line.
        replacements: the typed values and their new text, in order.
        between: converts the text between these values; the default leaves the text unchanged.
    """
    parts, at = [], 0
    for span, new in replacements:
        parts += [between(text[at : span.start]), new]
        at = span.end
    return "".join([*parts, between(text[at:])])
