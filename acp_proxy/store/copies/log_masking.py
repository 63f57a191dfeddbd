"""Masks the lines of another tool's log, by the same rules as the lines of a recorder's log."""

import os
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acp_proxy.base.limits import LARGE_LINE, READ_AHEAD
from acp_proxy.imports.connections import Happened, Sent
from acp_proxy.protocol.jsonrpc import Stream, read
from acp_proxy.redaction.edits import apply
from acp_proxy.redaction.markers import KEY_SIZE
from acp_proxy.redaction.redactor import Redactor, RedactorState


class MaskedLine(NamedTuple):
    """The masked bytes of a line."""

    line: bytes
    received: int | None
    """The size of the line before it was masked; None if nothing in the line is masked."""


class LogMasking:
    """Masks the lines of a log. Reads ahead, since a secret may be split over several lines.

    Args:
        entries: the entries of the log, in order.
        level: secrets, private or none.

    Attributes:
        redactor: the redactor of the lines; None if nothing is masked.
    """

    def __init__(self, entries: Iterable[Happened], level: str) -> None:
        self.level = level
        self._entries = iter(entries)
        self._ahead: deque[Happened] = deque()
        self._bytes_ahead = 0
        state = RedactorState(os.urandom(KEY_SIZE).hex())
        is_masking = level != "none"
        self.redactor = Redactor(state, private=level == "private") if is_masking else None

    def __iter__(self) -> Iterator[tuple[Happened, MaskedLine | None]]:
        while (happened := self._next()) is not None:
            yield happened, self._masked(happened) if isinstance(happened, Sent) else None

    def command(self, words: Iterable[str]) -> list[str]:
        """Returns the words of a command, masked."""
        return list(words) if self.redactor is None else self.redactor.command(list(words))

    def _next(self) -> Happened | None:
        if not self._ahead:
            return next(self._entries, None)
        happened = self._ahead.popleft()
        self._bytes_ahead -= _size(happened)
        return happened

    def _masked(self, sent: Sent) -> MaskedLine:
        raw = sent.line.raw
        if self.redactor is None:
            return MaskedLine(raw, None)
        if len(raw) >= LARGE_LINE:
            edits = self.redactor.large(sent.stream, lambda: (raw,))
        else:
            message = None if sent.stream is Stream.STDERR else read(raw)
            edits = self.redactor.line(
                sent.stream, raw, lambda: self._following(sent.stream), message
            )
        return MaskedLine(apply(raw, edits), len(raw)) if edits else MaskedLine(raw, None)

    def _following(self, stream: Stream) -> Iterator[bytes]:
        """Yields the next lines of a stream."""
        for happened in [*self._ahead]:
            if isinstance(happened, Sent) and happened.stream is stream:
                yield happened.line.raw
        while self._bytes_ahead < READ_AHEAD:
            if (upcoming := next(self._entries, None)) is None:
                return
            self._ahead.append(upcoming)
            self._bytes_ahead += _size(upcoming)
            if isinstance(upcoming, Sent) and upcoming.stream is stream:
                yield upcoming.line.raw


def _size(happened: Happened) -> int:
    return len(happened.line.raw) + 100 if isinstance(happened, Sent) else 100
