"""What JSON hides of a message: plans, diffs and texts of several lines, as a person reads them.

In JSON a file of a hundred lines is one string with a hundred escapes. Here each stands in lines
of its own, under the JSON pointer of its place.
"""

import difflib
from collections.abc import Iterator
from typing import Any

from acp_proxy.inspection.describe.values import message_of, part, parts, word
from acp_proxy.protocol.json_pointers import pointer
from acp_proxy.protocol.updates import kind_and_update

_MOST_LINES = 1000
"""Lines of one text that are shown."""
_MOST_COMPARED = 2000
"""Lines of a text that is compared with another one."""
_DEEPEST = 40
_LARGEST = 4 << 20
_MARKS = {"completed": "✓", "in_progress": "▸", "pending": "·", "cancelled": "✗", "failed": "✗"}

Unfolded = tuple[str, list[str]]
"""Where something stands, and its lines; they may hold control characters."""


def unfolded(raw: bytes) -> Iterator[Unfolded]:
    """Yields the plan, the diffs and the long texts of a message; never raises.

    Args:
        raw: the message; nothing is said of one that is very large, or is no object.
    """
    message = message_of(raw) if len(raw) <= _LARGEST else {}
    params = part(message, "params")
    _, update = kind_and_update(params)
    if entries := parts(update, "entries") or parts(update, "steps"):
        yield "plan", _cut([_entry(entry) for entry in entries])
    yield from _texts(message, "", 0)


def _entry(entry: dict[str, Any]) -> str:
    status, priority = word(entry, "status"), word(entry, "priority")
    name = word(entry, "content", "description")
    return f"{_MARKS.get(status, status or '·')} {name}" + (f" ({priority})" if priority else "")


def _texts(value: object, place: str, depth: int) -> Iterator[Unfolded]:
    if depth > _DEEPEST:
        return
    match value:
        case str() if "\n" in value.rstrip("\n"):
            yield place, _cut(value.splitlines())
        case list():
            for number, item in enumerate(value):
                yield from _texts(item, f"{place}/{number}", depth + 1)
        case dict():
            compared = _compared(value)
            if compared is not None:
                yield f"{place} {word(value, 'path')}".rstrip(), _cut(compared)
            for key, inner in value.items():
                if compared is None or key not in ("oldText", "newText"):
                    yield from _texts(inner, place + pointer((key,)), depth + 1)


def _compared(value: dict[str, Any]) -> list[str] | None:
    """The lines of a diff of old and new text (v1); None if it is none, or is too long."""
    new, old = value.get("newText"), value.get("oldText") or ""
    if not isinstance(new, str) or not isinstance(old, str):
        return None
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > _MOST_COMPARED:
        return None
    return [*difflib.unified_diff(before, after, lineterm="")][2:]


def _cut(lines: list[str]) -> list[str]:
    more = len(lines) - _MOST_LINES
    return lines if more <= 0 else [*lines[:_MOST_LINES], f"… and {more:,} more lines"]
