"""Reads values of messages that may be of any type."""

from typing import Any

MOST_ITEMS = 1_000
"""Items of a list that are looked at, unless a rule says another number."""


def items(value: Any, most: int | None = MOST_ITEMS) -> list[Any]:
    """Returns the items of a list; none of anything else.

    Args:
        value: any JSON value, decoded.
        most: items that are looked at; None for all.
    """
    return value[:most] if isinstance(value, list) else []


def integer(value: Any) -> int | None:
    """Returns an integer; None for anything else, also for true and false."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
