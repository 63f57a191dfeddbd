"""What a comparison of two recordings compares, what may differ, and its result."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from acp_proxy.base.wording import counted
from acp_proxy.recording.filters import EVERYTHING, Filter


class Expect(StrEnum):
    """How much of the messages is compared."""

    FRAMES = "frames"
    """Everything except what differs between any two runs."""
    STRUCTURE = "structure"
    """The sequence of kinds and tool calls, without texts."""
    OUTCOME = "outcome"
    """Capabilities, stop reasons, and whether requests were answered or refused."""


@frozen
class DiffOptions:
    """How two recordings are compared.

    Attributes:
        expect: how much of the messages counts.
        exact: compare bytes: no stable names, nothing ignored, no chunks joined.
        ignored: JSON pointers that are left out, besides the documented ones; ``*`` in one is any
            key or item, ``**`` any number of them. What lies below one is left out, too.
        aliases: JSON pointers whose values get stable names, besides the documented ones.
        apart: kinds of session updates, and methods: where such a message stands among others of
            its sequence does not count.
        chosen: the frames that are compared.
        only: the direction that counts, where the other one is known to follow from it.
        ending: whether it counts how the agent ended.
        same: directories of B, and what they are in A, where that is known.
        pauses: periods of B, in nanoseconds since its start, in which its client caused the delay;
            exchanges that were open then are left out of the latencies.
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
        """Whether texts count, but not how they are cut into chunks."""
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
    """One place in which two messages differ; values as JSON, with stable names for ids."""

    pointer: str
    """A JSON pointer (RFC 6901) from the message's root, with the places that A has."""
    a: Any = None
    b: Any = None
    only: str | None = None
    """``a`` or ``b`` if the other side has nothing there."""


@frozen
class DiffEntry:
    """One difference: a frame, or all chunks of one text."""

    change: Change
    lane: str
    """``connection``, or the session's stable name: ``session:1``."""
    direction: str
    """``to-agent`` or ``to-client``."""
    title: str
    """What it is: ``session/update tool_call``, ``the answer to session/prompt``."""
    a: int | None = None
    """The number of the frame in A; for a text, of its first chunk."""
    b: int | None = None
    a_frames: int = 0
    """The number of its frames; 0 if there is none."""
    b_frames: int = 0
    fields: tuple[Field, ...] = ()
    """Where a changed one differs."""
    preview: str | None = None
    """The content in one line without control characters; of B where A has none."""


@frozen
class DiffSequence:
    """The messages that were aligned with each other: those of one direction of a session."""

    lane: str
    """``connection``, or the session's stable name."""
    direction: str
    apart: str | None
    """The kind of the messages, if their place among others does not count."""
    steps: Iterator[int | DiffEntry]
    """Differences in their order, and between them how many messages are equal."""


@frozen
class MethodLatency:
    """How long requests of one method took to be answered; nanoseconds, None without answers."""

    method: str
    direction: str
    """Of the requests."""
    a_count: int
    """Requests that were answered."""
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
    """None for a recording that was imported without times."""
    state: str
    frames: int
    """Lines that were compared: stderr and blank ones are not."""
    agent: str
    """Name and version, as far as they are known."""
    client: str


@frozen
class Counts:
    """How many differences there are of each kind; fields of handshake and ending are counted."""

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

    Entries are read from the recordings when they are asked for, so both have to be open then.

    Attributes:
        handshake: where the answers to ``initialize`` differ, and what was asked.
        ending: where exit code and signal of the end differ.
        aliases: what stable names stand for, of each kind the first 100: the value in A and in B,
            None where it is missing.
        latency: by method, in the order of their first request in A.
        steps_ns: the steps in which the times of A and of B are known; see `duration`.
        has_zones: whether it is known in which zones they began; otherwise that is read as UTC.
    """

    a: Side
    b: Side
    expect: Expect
    counts: Counts
    handshake: tuple[Field, ...]
    ending: tuple[Field, ...]
    latency: tuple[MethodLatency, ...]
    aliases: dict[str, tuple[str | None, str | None]]
    sequences_of: Callable[[], Iterator[DiffSequence]] = field(repr=False, eq=False)
    steps_ns: tuple[int, int] = (0, 0)
    has_zones: tuple[bool, bool] = (True, True)

    @property
    def is_equal(self) -> bool:
        """Whether nothing is different but times."""
        return not self.counts.total

    def entries(self) -> Iterator[DiffEntry]:
        """Yields the differences by sequence, in recorded order."""
        for sequence in self.sequences_of():
            for step in sequence.steps:
                if not isinstance(step, int):
                    yield step

    def sequences(self) -> Iterator[DiffSequence]:
        """Yields the sequences, also those without a difference, with what is equal in each."""
        return self.sequences_of()


def verdict(diff: Diff) -> str:
    """Returns the result in one line."""
    if not diff.is_equal:
        return differences(diff.counts)
    frames = f"{counted(diff.a.frames, 'frame')} and {counted(diff.b.frames, 'frame')}"
    return f"equal{_WHERE[diff.expect]}: {frames} say the same"


def differences(counts: Counts) -> str:
    """Returns how many differences there are, and of which kinds."""
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
