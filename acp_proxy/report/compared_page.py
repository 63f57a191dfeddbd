"""The contents of a comparison's page: the differences of two recordings, side by side.

The values are those that `diff` prints. Equal messages are only counted. A long text is cut to its
changed words, with a few words around them. Only the first differences are shown, and the page says
how many more there are.
"""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from attrs import define, evolve, frozen

from acp_proxy.base.limits import PARTS, SHORT_LIST, SHOWN_VALUE
from acp_proxy.base.text_diff import excerpts, readable_diff
from acp_proxy.diff.diff_result import (
    Change,
    Counts,
    Diff,
    DiffEntry,
    DiffSequence,
    Field,
    MethodLatency,
    Side,
    differences,
    verdict,
)
from acp_proxy.recording.recording import clock
from acp_proxy.report.facts import Shortened
from acp_proxy.store.queries.exchanges import latencies_of_answers
from acp_proxy.store.queries.frames import frame_times
from acp_proxy.store.reader import RecordingReader

MOST = 2000
"""How many differing messages are shown."""
_MOST_CHARACTERS = 5_000_000
"""About how many characters the shown messages may have in all; later messages are left out."""
_BESIDE_PLACES = 100
"""The length of a message's preview if the differing places of the message are shown below it."""
WORDS = {
    Change.CHANGED: ("~", "changed"),
    Change.ONLY_A: ("−", "only in A"),
    Change.ONLY_B: ("+", "only in B"),
    Change.MOVED: (">", "moved"),
}
"""The sign and the meaning of each kind of change."""


@frozen
class ShownText:
    """A part of a value."""

    text: str
    differs: bool


@frozen
class ShownPlace:
    """A place where two messages differ, with the value of each side."""

    pointer: str
    a: list[list[ShownText]] | None
    """Excerpts of the value; None if this side has no value at this place."""
    b: list[list[ShownText]] | None
    more: int = 0
    """The number of excerpts left out."""
    number: int = 0
    """The number of the difference if this place is one by itself, as in the handshake."""


@frozen
class ShownFrame:
    """A message of one side."""

    seq: int
    frames: int
    t_ns: int | None = None
    took_ns: int | None = None
    """How long the answer took, if the message is an answer."""


@frozen
class ShownChange:
    """A message that differs."""

    number: int
    """The number of the difference, from 1."""
    change: Change
    sign: str
    word: str
    title: str
    preview: str
    a: ShownFrame | None
    b: ShownFrame | None
    places: Shortened[ShownPlace]


_Steps = list[int | ShownChange]


@frozen
class ShownLane:
    """One direction of a session."""

    lane: str
    direction: str
    ids: list[str]
    """The session's ids in A and in B."""
    apart: str
    """The kind of the lane's messages, if their order among other messages does not matter."""
    equal: int
    """The number of equal messages."""
    summary: str
    """The number of differing messages, in words; empty if there are none."""
    first: int | None
    """The number of the first shown difference."""
    steps: _Steps
    """The differences, and between them the numbers of equal messages."""
    is_cut: bool
    """Whether some differing messages are not shown."""


@frozen
class ComparisonFacts:
    """The contents of the page."""

    a: Side
    b: Side
    names: tuple[str, str]
    """The names of the recordings, or their paths if the names are the same."""
    counts: Counts
    is_equal: bool
    verdict: str
    lanes: list[ShownLane]
    handshake: Shortened[ShownPlace]
    ending: list[ShownPlace]
    latency: Shortened[MethodLatency]
    more: int
    """The number of differing messages that are left out."""
    filter: str
    masked: str
    """The masked values of the page, in words."""
    is_unmasked: bool
    step_ns: int
    """The precision of both recordings' times; see `duration`."""


def read_comparison(
    diff: Diff,
    readers: tuple[RecordingReader, RecordingReader],
    *,
    words: str = "",
    masked: str = "",
    is_unmasked: bool = False,
    most: int = MOST,
) -> ComparisonFacts:
    """Reads the differences that the page shows.

    Args:
        diff: the comparison.
        readers: A and B, still open.
        words: the filter of the comparison; empty if there is none.
        masked: the masked values, in words.
        is_unmasked: whether secrets may be shown.
        most: how many differing messages are shown.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    counts = diff.counts
    handshake = _numbered(diff.handshake, 1)
    lanes = _LaneReader(diff, counts.handshake + 1, most)
    shown = lanes.read(readers)
    ending = _numbered(diff.ending, counts.total - counts.ending + 1)
    a, b, latency = diff.a, diff.b, diff.latency[:PARTS]
    return ComparisonFacts(
        a=_with_clock(a, has_zone=diff.has_zones[0]),
        b=_with_clock(b, has_zone=diff.has_zones[1]),
        names=_names(a, b),
        counts=counts,
        is_equal=diff.is_equal,
        verdict=verdict(diff),
        lanes=shown,
        handshake=handshake,
        ending=ending.items,
        latency=Shortened([*latency], len(diff.latency) - len(latency)),
        more=counts.total - counts.handshake - counts.ending - lanes.taken,
        filter=words,
        masked=masked,
        is_unmasked=is_unmasked,
        step_ns=max(diff.steps_ns),
    )


def _with_clock(side: Side, *, has_zone: bool) -> Side:
    """Returns a side; its start time has no time zone if the log of the side names none."""
    if has_zone or side.started_at is None:
        return side
    return evolve(side, started_at=clock(side.started_at, has_zone=False).isoformat())


def _names(a: Side, b: Side) -> tuple[str, str]:
    """Returns the shortest names that differ, if any differ, since whole paths may be private."""
    pairs = (a.name, b.name), (PurePath(a.path).name, PurePath(b.path).name), (a.path, b.path)
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])


@define
class _LaneReader:
    diff: Diff
    _next: int
    """The number of the next difference."""
    _most: int
    taken: int = 0
    """The number of differing messages read so far."""
    _room: int = _MOST_CHARACTERS

    def read(self, readers: tuple[RecordingReader, RecordingReader]) -> list[ShownLane]:
        """Reads the lanes up to the last shown difference."""
        lanes: list[ShownLane] = []
        for sequence in self.diff.sequences():
            steps, is_cut = self._steps(sequence)
            if steps or is_cut:
                lanes.append(self._lane(sequence, steps, is_cut=is_cut))
            if is_cut:
                break
        changes = [step for lane in lanes for step in lane.steps if isinstance(step, ShownChange)]
        of_a = _timed(readers[0], [step.a for step in changes])
        of_b = _timed(readers[1], [step.b for step in changes])
        sides = zip(changes, of_a, of_b, strict=True)
        timed = {step.number: evolve(step, a=a, b=b) for step, a, b in sides}
        return [
            evolve(lane, steps=[s if isinstance(s, int) else timed[s.number] for s in lane.steps])
            for lane in lanes
        ]

    def _steps(self, sequence: DiffSequence) -> tuple[_Steps, bool]:
        """Reads the steps of a sequence while there is room for differences."""
        steps: _Steps = []
        for step in sequence.steps:
            if isinstance(step, int):
                steps.append(step)
                continue
            if self.taken == self._most or self._room < 0:
                return steps, True
            change = _change(step, self._next)
            self._room -= _characters(change)
            self.taken += 1
            self._next += 1
            steps.append(change)
        return steps, False

    def _lane(self, sequence: DiffSequence, steps: _Steps, *, is_cut: bool) -> ShownLane:
        changes = [step for step in steps if isinstance(step, ShownChange)]
        kinds = Counter(entry.change for entry in changes)
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
            equal=sum(step for step in steps if isinstance(step, int)),
            summary=differences(counts) if changes else "",
            first=changes[0].number if changes else None,
            steps=steps,
            is_cut=is_cut,
        )


def _timed(reader: RecordingReader, frames: Sequence[ShownFrame | None]) -> list[ShownFrame | None]:
    """Returns the frames of one side with their times, and the durations of answers."""
    seqs = [frame.seq for frame in frames if frame is not None]
    times, latencies = frame_times(reader, seqs), latencies_of_answers(reader, seqs)
    known = reader.recording.known_ns
    return [
        row and evolve(row, t_ns=known(times.get(row.seq)), took_ns=latencies.get(row.seq))
        for row in frames
    ]


def _change(entry: DiffEntry, number: int) -> ShownChange:
    sign, word = WORDS[entry.change]
    last = entry.title.rpartition(" ")[2]
    most = _BESIDE_PLACES if entry.fields else SHOWN_VALUE
    preview = (entry.preview or "").removeprefix(f"{last}: ")
    return ShownChange(
        number=number,
        change=entry.change,
        sign=sign,
        word=word,
        title=entry.title,
        preview=preview if len(preview) <= most else f"{preview[:most]}…",
        a=None if entry.a is None else ShownFrame(entry.a, entry.a_frames),
        b=None if entry.b is None else ShownFrame(entry.b, entry.b_frames),
        places=_places(entry.fields),
    )


def _characters(change: ShownChange) -> int:
    """Returns about how many characters a difference adds to the page."""
    sides = [side for place in change.places.items for side in (place.a, place.b) if side]
    texts = [piece.text for side in sides for excerpt in side for piece in excerpt]
    return len(change.preview) + sum(map(len, texts)) + 100 * len(texts)


def _numbered(fields: Sequence[Field], first: int) -> Shortened[ShownPlace]:
    pick = _places(fields)
    places = [evolve(place, number=n) for n, place in enumerate(pick.items, first)]
    return Shortened(places, pick.more)


def _places(fields: Sequence[Field]) -> Shortened[ShownPlace]:
    shown = [_place(field) for field in fields[:PARTS]]
    return Shortened(shown, len(fields) - len(shown))


def _place(field: Field) -> ShownPlace:
    """Shows both values of a place; of long texts, only the changed words."""
    pieces = readable_diff(field.a, field.b, SHOWN_VALUE)
    if not pieces:
        a, b = ([[ShownText(_json(value), differs=True)]] for value in (field.a, field.b))
        only = field.only
        return ShownPlace(field.pointer, None if only == "b" else a, None if only == "a" else b)
    parts = list(excerpts(pieces))
    shown = parts[:SHORT_LIST]
    a, b = (
        [[ShownText(_cut(text), op != "=") for op, text in excerpt if op in side]
         for excerpt in shown]
        for side in ("=-", "=+")
    )  # fmt: skip
    return ShownPlace(field.pointer, a, b, more=len(parts) - len(shown))


def _json(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    more = len(text) - SHOWN_VALUE
    return f"{text[:SHOWN_VALUE]}… ({more:,} more characters)" if more > 0 else text
