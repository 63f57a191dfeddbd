"""Masks messages of the recording and the live peer before they are compared or reported.

One redactor reads both sides, so equal secrets have equal markers. The markers have numbers in
place of hashes: reports are the same in each run, and nobody can test a guess against a marker.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.typed_places import Place, Places
from acp_proxy.redaction.markers import HIDDEN, Markers, NumberedMarkers, kind_in
from acp_proxy.redaction.needles import of_all_words

if TYPE_CHECKING:
    from acp_proxy.redaction.known_secrets import SecretValues
    from acp_proxy.redaction.redactor import Redactor

# A replay has to start quickly, so the redactor is imported only when a line may have a secret.

_CHOSEN = (
    Place.SESSION,
    Place.ROOT,
    Place.ROOT_URI,
    Place.TERMINAL,
    Place.MESSAGE,
    Place.CONNECTION,
)
"""Kinds of values that a peer chose. These values are not masked, since other messages use them."""
_MOST_UNREAD = 1 << 18
"""How many bytes of lines may wait for the redactor. When more wait, the redactor reads all
lines."""
_HARMLESS = re.compile(rb'"auth":\s*\{(?:"terminal":\s*(?:true|false))?\}|\\u00(?:1b|[89a-fA-F])')
"""Frequent text that the word search takes for a secret by mistake: a capability named ``auth``,
and escapes of characters that occur in no secret word."""
_SIGN_IN = ((b'"authMethods"', b'vars"'), (b'"authenticate"', b'_meta"'))
"""Pairs of words that announce a secret only if a line contains both."""


_CUT = re.compile(r"… \(\d+ characters\)$")
"""Matches the end of a value that was shortened to be shown."""


class _Hiding(Markers):
    """Replaces each secret by `HIDDEN`, and keeps no list of secrets."""

    def __init__(self) -> None:
        super().__init__(b"")

    def of(self, _kind: str, _value: str) -> str:
        return HIDDEN


class MessageMask:
    """Masks messages of both sides.

    Args:
        level: the recording's redaction level: ``secrets``, ``private`` or ``none``; None if the
            level was not recorded.
        known: secrets that are already known, each with its marker.
    """

    def __init__(self, level: str | None, known: Mapping[str, str] | None = None) -> None:
        self.is_recorded = level in ("secrets", "private")
        """Whether the recording itself was masked."""
        self._level = level
        self._known = dict(known or {})
        self._is_thorough = bool(known) or level == "private"
        self._unread: list[bytes] = []
        self._unread_size = 0
        self._made: Redactor | None = None
        self._markers = NumberedMarkers(self._known)
        self._values: SecretValues | None = None

    def masked(self, raw: bytes) -> bytes:
        """Returns a line without its secrets."""
        if self._is_harmless(raw):
            return raw
        from acp_proxy.redaction.edits import apply

        return apply(raw, self._redactor().alone(raw))

    def text(self, text: str) -> str:
        """Returns a text that acp-proxy made, without secrets that this text quotes."""
        if self._is_harmless(text.encode("utf-8", "replace")):
            return text
        return self._redactor().text(text, loose=False)

    def came(self, raw: bytes, hidden: Iterable[tuple[str, ...]]) -> bytes:
        """Returns a live line without its secrets.

        Args:
            raw: the line.
            hidden: the places of texts that may be secrets, since the recording has markers there.
        """
        raw = self.masked(raw)
        # A redactor does not distinguish the items of a list, so all of them are hidden.
        places = tuple({tuple("*" if k.isdecimal() else k for k in keys) for keys in hidden})
        if () in places:
            return HIDDEN.encode()
        if not places:
            return raw
        from acp_proxy.redaction.edits import apply
        from acp_proxy.redaction.redactor import Redactor, RedactorState

        return apply(raw, Redactor(RedactorState(""), paths=places, markers=_Hiding()).alone(raw))

    def note_command(self, words: list[str]) -> None:
        """Learns the secrets in the command of the live peer."""
        if not self._is_harmless(" ".join(words).encode("utf-8", "replace")):
            self._redactor().command(words)

    def note_pair(self, live: str, marker: str) -> None:
        """Learns the live text for a recorded marker, unless this text may be an ordinary word.

        Args:
            live: the text of the live peer.
            marker: the recorded marker.
        """
        from acp_proxy.redaction.known_secrets import SecretValues

        if live not in self.known() and SecretValues().add(live, marker, named=False):
            self.learn({live: marker})

    def known(self) -> dict[str, str]:
        """Returns the secrets found so far, each with its marker."""
        if self._made is None and not (self._unread or self._known):
            return {}
        return self._redactor().snapshot().values

    def learn(self, known: Mapping[str, str]) -> None:
        """Learns secrets that were found elsewhere.

        Args:
            known: the secrets, each with a marker; only the kind of the marker is used.
        """
        values = self.known()
        new = {value: marker for value, marker in known.items() if value not in values}
        if not new:
            return
        from acp_proxy.redaction.redactor import Redactor

        state = self._redactor().snapshot()
        for value, marker in new.items():
            state.values[value] = self._markers.of(kind_in(marker), value)
        self._made = Redactor(state, private=self._level == "private", markers=self._markers)
        self._values = None

    def shown(self, text: str, *, is_cut: bool = False) -> str:
        """Returns a text of a report without the secrets that are known by now.

        Args:
            text: the text, which was masked when fewer secrets were known.
            is_cut: whether the end of the text is missing, and so perhaps the end of a secret.
        """
        text = self.text(text)
        end = _CUT.search(text)
        if not (is_cut or end) or not (known := self.known()):
            return text
        if self._values is None or len(self._values.markers) < len(known):
            from acp_proxy.redaction.known_secrets import SecretValues

            self._values = SecretValues()
            for value, marker in known.items():
                self._values.add(value, marker, named=True, is_known=True)
        body = text[: end.start()] if end else text
        return body[: self._values.tail(body)] + (end[0] if end else "")

    def pairs(self, values: Mapping[str, str]) -> dict[str, str]:
        """Returns the given recorded values and their live values, both without secrets."""
        return {self.text(old): self.text(new) for old, new in values.items()}

    def value(self, raw: bytes, places: Places) -> Any:
        """Returns a message without its secrets, decoded; None if the message is not JSON.

        Args:
            raw: the message.
            places: the typed places of the message; ids and directories at these places are not
                masked.
        """
        masked = self.masked(raw)
        value = json_or_none(masked)
        return value if masked == raw else _with_chosen(value, json_or_none(raw), places)

    def part(self, path: tuple[str, ...], value: Any) -> Any:
        """Returns a part of a message without its secrets.

        Args:
            path: the path of the part.
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
        """Learns the secrets in a recorded line that is sent, unless the recording is masked."""
        if not self.is_recorded:
            self.note_live(raw)

    def note_live(self, raw: bytes) -> None:
        """Learns the secrets in a line that the peer has sent."""
        if self._made is not None:
            self._made.alone(raw)
        elif self._may_hold(raw):
            self._unread.append(raw)
            self._unread_size += len(raw)
            if self._unread_size > _MOST_UNREAD:
                self._redactor()

    def _redactor(self) -> "Redactor":
        """Returns the redactor, after it has read all lines so far."""
        if self._made is None:
            from acp_proxy.redaction.redactor import Redactor, RedactorState

            self._made = Redactor(
                RedactorState("", values=self._known),
                private=self._level == "private",
                markers=self._markers,
            )
            for raw in self._unread:
                self._made.alone(raw)
            self._unread = []
        return self._made

    def _is_harmless(self, data: bytes) -> bool:
        """Whether no secret is known yet and the bytes cannot contain a secret."""
        return self._made is None and not self._unread and not self._may_hold(data)

    def _may_hold(self, data: bytes) -> bool:
        """Whether the given bytes could contain a secret."""
        if self._is_thorough:
            return True
        words = of_all_words()
        return words.are_in(data) and words.are_in(_without_harmless(data))


def _without_harmless(data: bytes) -> bytes:
    """Returns a line without the words that only look as if they announced a secret."""
    for word, other in _SIGN_IN:
        if other not in data:
            data = data.replace(word, b'""')
    return _HARMLESS.sub(b"", data)


def _with_chosen(value: Any, own: Any, places: Any) -> Any:
    """Restores the values that a peer chose, at typed places of a masked message."""
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
