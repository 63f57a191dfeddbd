"""Where in a message a text stands, as a JSON pointer."""

import json
from collections.abc import Callable
from typing import Any

from acp_proxy.protocol.json_pointers import parts_of, pointer

_TEXTS = (
    "/params/update/content/text",
    "/params/update/content",
    "/params/data/content/text",
    "/params/data/content",
)


def find_pointer(line: str, is_meant: Callable[[str], bool]) -> str | None:
    """Returns the place of the first string in a line that is meant; None if it is no JSON."""
    waiting = [("", _message(line))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            if is_meant(value):
                return place
        elif isinstance(value, dict):
            inner = [(place + pointer((name,)), found) for name, found in value.items()]
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += reversed([(f"{place}/{n}", found) for n, found in enumerate(value)])
    return None


def chunk_pointer(raw: bytes) -> str | None:
    """Returns the place of the text in a line that is a chunk of one."""
    message = _message(raw.decode(errors="replace"))
    return next((place for place in _TEXTS if isinstance(_at(message, place), str)), None)


def _message(line: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _at(value: Any, place: str) -> Any:
    for name in parts_of(place):
        value = value.get(name) if isinstance(value, dict) else None
    return value
