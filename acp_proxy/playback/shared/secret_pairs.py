"""Pairs each secret of a recording with one secret of a live peer.

A recording has a marker where the live peer sends its own secret. The live secret is masked before
messages are compared, so only the text around it counts. The two secrets need not be equal, but a
recorded secret must always correspond to the same live secret.
"""

from collections.abc import Iterable
from typing import Any

from attrs import define, field, frozen

from acp_proxy.redaction.markers import MARKER, hidden

_SIGN = "[redacted:"


@frozen
class SecretPair:
    """A recorded secret and the text that the live peer sends in its place."""

    pointer: str
    """The JSON pointer of both secrets, from the message's root."""
    marker: str
    """The marker of the recorded secret."""
    recorded: str
    """The part that all markers of the recorded secret have in common: its hash or number."""
    live: str
    """The part that all markers of the live secret have in common. If the text was not recognized
    as a secret, ``=`` and the text."""
    shown: str
    """The live secret as reports show it."""
    is_free: bool = False
    """Whether any value is accepted at this place."""

    @property
    def is_text(self) -> bool:
        """Whether the live text was not recognized as a secret."""
        return self.live.startswith("=")

    @property
    def is_same(self) -> bool:
        """Whether the recorded and the live secret are known to be equal."""
        return self.recorded == self.live


@define
class SecretPairs:
    """The pairs that were found.

    Attributes:
        are_echoed: whether the live peer may send back recorded markers that were sent to it. A
            recorded marker then also matches itself.
    """

    are_echoed: bool = True
    _live: dict[str, str] = field(factory=dict)
    _recorded: dict[str, str] = field(factory=dict)

    def contradicts(self, pair: SecretPair, others: list[SecretPair]) -> bool:
        """Whether either secret of a pair is already paired with a different secret.

        Args:
            pair: the pair.
            others: the other pairs of the message.
        """
        if self._is_echo(pair):
            return False
        known = self._live.get(pair.recorded), self._recorded.get(pair.live)
        if known != (None, None):
            return known != (pair.live, pair.recorded)
        mine = (pair.recorded, pair.live)
        others = [other for other in others if not self._is_echo(other)]
        return any(
            other.recorded == pair.recorded or other.live == pair.live
            for other in others
            if (other.recorded, other.live) != mine
        )

    def add(self, pair: SecretPair) -> None:
        """Adds a pair; the pair must not contradict the pairs so far."""
        if not self._is_echo(pair):
            self._live.setdefault(pair.recorded, pair.live)
            self._recorded.setdefault(pair.live, pair.recorded)

    def _is_echo(self, pair: SecretPair) -> bool:
        return self.are_echoed and pair.is_same


def has_secret(text: object) -> bool:
    """Whether a value is a text that contains a marker."""
    return isinstance(text, str) and _SIGN in text and MARKER.search(text) is not None


def with_hidden(value: Any, places: Iterable[tuple[str, ...]]) -> Any:
    """Returns a decoded value in which the texts at some places are hidden.

    Args:
        value: the value.
        places: for each place, the keys that lead to it.
    """
    for place in places:
        value = _with_hidden(value, place)
    return value


def _with_hidden(value: Any, place: tuple[str, ...]) -> Any:
    if not place:
        return hidden(value)
    if isinstance(value, dict) and place[0] in value:
        return {**value, place[0]: _with_hidden(value[place[0]], place[1:])}
    if isinstance(value, list) and place[0].isdecimal() and int(place[0]) < len(value):
        number = int(place[0])
        inner = _with_hidden(value[number], place[1:])
        return [*value[:number], inner, *value[number + 1 :]]
    return value


def without_hash(text: str) -> str:
    """Returns a text with all markers made equal, as a key for lookups."""
    return MARKER.sub(_SIGN, text) if _SIGN in text else text


def pairs_in(recorded: str, live: str, pointer: str) -> list[SecretPair] | None:
    """Returns the pairs of secrets in two texts; None if the texts differ in anything else.

    Args:
        recorded: a text with markers.
        live: the masked text of the live peer.
        pointer: the JSON pointer of both texts.
    """
    markers = [*MARKER.finditer(recorded)]
    ends = [*(marker.start() for marker in markers), len(recorded)]
    starts = [0, *(marker.end() for marker in markers)]
    first, *rest = (recorded[a:b] for a, b in zip(starts, ends, strict=True))
    if not markers or not live.startswith(first):
        return None
    pairs, at = [], len(first)
    for number, (marker, text) in enumerate(zip(markers, rest, strict=True), 1):
        own = MARKER.match(live, at)
        least = at + 1 if own is None else own.end()
        if number < len(markers):
            end = live.find(text, least)
        else:
            end = len(live) - len(text) if live.endswith(text) else -1
        if end < least:
            return None
        is_marker = own is not None and own.end() == end
        token = own[2] if own is not None and is_marker else f"={live[at:end]}"
        shown = live[at:end] if is_marker else "(a text)"
        pairs.append(SecretPair(pointer, marker[0], marker[2], token, shown))
        at = end + len(text)
    return pairs
