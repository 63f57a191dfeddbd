"""Collects the contents of a comparison page: the differences between two recordings.

The page shows the values that `diff` prints. Equal messages are only counted. Only the first
differences are shown, and the page says how many are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from pathlib import PurePath
from shlex import quote

from attrs import Factory, define, evolve, frozen

from acp_proxy.base.limits import PARTS
from acp_proxy.diff.diff_result import (
    Change,
    Counts,
    Diff,
    DiffEntry,
    DiffSequence,
    MethodLatency,
    Side,
    differences,
    in_order_of_time,
    verdict,
)
from acp_proxy.recording.recording import clock
from acp_proxy.report.compared_changes import (
    ShownChange,
    ShownFrame,
    ShownPlace,
    characters,
    difference_in_words,
    numbered_places,
    shown_change,
    shown_ending,
)
from acp_proxy.report.facts import Shortened
from acp_proxy.store.queries.exchanges import latencies_of_answers
from acp_proxy.store.queries.frames import frame_times
from acp_proxy.store.reader import RecordingReader

MOST = 2000
"""How many differing messages the page shows at most."""
_MOST_CHARACTERS = 5_000_000
"""About how many characters the shown messages have together at most; further ones are left out."""

_Steps = list[int | ShownChange]


@frozen
class ShownLane:
    """The messages in one direction of a session, or of the connection."""

    lane: str
    direction: str
    ids: list[str]
    """The session's ids in A and in B."""
    apart: str
    """The kind of the lane's messages if their order among other messages does not count; else
    empty."""
    equal: int
    """The number of equal messages."""
    summary: str
    """The number of differing messages, in words; empty if there are none."""
    first: int | None
    """The number of the lane's first shown difference; None if none is shown."""
    is_cut: bool
    """Whether some differing messages are not shown."""


@frozen
class ComparisonFacts:
    """The contents of a comparison page."""

    a: Side
    b: Side
    names: tuple[str, str]
    """Names for A and B: the names of the recordings or, if these are equal, file names or
    paths."""
    counts: Counts
    is_equal: bool
    verdict: str
    first: str
    """The first difference of messages, in words; empty if there is none."""
    first_frames: str
    """The frames of the first difference in A and in B, such as ``#17 / #17``."""
    commands: tuple[str, str]
    """The commands that print the messages of A and of B."""
    lanes: list[ShownLane]
    steps: _Steps
    """The differences in the order of time. An integer before, between or after differences is the
    number of equal messages at this place."""
    handshake: Shortened[ShownPlace]
    ending: list[ShownPlace]
    latency: Shortened[MethodLatency]
    more: int
    """The number of differing messages that are left out."""
    filter: str
    masked: str
    """A sentence about the masked values of the page."""
    is_unmasked: bool
    step_ns: int
    """The resolution of the times in both recordings; see `duration`."""


def read_comparison(
    diff: Diff,
    readers: tuple[RecordingReader, RecordingReader],
    *,
    words: str = "",
    masked: str = "",
    is_unmasked: bool = False,
    most: int = MOST,
) -> ComparisonFacts:
    """Reads the differences that a comparison page shows.

    Args:
        diff: the comparison.
        readers: A and B, still open.
        words: the filter of the comparison; empty if there is none.
        masked: a sentence about the masked values.
        is_unmasked: whether the page shows secrets.
        most: the largest number of differing messages that are shown.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    counts = diff.counts
    handshake = numbered_places(diff.handshake, 1)
    reader = _LaneReader(diff, most)
    reader.read()
    every: _Steps = [*reader.changes, *reader.equal]
    ordered = in_order_of_time(every, lambda item: item if isinstance(item, int) else item.entry)
    differing = [item for item in ordered if not isinstance(item, int)]
    changes = _timed_changes(readers, differing, counts.handshake + 1)
    ending = shown_ending(diff.ending, counts.total - counts.ending + 1)
    a, b, latency = diff.a, diff.b, diff.latency[:PARTS]
    return ComparisonFacts(
        a=_with_clock(a, has_zone=diff.has_zones[0]),
        b=_with_clock(b, has_zone=diff.has_zones[1]),
        names=_names(a, b),
        counts=counts,
        is_equal=diff.is_equal,
        verdict=verdict(diff),
        first=difference_in_words(changes[0]) if changes else "",
        first_frames=" / ".join(f"#{side.seq}" for change in changes[:1] for side in change.sides),
        commands=(_command(a), _command(b)),
        lanes=[_linked(lane, changes) for lane in reader.lanes],
        steps=_steps(ordered, changes),
        handshake=handshake,
        ending=ending,
        latency=Shortened([*latency], len(diff.latency) - len(latency)),
        more=counts.total - counts.handshake - counts.ending - len(changes),
        filter=words,
        masked=masked,
        is_unmasked=is_unmasked,
        step_ns=max(diff.steps_ns),
    )


def _command(side: Side) -> str:
    return f"acp-proxy log {quote(side.name)}"


def _with_clock(side: Side, *, has_zone: bool) -> Side:
    """Returns a side of a comparison; if ``has_zone`` is False, its start gets no time zone."""
    if has_zone or side.started_at is None:
        return side
    return evolve(side, started_at=clock(side.started_at, has_zone=False).isoformat())


def _names(a: Side, b: Side) -> tuple[str, str]:
    """Returns names that tell A and B apart: recording names, or else file names, or else paths."""
    # Paths come last, since a whole path may be private.
    pairs = (a.name, b.name), (PurePath(a.path).name, PurePath(b.path).name), (a.path, b.path)
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


@define
class _LaneReader:
    diff: Diff
    _most: int
    lanes: list[ShownLane] = Factory(list)
    changes: list[ShownChange] = Factory(list)
    """The differences read so far, lane by lane."""
    equal: list[int] = Factory(list)
    """The frame numbers, in A, of the equal messages read so far."""
    _room: int = _MOST_CHARACTERS

    def read(self) -> None:
        """Reads lane after lane, up to the last difference that the page shows."""
        for sequence in self.diff.sequences():
            changes, equal, is_cut = self._read(sequence)
            if changes or equal or is_cut:
                self.lanes.append(self._lane(sequence, changes, equal, is_cut=is_cut))
            self.changes += changes
            if is_cut:
                break

    def _read(self, sequence: DiffSequence) -> tuple[list[ShownChange], int, bool]:
        """Reads a lane until the page is full.

        Returns the differences, the number of equal messages, and whether the page was full.
        """
        changes: list[ShownChange] = []
        known, is_cut = len(self.equal), False
        for step in sequence.steps:
            if not isinstance(step, DiffEntry):
                self.equal += step
                continue
            if len(self.changes) + len(changes) == self._most or self._room < 0:
                is_cut = True
                break
            change = shown_change(step, sequence.apart or "")
            self._room -= characters(change)
            changes.append(change)
        return changes, len(self.equal) - known, is_cut

    def _lane(
        self, sequence: DiffSequence, changes: list[ShownChange], equal: int, *, is_cut: bool
    ) -> ShownLane:
        kinds = Counter(each.entry.change for each in changes)
        counts = Counts(
            only_a=kinds[Change.ONLY_A], only_b=kinds[Change.ONLY_B],
            changed=kinds[Change.CHANGED], moved=kinds[Change.MOVED],
        )  # fmt: skip
        ids = filter(None, self.diff.aliases.get(sequence.lane, ()))
        return ShownLane(
            lane=sequence.lane,
            direction=sequence.direction,
            ids=list(dict.fromkeys(ids)),
            apart=sequence.apart or "",
            equal=equal,
            summary=differences(counts) if changes else "",
            first=None,
            is_cut=is_cut,
        )


def _timed_changes(
    readers: tuple[RecordingReader, RecordingReader], changes: Sequence[ShownChange], first: int
) -> list[ShownChange]:
    """Returns differences with the times of their messages and with numbers from `first` on."""
    of_a = _timed(readers[0], [change.a for change in changes])
    of_b = _timed(readers[1], [change.b for change in changes])
    sides = zip(changes, of_a, of_b, strict=True)
    return [evolve(change, number=n, a=a, b=b) for n, (change, a, b) in enumerate(sides, first)]


def _linked(lane: ShownLane, changes: Iterable[ShownChange]) -> ShownLane:
    """Returns a lane with the number of its first shown difference."""
    key = lane.lane, lane.direction, lane.apart
    entries = ((change.number, change.entry, change.apart) for change in changes)
    numbers = (n for n, entry, apart in entries if (entry.lane, entry.direction, apart) == key)
    return evolve(lane, first=next(numbers, None))


def _steps(ordered: _Steps, changes: Iterable[ShownChange]) -> _Steps:
    """Returns the differences in the order of time; between them, how many messages are equal.

    Args:
        ordered: the differences and the frames of the equal messages, in the order of time.
        changes: the same differences in the same order, with their times.
    """
    steps: _Steps = []
    timed = iter(changes)
    for is_equal, group in groupby(ordered, lambda item: isinstance(item, int)):
        count = sum(1 for _ in group)
        steps += [count] if is_equal else islice(timed, count)
    return steps


def _timed(reader: RecordingReader, frames: Sequence[ShownFrame | None]) -> list[ShownFrame | None]:
    """Returns the frames of one side with their times added; an answer also gets its latency."""
    seqs = [frame.seq for frame in frames if frame is not None]
    times, latencies = frame_times(reader, seqs), latencies_of_answers(reader, seqs)
    known = reader.recording.known_ns
    return [
        row and evolve(row, t_ns=known(times.get(row.seq)), took_ns=latencies.get(row.seq))
        for row in frames
    ]
