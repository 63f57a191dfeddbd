"""One recording as sequences of items that can be compared, in numbers and without payloads.

An item is a frame, or all chunks of one text. There is a sequence for each direction of each
session, and of the connection, since messages of two peers may cross in any order. Updates that
only describe a state, `STATE_UPDATES`, have sequences of their own, and so have the kinds of
messages that the user wants apart.
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

from attrs import define, field, frozen

from acp_proxy.difference.canonicalizer import Canonical, Canonicalizer
from acp_proxy.difference.defaults import PATH
from acp_proxy.difference.indices import ItemIndex, PlaceholdersIndex, TypeIndex, ValueIndex
from acp_proxy.difference.item_types import ItemType
from acp_proxy.difference.values import Scope


class SequenceKey(NamedTuple):
    """Which sequence it is; a tuple, since each frame has one."""

    session: Scope
    direction: str
    apart: str | None = None
    """The kind of message in it, if its place among other messages does not count."""


@frozen
class TextChunks:
    """The chunks of an item that is a text.

    Attributes:
        chunk: a chunk without its text.
        frames: the numbers of all chunks.
        is_empty: whether there is no character in them.
    """

    chunk: Canonical
    frames: "array[int]"
    is_empty: bool


@define
class MessageSequence:
    """Items in recorded order; in columns, since there may be a million of them.

    Attributes:
        templates: of each item.
        placeholders: of each item, the values in its template.
        types: of each item.
        calls: of each item, the id of the tool call that it is about, or None.
        texts: the items that are texts.
        request_ids: of requests; they count only where another message names them, too.
    """

    templates: "array[int]" = field(factory=lambda: array("Q"))
    placeholders: list[PlaceholdersIndex] = field(factory=list)
    types: list[TypeIndex] = field(factory=list)
    calls: list[ValueIndex | None] = field(factory=list)
    texts: dict[ItemIndex, TextChunks] = field(factory=dict)
    request_ids: dict[ItemIndex, ValueIndex] = field(factory=dict)
    _first_frames: "array[int]" = field(factory=lambda: array("Q"))

    def __len__(self) -> int:
        return len(self.templates)

    def add(
        self,
        template: int,
        placeholders: PlaceholdersIndex,
        item_type: TypeIndex,
        frame: int,
        call: ValueIndex | None = None,
    ) -> None:
        """Adds an item.

        Args:
            template: of its message.
            placeholders: the values in it.
            item_type: what it is.
            frame: the number of its frame, or of its first chunk.
            call: the tool call that it is about.
        """
        self.templates.append(template)
        self.placeholders.append(placeholders)
        self.types.append(item_type)
        self.calls.append(call)
        self._first_frames.append(frame)

    def first_frame(self, item: ItemIndex) -> int:
        """Returns the number of the first frame of an item."""
        return self._first_frames[item]

    def frames(self, items: Iterable[ItemIndex]) -> list[int]:
        """Returns the numbers of all frames of some items."""
        found: list[int] = []
        for item in items:
            text = self.texts.get(item)
            found += [self._first_frames[item]] if text is None else text.frames
        return found


@define
class SideIndex:
    """One of the two recordings.

    Attributes:
        canonicalizer: has the values that were taken out of its messages.
        sequences: in the order of their first frames.
        placeholders: the values in messages; messages with the same ones share an entry.
        item_types: of its items.
        looking: the tool calls that only look at something, by their ids.
        handshake: the numbers of the first ``initialize`` and of its answer.
        decisions: of answers to permission requests, by the numbers of their frames, if nothing
            else of them counts.
        frames: how many lines were compared.
    """

    canonicalizer: Canonicalizer
    sequences: dict[SequenceKey, MessageSequence] = field(factory=dict)
    placeholders: list[tuple[ValueIndex, ...]] = field(factory=list)
    item_types: list[ItemType] = field(factory=list)
    looking: set[ValueIndex] = field(factory=set)
    handshake: dict[str, int] = field(factory=dict)
    decisions: dict[int, str] = field(factory=dict)
    frames: int = 0

    @property
    def names_directories(self) -> bool:
        """Whether a directory has a name."""
        every = self.canonicalizer.values.every
        return any(value.kind == PATH and value.is_seen for value in every)

    def type_of(self, sequence: MessageSequence, item: ItemIndex) -> ItemType:
        """Returns what an item of a sequence is.

        Args:
            sequence: one of this recording.
            item: the item's place in it.
        """
        return self.item_types[sequence.types[item]]
