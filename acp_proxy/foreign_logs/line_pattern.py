"""Where a message begins in a line, and the pattern by which a user tells that."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

from acp_proxy.foreign_logs.markers import Marker, read_word
from acp_proxy.foreign_logs.times import Stamp, read_epoch, read_stamp


class MessageStart(NamedTuple):
    """The text of a line from where a message begins, and what stands before it."""

    number: int
    text: bytes
    marker: Marker | None
    stamp: Stamp | None
    says_so: bool
    """Whether the line is certainly meant as a message, by a marker or a pattern of the user."""


Guard = Callable[[int], AbstractContextManager[Any]]
"""Returns a context in which a line is matched with a pattern of the user."""


class LinePattern:
    """How the lines of a log look, as a user says.

    Args:
        pattern: a regular expression; its groups ``direction``, ``time`` and ``message``, all of
            which may be absent, have the parts. Without ``message`` it is what follows the match.
        guard: limits the time that a line may take.
    """

    def __init__(self, pattern: re.Pattern[str], guard: Guard = lambda _: nullcontext()) -> None:
        self._pattern = pattern
        self._guard = guard
        self._names = pattern.groupindex

    def start(self, number: int, line: bytes) -> MessageStart | None:
        """Reads a line; None if it does not match.

        Args:
            number: of the line.
            line: its text.
        """
        text = line.decode("utf-8", "surrogateescape")
        with self._guard(number):
            match = self._pattern.search(text)
        if match is None:
            return None
        begin = match.start("message") if self._has(match, "message") else match.end()
        word = self._group(match, "direction")
        marker = None if word is None else read_word(word)
        time = self._group(match, "time")
        stamp = None if time is None else read_stamp(time) or read_epoch(time)
        message = text[begin:].encode("utf-8", "surrogateescape")
        return MessageStart(number, message, marker, stamp, says_so=True)

    def _has(self, match: re.Match[str], name: str) -> bool:
        return name in self._names and match[name] is not None

    def _group(self, match: re.Match[str], name: str) -> bytes | None:
        found = match[name] if self._has(match, name) else None
        return None if found is None else found.encode("utf-8", "surrogateescape")
