"""Lays out the timeline: columns that fit the terminal, colours, turns, pauses and marks."""

import json
from collections.abc import Container, Iterable, Iterator

from attrs import evolve

from acp_proxy.base.wording import visible
from acp_proxy.cli.screens.styled_text import (
    STREAM_INKS,
    Ink,
    Piece,
    Screen,
    columns_of,
    fit,
    fit_end,
    pad,
    piece,
)
from acp_proxy.cli.screens.table import WIDE
from acp_proxy.explain.hints import HintReader
from acp_proxy.explain.log.folding import ChunkRun, run_line
from acp_proxy.explain.log.timeline import Cells, TimelineLine, event_line, frame_line, member_lines
from acp_proxy.explain.pauses import Pauses
from acp_proxy.explain.waits import LEAST_NS
from acp_proxy.recording.recording import Fact
from acp_proxy.store.queries.frames import last_number
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

_WITH_SIZES = 140
"""The smallest width of a terminal on which the sizes of frames are shown."""
_METHOD = {True: 28, False: 21}
_ID = {True: 5, False: 3}
_PAIR = 12
"""On a terminal, the width of the column with the number of the paired frame and the latency."""
_LONG_ID, _END_OF_ID = 15, {True: 8, False: 6}
"""Ids up to `_LONG_ID` characters are printed whole. Of longer ids, only the end is printed: 8
characters on a wide terminal (True), and 6 on a narrow terminal (False)."""
_TONES = {"permission": Ink.PERMISSION, "trouble": Ink.TROUBLE}
_PACES = {"slow": Ink.STDERR, "stuck": Ink.TROUBLE}


TIMES: dict[str, tuple[str, Fact]] = {
    "relative": ("seconds", "times"), "clock": ("clock", "date"), "delta": ("delta", "durations"),
}  # fmt: skip
"""The forms of times: seconds since the start, the local time, and seconds since the line before.
Each form has the title of its column, and the fact that an imported recording must have."""


def fold_ends(items: Iterable[Row | ChunkRun]) -> Iterator[Row | ChunkRun]:
    """Yields items, but joins neighbouring rows about ends of streams into a single row.

    The streams must have ended for the same reason, within a second. The member ``last`` of the
    single row is the number of the last joined row.
    """
    pending: Row | None = None
    for item in items:
        end = item if isinstance(item, dict) and item["kind"] == "eof" else None
        if pending is not None and (end is None or not _is_same_end(pending, end)):
            yield pending
            pending = None
        if end is None:
            yield item
        elif pending is None:
            pending = {**end, "last": end["seq"]}
        else:
            streams = [json.loads(row["data"]).get("stream") for row in (pending, end)]
            data = {**json.loads(end["data"]), "stream": ", ".join(map(str, streams))}
            pending = {**pending, "data": json.dumps(data), "last": end["seq"]}
    if pending is not None:
        yield pending


def _is_same_end(pending: Row, end: Row) -> bool:
    reasons = [json.loads(row["data"]).get("reason") for row in (pending, end)]
    return reasons[0] == reasons[1] and int(end["t_ns"]) - int(pending["t_ns"]) < LEAST_NS


class TimelineLayout:
    """Makes lines from rows and runs of chunks, one after the other.

    For a terminal, the columns have titles, a horizontal line separates turns, and pauses have
    lines. In a pipe, each row, run, or message of a batch is one complete line without colours.
    """

    def __init__(self, screen: Screen, reader: RecordingReader, times: str = "relative") -> None:
        """Begins a timeline.

        Args:
            screen: the screen that the lines have to fit.
            reader: the recording.
            times: one of `TIMES`.
        """
        self.screen, self.recording, self.pauses = screen, reader.recording, Pauses(reader)
        self.hints_of = HintReader(reader).of
        self.live = reader.is_open
        """Whether the recorder runs, so that answers may still come."""
        self._times = times
        needed: dict[str, Fact] = {"time": TIMES[times][1], "size": "bytes"}
        unknown = (name for name, fact in needed.items() if not self.recording.knows(fact))
        self._unknown = dict.fromkeys(unknown, "")
        columns = screen.columns
        self._wide = columns is None or columns >= WIDE
        self._has_sizes = columns is None or columns >= _WITH_SIZES
        digits = len(str(last_number(reader)))
        self._number = max(6, digits * 2 + 1) if columns is None else max(5, digits + 3)
        self._time = 9 if self._has_sizes else 7
        self._id = _ID[self._has_sizes]
        self._before: tuple[int, int] | None = None
        self._marks: dict[int, str] = {}

    def mark(self, frame: int, pair: int | None) -> None:
        """Adds a margin with marks beside a frame and beside the other frame of its exchange.

        Args:
            frame: the number of the frame.
            pair: the number of the other frame; None if there is none.
        """
        self._marks = {frame: "▸ "} | ({} if pair is None else {pair: "▹ "})

    @property
    def marked(self) -> Container[int]:
        """The numbers of the marked frames, and of the frames and events with a note."""
        return self._marks.keys() | self.recording.row_notes.keys()

    def lines(self, item: Row | ChunkRun) -> Iterator[str]:
        """Yields the line of a row or run, and the lines that belong above and below this line.

        Above the first line: the titles of the columns. Above any other line: a pause, and the
        title of a turn that begins. Below a line: the messages of a batch, and a person's note.
        """
        row = item.first if isinstance(item, ChunkRun) else item
        line = self._line(item)
        if self.screen.columns is not None and self._before is None:
            yield self._titles()
        if self._times != "relative":
            line = evolve(line, cells=line.cells._replace(time=self._time_of(row["t_ns"])))
        if self.screen.columns is not None and self._before is not None:
            yield from self._between(row, line)
        self._before = (item.last, item.last_ns) if isinstance(item, ChunkRun) else (
            row["last" if "last" in row else "seq"], row["t_ns"])  # fmt: skip
        yield self.text(line, self._marks.get(row["seq"], "  ") if self._marks else "")
        for member in self.member_lines(row):
            yield self.text(member, "  " if self._marks else "")
        for seq, note in self.recording.row_notes.items():
            for text in note.split("\n") if row["seq"] <= seq <= self._before[0] else ():
                yield self.screen.whole(piece(f"{'':{self._number}} ✎ {text}", Ink.PERMISSION))

    def text(self, line: TimelineLine, mark: str = "") -> str:
        """Returns the text of one line of the timeline.

        Args:
            line: the contents of the line.
            mark: the margin of the line, which may contain a mark.
        """
        return self.screen.line((mark, None, True), *self._pieces(line))

    def _line(self, item: Row | ChunkRun) -> TimelineLine:
        if isinstance(item, ChunkRun):
            return run_line(item, self.recording)
        if "raw" not in item:
            line, seq = event_line(item), item["seq"]
            if item.get("last", seq) != seq:
                line = evolve(line, cells=line.cells._replace(number=f"{seq}–{item['last']}"))
            return line
        return self.frame_line(item)

    def frame_line(self, row: Row) -> TimelineLine:
        """Returns the line of a frame."""
        hints = self.hints_of(row)
        return frame_line(row, live=self.live, hints=hints, step_ns=self.recording.step_ns)

    def member_lines(self, row: Row) -> Iterator[TimelineLine]:
        """Yields a line for each message of a batch; yields nothing for any other frame."""
        return member_lines(
            row, live=self.live, hints_of=self.hints_of, step_ns=self.recording.step_ns
        )

    def _time_of(self, t_ns: int) -> str:
        if self._times == "clock":
            return f"{self.recording.clock(t_ns):%H:%M:%S.%f}"[:-3]
        before_ns = t_ns if self._before is None else self._before[1]
        return f"{(t_ns - before_ns) / 1e9:.6f}"

    def _between(self, row: Row, line: TimelineLine) -> Iterator[str]:
        assert self._before is not None
        if row["seq"] != self._before[0] + 1:  # frames before this row are not shown
            yield from [self._note("⋮", Ink.FAINT)] if self._marks else ()
        elif pause := self.pauses.between(self._before, row):
            ink = Ink.TROUBLE if pause.never_ended else Ink.STDERR
            yield self._note(f"··· {pause.text(self.recording.step_ns)} ···", ink)
        if line.tone == "prompt" and row["turn"] is not None:
            yield self._rule(" · ".join(filter(None, (f"turn {row['turn']}", row["session"]))))

    def _titles(self) -> str:
        size = "size" if self._has_sizes else ""
        cells = Cells("#", TIMES[self._times][0], " ", "message", "id", "pair", size)
        line = TimelineLine(cells, "content", "title")
        margin = piece("  " if self._marks else "")
        titles = [(text, Ink.FAINT, False) for text, _, _ in self._pieces(line)]
        return self.screen.line(margin, *titles)

    def _rule(self, text: str) -> str:
        text = f"── {visible(text)} "
        rule = "─" * ((self.screen.columns or 0) - columns_of(text))
        return self.screen.line(piece(text + rule, Ink.FAINT))

    def _note(self, text: str, ink: Ink) -> str:
        return self.screen.line(piece(" " * (self._number + 1) + text, ink))

    def _pieces(self, line: TimelineLine) -> list[Piece]:
        if self._unknown:
            line = evolve(line, cells=line.cells._replace(**self._unknown))
        cells, tone = line.cells, line.tone
        number = cells.number if self.screen.columns is None else _short(cells.number)
        ink = _TONES.get(tone, STREAM_INKS.get(line.stream))
        bold = tone == "prompt"
        self._number = max(self._number, len(number))
        self._time = max(self._time, len(cells.time))
        preview_ink = Ink.STDERR if line.stream == "stderr" else _TONES.get(tone)
        return [
            (f"{number:>{self._number}} {cells.time:>{self._time}} ", Ink.FAINT, False),
            *self._head(line, ink, bold=bold),
            *(self._more(line) if self._wide else self._less(line)),
            (visible(line.text), preview_ink, bold),
        ]

    def _head(self, line: TimelineLine, ink: int | None, *, bold: bool) -> Iterator[Piece]:
        """Yields the method and the id. If there is no id, the method may fill both columns."""
        cells, method = line.cells, _METHOD[self._has_sizes]
        shown_id = self._id_of(cells)
        rpc_id = self._id
        if not cells.rpc_id:
            method += rpc_id + 1
        name = visible(cells.method)
        if self.screen.columns is not None:
            name = _fitted(name, method)
        yield f"{cells.arrow} {pad(name, method)} ", ink, bold
        if cells.rpc_id:
            yield f"{pad(shown_id, rpc_id)} ", None, False

    def _id_of(self, cells: Cells) -> str:
        """Returns the id to print, and widens the column of ids if needed."""
        text = visible(cells.rpc_id)
        if self.screen.columns is None or columns_of(text) <= _LONG_ID:
            return text
        mark = '#"' if text.startswith('#"') else "#"
        end = text.removeprefix(mark)
        text = mark + fit_end(end, _END_OF_ID[self._has_sizes] + len(mark))
        self._id = max(self._id, columns_of(text))
        return text

    def _more(self, line: TimelineLine) -> Iterator[Piece]:
        cells = line.cells
        if self.screen.columns is None:
            yield f"{pad(cells.pair, 14)} ", _PACES.get(line.pace), False
        else:
            link, _, latency = cells.pair.partition(" ")
            if link[:1] not in ("→", "↩"):
                link, latency = "", cells.pair
            text = f"{link}{latency:>{_PAIR - len(link)}}"
            yield f"{text}  ", _PACES.get(line.pace), False
        if self._has_sizes:
            yield f"{cells.size:>7}  ", Ink.FAINT, False

    def _less(self, line: TimelineLine) -> Iterator[Piece]:
        """Yields a slow answer's pair and latency, or "open" or "unanswered" for a request.

        Yields nothing for other lines: on a narrow terminal, the preview needs the room.
        """
        if line.pace or line.cells.pair == "open":
            yield f"[{line.cells.pair}] ", _PACES.get(line.pace), False


def _fitted(method: str, columns: int) -> str:
    """Cuts the name of a method to a width, but keeps the mark or the number after the name."""
    if columns_of(method) <= columns:
        return method
    name, blank, mark = method.removeprefix("session/").partition(" ")
    return f"{fit(name, columns - columns_of(blank + mark))}{blank}{mark}"


def _short(span: str) -> str:
    """Shortens the second number of a range: drops the leading digits that both numbers share.

    The last two digits are always kept.
    """
    first, dash, last = span.partition("–")
    same = 0
    while len(first) == len(last) and same < len(last) - 2 and first[same] == last[same]:
        same += 1
    return f"{first}{dash}{last[same:]}"
