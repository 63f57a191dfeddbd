"""JSON pointers (RFC 6901) and names of members: the way from a message's root to a value in it."""

from collections.abc import Iterable
from typing import Any


def pointer(parts: Iterable[str]) -> str:
    """Writes a pointer."""
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def parts_of(pointer: str) -> tuple[str, ...]:
    """Splits a pointer into keys and the numbers of items."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def member(value: Any, *names: str) -> Any:
    """Returns the member that names lead to, one within the other; None if there is none.

    Args:
        value: any JSON value, decoded.
        *names: of the members, the outermost first.
    """
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def params_of(message: Any) -> dict[str, Any]:
    """Returns the params of a message that is decoded; empty if they are no object."""
    params = member(message, "params")
    return params if isinstance(params, dict) else {}
