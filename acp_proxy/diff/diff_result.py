"""The options of a comparison, and its result."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import Any, TypeVar

from attrs import field, frozen

from acp_proxy.base.wording import counted
from acp_proxy.recording.filters import EVERYTHING, Filter


class Expect(StrEnum):
    """Which parts of the messages are compared."""

    FRAMES = "frames"
    """Everything except data that differs between any two runs."""
    STRUCTURE = "structure"
    """The sequence of kinds and tool calls, without texts."""
    OUTCOME = "outcome"
    """Capabilities, stop reasons, and whether requests were answered or refused."""


@frozen
class DiffOptions:
    """How two recordings are compared.

    Attributes:
        expect: which parts of the messages are compared.
        exact: whether to compare lines byte for byte. Then values have no stable names, nothing is
            ignored, and chunks are not joined.
        ignored: JSON pointers of values to leave out, with everything below them, in addition to
            the documented pointers. ``*`` matches any key or item, ``**`` any number of keys and
            items.
        aliases: JSON pointers of values that get stable names, in addition to the documented
            pointers.
        apart: methods and kinds of session updates whose position in a sequence is ignored.
        chosen: the frames that are compared.
        only: the direction whose messages are compared; None for both directions.
        ending: whether the agents' exits are compared.
        same: pairs of directories that are known to correspond: a directory of B, and a directory
            of A.
        pauses: periods in which the client of B caused a delay, in nanoseconds since the start of
            B. An exchange that was open in one of these periods has no latency.
    """

    expect: Expect = Expect.FRAMES
    exact: bool = False
    ignored: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    chosen: Filter = EVERYTHING
    only: str | None = None
    ending: bool = True
    same: tuple[tuple[str, str], ...] = ()
    pauses: tuple[tuple[int, int], ...] = ()

    @property
    def joins_texts(self) -> bool:
        """Whether the chunks of a text are joined. If so, only whole texts are compared."""
        return not self.exact and self.expect is Expect.FRAMES


_WHERE = {Expect.FRAMES: "", Expect.STRUCTURE: " in structure", Expect.OUTCOME: " in outcome"}


class Change(StrEnum):
    """How a frame differs."""

    ONLY_A = "only-a"
    ONLY_B = "only-b"
    CHANGED = "changed"
    MOVED = "moved"


@frozen
class Field:
    """A place where two messages differ. The values are JSON, with stable names for ids."""

    pointer: str
    """The JSON pointer (RFC 6901) of the place from the root of the message. List items are
    numbered as in A."""
    a: Any = None
    b: Any = None
    only: str | None = None
    """``a`` or ``b`` if only this side has a value at the place; otherwise None."""


@frozen
class DiffEntry:
    """One difference: a frame, or all chunks of one text."""

    change: Change
    lane: str
    """``connection``, or the stable name of the session, such as ``session:1``."""
    direction: str
    """``to-agent`` or ``to-client``."""
    title: str
    """The type of the message, such as ``session/update tool_call`` or ``the answer to
    session/prompt``."""
    a: int | None = None
    """The number of the frame in A; for a text, the number of its first chunk. None if only B has
    the entry."""
    b: int | None = None
    a_frames: int = 0
    """The number of frames of the entry in A; 0 if only B has the entry."""
    b_frames: int = 0
    fields: tuple[Field, ...] = ()
    """The differing places of a changed entry."""
    preview: str | None = None
    """The content of the entry in A, or else in B, in one line without control characters."""
    b_preview: str | None = None
    """For a changed entry: its content in B, in one line without control characters. Otherwise
    None."""
    a_last: int | None = field(default=None, metadata={"hidden": True})
    """The number of the entry's last frame in A; None if only B has the entry."""
    b_last: int | None = field(default=None, metadata={"hidden": True})


T = TypeVar("T")


def in_order_of_time(messages: Iterable[T], entry_of: Callable[[T], DiffEntry | int]) -> list[T]:
    """Sorts messages by their frames in A, so that a cause comes before its effects.

    The place of a message that only B has is estimated: by its distance, in B, from the nearest
    changed message before it.

    Args:
        messages: differences, and perhaps equal messages.
        entry_of: a function that returns the entry of a difference, or the number of an equal
            message's first frame in A.
    """
    items = [*messages]
    entries = (entry for entry in map(entry_of, items) if isinstance(entry, DiffEntry))
    changed = (entry for entry in entries if entry.change is Change.CHANGED)
    pairs = sorted((entry.b, entry.a) for entry in changed if entry.a and entry.b)

    def place(item: T) -> tuple[int, bool]:
        entry = entry_of(item)
        if isinstance(entry, int):
            return entry, False
        if entry.a is not None:
            return entry.a, False
        at = bisect_left(pairs, (entry.b or 0, 0))
        b, a = pairs[at - 1] if at else (0, 0)
        return a + (entry.b or 0) - b, True

    return sorted(items, key=place)


@frozen
class DiffSequence:
    """The aligned messages of one direction of a session."""

    lane: str
    """``connection``, or the stable name of the session."""
    direction: str
    apart: str | None
    """The kind of the messages, if their position is ignored; otherwise None."""
    steps: Iterator[Iterator[int] | DiffEntry]
    """The differences in order. Equal messages before, between or after them become an iterator,
    which yields, for each message, the number of its first frame in A."""


@frozen
class MethodLatency:
    """How long answers to one method took, in nanoseconds; None for a side without answers."""

    method: str
    direction: str
    """The direction of the requests."""
    a_count: int
    """The number of answered requests."""
    b_count: int
    a_p50_ns: int | None
    b_p50_ns: int | None
    a_max_ns: int | None
    b_max_ns: int | None


@frozen
class Side:
    """One of the two recordings."""

    path: str
    name: str
    id: str
    started_at: str | None
    """When the recording began; None if times are not known."""
    state: str
    frames: int
    """The number of compared lines, without stderr and blank lines."""
    agent: str
    """The agent's name and version, if known."""
    client: str


@frozen
class Counts:
    """The number of differences of each kind. Each place in handshake and ending counts once."""

    handshake: int = 0
    only_a: int = 0
    only_b: int = 0
    changed: int = 0
    moved: int = 0
    ending: int = 0

    @property
    def total(self) -> int:
        """The number of all differences."""
        return self.handshake + self.only_a + self.only_b + self.changed + self.moved + self.ending


@frozen
class Diff:
    """The differences between two recordings.

    Entries are read from the recordings on demand, so both recordings must stay open.

    Attributes:
        handshake: the differing places in ``initialize`` and its answer.
        ending: the differences in exit code and signal.
        aliases: the first 100 stable names of each kind, each with its value in A and in B, or None
            for a side without this value.
        latency: the latencies by method, in the order of the first requests in A.
        steps_ns: the resolution of the times of A and of B, in nanoseconds.
        has_zones: whether the time zones of A and of B are known. A time without a zone counts as
            UTC.
    """

    a: Side
    b: Side
    expect: Expect
    counts: Counts
    handshake: tuple[Field, ...]
    ending: tuple[Field, ...]
    latency: tuple[MethodLatency, ...]
    aliases: dict[str, tuple[str | None, str | None]]
    sequences: Callable[[], Iterator[DiffSequence]] = field(repr=False, eq=False)
    """A function that yields all sequences, with their differences and their equal messages."""
    steps_ns: tuple[int, int] = (0, 0)
    has_zones: tuple[bool, bool] = (True, True)

    @property
    def is_equal(self) -> bool:
        """Whether the recordings are equal, apart from times."""
        return not self.counts.total

    def entries(self) -> Iterator[DiffEntry]:
        """Yields the differences, sequence by sequence, and in recorded order within a sequence."""
        for sequence in self.sequences():
            for step in sequence.steps:
                if isinstance(step, DiffEntry):
                    yield step


def verdict(diff: Diff) -> str:
    """Returns the result of a comparison in one line."""
    if not diff.is_equal:
        return differences(diff.counts)
    frames = f"{counted(diff.a.frames, 'frame')} and {counted(diff.b.frames, 'frame')}"
    return f"equal{_WHERE[diff.expect]}: {frames} say the same"


def differences(counts: Counts) -> str:
    """Returns the numbers of differences by kind, in words."""
    kinds = {
        "changed": counts.changed,
        "only in A": counts.only_a,
        "only in B": counts.only_b,
        "moved": counts.moved,
        "in the handshake": counts.handshake,
        "in the ending": counts.ending,
    }
    texts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
    return f"{counted(counts.total, 'difference')}: {texts}"
