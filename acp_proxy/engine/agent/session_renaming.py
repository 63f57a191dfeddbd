"""Finds out whether two lines differ in nothing but session ids, and renames sessions in a line.

Session ids are looked for at their typed places alone; all else is compared byte for byte, and
stays as it is.
"""

import json

from acp_proxy.engine.shared.line_rewriter import ANY_BYTES, quoted
from acp_proxy.protocol.splice import Span, spans, splice
from acp_proxy.protocol.typed_places import session_places

_BLANK = "\0"
"""What no line of JSON has in it."""


def session_pairs(
    one: bytes, other: bytes, kind: str, method: str | None
) -> list[tuple[str, str]] | None:
    """Pairs the session ids of two messages of one kind and method.

    Returns:
        What stands at each place for a session id, in one and in the other; None if the messages
        differ in anything else.
    """
    if one == other:
        return [(session, session) for _, session in _sessions(one, kind, method)]
    found, expected = (_sessions(line, kind, method) for line in (one, other))
    rest = splice(_text(one), [(span, _BLANK) for span, _ in found])
    if rest != splice(_text(other), [(span, _BLANK) for span, _ in expected]):
        return None
    return [(was, now) for (_, was), (_, now) in zip(found, expected, strict=True)]


def renamed(line: bytes, kind: str, method: str | None, names: dict[str, str]) -> bytes:
    """Renames sessions in a message, where session ids stand."""
    places = [(span, names[old]) for span, old in _sessions(line, kind, method) if old in names]
    if not places:
        return line
    text = splice(_text(line), [(span, quoted(new)) for span, new in places])
    return text.encode("utf-8", ANY_BYTES)


def _sessions(line: bytes, kind: str, method: str | None) -> list[tuple[Span, str]]:
    """Where the session ids of a message stand, and which they are."""
    text = _text(line)
    found = []
    for span in spans(text, session_places(kind, method)):
        value = json.loads(text[span.start : span.end])
        if isinstance(value, str):
            found.append((span, value))
    return found


def _text(line: bytes) -> str:
    return line.decode("utf-8", ANY_BYTES)
