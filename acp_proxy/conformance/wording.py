"""Words for values of messages in findings."""

import re
from typing import Any

_LONGEST = 60
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    type(None): "null",
}


def is_relative(path: Any) -> bool:
    """Whether a value is a path that is neither absolute on POSIX nor on Windows."""
    return isinstance(path, str) and _ABSOLUTE.match(path) is None


def shown(value: Any) -> str:
    """Returns a string in quotes or a number, shortened; of other values what they are."""
    if (kind := _KINDS.get(type(value))) is not None:
        return kind
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text
