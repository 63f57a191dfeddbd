"""Compares two recordings: what is different, when ids, paths, times and chunking always are.

Both are read once, into lanes of numbers; sessions and values are paired by where they stood;
lanes are aligned; and only what is different is read again, one by one, to say where. So memory is
what the numbers take, and what the largest difference takes.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from attrs import define, field

from acp_proxy.difference.changes import Changes, changes
from acp_proxy.difference.defaults import NAMED, RULES
from acp_proxy.difference.fields import fields
from acp_proxy.difference.items import Columns, Group
from acp_proxy.difference.lanes import MessageSequence, SequenceKey, SideIndex
from acp_proxy.difference.latency import latency
from acp_proxy.difference.names import StableNames, titles
from acp_proxy.difference.options import DiffOptions
from acp_proxy.difference.pairing import pair
from acp_proxy.difference.payloads import Payloads
from acp_proxy.difference.pieces import TEXTS
from acp_proxy.difference.pushes import PLACE
from acp_proxy.difference.reading import UNWATCHED, Watch, read
from acp_proxy.difference.reduction import fill_in, handshake
from acp_proxy.difference.result import Change, Counts, Diff, DiffEntry, Expect, Field, Side
from acp_proxy.difference.rules import PlaceRule
from acp_proxy.difference.strays import SequenceDiff, changed, forgive
from acp_proxy.protocol.json_pointers import pointer
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.peers import Direction
from acp_proxy.recording import Recording
from acp_proxy.store.reader import RecordingReader

_ALIASES = 100
"""Names of each kind whose values are told."""
_HANDSHAKE = ("request", "response")
_TEXTS = tuple(map(pointer, (*TEXTS, PLACE)))
_TOO_DEEP = Field("", "(nested too deeply)", "(nested too deeply)")
_CAPABILITIES = ("protocolVersion", "agentCapabilities", "capabilities", "authMethods")
"""What counts of the answer to ``initialize`` where only the outcome does."""


def diff(
    a: RecordingReader,
    b: RecordingReader,
    options: DiffOptions | None = None,
    watch: Watch = UNWATCHED,
) -> Diff:
    """Compares two recordings, which have to stay open as long as entries are asked for.

    Raises:
        UnreadableRecording: one is damaged.
    """
    options = options or DiffOptions()
    rules = rules_of(options)
    told_a = read(a, options, rules, watch)
    told_b = read(b, options, rules, watch, told_a)
    if told_b.names_directories and not told_a.names_directories:
        told_a = read(a, options, rules, watch, told_b)
    names = pair(told_a, told_b)
    comparison = _Comparison(
        options,
        Payloads(a, told_a, names.a, options),
        Payloads(b, told_b, names.b, options),
        names,
    )
    lanes = comparison.lanes()
    handshake = tuple(comparison.handshake())
    ending = tuple(_ending(a.recording, b.recording)) if options.ending else ()
    counts = Counts(
        handshake=len(handshake),
        only_a=sum(len(lane.changes.only_a) for lane in lanes),
        only_b=sum(len(lane.changes.only_b) for lane in lanes),
        changed=sum(len(lane.changes.changed) + len(lane.changes.beside) for lane in lanes),
        moved=sum(len(lane.changes.moved) for lane in lanes),
        ending=len(ending),
    )
    return Diff(
        a=_side(a, told_a.frames),
        b=_side(b, told_b.frames),
        expect=options.expect,
        counts=counts,
        handshake=handshake,
        ending=ending,
        latency=latency(a, b, options.pauses),
        aliases=_aliases(told_a, told_b, names),
        entries_of=lambda: comparison.entries(lanes),
    )


def rules_of(options: DiffOptions) -> tuple[PlaceRule, ...]:
    """The rules of a comparison: those of the user first, then the documented ones."""
    ignored = [PlaceRule(pointer) for pointer in options.ignored]
    aliases = [PlaceRule(pointer, NAMED) for pointer in options.aliases]
    return (*ignored, *aliases, *RULES)


@define
class _Comparison:
    """Two sides, once it is known which values are the same."""

    options: DiffOptions
    a: Payloads
    b: Payloads
    names: StableNames
    _columns_a: Columns = field(init=False)
    _columns_b: Columns = field(init=False)

    def __attrs_post_init__(self) -> None:
        values_a, values_b = (side.told.former.values.every for side in (self.a, self.b))
        names_b = [self.names.pairs.get(index, ~index) for index in range(len(values_b))]
        self._columns_a = Columns(self.a.told, range(len(values_a)))
        self._columns_b = Columns(self.b.told, names_b)

    def lanes(self) -> list[SequenceDiff]:
        """Compares lane by lane."""
        lanes, of_a, of_b = [*self._lanes()], self._columns_a, self._columns_b
        forgive(lanes, self.a.told, self.b.told, of_a.answer, of_b.answer)
        return lanes + changed(lanes, self.a.told, self.b.told, of_a.request, of_b.request)

    def _lanes(self) -> Iterator[SequenceDiff]:
        """Those of A first, and then those that only B has."""
        of_b = dict(self.b.told.lanes)
        counted = self.options.only
        for key, lane in self.a.told.lanes.items():
            if counted not in (None, key.direction):
                continue
            nobody = key.session not in self.names.sessions
            b_key = key._replace(session=self.names.sessions.get(key.session))
            other = None if nobody else of_b.pop(b_key, None)
            yield self._compared(key, b_key, lane, other or MessageSequence())
        for b_key, other in of_b.items():
            if counted in (None, b_key.direction):
                yield self._compared(
                    SequenceKey(None, b_key.direction), b_key, MessageSequence(), other
                )

    def _compared(
        self, a_key: SequenceKey, b_key: SequenceKey, a: MessageSequence, b: MessageSequence
    ) -> SequenceDiff:
        lane = SequenceDiff(a_key, b_key, a, b, Changes())
        lane.changes = changes(
            self._columns_a.items(a),
            self._columns_b.items(b),
            lambda i, j: self._distance(lane, i, j),
            lambda is_a, item: self._text(lane, is_a, item),
        )
        return lane

    def entries(self, lanes: list[SequenceDiff]) -> Iterator[DiffEntry]:
        """Yields what is different, lane by lane, in the order of A's frames where it has them."""
        titles_a = titles(self.a.told, (lane.a_key.session for lane in lanes), self.names.a)
        titles_b = titles(self.b.told, (lane.b_key.session for lane in lanes), self.names.b)
        for lane in lanes:
            is_of_b = not len(lane.a)
            title = titles_b[lane.b_key.session] if is_of_b else titles_a[lane.a_key.session]
            yield from self._entries_of(lane, title)

    def _entries_of(self, lane: SequenceDiff, title: str) -> Iterator[DiffEntry]:
        found = lane.changes
        beside = set(found.beside)
        places: list[tuple[int, int, Change, Group, Group]] = [
            *((i, -1, Change.ONLY_A, (i,), ()) for i in found.only_a),
            *((i[0], -1, Change.CHANGED, i, j) for i, j in (*found.changed, *found.beside)),
            *((i, -1, Change.MOVED, (i,), (j,)) for i, j in found.moved),
            *((after, j, Change.ONLY_B, (), (j,)) for after, j in found.only_b),
        ]
        for _, _, change, i, j in sorted(places, key=lambda place: place[:2]):
            fields = self._fields(lane, i, j) if change is Change.CHANGED else ()
            if (i, j) in beside:
                fields = tuple(one for one in fields if one.pointer not in _TEXTS)
            yield self._entry(lane, title, change, i, j, fields)

    def _entry(
        self,
        lane: SequenceDiff,
        title: str,
        change: Change,
        i: Group,
        j: Group,
        fields: tuple[Field, ...],
    ) -> DiffEntry:
        of_a, of_b = lane.a.numbers(*i), lane.b.numbers(*j)
        if i:
            what, said = self.a.told.whats[lane.a.whats[i[0]]], self.a.preview(lane.a, i)
        else:
            what, said = self.b.told.whats[lane.b.whats[j[0]]], self.b.preview(lane.b, j)
        return DiffEntry(
            change=change,
            lane=title,
            direction=lane.a_key.direction,
            title=what.title,
            a=of_a[0] if of_a else None,
            b=of_b[0] if of_b else None,
            a_frames=len(of_a),
            b_frames=len(of_b),
            fields=fields,
            preview=said,
        )

    def _fields(self, lane: SequenceDiff, i: Group, j: Group) -> tuple[Field, ...]:
        """Where items differ; exactly, in the spelling alone, if it is nowhere else."""
        try:
            a = self.a.message(lane.a, i, lane.a_key.session)
            b = self.b.message(lane.b, j, lane.b_key.session)
            found = tuple(fields(a, b))
        except RecursionError:
            return (_TOO_DEEP,)
        if not found and self.options.exact:
            return (Field("", "(as A spells it)", "(as B spells it)"),)
        return found

    def _text(self, lane: SequenceDiff, is_a: bool, item: int) -> str | None:
        with suppress(RecursionError):
            if is_a:
                return self.a.text(lane.a, (item,), lane.a_key.session)
            return self.b.text(lane.b, (item,), lane.b_key.session)
        return None

    def _distance(self, lane: SequenceDiff, i: Group, j: Group) -> int:
        """How far items are from each other: a value that only one has counts twice."""
        return sum(2 if one.only else 1 for one in self._fields(lane, i, j))

    def handshake(self) -> Iterator[Field]:
        """Where ``initialize`` differs, and its answer."""
        for part in _HANDSHAKE:
            is_clients = part == "request"
            direction = Direction.TO_AGENT if is_clients else Direction.TO_CLIENT
            if self.options.only not in (None, direction.value):
                continue
            if is_clients and self.options.expect is Expect.OUTCOME:
                continue
            try:
                yield from self._handshake_of(part)
            except RecursionError:
                yield _TOO_DEEP

    def _handshake_of(self, part: str) -> Iterator[Field]:
        in_a, in_b = part in self.a.told.handshake, part in self.b.told.handshake
        a, b = self._initialize(self.a, part), self._initialize(self.b, part)
        if in_a != in_b:
            yield Field("", a, b, "a" if in_a else "b")
        elif in_a:
            if not self.options.exact:
                fill_in(a, b)
                fill_in(b, a)
            yield from fields(a, b)

    def _initialize(self, side: Payloads, part: str) -> object:
        seq = side.told.handshake.get(part)
        if seq is None:
            return None
        raw = b"".join(side.reader.pieces(seq))
        message = json_or_text(raw) if self.options.exact else handshake(json_or_text(raw))
        result = message.get("result") if isinstance(message, dict) else None
        if self.options.expect is Expect.OUTCOME and isinstance(message, dict):
            message = {"error": True} if "error" in message else {"result": result}
            if isinstance(result, dict):
                message["result"] = {k: result[k] for k in _CAPABILITIES if k in result}
        if self.options.exact:
            return message
        if isinstance(message, dict):
            message.pop("id", None)
        return side.named(message, None)


def _ending(a: Recording, b: Recording) -> Iterator[Field]:
    """How the agent ended, where both recordings say it."""
    if all(_says_how_it_ended(one) for one in (a, b)):
        for name in ("exit_code", "exit_signal"):
            if getattr(a, name) != getattr(b, name):
                yield Field(f"/{name}", getattr(a, name), getattr(b, name))


def _says_how_it_ended(recording: Recording) -> bool:
    """Whether exit code or signal are known; a file written by hand may leave them out."""
    is_known = recording.exit_code is not None or recording.exit_signal is not None
    return recording.state == "complete" and is_known


def _side(reader: RecordingReader, frames: int) -> Side:
    recording = reader.recording
    return Side(
        path=str(reader.path),
        name=recording.name,
        id=recording.id,
        started_at=recording.started_at,
        state=recording.state,
        frames=frames,
        agent=_peer(recording.agent_name, recording.agent_version),
        client=_peer(recording.client_name, recording.client_version),
    )


def _peer(name: str | None, version: str | None) -> str:
    return " ".join(part for part in (name, version) if part)


def _aliases(
    a: SideIndex, b: SideIndex, names: StableNames
) -> dict[str, tuple[str | None, str | None]]:
    """What names stand for, of each kind the first ones."""
    of_a = {name: a.former.values.every[index].text for index, name in names.a.items()}
    of_b = {name: b.former.values.every[index].text for index, name in names.b.items()}
    count: Counter[str] = Counter()
    told: dict[str, tuple[str | None, str | None]] = {}
    for name in {**of_a, **of_b}:
        kind = name.partition(":")[0]
        count[kind] += 1
        if count[kind] <= _ALIASES:
            told[name] = (of_a.get(name), of_b.get(name))
    return told
