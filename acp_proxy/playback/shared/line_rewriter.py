"""Writes lines: recorded frames with the live peer's ids and directories, and unrecorded answers.

A frame without replacements goes out byte for byte, even if it is invalid. Each member of a batch
is rewritten separately. A reply gets the live id of its request; requests keep their ids.
"""

import json
from typing import Any

from acp_proxy.playback.events import Send
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.typed_places import Place, Span, places_of, spans, splice
from acp_proxy.recording.steps import REPLIES, Wire

_NAMING = ("elicitation/create",)
"""Requests of the agent that contain the id of a client request."""
ANY_BYTES = "surrogateescape"
"""The error handler that preserves bytes that are not UTF-8."""


class LineRewriter:
    """Rewrites frames; also replaces directories in free text if `rewrite_text` is true."""

    def __init__(self, bindings: Bindings, *, rewrite_text: bool) -> None:
        self._bindings = bindings
        self._rewrite_text = rewrite_text

    def written(self, wire: Wire, ids: dict[str, str]) -> bytes:
        """Returns a frame with live values, without its newline.

        Args:
            wire: the recorded frame.
            ids: the live ids of the requests that the frame answers or names, by their recorded
                ids.
        """
        ids = {old: new for old, new in ids.items() if old != new}
        if not ids and not self._bindings.change_anything:
            return wire.raw
        text = wire.raw.decode("utf-8", ANY_BYTES)
        if wire.kind == "batch":
            members = [
                (span, self._member(text[span.start : span.end], ids)) for span in members_of(text)
            ]
            text = splice(text, members)
        else:
            text = self._message(text, wire.kind, wire.method, ids)
        return text.encode("utf-8", ANY_BYTES)

    def _member(self, text: str, ids: dict[str, str]) -> str:
        message = read(text.encode("utf-8", ANY_BYTES))
        return self._message(text, message.kind, message.method, ids)

    def _message(self, text: str, kind: str, method: str | None, ids: dict[str, str]) -> str:
        places = places_of(kind, method)
        if kind in REPLIES:
            places = {"id": Place.ID, **places}
        elif method not in _NAMING:
            ids = {}
        replacements = [(s, self._new(text[s.start : s.end], s, ids)) for s in spans(text, places)]
        return splice(text, replacements, self._bindings.rewritten if self._rewrite_text else str)

    def _new(self, token: str, span: Span, ids: dict[str, str]) -> str:
        if span.place is Place.ID:
            return ids.get(token, token)
        old = json.loads(token)
        new = self._bindings.live(span.place, old) if isinstance(old, str) else old
        return token if new == old else quoted(new)


def quoted(value: str) -> str:
    """Returns a string as JSON; characters that UTF-8 cannot encode are escaped."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False)


def reply(token: str | None, value: dict[str, Any], name: str = "result") -> Send:
    """Returns an answer that was not recorded.

    Args:
        token: the id of the request as its sender wrote it; None for ``null``.
        value: the result or the error.
        name: ``result`` or ``error``.
    """
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = f'{{"jsonrpc":"2.0","id":{token or "null"},"{name}":{body}}}\n'
    return Send(text.encode("utf-8", "backslashreplace"))


def members_of(text: str) -> list[Span]:
    """Returns where each member of a batch begins and ends in its text."""
    return spans(text, {"*": Place.FREE})
