"""Makes whole JSON of the beginning of a line, so that it can be described like any other.

Whoever looks at a frame of 64 MB wants its kind and its first words. They stand at its beginning,
and there is one way to close what is open where that was cut off.
"""

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    r'\s*(?:"(?:[^"\\]|\\(?:u[0-9a-fA-F]{4}|[^u]))*+(?P<quote>"?)'
    r"|(?P<mark>[{}\[\],:])|[^\s\"{}\[\],:]+)",
    re.DOTALL,
)
_CLOSERS = {"{": "}", "[": "]"}
_Closers = tuple[str, Any] | None
"""What is open, innermost first; linked, so that any moment of it can be kept at no cost."""


def completed(head: str) -> str:
    """Closes the strings and brackets that are open at the end of ``head``.

    A string is kept as far as it goes; a name without its value, and a number or a word that may go
    on, are dropped. What is no JSON before its end stays none.
    """
    closers: _Closers = None
    whole, quote, open_then = 0, "", closers  # up to here it is well-formed, if these follow
    key_next = False
    place = 0
    while (match := _TOKEN.match(head, place)) is not None:
        place, mark = match.end(), match["mark"]
        is_value = not key_next
        if mark in (",", ":"):
            key_next = mark == "," and closers is not None and closers[0] == "}"
            continue
        if mark in _CLOSERS:
            closers = (_CLOSERS[mark], closers)
            key_next, is_value = mark == "{", True
        elif mark is not None:
            closers = closers[1] if closers is not None else None
            key_next, is_value = False, True
        elif match["quote"] == "":
            if is_value:
                whole, quote, open_then = place, '"', closers
            break
        elif match["quote"] is None and place == len(head):
            break
        if is_value:
            whole, quote, open_then = place, "", closers
    return head[:whole] + quote + "".join(_unrolled(open_then))


def _unrolled(closers: _Closers) -> Iterator[str]:
    while closers is not None:
        closer, closers = closers
        yield closer
