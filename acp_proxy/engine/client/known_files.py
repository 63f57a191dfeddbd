"""What is known of files without looking at any: what was recorded, and what the agent has written.

Nothing is read from the disk, ever.
"""

from collections import OrderedDict
from typing import Any

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
_MOST = 64 << 20
"""Characters that are kept of what the agent writes."""


class Files:
    """Contents by path, as the live agent names it."""

    def __init__(self) -> None:
        self._contents: OrderedDict[str, str] = OrderedDict()
        self._held = 0

    def keep(self, path: str, text: str) -> None:
        """Notes what a file holds now; the oldest are forgotten when they are too many."""
        self._held += len(text) - len(self._contents.pop(path, ""))
        self._contents[path] = text
        while self._held > _MOST:
            self._held -= len(self._contents.popitem(last=False)[1])

    def content(self, path: str) -> str | None:
        """What a file holds, if that is known."""
        return self._contents.get(path)


def part(text: str, params: dict[str, Any]) -> str:
    """The lines of a text that a request wants: ``limit`` of them, from the 1-based ``line`` on."""
    line, limit = params.get("line"), params.get("limit")
    if line is None and limit is None:
        return text
    first = max(0, line - 1) if isinstance(line, int) else 0
    lines = text.split("\n")
    last = first + limit if isinstance(limit, int) else len(lines)
    shown = "\n".join(lines[first:last])
    return shown + "\n" if last < len(lines) and shown else shown


def is_whole(params: dict[str, Any]) -> bool:
    """Whether a request wants all of a file."""
    return params.get("line") in (None, 0, 1) and params.get("limit") is None
