"""Counts what recordings exercise of their dialect, and lists what they do not.

Each recording is read once; what is kept are counts by item, so that memory is flat. Items that the
specification does not have are counted as well, up to a number of different names.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from attrs import define, field, frozen

from acp_proxy.conformance.checked_message import checked
from acp_proxy.conformance.coverage_items import (
    AGENT_CONTENT,
    AGENT_METHODS,
    CAPABILITIES,
    CLIENT_METHODS,
    ERRORS,
    SECTIONS,
    UPDATES,
    Items,
    Section,
    Standing,
    items_of,
    standing_of,
)
from acp_proxy.conformance.exercised import USES, Options, exercised, options_in
from acp_proxy.conformance.remembered import Remembered
from acp_proxy.inspection.describe.errors import code_name
from acp_proxy.inspection.message_pass import MessagePass, Watch, messages_of
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import CHUNKS, UPDATE
from acp_proxy.recording import FrameRun, Recording
from acp_proxy.safe_text import plain
from acp_proxy.store.reader import RecordingReader

_MOST_NAMES = 200
"""Names of a section that the specification does not have, and that are kept one by one."""
_LONGEST_NAME = 100
_DIRECTIONS = {direction.value: direction for direction in Direction}
_METHODS = {Direction.TO_AGENT: CLIENT_METHODS, Direction.TO_CLIENT: AGENT_METHODS}
_UNANSWERED = "unanswered"
OUTCOMES = ("result", "error", "cancelled")
"""How a request may be answered."""


@frozen
class FirstPlace:
    """Where an item was seen first."""

    recording: str
    """The id of the recording."""
    name: str
    """Its name."""
    seq: int


@frozen
class CoverageItem:
    """One item, and how often it was seen."""

    name: str
    standing: Standing
    count: int
    """In how many messages, or how often within them."""
    recordings: int
    """In how many recordings."""
    first: FirstPlace | None
    answers: dict[str, int] | None
    """Of a request that was seen: how many got a result, an error, were cancelled, or have no
    answer."""
    used: int | None
    """Of a capability: how often messages made use of it; None if that cannot be seen."""
    text: str | None
    """What an error code means."""


@frozen
class CoverageSection:
    """Items of one sort."""

    name: str
    by: str
    defined: int
    """How many stable items the dialect has."""
    seen: int
    """How many of them were seen."""
    items: list[CoverageItem]
    """All that the dialect has, seen or not, and then others that were seen."""
    left_out: int
    """How many messages have items that are not listed, since there are too many names."""

    @property
    def seen_items(self) -> list[CoverageItem]:
        """The items that were seen."""
        return [one for one in self.items if one.count]

    def gaps(self, standing: Standing = Standing.STABLE) -> list[str]:
        """Names the items that were not seen."""
        return [one.name for one in self.items if not one.count and one.standing is standing]


@frozen
class CoveredRecording:
    """A recording that was read."""

    recording: Recording
    path: str
    live: bool
    dialect_reason: str | None
    frames: int
    """How many were read, without stderr."""
    unread: list[int]
    """The first frames that are too large to be decoded, of which only the labels count."""


@frozen
class DialectCoverage:
    """What the recordings of one dialect exercise of it."""

    dialect: str | None
    recordings: list[CoveredRecording]
    defined: int
    """How many stable items the dialect has."""
    seen: int
    """How many of them were seen."""
    unstable: int
    """How many unstable items were seen."""
    sections: list[CoverageSection]


@frozen
class CoverageReport:
    """What recordings exercise, by their dialects."""

    dialects: list[DialectCoverage]


@define
class _Tally:
    """What is counted of one item."""

    first_seq: int
    count: int = 0
    requests: int = 0
    answers: Counter[str] = field(factory=Counter)


_Key = tuple[str, str]


@define
class _Tallies:
    """What is counted in one recording."""

    items: Mapping[str, Items]
    of: dict[_Key, _Tally] = field(factory=dict)
    others: Counter[str] = field(factory=Counter)
    """How many different names are kept that the specification does not have, by section."""
    left_out: Counter[str] = field(factory=Counter)

    def add(self, section: Section, name: str, seq: int) -> _Tally | None:
        """Counts an item; returns None if there are too many."""
        tally = self.of.get((section.name, name))
        if tally is None:
            tally = self._new(section.name, _kept(name), seq)
        if tally is not None:
            tally.count += 1
        return tally

    def _new(self, section: str, name: str, seq: int) -> _Tally | None:
        tally = self.of.get((section, name))  # a name that was cut
        if tally is not None:
            return tally
        if name not in self.items.get(section, ()):
            if self.others[section] >= _MOST_NAMES:
                self.left_out[section] += 1
                return None
            self.others[section] += 1
        self.of[section, name] = tally = _Tally(seq)
        return tally


def _kept(name: str) -> str:
    is_short = len(name) <= _LONGEST_NAME and name.isprintable()
    return name if is_short else plain(name)[:_LONGEST_NAME]


class Coverage:
    """Counts what recordings exercise, one after the other."""

    def __init__(self) -> None:
        self._read: dict[str | None, list[tuple[CoveredRecording, _Tallies]]] = {}

    def add(self, reader: RecordingReader, dialect: str | None = None, watch: Watch = iter) -> None:
        """Reads a recording; it counts only if all of it can be read.

        Args:
            reader: the recording.
            dialect: the dialect to read it in; None for that of the recording.
            watch: receives all frames and passes them on.

        Raises:
            UnreadableRecording: the file is damaged, or locked.
        """
        recording_pass = _RecordingPass(reader, dialect)
        recording_pass.read(watch)
        recording = reader.recording
        reason = "forced by --dialect" if dialect else recording.dialect_reason
        covered = CoveredRecording(
            recording,
            str(reader.path),
            reader.live,
            reason,
            recording_pass.frames,
            recording_pass.unread,
        )
        read = self._read.setdefault(recording_pass.dialect, [])
        read.append((covered, recording_pass.tallies))

    def report(self) -> CoverageReport:
        """Returns what was counted so far, by dialect."""
        return CoverageReport([_dialect(dialect, read) for dialect, read in self._read.items()])


class _RecordingPass:
    def __init__(self, reader: RecordingReader, dialect: str | None) -> None:
        self.dialect = dialect or reader.recording.dialect
        self.frames = 0
        self.unread: list[int] = []
        self._items = dict(items_of(self.dialect))
        self.tallies = _Tallies(self._items)
        self._messages = MessagePass(reader, dialect=self.dialect)
        self._offered = Remembered[int, Options]()

    def read(self, watch: Watch) -> None:
        for run, message, done in self._messages.read(-1, watch):
            if run.stream not in _DIRECTIONS:
                continue
            self.frames += 1
            if run.raw is None and len(self.unread) < _MOST_NAMES:
                self.unread.append(run.seq)
            for one, its_done in messages_of(message, done):
                self._take(run, one, its_done)

    def _take(self, run: FrameRun, message: Message, done: Transition) -> None:
        add, seq = self.tallies.add, run.seq
        direction = _DIRECTIONS[run.stream]
        if message.text is not None and message.method == UPDATE and message.update in CHUNKS:
            add(_METHODS[direction], UPDATE, seq)  # a piece of text, as most messages are
            add(UPDATES, message.update or "", seq)
            add(AGENT_CONTENT, "text", seq)
            return
        seen = checked(seq, run.t_ns, direction, message, done)
        offered: Options = ()
        if (answered := done.answered) is not None:
            self._answered(answered.method, answered.direction, answered.outcome)
            offered = self._offered.remove(answered.id) or ()
        elif done.opened is not None and message.method == PERMISSION:
            self._offered.add(done.opened.id, options_in(seen))
        for section, name in exercised(seen, offered, self._items):
            tally = add(section, name, seq)
            if tally is not None and section in _METHODS.values():
                tally.requests += message.kind is Kind.REQUEST

    def _answered(self, method: str | None, direction: str, outcome: str) -> None:
        section = _METHODS[Direction(direction)]
        tally = self.tallies.of.get((section.name, _kept(method or "")))
        if tally is not None:
            tally.answers[outcome] += 1


_Read = Sequence[tuple[CoveredRecording, _Tallies]]


def _dialect(dialect: str | None, read: _Read) -> DialectCoverage:
    sections = [_section(section, dialect, read) for section in SECTIONS]
    sections = [one for one in sections if one.items]
    return DialectCoverage(
        dialect,
        [covered for covered, _ in read],
        sum(one.defined for one in sections),
        sum(one.seen for one in sections),
        sum(
            one.standing is Standing.UNSTABLE for section in sections for one in section.seen_items
        ),
        sections,
    )


def _section(section: Section, dialect: str | None, read: _Read) -> CoverageSection:
    items = items_of(dialect)[section.name]
    names = dict.fromkeys(items)
    for _, tallies in read:
        names |= dict.fromkeys(name for of, name in tallies.of if of == section.name)
    every = [_item(section, name, dialect, read) for name in names]
    has_gaps = section.has_gaps and dialect is not None
    every = [
        one
        for one in every
        if one.count or (has_gaps and one.standing in (Standing.STABLE, Standing.UNSTABLE))
    ]
    defined = [one for one in every if has_gaps and items.get(one.name) is Standing.STABLE]
    return CoverageSection(
        section.name,
        section.by,
        len(defined),
        sum(bool(one.count) for one in defined),
        every,
        sum(tallies.left_out[section.name] for _, tallies in read),
    )


def _item(
    section: Section,
    name: str,
    dialect: str | None,
    read: _Read,
) -> CoverageItem:
    standing = standing_of(items_of(dialect)[section.name], name)
    found = [
        (covered, tally)
        for covered, tallies in read
        if (tally := tallies.of.get((section.name, name))) is not None
    ]
    first = None
    if found:
        covered, tally = found[0]
        first = FirstPlace(covered.recording.id, covered.recording.name, tally.first_seq)
    used = None
    if section in CAPABILITIES and (uses := USES.get(name)):
        used = sum(
            tally.count
            for _, tallies in read
            for by, what in uses
            if (tally := tallies.of.get((by.name, what))) is not None
        )
    return CoverageItem(
        name,
        standing,
        sum(tally.count for _, tally in found),
        len(found),
        first,
        _answers([tally for _, tally in found]),
        used,
        (code_name(int(name), dialect) or None) if section in ERRORS else None,
    )


def _answers(tallies: Sequence[_Tally]) -> dict[str, int] | None:
    requests = sum(tally.requests for tally in tallies)
    if not requests:
        return None
    answers = sum((tally.answers for tally in tallies), Counter[str]())
    open_requests = max(0, requests - answers.total())
    return {outcome: answers[outcome] for outcome in OUTCOMES} | {_UNANSWERED: open_requests}
