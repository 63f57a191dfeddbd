"""Compares two recordings of one scenario, although ids, paths, times and chunks always differ.

The steps are modules: `sequence_reading` turns each recording into `sequences` of messages; the
`canonicalizer` splits messages into templates and values; `pairing` finds corresponding sessions
and values; `changes` aligns the sequences; `explanation` reads the differing messages again. Memory
contains only numbers and the current difference.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import cast

from attrs import define, field

from acp_proxy.base.limits import LISTED
from acp_proxy.diff.changes import SequenceDiff, changed_responses, changes, remove_equal_responses
from acp_proxy.diff.compared_items import CommonIndex, ComparedItems, ComparedSide
from acp_proxy.diff.connection_diff import ending_fields, handshake_fields, latencies
from acp_proxy.diff.default_rules import NAMED, RULES
from acp_proxy.diff.diff_result import (
    Change,
    Counts,
    Diff,
    DiffEntry,
    DiffOptions,
    DiffSequence,
    Field,
    Side,
)
from acp_proxy.diff.explanation import Messages, SequenceMessages, SideSequence, is_hidden
from acp_proxy.diff.frame_types import PLACES
from acp_proxy.diff.named_values import ValueIndex
from acp_proxy.diff.pairing import Pairing, pair, titles
from acp_proxy.diff.place_rules import PlaceRule
from acp_proxy.diff.sequence_reading import UNWATCHED, Watch, read
from acp_proxy.diff.sequences import ItemGroup, MessageSequence, SequenceKey, SideIndex
from acp_proxy.protocol.json_text import pointer
from acp_proxy.redaction.markers import HIDDEN
from acp_proxy.store.reader import RecordingReader

_TEXTS = tuple(map(pointer, PLACES))


def diff(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions | None = None,
    watch: Watch = UNWATCHED,
) -> Diff:
    """Compares two recordings. Both recordings must stay open while the result is read.

    Args:
        a: one recording, A.
        b: the other recording, B.
        options: what is compared.
        watch: shows the progress.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    options = options or DiffOptions()
    rules = rules_of(options)
    side_a = read(a, options, rules, watch)
    side_b = read(b, options, rules, watch, side_a)
    if side_b.names_directories and not side_a.names_directories:
        side_a = read(a, options, rules, watch, side_b)
    pairing = pair(side_a, side_b)
    messages_a = Messages(a, side_a, pairing.names_a, options)
    messages_b = Messages(b, side_b, pairing.names_b, options)
    comparison = _Comparison(options, messages_a, messages_b, pairing)
    sequences = comparison.sequences()
    handshake = tuple(handshake_fields(messages_a, messages_b, options))
    ending = tuple(ending_fields(a.recording, b.recording)) if options.ending else ()
    counts = Counts(
        handshake=len(handshake),
        only_a=sum(len(part.changes.only_a) for part in sequences),
        only_b=sum(len(part.changes.only_b) for part in sequences),
        changed=sum(len(part.changes.changed) + len(part.changes.beside) for part in sequences),
        moved=sum(len(part.changes.moved) for part in sequences),
        ending=len(ending),
    )
    return Diff(
        a=_side(a, side_a.frames),
        b=_side(b, side_b.frames),
        expect=options.expect,
        counts=counts,
        handshake=handshake,
        ending=ending,
        latency=latencies(a, b, options),
        aliases=_aliases(side_a, side_b, pairing),
        sequences=lambda: comparison.steps(sequences),
        steps_ns=(a.recording.step_ns, b.recording.step_ns),
        has_zones=(a.recording.has_zone, b.recording.has_zone),
    )


def rules_of(options: DiffOptions) -> tuple[PlaceRule, ...]:
    """Returns the rules of a comparison: the user's rules, and then the documented rules."""
    ignored = [PlaceRule(pointer) for pointer in options.ignored]
    aliases = [PlaceRule(pointer, NAMED) for pointer in options.aliases]
    return (*ignored, *aliases, *RULES)


@define
class _Comparison:
    """Two recordings with paired sessions and values."""

    options: DiffOptions
    a: Messages
    b: Messages
    pairing: Pairing
    _compared_a: ComparedSide = field(init=False)
    _compared_b: ComparedSide = field(init=False)

    def __attrs_post_init__(self) -> None:
        size_a, size_b = (
            len(messages.side.canonicalizer.values.every) for messages in (self.a, self.b)
        )
        known = self.pairing.value_of_a
        common_b = [known.get(ValueIndex(index), ~index) for index in range(size_b)]
        self._compared_a = ComparedSide(self.a.side, cast("Sequence[CommonIndex]", range(size_a)))
        self._compared_b = ComparedSide(self.b.side, cast("list[CommonIndex]", common_b))

    def sequences(self) -> list[SequenceDiff]:
        """Compares the sequences of A and B; returns all of them with their differences."""
        diffs = [*self._sequences()]
        remove_equal_responses(diffs, self._compared_a, self._compared_b)
        return diffs + changed_responses(diffs, self._compared_a, self._compared_b)

    def _sequences(self) -> Iterator[SequenceDiff]:
        """Yields the sequences of A, and then the sequences that only B has."""
        rest_b = dict(self.b.side.sequences)
        counted = self.options.only
        for key, sequence in self.a.side.sequences.items():
            if counted not in (None, key.direction):
                continue
            b_key = key._replace(session=self.pairing.session_of_b.get(key.session))
            is_paired = key.session in self.pairing.session_of_b
            other = rest_b.pop(b_key, None) if is_paired else None
            yield self._compared(key, b_key, sequence, other or MessageSequence())
        for b_key, other in rest_b.items():
            if counted in (None, b_key.direction):
                a_key = SequenceKey(None, b_key.direction)
                yield self._compared(a_key, b_key, MessageSequence(), other)

    def _compared(
        self, a_key: SequenceKey, b_key: SequenceKey, a: MessageSequence, b: MessageSequence
    ) -> SequenceDiff:
        of_a, of_b = SideSequence(self.a, a, a_key), SideSequence(self.b, b, b_key)
        messages = SequenceMessages(of_a, of_b, self.options.exact)
        changed = changes(
            ComparedItems(self._compared_a, a), ComparedItems(self._compared_b, b), messages
        )
        return SequenceDiff(messages, changed)

    def steps(self, sequences: list[SequenceDiff]) -> Iterator[DiffSequence]:
        """Yields the sequences with their differences: those of A, then those that only B has."""
        sessions_a = (part.messages.a.key.session for part in sequences)
        sessions_b = (part.messages.b.key.session for part in sequences)
        titles_a = titles(self.a.side, sessions_a, self.pairing.names_a)
        titles_b = titles(self.b.side, sessions_b, self.pairing.names_b)
        for part in sequences:
            a, b = part.messages.a, part.messages.b
            key, titles_of = (a.key, titles_a) if len(a.sequence) else (b.key, titles_b)
            title = titles_of[key.session]
            yield DiffSequence(title, key.direction, key.apart, _steps(part, title))


def _steps(sequence: SequenceDiff, title: str) -> Iterator[Iterator[int] | DiffEntry]:
    """Yields the entries of a sequence, and between entries an iterator over equal items.

    The iterator yields, for each equal item, the number of its first frame in A.
    """
    changed = sequence.changes
    beside = set(changed.beside)
    places: list[tuple[int, int, Change, ItemGroup, ItemGroup]] = [
        *((i, -1, Change.ONLY_A, (i,), ()) for i in changed.only_a),
        *((i[0], -1, Change.CHANGED, i, j) for i, j in (*changed.changed, *changed.beside)),
        *((i, -1, Change.MOVED, (i,), (j,)) for i, j in changed.moved),
        *((after, j, Change.ONLY_B, (), (j,)) for after, j in changed.only_b),
    ]
    different = {i for _, _, _, of_a, _ in places for i in of_a}
    items = sequence.messages.a.sequence

    def equal(start: int, end: int) -> Iterator[int]:
        return (items.first_frames[i] for i in range(start, end) if i not in different)

    position = 0
    for place, _, change, i, j in sorted(places, key=lambda place: place[:2]):
        before = place if i else place + 1
        yield equal(position, before)
        position = max(position, before)
        fields = sequence.messages.fields(i, j) if change is Change.CHANGED else ()
        if (i, j) in beside:
            fields = tuple(place for place in fields if place.pointer not in _TEXTS)
        yield _entry(sequence, title, change, (i, j), fields)
    yield equal(position, len(items))


def _entry(
    sequence: SequenceDiff,
    title: str,
    change: Change,
    items: tuple[ItemGroup, ItemGroup],
    fields: tuple[Field, ...],
) -> DiffEntry:
    of_a, of_b = items
    a, b = sequence.messages.a, sequence.messages.b
    frames_a, frames_b = a.sequence.frames(of_a), b.sequence.frames(of_b)
    previews = [
        HIDDEN
        if side.messages.hides_secrets and any(map(is_hidden, values))
        else side.messages.preview(side.sequence, items_of)
        for side, items_of, values in (
            (a, of_a, [place.a for place in fields]), (b, of_b, [place.b for place in fields])
        )
        if items_of
    ]  # fmt: skip
    return DiffEntry(
        change=change,
        lane=title,
        direction=a.key.direction,
        title=a.title(of_a[0]) if of_a else b.title(of_b[0]),
        a=frames_a[0] if frames_a else None,
        b=frames_b[0] if frames_b else None,
        a_frames=len(frames_a),
        b_frames=len(frames_b),
        fields=fields,
        preview=previews[0],
        b_preview=previews[1] if change is Change.CHANGED else None,
        a_last=frames_a[-1] if frames_a else None,
        b_last=frames_b[-1] if frames_b else None,
    )


def _side(reader: RecordingReader, frames: int) -> Side:
    recording = reader.recording
    return Side(
        path=str(reader.path),
        name=recording.name,
        id=recording.id,
        started_at=recording.known_start,
        state=recording.state,
        frames=frames,
        agent=recording.agent_title,
        client=recording.client_title,
    )


def _aliases(
    a: SideIndex, b: SideIndex, pairing: Pairing
) -> dict[str, tuple[str | None, str | None]]:
    """Returns the first stable names of each kind, each with its value in A and its value in B."""
    every_a, every_b = a.canonicalizer.values.every, b.canonicalizer.values.every
    of_a = {name: every_a[index].text for index, name in pairing.names_a.items()}
    of_b = {name: every_b[index].text for index, name in pairing.names_b.items()}
    count: Counter[str] = Counter()
    pairs: dict[str, tuple[str | None, str | None]] = {}
    for name in {**of_a, **of_b}:
        kind = name.partition(":")[0]
        count[kind] += 1
        if count[kind] <= LISTED:
            pairs[name] = (of_a.get(name), of_b.get(name))
    return pairs
