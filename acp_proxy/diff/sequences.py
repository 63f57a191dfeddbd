"""One recording as sequences of items. The sequences contain numbers, but no payloads.

An item is a frame, or all chunks of one text. Each direction of each session, and of the
connection, has a sequence. Two kinds of messages have sequences of their own: updates that only
describe a state (`STATE_UPDATES`), and kinds whose position the user ignores (`DiffOptions.apart`).

Each kind of index has a type of its own, so that the type checker finds a mistaken index.
"""

from array import array
from collections.abc import Iterable
from math import inf
from typing import NamedTuple, NewType

from attrs import define, field, frozen

from acp_proxy.diff.canonicalizer import Canonical, Canonicalizer
from acp_proxy.diff.default_rules import PATH
from acp_proxy.diff.frame_types import ItemType
from acp_proxy.diff.named_values import Scope, ValueIndex

TypeIndex = NewType("TypeIndex", int)
"""An index into `SideIndex.item_types`."""
PlaceholdersIndex = NewType("PlaceholdersIndex", int)
"""An index into `SideIndex.placeholders`, for the values in a message."""
ItemIndex = NewType("ItemIndex", int)
"""The position of an item in its sequence."""
ItemPair = tuple[ItemIndex, ItemIndex]
"""An item of A and an item of B."""
ItemGroup = tuple[ItemIndex, ...]
"""Items that are compared together: all parts of one text, or a single item."""


class SequenceKey(NamedTuple):
    """Identifies a sequence. It is a tuple, for speed."""

    session: Scope
    direction: str
    apart: str | None = None
    """The kind of the messages, if their position is ignored; otherwise None."""


@frozen
class TextChunks:
    """The chunks of an item that is a text."""

    chunk: Canonical
    """A chunk without its text."""
    frames: "array[int]"
    is_empty: bool
    """Whether the chunks contain no characters."""


@define
class MessageSequence:
    """The items of a sequence in recorded order. They are stored in columns to save memory."""

    templates: "array[int]" = field(factory=lambda: array("q"))
    placeholders: list[PlaceholdersIndex] = field(factory=list)
    types: list[TypeIndex] = field(factory=list)
    calls: list[ValueIndex | None] = field(factory=list)
    """For each item, the id of its tool call, or None."""
    first_frames: "array[int]" = field(factory=lambda: array("Q"))
    texts: dict[ItemIndex, TextChunks] = field(factory=dict)
    request_ids: dict[ItemIndex, ValueIndex] = field(factory=dict)
    """The ids of the items that are requests. Ids are not compared."""

    def __len__(self) -> int:
        return len(self.templates)

    def frames(self, items: Iterable[ItemIndex]) -> list[int]:
        """Returns the numbers of all frames of some items."""
        frames: list[int] = []
        for item in items:
            text = self.texts.get(item)
            frames += [self.first_frames[item]] if text is None else text.frames
        return frames


@define
class SideIndex:
    """One of the two recordings: its sequences, and the values in their messages."""

    canonicalizer: Canonicalizer
    sequences: dict[SequenceKey, MessageSequence] = field(factory=dict)
    """The sequences in the order of their first frames."""
    placeholders: list[tuple[ValueIndex, ...]] = field(factory=list)
    """The values in each message. Messages with equal values share an entry."""
    item_types: list[ItemType] = field(factory=list)
    looking: set[ValueIndex] = field(factory=set)
    """The ids of tool calls that only read."""
    handshake: dict[str, int] = field(factory=dict)
    """The handshake: ``request`` is the number of the frame with the first ``initialize``, and
    ``response`` is the number of the frame with its answer."""
    decisions: dict[int, str] = field(factory=dict)
    """Decisions on permission requests, by the frame of the answer; only for `Expect.OUTCOME`."""
    prompts: dict[Scope, list[int]] = field(factory=dict)
    """The frames of the prompts, by session."""
    cancelled: set[tuple[Scope, int]] = field(factory=set)
    """The turns that ended as cancelled: the session, and how many prompts the session had by
    then."""
    gave_up_at: float = inf
    """The number of the event with which the client gave up on the agent; otherwise infinity."""
    frames: int = 0
    """The number of compared lines."""

    @property
    def names_directories(self) -> bool:
        """Whether this recording contains any directory. Directories get stable names."""
        every = self.canonicalizer.values.every
        return any(value.kind == PATH and value.is_seen for value in every)

    def type_of(self, sequence: MessageSequence, item: ItemIndex) -> ItemType:
        """Returns the type of an item of a sequence.

        Args:
            sequence: a sequence of this recording.
            item: an item of the sequence.
        """
        return self.item_types[sequence.types[item]]
