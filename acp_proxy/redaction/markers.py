"""Makes and recognizes markers, which replace secrets: ``[redacted:token:1f0c9a3e]``.

A marker contains the kind of the secret and a keyed hash of the secret. Equal secrets of one
recording have equal markers, so readers see where a token was reused. The key is random, and is
deleted with the recording's log: nobody can test a guess against a marker.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

HASH_SIZE = 4
"""The number of bytes of a marker's hash."""
KEY_SIZE = 16
"""The number of bytes of the key of the hashes."""

MARKER = re.compile(rf"\[redacted:([a-z]+):([0-9a-f]{{{2 * HASH_SIZE}}})\]")
"""Matches a marker; the groups are the kind of the secret and the hash."""
MARKER_BYTES = re.compile(MARKER.pattern.encode())
"""Matches a marker in the bytes of a line, with the same groups as `MARKER`."""


def kind_in(marker: str) -> str:
    """Returns the kind of secret in a marker; ``secret`` if the text is not a marker."""
    match = MARKER.fullmatch(marker)
    return match[1] if match else "secret"


class Markers:
    """Makes the markers of one recording.

    Args:
        key: `KEY_SIZE` random bytes.
    """

    def __init__(self, key: bytes) -> None:
        self.key = key

    def of(self, kind: str, value: str) -> str:
        """Returns the marker of a secret.

        Args:
            kind: the kind of the secret, in lower-case letters.
            value: the secret.
        """
        import hashlib  # late: it loads OpenSSL, and most replays mask nothing

        data = value.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, key=self.key, digest_size=HASH_SIZE).hexdigest()
        return f"[redacted:{kind}:{digest}]"


class NumberedMarkers(Markers):
    """Makes markers for a live conversation, with a number in place of the hash.

    Secrets are numbered in the order in which they occur, so a number reveals nothing about its
    secret, and is the same each time the conversation is played. Use a new object for each
    redactor.

    Args:
        known: existing markers, by secret.
    """

    def __init__(self, known: Mapping[str, str] | None = None) -> None:
        super().__init__(b"")
        self._known = known or {}
        self._numbers: dict[str, int] = {}

    def of(self, kind: str, value: str) -> str:
        """Returns the marker of a secret; equal secrets have equal numbers.

        Args:
            kind: the kind of the secret, in lower-case letters.
            value: the secret.
        """
        if (marker := self._known.get(value)) is not None:
            return marker
        number = self._numbers.setdefault(value, len(self._numbers) + 1)
        return f"[redacted:{kind}:{number:0{2 * HASH_SIZE}x}]"


HIDDEN = "(hidden)"
"""The text shown in place of a credential, or of a text that may be a masked secret."""


def hidden(value: Any) -> Any:
    """Returns a decoded value with each text in it replaced by `HIDDEN`."""
    if isinstance(value, str):
        return HIDDEN
    if isinstance(value, dict):
        return {key: hidden(inner) for key, inner in value.items()}
    return [hidden(inner) for inner in value] if isinstance(value, list) else value


def strings(value: Any) -> Iterator[str]:
    """Yields the texts in a decoded value, but not the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def kinds_of_markers(value: Any) -> Iterator[str]:
    """Yields the kinds of the markers in a decoded value."""
    for text in strings(value):
        yield from (marker[1] for marker in MARKER.finditer(text))


def beside_markers(
    first: Any, other: Any, *, kinds: Callable[[Any], Iterable[str]] = kinds_of_markers
) -> tuple[Any, Any]:
    """Returns two values for use in a report; hides a value that may contain a secret.

    The values are from the same place in two messages. A value is hidden if it has fewer markers of
    some kind than the other value.

    Args:
        first: the first value, masked.
        other: the second value, masked.
        kinds: yields the kinds of the markers in a value.
    """
    of_first, of_other = Counter(kinds(first)), Counter(kinds(other))
    return (
        hidden(first) if of_other - of_first else first,
        hidden(other) if of_first - of_other else other,
    )
