"""Words for values of messages in findings."""

from typing import Any

_LONGEST = 60
_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    type(None): "null",
}


def shown(value: Any) -> str:
    """Returns a string in quotes or a number, shortened; of other values what they are."""
    if (kind := _KINDS.get(type(value))) is not None:
        return kind
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
