"""Reads differing items again, to find the differing places and to preview items.

A secret in a sentence may be masked in one recording and not in the other. In a difference, the
secret is hidden on both sides: texts are aligned word by word, so that all other words stay
readable.
"""

import re
from bisect import bisect
from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import groupby
from operator import getitem
from typing import Any

from attrs import frozen

from acp_proxy.base.alignment import align, gaps
from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.base.text_diff import Piece, word_diff
from acp_proxy.base.wording import plain
from acp_proxy.diff.canonicalizer import unmarked
from acp_proxy.diff.default_rules import SECRET
from acp_proxy.diff.diff_result import DiffOptions, Field
from acp_proxy.diff.frame_types import (
    CLIENTS,
    PLACES,
    ChunkHandler,
    RequestPeers,
    canonical_json,
    digest_of_pieces,
    request_peers_of,
)
from acp_proxy.diff.named_values import Scope, ValueNames
from acp_proxy.diff.place_rules import PLACEHOLDER
from acp_proxy.diff.reduction import reduced
from acp_proxy.diff.sequences import ItemGroup, ItemIndex, MessageSequence, SequenceKey, SideIndex
from acp_proxy.explain.hints import NONE, HintReader, Hints
from acp_proxy.explain.preview import preview
from acp_proxy.protocol.chunks import mended
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import json_or_text, pointer
from acp_proxy.protocol.updates import STATE_UPDATES, UPDATE
from acp_proxy.recording.filters import parse
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.redaction.markers import HIDDEN, MARKER, beside_markers, strings
from acp_proxy.store.reader import RecordingReader

_NAME = PLACEHOLDER.format(rf"(?:«{SECRET}:\d+»|{SECRET}:\d+|«{MARKER.pattern}»|{MARKER.pattern})")
_SECRET = re.compile(f"{_NAME}|{MARKER.pattern}")
_SPOT = "\ue00f"
"""The character that replaces each marker while texts are aligned."""


def hide_secrets(field: Field) -> Field:
    """Hides the text on one side of a difference where the other side has a marker.

    Args:
        field: the differing place. Stable names are marked in its values.
    """
    if field.only is not None:
        return field
    if isinstance(field.a, str) and isinstance(field.b, str):
        return Field(field.pointer, *_texts(field.a, field.b))
    return Field(field.pointer, *beside_markers(field.a, field.b, kinds=_any_secret))


def is_hidden(value: Any) -> bool:
    """Whether any part of a value is hidden."""
    return any(HIDDEN in text for text in strings(value))


def _texts(a: str, b: str) -> tuple[str, str]:
    names_a, names_b = ([match[0] for match in _SECRET.finditer(text)] for text in (a, b))
    if not (names_a or names_b):
        return a, b
    pieces = word_diff(_SECRET.sub(_SPOT, a), _SECRET.sub(_SPOT, b))
    shown_a = shown_b = ""
    for is_same, group in groupby(pieces, lambda piece: piece[0] == "="):
        if is_same:
            same = "".join(text for _, text in group)
            shown_a, shown_b = shown_a + same, shown_b + same
            continue
        old, new = _change([*group])
        shown_a, shown_b = shown_a + old, shown_b + new
    return _with_names(shown_a, names_a), _with_names(shown_b, names_b)


def _change(pieces: list[Piece]) -> tuple[str, str]:
    """Returns both sides of a change. The words of the side with fewer markers are hidden."""
    old = "".join(text for op, text in pieces if op == "-")
    new = "".join(text for op, text in pieces if op == "+")
    of_old, of_new = old.count(_SPOT), new.count(_SPOT)
    return (
        _around_spots(old) if of_old < of_new else old,
        _around_spots(new) if of_new < of_old else new,
    )


def _around_spots(text: str) -> str:
    """Returns a text in which everything except the markers is hidden."""
    return _SPOT.join(HIDDEN if part.strip() else part for part in text.split(_SPOT))


def _with_names(text: str, names: list[str]) -> str:
    spots = iter(names)
    return re.sub(_SPOT, lambda _: next(spots, _SPOT), text)


def _any_secret(value: Any) -> set[str]:
    """Returns ``{SECRET}`` for a value with any kind of marker; otherwise an empty set."""
    return {SECRET for text in strings(value) if _SECRET.search(text)}


TOO_DEEP = Field("", "(nested too deeply)", "(nested too deeply)")
_NAMES = ("id", "name", "optionId", "modelId", "toolCallId", "terminalId", "path", "uri")
"""Members whose values identify an item of a list."""
_NEAR = 16
"""Frames whose numbers differ by at most this number are read in one query."""
_Path = tuple[str, ...]


class Messages:
    """The messages of one recording, with stable names.

    Args:
        reader: the recording.
        side: the sequences and values of the recording.
        names: the stable names of the recording's values.
        options: what is compared.
    """

    def __init__(
        self, reader: RecordingReader, side: SideIndex, names: ValueNames, options: DiffOptions
    ) -> None:
        self.reader = reader
        self.hides_secrets = not reader.unredacted
        """Whether to hide a text where the other recording has a marker."""
        self.side = side
        self._names = names
        self._options = options
        self._chunks = ChunkHandler(options.joins_texts)
        self._hints = HintReader(reader)

    def message(self, sequence: MessageSequence, items: ItemGroup, scope: Scope) -> Any:
        """Returns items as JSON. The parts of a text become one message with the whole text.

        Args:
            sequence: the sequence of the items.
            items: one item, or several parts of a text.
            scope: the session of the sequence.

        Raises:
            RecursionError: the message is nested too deeply.
        """
        frames = self._frames(sequence.frames(items))
        frame = next(frames)
        if frame.raw is None:
            size = sum(map(len, self.reader.pieces(frame.seq)))
            digest = digest_of_pieces("", self.reader.pieces(frame.seq))
            return f"(a line of {size} bytes, {digest})"
        message = json_or_text(frame.raw)
        if self._options.exact:
            return message
        if (part := self._chunks.part(frame)) is not None:
            text = mended("".join([part.text, *map(self._text, frames)]))
            reduce(getitem, part.place[:-1], message)[part.place[-1]] = text
        decision = self.side.decisions.get(frame.seq)
        message = reduced(message, frame, self._options.expect, decision)
        if frame.kind == "request" and isinstance(message, dict):
            message.pop("id", None)
        title = self.side.type_of(sequence, items[0]).title
        return self.named(message, scope, title, request_peers_of(frame))

    def named(
        self, message: Any, scope: Scope, title: str = "", peers: RequestPeers = CLIENTS
    ) -> Any:
        """Returns a message in which stable names replace values that differ between any two runs.

        Args:
            message: the decoded message, which is modified.
            scope: the session of the message.
            title: the title of the message's type.
            peers: whose request ids are in the message; see `RequestPeers`.
        """
        return self.side.canonicalizer.named(message, scope, self._names, title, peers)

    def preview(self, sequence: MessageSequence, items: ItemGroup) -> str:
        """Returns the content of items, in one line without control characters.

        Args:
            sequence: the sequence of the items.
            items: one item, or several parts of a text.
        """
        frames = self._frames(sequence.frames(items))
        frame = next(frames)
        if (part := self._chunks.part(frame)) is not None:
            text = part.text
            while len(text) < SHOWN_LINE and (more := next(frames, None)) is not None:
                text += self._text(more)
            return plain(text)
        raw = next(self.reader.pieces(frame.seq)) if frame.raw is None else frame.raw
        return preview(raw, frame.kind, frame.method, None, self._hints_of(frame))

    def _hints_of(self, frame: StoredFrame) -> Hints:
        """Returns hints for a preview: a tool call's title, or a permission request's options."""
        is_of_call = frame.tool_call is not None and frame.method in (UPDATE, PERMISSION)
        if not is_of_call and frame.method != PERMISSION:
            return NONE
        row = next(self.reader.frames(parse(f"seq:{frame.seq}")), None)
        return NONE if row is None or row["kind"] == "batch" else self._hints.of(row)

    def _frames(self, numbers: Sequence[int]) -> Iterator[StoredFrame]:
        """Yields the frames that have the given numbers. The numbers must be ascending."""
        wanted = set(numbers)
        starts = [0, *(k for k in range(1, len(numbers)) if numbers[k] - numbers[k - 1] > _NEAR)]
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            span = numbers[start], numbers[end - 1]
            for frame in self.reader.heads(span=span, with_lines=True):
                if frame.seq in wanted:
                    yield frame

    def _text(self, frame: StoredFrame) -> str:
        part = self._chunks.part(frame)
        return part.text if part is not None else ""


@frozen
class SideSequence:
    """A sequence in one recording; empty if the recording lacks the sequence."""

    messages: Messages
    sequence: MessageSequence
    key: SequenceKey

    def message(self, items: ItemGroup) -> Any:
        """Returns items as JSON; see `Messages.message`."""
        return self.messages.message(self.sequence, items, self.key.session)

    def text(self, item: ItemIndex) -> str | None:
        """Returns the text of an item with stable names; None if the text is left out."""
        with suppress(RecursionError):
            message = self.message((item,))
            for place in PLACES:
                with suppress(KeyError, TypeError):
                    return str(reduce(getitem, place, message))
        return None

    def title(self, item: ItemIndex) -> str:
        """Returns the type of an item in words."""
        return self.messages.side.type_of(self.sequence, item).title

    def is_chance(self, item: ItemIndex) -> bool:
        """Whether another run may lack an item because the client cancelled at another moment.

        This is true of state updates in a cancelled turn. It is also true of all items after the
        client gave up on the agent.
        """
        side, frame = self.messages.side, self.sequence.first_frames[item]
        turn = self.key.session, bisect(side.prompts.get(self.key.session, ()), frame)
        is_state = self.key.apart in STATE_UPDATES
        return frame > side.gave_up_at or (is_state and turn in side.cancelled)


@frozen
class SequenceMessages:
    """The messages of one sequence, in both recordings."""

    a: SideSequence
    b: SideSequence
    is_exact: bool
    """Whether different spellings of equal JSON are differences."""

    def fields(self, of_a: ItemGroup, of_b: ItemGroup) -> tuple[Field, ...]:
        """Returns the places in which items differ.

        Args:
            of_a: an item of A, or the parts of a text.
            of_b: an item of B, or the parts of a text.
        """
        try:
            a, b = self.a.message(of_a), self.b.message(of_b)
            differing = tuple(fields(a, b, hides_secrets=self.a.messages.hides_secrets))
        except RecursionError:
            return (TOO_DEEP,)
        if not differing and self.is_exact:
            return (Field("", "(as A spells it)", "(as B spells it)"),)
        return differing

    def distance(self, of_a: ItemGroup, of_b: ItemGroup) -> int:
        """Returns the number of differing places of two items.

        A place where only one item has a value counts twice.

        Args:
            of_a: an item of A, or the parts of a text.
            of_b: an item of B, or the parts of a text.
        """
        return sum(2 if field.only else 1 for field in self.fields(of_a, of_b))


def fields(a: Any, b: Any, *, hides_secrets: bool = True) -> Iterator[Field]:
    """Yields the places where two JSON values differ, as deep inside the values as possible.

    Lists are aligned: an item that was added at the front is one difference.

    Args:
        a: a value in which stable names are marked.
        b: another value in which stable names are marked.
        hides_secrets: whether to hide a text where the other value has a marker.

    Raises:
        RecursionError: a value is nested too deeply.
    """
    for field in _fields(a, b, ()):
        safe = hide_secrets(field) if hides_secrets else field
        yield Field(unmarked(safe.pointer), unmarked(safe.a), unmarked(safe.b), safe.only)


def _fields(a: Any, b: Any, path: _Path) -> Iterator[Field]:
    if isinstance(a, dict) and isinstance(b, dict):
        for key in [*a, *(key for key in b if key not in a)]:
            below = (*path, key)
            if key not in b:
                yield Field(pointer(below), a=a[key], only="a")
            elif key not in a:
                yield Field(pointer(below), b=b[key], only="b")
            else:
                yield from _fields(a[key], b[key], below)
    elif isinstance(a, list) and isinstance(b, list):
        yield from _items(a, b, path)
    elif canonical_json(a) != canonical_json(b):
        yield Field(pointer(path), a, b)


def _items(a: list[Any], b: list[Any], path: _Path) -> Iterator[Field]:
    same = align([canonical_json(item) for item in a], [canonical_json(item) for item in b])
    for a_gap, b_gap in _gaps(same, range(len(a)), range(len(b))):
        named = align([_name(a[i], i) for i in a_gap], [_name(b[j], ~j) for j in b_gap])
        for i, j in named:
            yield from _fields(a[a_gap[i]], b[b_gap[j]], (*path, str(a_gap[i])))
        for a_rest, b_rest in _gaps(named, a_gap, b_gap):
            for i, j in zip(a_rest, b_rest, strict=False):
                yield from _fields(a[i], b[j], (*path, str(i)))
            for i in a_rest[len(b_rest) :]:
                yield Field(pointer((*path, str(i))), a=a[i], only="a")
            for j in b_rest[len(a_rest) :]:
                yield Field(pointer((*path, str(j))), b=b[j], only="b")


def _gaps(same: list[tuple[int, int]], a: range, b: range) -> Iterator[tuple[range, range]]:
    """Yields the parts of two lists that lie between equal items."""
    for of_a, of_b in gaps(same, len(a), len(b)):
        yield a[of_a.start : of_a.stop], b[of_b.start : of_b.stop]


def _name(item: Any, otherwise: int) -> Hashable:
    """Returns the value that identifies an item of a list; without one, returns ``otherwise``."""
    if isinstance(item, dict):
        for key in _NAMES:
            if isinstance(item.get(key), str):
                return key, item[key]
    return otherwise
