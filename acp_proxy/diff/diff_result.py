"""The options of a comparison, and its result."""

from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from attrs import field, frozen

from acp_proxy.base.wording import counted
from acp_proxy.recording.filters import EVERYTHING, Filter


class Expect(StrEnum):
    """How much of the messages is compared."""

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
        expect: how much of each message counts.
        exact: whether to compare bytes: no stable names, nothing ignored, no chunks joined.
        ignored: JSON pointers to leave out, with everything below them, besides the documented
            ones; ``*`` matches any key or item, ``**`` any number of them.
        aliases: JSON pointers whose values get stable names, besides the documented ones.
        apart: kinds of session updates, and methods, whose place among other messages of their
            sequence does not count.
        chosen: the frames that are compared.
        only: the direction that counts, if the other direction follows from it.
        ending: whether the agent's exit counts.
        same: directories of B with their known counterparts in A.
        pauses: periods of B, in nanoseconds since its start, when its client caused the delay;
            latencies exclude exchanges that were open then.
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
        """Whether texts count, but not their division into chunks."""
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
    """A place where two messages differ; values are JSON with stable names for ids."""

    pointer: str
    """A JSON pointer (RFC 6901) from the root of the message, by the places in A."""
    a: Any = None
    b: Any = None
    only: str | None = None
    """``a`` or ``b`` if only that side has the value."""


@frozen
class DiffEntry:
    """One difference: a frame, or all chunks of one text."""

    change: Change
    lane: str
    """``connection``, or the session's stable name: ``session:1``."""
    direction: str
    """``to-agent`` or ``to-client``."""
    title: str
    """The type: ``session/update tool_call``, ``the answer to session/prompt``."""
    a: int | None = None
    """The number of the frame in A; for a text, the first chunk."""
    b: int | None = None
    a_frames: int = 0
    """The number of frames in A; may be 0."""
    b_frames: int = 0
    fields: tuple[Field, ...] = ()
    """The places where a changed entry differs."""
    preview: str | None = None
    """The content of A, or else of B, in one line without control characters."""


@frozen
class DiffSequence:
    """Messages that were aligned with each other: one direction of a session."""

    lane: str
    """``connection``, or the session's stable name."""
    direction: str
    apart: str | None
    """The kind of the messages, if their place among others does not count."""
    steps: Iterator[int | DiffEntry]
    """The differences in order, and between them the numbers of equal messages."""


@frozen
class MethodLatency:
    """The latency of answers to one method, in nanoseconds; None without answers."""

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
    """None for a recording without times."""
    state: str
    frames: int
    """The number of compared lines; stderr and blank lines do not count."""
    agent: str
    """The name and version, if known."""
    client: str


@frozen
class Counts:
    """The number of differences of each kind; handshake and ending count fields."""

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

    Entries are read from the recordings on demand, so both must be open then.

    Attributes:
        handshake: the differing places in ``initialize`` and its answer.
        ending: the differing places in the exit code and signal.
        aliases: the values behind stable names, the first 100 of each kind: the value in A and in
            B, None where it is missing.
        latency: by method, in the order of their first request in A.
        steps_ns: the resolution of the times of A and of B; see `duration`.
        has_zones: whether their time zones are known; otherwise times are read as UTC.
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
        """Whether nothing differs except times."""
        return not self.counts.total

    def entries(self) -> Iterator[DiffEntry]:
        """Yields the differences by sequence, in recorded order."""
        for sequence in self.sequences_of():
            for step in sequence.steps:
                if not isinstance(step, int):
                    yield step

    def sequences(self) -> Iterator[DiffSequence]:
        """Yields all sequences with their differences and numbers of equal messages."""
        return self.sequences_of()


def verdict(diff: Diff) -> str:
    """Returns the result in one line."""
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
