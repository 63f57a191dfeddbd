"""Compares a live message with a recorded message, as JSON values.

The order of keys and the spelling of numbers do not matter; the order of lists does. ``_meta`` and
places that the user ignores are not compared.

At a typed place, the live value is compared with the value that the recorded value is bound to. If
the client may choose the value, a new value is not a difference, but is proposed as a binding.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from attrs import define, evolve, field, frozen

from acp_proxy.playback.shared.bindings import Bindings, path_in
from acp_proxy.playback.shared.secret_pairs import SecretPair, has_secret, pairs_in
from acp_proxy.protocol.capabilities import CAPABILITIES, normalized
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.json_text import parts_of, picked, pointer
from acp_proxy.protocol.typed_places import Place, Places
from acp_proxy.redaction.markers import HIDDEN, beside_markers

Mask = Callable[[tuple[str, ...], Any], Any]
"""Returns a part of a message without its secrets; the arguments are the part's path and value."""
_MISSING = object()
_NOTHING = "(nothing)"
_HANDSHAKE = ("protocolVersion", "clientCapabilities", "capabilities")
"""The params of ``initialize`` that are compared; the client's name and version may differ."""


@frozen
class Difference:
    """One place in which two messages differ."""

    pointer: str
    """A JSON pointer (RFC 6901) from the message's root."""
    recorded: str
    """The recorded value as JSON, with the directories and ids of this run; or ``(nothing)``."""
    live: str
    recorded_as: str | None = field(default=None, metadata={"optional": True})
    """The value exactly as it was recorded; None if it equals `recorded`."""


@define
class Comparison:
    """The result of comparing two messages."""

    differences: list[Difference] = field(factory=list)
    proposals: list[tuple[Place, str, str]] = field(factory=list)
    """Values to bind if the messages are paired, each as place, recorded value and live value."""
    conflicts: list[Difference] = field(factory=list)
    """Live values that differ from what the client chose earlier for the same recorded value."""
    secrets: list[SecretPair] = field(factory=list)
    """Pairs of a recorded and a live secret. The pairs are kept if the messages are paired."""
    contradictions: list[Difference] = field(factory=list)
    """Secrets that are already paired with other secrets."""
    hidden: list[tuple[str, ...]] = field(factory=list)
    """Paths of texts in the live message that may be secrets: the recorded message has a marker
    there."""

    @property
    def is_equal(self) -> bool:
        """Whether nothing differs, and every chosen value equals the recorded value."""
        return self.is_match and all(old == new for _, old, new in self.proposals)

    @property
    def is_match(self) -> bool:
        """Whether the messages can be paired."""
        return not (self.differences or self.conflicts or self.contradictions)

    @property
    def all_differences(self) -> tuple[Difference, ...]:
        """The differences, then the conflicts, then the contradictions."""
        return (*self.differences, *self.conflicts, *self.contradictions)

    def without(self, pointer: str) -> "Comparison":
        """Returns the comparison without the differences at a JSON pointer."""
        return evolve(self, differences=[d for d in self.differences if d.pointer != pointer])

    def bind_to(self, bindings: Bindings) -> bool:
        """Binds the proposed values; returns False, and binds nothing, if any value conflicts."""
        if self.conflicts or self.contradictions:
            return False
        for place, recorded, live in self.proposals:
            bindings.bind(place, recorded, live)
        if bindings.secrets is not None:
            for pair in self.secrets:
                bindings.secrets.add(pair)
        return True


class Comparer:
    """Compares messages, except at some JSON pointers; ``*`` in a pointer is any key or item.

    Args:
        bindings: the live values of recorded values.
        ignored: the pointers that are not compared.
        mask: masks values that a difference shows; None if messages are masked before they are
            compared.
    """

    def __init__(
        self, bindings: Bindings, ignored: Iterable[str] = (), mask: Mask | None = None
    ) -> None:
        self._bindings = bindings
        self._mask = mask
        self.ignored = [*map(parts_of, ignored)]
        """The ignored pointers, each split into parts."""

    @property
    def after_rewriting(self) -> "Comparer":
        """Returns a comparer for recorded messages that `Bindings.rewritten` has rewritten."""
        return Comparer(self._bindings.after_rewriting, map(pointer, self.ignored), mask=self._mask)

    def values(self, recorded: Any, live: Any) -> Comparison:
        """Compares two values that are not messages.

        Args:
            recorded: the recorded value, decoded.
            live: the live value, decoded.
        """
        return self._compared((), recorded, live, None)

    def params(self, method: str | None, recorded: Any, live: Any, places: Places) -> Comparison:
        """Compares the params of two messages of one method.

        Args:
            method: the method.
            recorded: the recorded message, decoded.
            live: the live message, decoded.
            places: the typed places of the messages.
        """
        old, new = _member(recorded, "params"), _member(live, "params")
        if method in INITIALIZE:
            return self._handshakes(old, new)
        return self._compared(("params",), old, new, _inner(places, "params"))

    def results(self, recorded: Any, live: Any, places: Places) -> Comparison:
        """Compares the results, or the errors, of two responses.

        Args:
            recorded: the recorded response, decoded.
            live: the live response, decoded.
            places: the typed places of the recorded response.
        """
        old, new = (
            {name: _member(message, name) for name in ("result", "error")}
            for message in (recorded, live)
        )
        result = self._compared((), old, new, places)
        # A different answer is only reported, so a contradiction between secrets is only reported.
        return evolve(
            result, differences=[*result.differences, *result.contradictions], contradictions=[]
        )

    def _handshakes(self, old: Any, new: Any) -> Comparison:
        """Compares the params of initialize in a form common to all dialects."""
        try:
            was, now = (picked(normalized(params), _HANDSHAKE) for params in (old, new))
        except RecursionError:
            was, now = old, new
        if isinstance(was, dict) and isinstance(now, dict):
            present = [name for name in CAPABILITIES if name in was or name in now]
            was, now = ({**{name: {} for name in present}, **params} for params in (was, now))
        result = self._compared(("params",), was, now, None)
        result.differences = [
            evolve(
                difference,
                recorded=difference.recorded
                if difference.recorded != _NOTHING
                else shown(_at(old, difference.pointer)),
                live=difference.live
                if difference.live != _NOTHING
                else shown(_at(new, difference.pointer)),
            )
            for difference in result.differences
        ]
        return result

    def _compared(self, path: tuple[str, ...], old: Any, new: Any, places: Any) -> Comparison:
        comparison = Comparison()
        try:
            self._walk(comparison, path, old, new, places)
            roots = {was: now for place, was, now in comparison.proposals if place is Place.ROOT}
            if comparison.differences and roots:  # other values may be paths in these
                bindings = evolve(self._bindings, roots={**self._bindings.roots, **roots})
                again = Comparison()
                Comparer(bindings, map(pointer, self.ignored), mask=self._mask)._walk(
                    again, path, old, new, places
                )
                comparison.differences = again.differences
                comparison.hidden = again.hidden
        except RecursionError:
            deep = Difference(pointer(path), "(nested too deeply)", "(nested too deeply)")
            return Comparison([deep])
        return comparison

    def _walk(
        self, result: Comparison, path: tuple[str, ...], old: Any, new: Any, places: Any
    ) -> None:
        if self._is_ignored(path):
            return
        if isinstance(places, Place):
            if self._settle(result, path, places, old, new):
                return
            places = None
        if isinstance(old, dict) and isinstance(new, dict):
            for key in [*old, *(key for key in new if key not in old)]:
                if key != "_meta":
                    inner = (old.get(key, _MISSING), new.get(key, _MISSING), _inner(places, key))
                    self._walk(result, (*path, key), *inner)
        elif isinstance(old, list) and isinstance(new, list):
            for place in range(max(len(old), len(new))):
                inner = (_item(old, place), _item(new, place), _inner(places, "*"))
                self._walk(result, (*path, str(place)), *inner)
        elif self._pair_secrets(result, path, old, new):
            return
        elif not (_is_same(old, new) or self._is_moved(old, new)):
            parts = (_without_free(value, places) for value in (old, new))
            self._note_difference(result, path, *parts)

    def _note_difference(
        self, result: Comparison, path: tuple[str, ...], old: Any, new: Any, was: str | None = None
    ) -> None:
        """Adds a masked difference. If ``old`` is a live value, ``was`` is its recorded value."""
        expected = old
        if self._mask is not None:
            old, new = self._mask(path, old), self._mask(path, new)
        both = beside_markers(old, new)
        if both[1] is not new:
            result.hidden.append(path)
        is_moved = was is not None and was != expected == both[0]
        recorded, live = map(shown, both)
        recorded_as = shown(was) if is_moved else None
        result.differences.append(Difference(pointer(path), recorded, live, recorded_as))

    def _pair_secrets(self, result: Comparison, path: tuple[str, ...], old: Any, new: Any) -> bool:
        """Compares two values as texts; a live secret may differ from the recorded secret.

        Returns False if the texts differ elsewhere, or if the recorded value is not a text with a
        secret.
        """
        known = self._bindings.secrets
        if known is None or not has_secret(old) or not isinstance(new, str):
            return False
        pairs = pairs_in(old, new, pointer(path))
        if any(pair.is_text for pair in pairs or ()):
            result.hidden.append(path)
        for pair in pairs or ():
            if known.contradicts(pair, result.secrets):
                both = f"{pair.marker}, which stands for another secret elsewhere"
                result.contradictions.append(Difference(pair.pointer, both, pair.shown))
            else:
                result.secrets.append(pair)
        return pairs is not None

    def _pair_free(self, result: Comparison, path: tuple[str, ...], old: Any, new: Any) -> None:
        """Pairs the secrets of uncompared values, where the texts around the secrets agree."""
        if self._bindings.secrets is not None:
            inner = Comparison(secrets=[*result.secrets])
            self._walk(inner, path, old, new, None)
            new_pairs = inner.secrets[len(result.secrets) :]
            result.hidden += inner.hidden
            result.secrets += [evolve(pair, is_free=True) for pair in new_pairs]

    def _is_moved(self, old: Any, new: Any) -> bool:
        """Whether a live path equals the recorded path with the live directories inserted."""
        return isinstance(old, str) and isinstance(new, str) and self._bindings.moved(old) == new

    def _settle(
        self, result: Comparison, path: tuple[str, ...], place: Place, old: Any, new: Any
    ) -> bool:
        """Compares two values at a typed place; returns False if they must be texts and are not."""
        are_texts = isinstance(old, str) and isinstance(new, str)
        if place is Place.MESSAGE and are_texts:
            result.proposals.append((place, old, new))
        if place is Place.FREE:
            self._pair_free(result, path, old, new)
        if place in (Place.FREE, Place.ID, Place.MESSAGE):
            return True
        if not are_texts:
            return False
        if place is Place.ROOT_URI:
            paths = path_in(old), path_in(new)
            if paths[0] is not None and paths[1] is not None:
                place, (old, new) = Place.ROOT, paths
        if place in (Place.ROOT, Place.TERMINAL, Place.CONNECTION):
            self._settle_choice(result, path, place, old, new)
            return True
        expected = self._bindings.live(place, old)
        is_same = expected == new or (place is Place.URI and _meant(expected) == _meant(new))
        if not (is_same or self._pair_secrets(result, path, expected, new)):
            self._note_difference(result, path, expected, new, old)
        return True

    def _settle_choice(
        self, result: Comparison, path: tuple[str, ...], place: Place, old: str, new: str
    ) -> None:
        """Compares a value that a client may choose. Only the first choice becomes a proposal."""
        proposed = (proposal[2] for proposal in result.proposals if proposal[:2] == (place, old))
        known = self._bindings.known(place, old) or next(proposed, None)
        if known is None:
            result.proposals.append((place, old, new))
        elif known != new:
            both = f"{shown(old)}, which is {shown(known)} already"
            result.conflicts.append(Difference(pointer(path), both, shown(new)))

    def _is_ignored(self, path: tuple[str, ...]) -> bool:
        return any(
            len(path) >= len(ignored)
            and all(want in ("*", has) for want, has in zip(ignored, path, strict=False))
            for ignored in self.ignored
        )


def shown(value: Any, limit: int = 200) -> str:
    """Formats a value for a report.

    Args:
        value: decoded JSON.
        limit: the largest number of characters to show.
    """
    if value is _MISSING:
        return _NOTHING
    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def _member(message: Any, name: str) -> Any:
    return message.get(name, _MISSING) if isinstance(message, dict) else _MISSING


def _at(params: Any, pointer: str) -> Any:
    """Returns the value at a pointer into params; the pointer begins with ``/params``."""
    for key in parts_of(pointer)[1:]:
        params = params.get(key, _MISSING) if isinstance(params, dict) else _MISSING
    return params


def _meant(uri: str) -> bytes:
    """Decodes the escapes of a URI. Returns bytes, since the result may be invalid UTF-8."""
    return unquote_to_bytes(uri.encode("utf-8", "surrogatepass"))


def _inner(places: Any, key: str) -> Any:
    return places.get(key) if isinstance(places, dict) else None


def _item(values: list[Any], place: int) -> Any:
    return values[place] if place < len(values) else _MISSING


def _without_free(value: Any, places: Any) -> Any:
    """Returns a value with `HIDDEN` at its `Place.FREE` places; these may have credentials."""
    if places is Place.FREE:
        return HIDDEN
    if not isinstance(places, dict):
        return value
    if isinstance(value, dict):
        return {key: _without_free(inner, places.get(key)) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_free(inner, places.get("*")) for inner in value]
    return value


def _is_same(old: Any, new: Any) -> bool:
    """Whether two values are equal; JSON has one kind of number, and booleans are not numbers."""
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    if type(old) is not type(new) and not (
        isinstance(old, int | float) and isinstance(new, int | float)
    ):
        return False
    return bool(old == new)
