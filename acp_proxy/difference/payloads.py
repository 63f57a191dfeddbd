"""Reads the items of one side again, to say how they differ, and what they say."""

from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from operator import getitem
from typing import Any

from attrs import frozen

from acp_proxy.difference.forms import CLIENTS, Peers, digest_of_pieces
from acp_proxy.difference.items import Group
from acp_proxy.difference.lanes import MessageSequence, SideIndex, peers_of
from acp_proxy.difference.options import DiffOptions
from acp_proxy.difference.pieces import TEXTS, Piece, joined, split
from acp_proxy.difference.pushes import PLACE, is_push, split_push
from acp_proxy.difference.reduction import reduced
from acp_proxy.difference.values import Scope
from acp_proxy.filters import parse
from acp_proxy.inspection.preview import preview
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.recording import Payload
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.rows import LARGEST

_NEAR = 16
"""Frames of other lanes that are read in passing."""
_SHOWN = 2000
"""Characters of a text that a preview looks at."""


@frozen
class Payloads:
    """One side, once its names are known."""

    reader: RecordingReader
    told: SideIndex
    names: dict[int, str]
    options: DiffOptions

    def message(self, lane: MessageSequence, items: Group, scope: Scope) -> Any:
        """Items as JSON with stable names: a single one, or a text as one frame with all of it.

        Raises:
            RecursionError: it is nested too deeply.
        """
        frames = self._frames(lane, *items)
        frame = next(frames)
        if frame.raw is None:
            size = sum(map(len, self.reader.pieces(frame.seq)))
            digest = digest_of_pieces("", self.reader.pieces(frame.seq))
            return f"(a line of {size} bytes, {digest:016x})"
        message = json_or_text(frame.raw)
        if self.options.exact:
            return message
        if (piece := self._piece(frame)) is not None:
            texts = [piece.text, *map(self._text, frames)]
            reduce(getitem, piece.place[:-1], message)[piece.place[-1]] = joined(texts)
        title = self.told.whats[lane.whats[items[0]]].title
        decision = self.told.decisions.get(frame.seq)
        message = reduced(message, frame, self.options.expect, decision)
        if frame.kind == "request" and isinstance(message, dict):
            message.pop("id", None)
        return self.named(message, scope, title, peers_of(frame))

    def text(self, lane: MessageSequence, items: Group, scope: Scope) -> str | None:
        """What the chunks of items say, put together; None where that is left out."""
        message = self.message(lane, items, scope)
        for place in (*TEXTS, PLACE):
            with suppress(KeyError, TypeError):
                return str(reduce(getitem, place, message))
        return None

    def named(self, message: Any, scope: Scope, title: str = "", peers: Peers = CLIENTS) -> Any:
        """A message with stable names in place of what differs between any two runs."""
        return self.told.former.named(message, scope, self.names, title, peers)

    def preview(self, lane: MessageSequence, items: Group) -> str:
        """What items say, in one line without control characters."""
        frames = self._frames(lane, *items)
        frame = next(frames)
        if (piece := self._piece(frame)) is not None:
            text = piece.text
            while len(text) < _SHOWN and (more := next(frames, None)) is not None:
                text += self._text(more)
            return plain(text)
        raw = next(self.reader.pieces(frame.seq)) if frame.raw is None else frame.raw
        return preview(raw, frame.kind, frame.method)

    def _frames(self, lane: MessageSequence, *items: int) -> Iterator[Payload]:
        """The frames of items; what came in between in other lanes is passed over."""
        numbers = lane.numbers(*items)
        wanted = set(numbers)
        starts = [0, *(k for k in range(1, len(numbers)) if numbers[k] - numbers[k - 1] > _NEAR)]
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            last = parse(f"seq:..{numbers[end - 1]}")
            for row in self.reader.frames(last, after=numbers[start] - 1):
                if row["seq"] in wanted:
                    frame = Payload._make(row[name] for name in Payload._fields)
                    yield frame if row["size"] <= LARGEST else frame._replace(raw=None)

    def _piece(self, frame: Payload) -> Piece | None:
        if is_push(frame) and self.options.reads_texts:
            return split_push(frame.raw or b"")
        return split(frame.raw or b"") if self.options.may_be_joined(frame) else None

    def _text(self, frame: Payload) -> str:
        piece = self._piece(frame)
        return piece.text if piece is not None else ""
