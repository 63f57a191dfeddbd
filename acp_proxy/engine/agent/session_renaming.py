"""Compares lines that may differ in session ids, and replaces session ids in a line.

Session ids are looked for at their typed places only; everything else is compared byte for byte and
stays as it is.
"""

import json

from acp_proxy.engine.shared.line_rewriter import ANY_BYTES, quoted
from acp_proxy.protocol.splice import Span, spans, splice
from acp_proxy.protocol.typed_places import session_places

_BLANK = "\0"
"""A character that no line of JSON contains."""


def session_pairs(
    one: bytes, other: bytes, kind: str, method: str | None
) -> list[tuple[str, str]] | None:
    """Pairs the session ids of two messages.

    Args:
        one: a line.
        other: another one.
        kind: the kind of both.
        method: the method of both.

    Returns:
        the ids at each place for a session id, in one and in the other; None if the messages
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
    """Replaces session ids in a message.

    Args:
        line: the message.
        kind: its kind.
        method: its method.
        names: the new ids, by the old ones.
    """
    places = [(span, names[old]) for span, old in _sessions(line, kind, method) if old in names]
    if not places:
        return line
    text = splice(_text(line), [(span, quoted(new)) for span, new in places])
    return text.encode("utf-8", ANY_BYTES)


def _sessions(line: bytes, kind: str, method: str | None) -> list[tuple[Span, str]]:
    """The places of a message's session ids, and the ids."""
    text = _text(line)
    found = []
    for span in spans(text, session_places(kind, method)):
        value = json.loads(text[span.start : span.end])
        if isinstance(value, str):
            found.append((span, value))
    return found


def _text(line: bytes) -> str:
    return line.decode("utf-8", ANY_BYTES)
