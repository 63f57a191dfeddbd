"""Prints a comparison as text: the recordings, the differences of each lane, and the latencies.

On a terminal, lines are cut to the terminal's width.
"""

import signal
from collections.abc import Iterator, Sequence

from acp_proxy.base.wording import counted, duration
from acp_proxy.cli.diff.diff_lines import MARKS, DiffLines
from acp_proxy.cli.diff.diff_reports import DiffReporter
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import STREAM_INKS, Ink, Piece, Screen, piece
from acp_proxy.cli.screens.table import Cell, Column, cell, table
from acp_proxy.diff.diff_result import (
    Change,
    Diff,
    DiffEntry,
    Field,
    MethodLatency,
    in_order_of_time,
    verdict,
)
from acp_proxy.explain.log.timeline import ARROWS
from acp_proxy.recording.recording import clock

_MANY = 25
"""If there are more differences than this, their number is printed above the list and below it."""
_NOTABLE_NS = 1_000_000
"""Latencies of this length or more are printed."""
_SLOWER, _MUCH_NS = 2, 50_000_000
"""An answer of B is slow if it took 2 times as long as the answer of A and at least 50 ms
longer."""
_SORTED = 1_000
"""The largest number of entries that are printed in the order of time. More entries are printed
lane by lane."""


class DiffScreen(DiffReporter):
    """Prints the entries of a comparison in the order of time. Prints many entries lane by lane.

    Args:
        screen: the screen.
        most: how many entries are printed; further entries are only counted. None for no limit.
    """

    def __init__(self, screen: Screen, most: int | None = None) -> None:
        self._page = Page(screen)
        self._lines = DiffLines(screen)
        self._aliases: dict[str, tuple[str | None, str | None]] = {}
        self._lane = ""
        self._waiting: list[DiffEntry] = []
        """The entries that are not printed yet."""
        self._most = most
        self._entries = 0

    def begin(self, diff: Diff) -> None:
        """Prints what stands above the first entry: recordings, legend and handshake."""
        self._lines = DiffLines(self._page.screen, max(diff.a.frames, diff.b.frames))
        self._aliases = diff.aliases
        self._page.lines(_sides(diff, self._page.screen))
        if diff.is_equal:
            return
        self._page.print()
        if diff.counts.total > _MANY:
            self._verdict(diff)
        self._page.wrap(piece(""), *_legend(diff))
        if diff.handshake:
            self._title(piece("handshake", bold=True))
            for place in diff.handshake:
                self._page.lines(self._lines.field(place))

    def entry(self, entry: DiffEntry) -> None:
        """Keeps an entry, to print it in the order of time. If too many are kept, prints them."""
        self._waiting.append(entry)
        if len(self._waiting) + self._entries > _SORTED:
            self._print_waiting()

    def _print_waiting(self) -> None:
        """Prints the entries that were kept, with a title wherever the lane changes."""
        for entry in in_order_of_time(self._waiting, lambda entry: entry):
            self._entries += 1
            if self._most is not None and self._entries > self._most:
                continue
            if entry.lane != self._lane:
                self._lane = entry.lane
                self._title(*self._lane_title(entry))
            self._page.lines(self._lines.entry(entry))
        self._waiting.clear()

    def end(self, diff: Diff) -> None:
        """Prints the entries that are still kept, and the ending, the latencies and the verdict."""
        self._print_waiting()
        if self._most is not None and self._entries > self._most:
            more = counted(self._entries - self._most, "more difference")
            self._title(piece(f"… and {more}", Ink.FAINT))
        if diff.ending:
            self._title(piece("ending", bold=True))
            for place in diff.ending:
                self._page.print(*_ending(place))
        notable = [x for x in diff.latency if max(x.a_max_ns or 0, x.b_max_ns or 0) >= _NOTABLE_NS]
        if notable:
            self._title(piece("answers", bold=True))
            self._page.lines(table(_latencies(notable, diff.steps_ns), self._page.screen))
            rest = len(diff.latency) - len(notable)
            if rest:
                self._page.print(
                    piece(f"… and {counted(rest, 'method')} that took less than 1 ms", Ink.FAINT)
                )
        self._page.print()
        self._verdict(diff)
        self._page.flush()

    def _verdict(self, diff: Diff) -> None:
        ink = Ink.TO_CLIENT if diff.is_equal else None
        self._page.wrap(piece(""), piece(verdict(diff), ink, bold=True))

    def _title(self, *pieces: Piece) -> None:
        self._page.print()
        self._page.print(*pieces)

    def _lane_title(self, entry: DiffEntry) -> Iterator[Piece]:
        yield piece(entry.lane, bold=True)
        ids = list(dict.fromkeys(filter(None, self._aliases.get(entry.lane, ()))))
        if ids:
            yield piece(f"  {' / '.join(ids)}", Ink.FAINT)


def _sides(diff: Diff, screen: Screen) -> Iterator[str]:
    a, b = sides = (diff.a, diff.b)
    names = [s.name for s in sides] if a.name != b.name else [s.path for s in sides]
    begun = [
        "imported" if recording.started_at is None
        else f"{clock(recording.started_at, has_zone=has_zone):%Y-%m-%d %H:%M}"
        for recording, has_zone in zip(sides, diff.has_zones, strict=True)
    ]  # fmt: skip
    states = ["" if s.state == "complete" else s.state for s in sides]
    lines = table(
        [
            Column("", [cell("A", Ink.TROUBLE), cell("B", Ink.TO_CLIENT)]),
            Column("name", [cell(name) for name in names], least=10),
            Column("when", [cell(text, Ink.FAINT) for text in begun], rank=4),
            Column("agent", [cell(s.agent) for s in sides], least=16),
            Column("client", [cell(s.client) for s in sides], least=12, rank=3),
            Column("frames", [cell(counted(s.frames, "frame")) for s in sides], right=True, rank=1),
            Column("state", [cell(state, Ink.STDERR) for state in states], rank=2),
        ],
        screen,
    )
    next(lines)  # the line of titles
    yield from lines


def _legend(diff: Diff) -> Iterator[Piece]:
    """Explains the marks and the frame numbers in the output."""
    counts = diff.counts
    fields = {place.only for place in (*diff.handshake, *diff.ending)}
    has = {
        Change.ONLY_A: counts.only_a or counts.changed or "a" in fields,
        Change.ONLY_B: counts.only_b or counts.changed or "b" in fields,
        Change.CHANGED: counts.changed or None in fields,
        Change.MOVED: counts.moved,
    }
    for change, (mark, ink, meaning) in MARKS.items():
        if has[change]:
            yield mark, ink, True
            yield f" {meaning}   ", Ink.FAINT, False
    if counts.total > counts.handshake + counts.ending:
        yield "→ to agent   ← to client   ", Ink.FAINT, False
    if counts.total > counts.handshake + counts.ending:
        yield "#1 #2 the frame in A and in B", Ink.FAINT, False


def _ending(field: Field) -> Iterator[Piece]:
    """Yields the words for one difference between the endings. A missing value is left out."""
    is_signal = field.pointer == "/exit_signal"
    a, b = map(_signal, (field.a, field.b)) if is_signal else (field.a, field.b)
    change = Change.ONLY_B if a is None else Change.ONLY_A if b is None else Change.CHANGED
    mark, ink, _ = MARKS[change]
    yield f"{mark} ", ink, True
    yield piece(f"{field.pointer.removeprefix('/').replace('_', ' ')}  ")
    if a is not None:
        yield piece(str(a), Ink.TROUBLE)
    if change is Change.CHANGED:
        yield piece(" → ", Ink.FAINT)
    if b is not None:
        yield piece(str(b), Ink.TO_CLIENT)


def _signal(number: int | None) -> object:
    try:
        return None if number is None else signal.Signals(number).name
    except ValueError:
        return number


def _latencies(latencies: Sequence[MethodLatency], steps_ns: tuple[int, int]) -> list[Column]:
    inks = [STREAM_INKS.get(row.direction) for row in latencies]
    arrows = [ARROWS.get(row.direction, "") for row in latencies]

    def took(name: str) -> list[Cell]:
        step_ns = steps_ns[name.startswith("b_")]
        return [cell(duration(getattr(row, name), step_ns)) for row in latencies]

    def count(name: str) -> list[Cell]:
        return [cell(f"{n:,}" if (n := getattr(row, name)) else "") for row in latencies]

    methods = [cell(row.method, ink) for row, ink in zip(latencies, inks, strict=True)]
    return [
        Column("", [cell(arrow, ink) for arrow, ink in zip(arrows, inks, strict=True)]),
        Column("method", methods, least=16),
        Column("A", count("a_count"), right=True),
        Column("B", count("b_count"), right=True),
        Column("p50 A", took("a_p50_ns"), right=True),
        Column("p50 B", took("b_p50_ns"), right=True),
        Column("ratio", [_ratio(row) for row in latencies], right=True),
        Column("max A", took("a_max_ns"), right=True, rank=1),
        Column("max B", took("b_max_ns"), right=True, rank=1),
    ]


def _ratio(latency: MethodLatency) -> Cell:
    """Returns the median time of B's answers, as a multiple of the median time of A's answers."""
    if not latency.a_p50_ns or not latency.b_p50_ns:
        return cell("")
    ratio = latency.b_p50_ns / latency.a_p50_ns
    is_slow = ratio >= _SLOWER and latency.b_p50_ns - latency.a_p50_ns >= _MUCH_NS
    text = f"×{ratio:,.0f}" if ratio >= 9.95 else f"×{ratio:.1f}" if ratio >= 0.095 else "<×0.1"
    return cell(text, Ink.STDERR if is_slow else None)
