"""Builds the sequences of one recording from its frames, and joins the chunks of a text."""

from array import array
from collections.abc import Mapping

from attrs import define, field, frozen

from acp_proxy.base.limits import CACHED, COMPARED_TEXT
from acp_proxy.diff.canonicalizer import Canonical, Walk
from acp_proxy.diff.default_rules import REQUEST
from acp_proxy.diff.frame_types import ItemType
from acp_proxy.diff.named_values import Scope, ValueIndex
from acp_proxy.diff.sequences import (
    ItemIndex,
    MessageSequence,
    PlaceholdersIndex,
    SequenceKey,
    SideIndex,
    TextChunks,
    TypeIndex,
)
from acp_proxy.protocol.chunks import SplitChunk, mended
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.updates import STATE_UPDATES


@define
class _OpenText:
    """A text to which chunks may be added."""

    chunk: Canonical
    """A chunk without its text. All chunks of the text are equal in this form."""
    item_type: TypeIndex
    rest: bytes
    """The latest chunk without its text, as it was written."""
    _walk: Walk
    """The `Walk` that replaces values in the text."""
    frames: "array[int]" = field(factory=lambda: array("Q"))
    _in_time: int | None = None
    """The number of chunks before the client cancelled the turn; None without a cancel."""
    _pieces: list[str] = field(factory=list)
    _size: int = 0
    _placeholders: list[ValueIndex] = field(factory=list)
    _templates: list[int] = field(factory=list)
    """The templates of parts that were removed because the text is too long."""

    def __attrs_post_init__(self) -> None:
        self._placeholders += self.chunk.placeholders

    @property
    def is_empty(self) -> bool:
        """Whether the text is empty."""
        return not self._size and not self._templates

    def add(self, seq: int, text: str) -> None:
        """Adds a chunk."""
        self.frames.append(seq)
        self._pieces.append(text)
        self._size += len(text)
        if self._size > COMPARED_TEXT:
            self._settle()

    def cancel(self) -> None:
        """Notes that the client has cancelled the turn."""
        self._in_time = len(self._pieces)

    def remove_late(self) -> None:
        """Removes the chunks that came after the client had cancelled the turn.

        The number of chunks after a cancel depends on the agent's speed.
        """
        if self._in_time is not None and (late := len(self._pieces) - self._in_time):
            del self._pieces[-late:]
            del self.frames[-late:]
            self._size = sum(map(len, self._pieces))

    def finished(self) -> Canonical:
        """Returns the canonical form of the whole text. After this, no chunk may be added."""
        self._take_out(mended("".join(self._pieces)))
        template = hash((self.chunk.template, *self._templates))
        return Canonical(template, tuple(self._placeholders))

    def _settle(self) -> None:
        """Replaces the beginning of a long text by templates of parts, to save memory.

        The ends of the parts do not depend on how the text was split into chunks.
        """
        text = mended("".join(self._pieces))
        while len(text) > COMPARED_TEXT:
            end = text.rfind(" ", 0, COMPARED_TEXT) + 1 or COMPARED_TEXT
            self._take_out(text[:end])
            text = text[end:]
        self._pieces, self._size, self._in_time = [text], len(text), None

    def _take_out(self, text: str) -> None:
        part = self._walk.canonical(text, lambda: text)
        self._templates.append(part.template)
        self._placeholders += part.placeholders


@define
class SequenceWriter:
    """Writes the items of one sequence, and keeps its unfinished texts."""

    key: SequenceKey
    sequence: MessageSequence
    text: _OpenText | None = None
    latest: dict[tuple[ValueIndex, ...], int] = field(factory=dict)
    """For each tuple of values, the template of the latest message with these values. Only used in
    sequences that ignore repetitions."""


@frozen
class Route:
    """The properties that all frames of one type in one session and direction share."""

    writer: SequenceWriter
    item_type: TypeIndex
    walk: Walk
    calls: Mapping[str, ValueIndex]
    """The tool calls of the session, by id."""
    is_request: bool
    ignores_repetitions: bool


class SequenceBuilder:
    """Adds items to the sequences of one recording.

    Args:
        side: the recording with the sequences.
    """

    def __init__(self, side: SideIndex) -> None:
        self._side = side
        self._values = side.canonicalizer.values
        self._writers: dict[SequenceKey, SequenceWriter] = {}
        self._chunks: dict[tuple[SequenceKey, bytes], Canonical] = {}
        self._placeholders: dict[tuple[ValueIndex, ...], PlaceholdersIndex] = {}
        self._types: dict[ItemType, TypeIndex] = {}
        self._pushed: dict[tuple[SequenceKey, Canonical], tuple[SequenceWriter, _OpenText]] = {}

    def writer(self, key: SequenceKey) -> SequenceWriter:
        """Returns the writer of a sequence. A missing sequence is created."""
        writer = self._writers.get(key)
        if writer is None:
            sequence = self._side.sequences[key] = MessageSequence()
            writer = self._writers[key] = SequenceWriter(key, sequence)
        return writer

    def type_index(self, item_type: ItemType) -> TypeIndex:
        """Returns the index of an item type."""
        types = self._side.item_types
        index = self._types.setdefault(item_type, TypeIndex(len(types)))
        if index == len(types):
            types.append(item_type)
        return index

    def add(
        self, route: Route, seq: int, canonical: Canonical, call: ValueIndex | None = None
    ) -> None:
        """Adds a frame.

        Args:
            route: the route of the frame.
            seq: the number of the frame.
            canonical: the canonical message.
            call: the tool call of the message; None if it is about no tool call.
        """
        writer = route.writer
        if writer.text is not None:
            self._finish(writer)
        template, placeholders = canonical
        if route.ignores_repetitions:
            if self._is_repeated(writer, canonical):
                return
            writer.latest[placeholders] = template
        sequence = writer.sequence
        if route.is_request:
            placeholders = self._without_id(sequence, placeholders)
        self._note(sequence, template, placeholders, route.item_type, seq, call)

    def add_chunk(self, route: Route, seq: int, chunk: SplitChunk) -> None:
        """Adds a chunk of a text.

        Args:
            route: the route of the chunk's frame.
            seq: the number of the frame.
            chunk: the text and the rest of the message.
        """
        writer = route.writer
        text = writer.text
        if text is None or text.rest is not chunk.rest:
            canonical = self._without_text(route, chunk)
            if text is None or text.chunk != canonical:
                if text is not None:
                    self._finish(writer)
                text = writer.text = self._opened(route, chunk, canonical)
            text.rest = chunk.rest
        text.add(seq, chunk.text)

    def add_push(self, route: Route, seq: int, chunk: SplitChunk) -> None:
        """Adds pushed output to the earlier output of the same terminal.

        Args:
            route: the route of the output's frame.
            seq: the number of the frame.
            chunk: the output and the rest of the message.
        """
        canonical = self._without_text(route, chunk)
        known = (route.writer.key, canonical)
        if known not in self._pushed:
            self._pushed[known] = route.writer, self._opened(route, chunk, canonical)
        self._pushed[known][1].add(seq, chunk.text)

    def cancel(self, session: Scope, direction: str) -> None:
        """Notes that a turn was cancelled.

        Args:
            session: the session of the turn.
            direction: the direction of the texts in the turn.
        """
        for key, writer in self._writers.items():
            if (key.session, key.direction) == (session, direction) and writer.text is not None:
                writer.text.cancel()

    def end(self) -> None:
        """Finishes all texts."""
        for writer in self._writers.values():
            if writer.text is not None:
                self._finish(writer)
        # Sorted by the creation of the terminals, since it is chance which terminal writes first.
        for writer, text in sorted(
            self._pushed.values(), key=lambda pushed: pushed[1].chunk.placeholders
        ):
            writer.text = text
            self._finish(writer)

    def _without_id(
        self, sequence: MessageSequence, placeholders: tuple[ValueIndex, ...]
    ) -> tuple[ValueIndex, ...]:
        """Notes the id of a request in a sequence. Returns the placeholders without this id."""
        every = self._values.every
        request_id = next(
            (placeholder for placeholder in placeholders if every[placeholder].kind == REQUEST),
            None,
        )
        if request_id is not None:
            sequence.request_ids[ItemIndex(len(sequence))] = request_id
        return tuple(placeholder for placeholder in placeholders if placeholder != request_id)

    def _without_text(self, route: Route, chunk: SplitChunk) -> Canonical:
        """Returns the canonical form of a chunk without its text."""
        known = (route.writer.key, chunk.rest)
        canonical = self._chunks.get(known)
        if canonical is None:
            if len(self._chunks) >= CACHED:
                self._chunks.clear()
            canonical = self._chunks[known] = self._canonical(route, chunk.rest)
        return canonical

    def _canonical(self, route: Route, rest: bytes) -> Canonical:
        try:
            return route.walk.canonical(json_or_text(rest), lambda: json_or_text(rest))
        except RecursionError:
            return Canonical(hash((route.walk.kind, rest)))

    def _opened(self, route: Route, chunk: SplitChunk, canonical: Canonical) -> _OpenText:
        session = route.writer.key.session
        walk = self._side.canonicalizer.walk("text", session, place=chunk.place)
        return _OpenText(canonical, route.item_type, chunk.rest, walk)

    def _finish(self, writer: SequenceWriter) -> None:
        text, writer.text = writer.text, None
        if text is None:
            return
        chunks = TextChunks(text.chunk, text.frames, text.is_empty)
        template, placeholders = text.finished()
        sequence = writer.sequence
        sequence.texts[ItemIndex(len(sequence))] = chunks
        self._note(sequence, template, placeholders, text.item_type, text.frames[0], None)

    def _is_repeated(self, writer: SequenceWriter, canonical: Canonical) -> bool:
        """Whether an item only repeats an earlier item of its sequence.

        The earlier item is the latest item with the same values, such as ids and paths. But a state
        update, or an item with fewer than two values, must repeat the item directly before it.
        """
        template, placeholders = canonical
        if writer.latest.get(placeholders) != template:
            return False
        if writer.key.apart not in STATE_UPDATES and len(placeholders) > 1:
            return True
        sequence = writer.sequence
        latest = self._side.placeholders[sequence.placeholders[-1]]
        return sequence.templates[-1] == template and latest == placeholders

    def _note(
        self,
        sequence: MessageSequence,
        template: int,
        placeholders: tuple[ValueIndex, ...],
        item_type: TypeIndex,
        frame: int,
        call: ValueIndex | None,
    ) -> None:
        self._values.place(template, placeholders)
        index = self._placeholders.get(placeholders)
        if index is None:
            every = self._side.placeholders
            index = self._placeholders[placeholders] = PlaceholdersIndex(len(every))
            every.append(placeholders)
        sequence.templates.append(template)
        sequence.placeholders.append(index)
        sequence.types.append(item_type)
        sequence.calls.append(call)
        sequence.first_frames.append(frame)
