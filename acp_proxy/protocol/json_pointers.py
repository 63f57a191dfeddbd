"""JSON pointers (RFC 6901): the way from a message's root to a value in it."""

from collections.abc import Iterable


def pointer(parts: Iterable[str]) -> str:
    """Writes a pointer."""
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def parts_of(pointer: str) -> tuple[str, ...]:
    """Splits a pointer into keys and the numbers of items."""
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
