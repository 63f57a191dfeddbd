"""What one side said: lanes of items that can be compared, in numbers and without payloads.

An item is a frame, or a run of chunks that are the pieces of one text. There is a lane for each
direction of each session, and of the connection, since what two peers say at the same time crosses
in any order. What only tells how things are, `STATE_UPDATES`, has lanes of its own, and so has
what the user wants apart.
"""

from array import array
from typing import Any, NamedTuple

from attrs import define, field

from acp_proxy.difference.defaults import PATH
from acp_proxy.difference.forms import Canonicalizer, Form, Peers
from acp_proxy.difference.rules import PlaceState
from acp_proxy.difference.values import Scope
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import Payload

NO_ANSWER = "an answer to nothing"
NO_MESSAGE = "a line that is no message"


class ItemType(NamedTuple):
    """What an item is; only items that are alike in that can have changed into each other."""

    title: str
    """``session/update tool_call``, ``the answer to session/prompt``."""
    sort: str
    """The kind of its frames, an answer with an error being an answer, too."""


class SequenceKey(NamedTuple):
    """Which lane it is; a tuple, since each frame has one."""

    session: Scope
    direction: str
    beside: str | None = None
    """The kind of message that it is for, if its place among others does not count."""


@define
class StreamedText:
    """A text that goes on."""

    form: Form
    what: int
    """By its index in `SideIndex.whats`."""
    rules: PlaceState
    """Where its text stands."""
    rest: bytes
    """A chunk of it without its text."""
    slots: list[int]
    digests: list[int] = field(factory=list)
    pieces: list[str] = field(factory=list)
    size: int = 0
    in_time: int | None = None
    """How many of its pieces had come when the client cancelled the turn."""


@define
class MessageSequence:
    """Items in recorded order, in columns.

    Attributes:
        forms: of each item.
        slots: of each item: which tuple of values, by its index in `SideIndex.slots`.
        whats: of each item: what it is, by its index in `SideIndex.whats`.
        bases: of each item that is a text, told in chunks: the form of a chunk without its text;
            else 0.
        base_slots: and the values in it.
        starts: of each item: where its frames begin in `frames`.
        frames: the numbers of all frames.
        calls: of each item: the tool call that it is about, by the index of its id, or -1.
        silent: texts that say nothing, told in empty chunks.
        asked: requests, and their ids, which count only where they are named again.
    """

    forms: "array[int]" = field(factory=lambda: array("Q"))
    slots: "array[int]" = field(factory=lambda: array("L"))
    whats: "array[int]" = field(factory=lambda: array("L"))
    bases: "array[int]" = field(factory=lambda: array("Q"))
    base_slots: "array[int]" = field(factory=lambda: array("L"))
    starts: "array[int]" = field(factory=lambda: array("L"))
    frames: "array[int]" = field(factory=lambda: array("Q"))
    calls: "array[int]" = field(factory=lambda: array("l"))
    silent: set[int] = field(factory=set)
    asked: dict[int, int] = field(factory=dict)
    run: StreamedText | None = None
    latest: dict[tuple[int, ...], int] = field(factory=dict)
    """The latest form for some values, where the same is not said twice."""

    def __len__(self) -> int:
        return len(self.forms)

    def number(self, item: int) -> int:
        """The number of the first frame of an item."""
        return self.frames[self.starts[item]]

    def numbers(self, *items: int) -> list[int]:
        """The numbers of the frames of items."""
        ends = (self.starts[i + 1] if i + 1 < len(self.starts) else None for i in items)
        spans = (slice(self.starts[i], end) for i, end in zip(items, ends, strict=True))
        return [number for span in spans for number in self.frames[span]]


@define
class SideIndex:
    """All that one side said.

    Attributes:
        lanes: in the order of their first frames.
        former: what was taken out of messages.
        slots: tuples of values.
        whats: what items are.
        looking: the tool calls that only look at something, by the index of their id.
        handshake: the numbers of the first ``initialize`` and of its answer.
        decisions: what the answers to requests for permission say, by the numbers of their frames,
            if nothing else of them counts.
        frames: how many lines there were.
    """

    former: Canonicalizer
    lanes: dict[SequenceKey, MessageSequence] = field(factory=dict)
    slots: list[tuple[int, ...]] = field(factory=list)
    whats: list[ItemType] = field(factory=list)
    looking: set[int] = field(factory=set)
    handshake: dict[str, int] = field(factory=dict)
    decisions: dict[int, str] = field(factory=dict)
    frames: int = 0

    @property
    def names_directories(self) -> bool:
        """Whether a directory has a name."""
        every = self.former.values.every
        return any(value.kind == PATH and value.is_seen for value in every)


def update_of(message: Any) -> str | None:
    """The kind of a session update, in any dialect."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict) or message.get("method") != "session/update":
        return None
    update = params.get("update")
    kind = update.get("sessionUpdate") if isinstance(update, dict) else params.get("type")
    return kind if isinstance(kind, str) else None


def kind_of_call(message: Any) -> str | None:
    """What a tool call does, if a message says so."""
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return None
    subject = params.get("subject")
    in_v2 = subject.get("toolCall") if isinstance(subject, dict) else None
    for call in (params.get("update"), params.get("toolCall"), in_v2):
        if isinstance(call, dict) and isinstance(call.get("kind"), str):
            return str(call["kind"])
    return None


def ends_cancelled(message: Any) -> bool:
    """Whether a message ends a turn that was cancelled, in any dialect."""
    if not isinstance(message, dict):
        return False
    params = message.get("params")
    update = params.get("update") if isinstance(params, dict) else None
    ends = (message.get("result"), update)
    return any(isinstance(end, dict) and end.get("stopReason") == "cancelled" for end in ends)


def peers_of(frame: Payload) -> Peers:
    """In which direction the request went that a frame is or answers, and one that it names.

    A notification cancels a request of its own peer; a request names one of the other's, which it
    is made for.
    """
    other = Direction(frame.stream).other.value
    is_answer = frame.kind in ("response", "error")
    return other if is_answer else frame.stream, other if frame.kind == "request" else frame.stream


def what_of(frame: Payload, update: str | None, *, is_decided: bool = False) -> ItemType:
    """What a frame is.

    Args:
        frame: a frame.
        update: the kind of session update that it tells.
        is_decided: whether of an answer only the decision in it counts, and not which request it
            is for.
    """
    if frame.kind in ("response", "error"):
        name = f"the answer to {frame.method}" if frame.method else NO_ANSWER
        return ItemType(name, "decision" if is_decided else "answer")
    if frame.kind == "invalid":
        return ItemType(NO_MESSAGE, frame.kind)
    name = frame.method or frame.kind
    return ItemType(name if update is None else f"{name} {update}", frame.kind)
