"""Hides values that may be secrets though no rule knows them, in what people are shown."""

from collections.abc import Iterator
from typing import Any

HIDDEN = "(hidden)"
"""What is shown in place of a credential, and of a text that stands for a marker."""


def hidden(value: Any) -> Any:
    """Returns a decoded value with `HIDDEN` in place of each text."""
    if isinstance(value, str):
        return HIDDEN
    if isinstance(value, dict):
        return {key: hidden(inner) for key, inner in value.items()}
    return [hidden(inner) for inner in value] if isinstance(value, list) else value


def strings(value: Any) -> Iterator[str]:
    """Yields the texts in a decoded value, without the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)
