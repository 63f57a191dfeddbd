"""Masks what the recording and the live peer say before it is compared or reported.

One redactor reads both sides, so equal secrets have equal markers. These are numbered, not hashed:
reports and errors are the same in each run, and nobody can try values against them.
"""

import json
from collections.abc import Mapping
from typing import Any

from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.typed_places import Place, Places
from acp_proxy.redaction.markers import NumberedMarkers
from acp_proxy.redaction.redactor import Redactor, RedactorState, apply

_CHOSEN = (
    Place.SESSION,
    Place.ROOT,
    Place.ROOT_URI,
    Place.TERMINAL,
    Place.MESSAGE,
    Place.CONNECTION,
)
"""Values that are inserted into other messages, and so have to be what they are."""


class MessageMask:
    """Masks messages of both sides.

    Args:
        level: of the recording: ``secrets``, ``private``, ``none``, or None for an early one.
        known: secrets that are known before, each with its marker.
    """

    def __init__(self, level: str | None, known: Mapping[str, str] | None = None) -> None:
        self.is_recorded = level in ("secrets", "private")
        """Whether the recording itself was masked."""
        self._redactor = Redactor(
            RedactorState("", values=dict(known or {})),
            private=level == "private",
            markers=NumberedMarkers(known),
        )

    def masked(self, raw: bytes) -> bytes:
        """Returns a line without its secrets."""
        return apply(raw, self._redactor.alone(raw))

    def text(self, text: str) -> str:
        """Returns a text of ours without the secrets of others in it."""
        return self._redactor.text(text, loose=False)

    def value(self, raw: bytes, places: Places) -> Any:
        """Returns a message without its secrets, decoded; None if it is no JSON.

        Args:
            raw: the message.
            places: its typed places. Ids and directories are as they are.
        """
        masked = self.masked(raw)
        value = json_or_none(masked)
        return value if masked == raw else _with_chosen(value, json_or_none(raw), places)

    def part(self, path: tuple[str, ...], value: Any) -> Any:
        """Returns a part of a message without its secrets.

        Args:
            path: where it stands.
            value: the part, decoded.
        """
        if not isinstance(value, str | list | dict):
            return value
        whole = value
        for key in reversed(path):
            whole = [whole] if key.isdecimal() else {key: whole}
        try:
            whole = json_or_none(self.masked(json.dumps(whole).encode()))
        except RecursionError:
            return "(nested too deeply)"
        for key in path:
            whole = whole[0] if key.isdecimal() else whole[key]
        return whole

    def note(self, raw: bytes) -> None:
        """Learns the secrets in a recorded line that the peer is sent."""
        if not self.is_recorded:
            self.note_live(raw)

    def note_live(self, raw: bytes) -> None:
        """Learns the secrets in a line that the peer has sent."""
        self._redactor.alone(raw)


def _with_chosen(value: Any, own: Any, places: Any) -> Any:
    """Puts back what a peer chose at typed places."""
    if isinstance(places, Place):
        return own if places in _CHOSEN else value
    if isinstance(value, dict) and isinstance(places, dict):
        return {
            key: _with_chosen(inner, own[key], places[key]) if key in places else inner
            for key, inner in value.items()
        }
    if isinstance(value, list) and isinstance(places, dict) and "*" in places:
        return [_with_chosen(*both, places["*"]) for both in zip(value, own, strict=True)]
    return value
