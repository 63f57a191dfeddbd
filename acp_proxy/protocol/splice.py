"""Finds typed places in a line of JSON, so that a value can be replaced and nothing else changes.

A line is never written anew: ``1e3``, escapes, the order of keys and repeated keys must
survive. What is known of a line is the character range of each place, and a replacement is cut in
there.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

from attrs import frozen

from acp_proxy.protocol.json_text import members


class Place(Enum):
    """The kind of a value."""

    ID = "id"
    """The id of a request, or in ``$/cancel_request`` that of the one it names."""
    SESSION = "session"
    ROOT = "root"
    """A directory that the client chose: the working directory, or one beside it."""
    ROOT_URI = "root-uri"
    """Such a directory, as a URI."""
    PATH = "path"
    URI = "uri"
    TERMINAL = "terminal"
    MESSAGE = "message"
    """The id of a message; the client may choose its own, and the agent names it."""
    CONNECTION = "connection"
    """The id of a connection to an MCP server, which the client opens."""
    FREE = "free"
    """What the client configures as it likes, or what differs from run to run: any value is as good
    as another."""


Places = dict[str, Any]
"""Places by their keys, nested as the message is; ``*`` is every item of a list."""


@frozen
class Span:
    """A place in a line."""

    start: int
    end: int
    place: Place


def spans(text: str, places: Places) -> list[Span]:
    """Finds all places in a line, in order; none in a line that is not JSON.

    Args:
        text: the line.
        places: what is looked for.
    """
    found: list[Span] = []
    try:
        _collect(text, 0, places, found)
    except (ValueError, IndexError, RecursionError):
        return []
    return found


def _collect(text: str, at: int, places: Places, found: list[Span]) -> None:
    """Adds the places in the value that begins at ``at``."""
    for key, start, end in members(text, at):
        inner = places.get(key)
        if inner is None:
            continue
        if isinstance(inner, Place):
            found.append(Span(start, end, inner))
        else:
            _collect(text, start, inner, found)


def splice(
    text: str,
    replacements: list[tuple[Span, str]],
    between: Callable[[str], str] | None = None,
) -> str:
    """Puts new text into places, which come in order; the rest stays as it is.

    Args:
        text: a line.
        replacements: places and their new text.
        between: what to do with the text between places.
    """
    kept = between or _unchanged
    parts, at = [], 0
    for span, new in replacements:
        parts += [kept(text[at : span.start]), new]
        at = span.end
    return "".join([*parts, kept(text[at:])])


def _unchanged(text: str) -> str:
    return text
