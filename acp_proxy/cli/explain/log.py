"""``acp-proxy log``: prints the timeline of a recording."""

import re
import sys
import time as clock  # `time` is an option
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count

import click
from attrs import frozen

from acp_proxy.cli.explain.log_screen import TIMES, TimelineLayout, fold_ends
from acp_proxy.cli.group import Refusal, cli_command
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.options import filter_argument, number_option, printing, read_argument
from acp_proxy.cli.screens.output import Writer, stdout_screen, warn
from acp_proxy.cli.screens.wait_line import WaitLine
from acp_proxy.explain.choice import (
    chosen_in,
    of_session,
    of_turn,
    row_of,
    rows_around,
    why_nothing,
)
from acp_proxy.explain.log.folding import ChunkRun, fold
from acp_proxy.explain.log.frame_json import event_json, frame_json, large_frame_json, line_parts
from acp_proxy.explain.log.timeline import pair_of
from acp_proxy.explain.origins import known_members
from acp_proxy.recording.filters import Filter, all_of
from acp_proxy.store.queries.frames import last_number
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row, is_excerpt

_POLL = 0.1
_POLLS = 10
"""The number of polls for new frames between two checks of ``--until``."""
_CODES = {"problem": 1, "stall": 3}
"""The exit code for each condition of ``--until``."""
_UNTIL = re.compile(r"problem|end|stall:([0-9]+(?:\.[0-9]+)?)s?")
_MOST_LINES = 10**9
_Look = Callable[[int], tuple[str, str] | None]
_TAIL = 4
"""For each line that `--lines` requests, this many rows are read at first."""


@cli_command()
@read_argument
@filter_argument
@click.option("--json", is_flag=True, help="Print one JSON object per frame or event.")
@click.option("--raw", is_flag=True, help="Print the bytes of the frames, as they were received.")
@number_option("--seq", text="Only frame or event N, in full, with its request or its answer.")
@number_option("--around", text="Frame or event N, marked, and the frames before and after it.")
@number_option("--context", metavar="K", least=0, default=10,
               text="How many frames before and after --around to show.")  # fmt: skip
@number_option("--turn", text="Only turn N, and stderr during that turn.")
@click.option("--session", metavar="ID", help="Only one session; the start of its id is enough.")
@click.option("--time", type=click.Choice([*TIMES]), default="relative",
              show_default=True,
              help="relative: seconds since the start. clock: the local time. delta: seconds since"
              " the line before.")  # fmt: skip
@click.option("--no-fold", is_flag=True, help="Show each chunk of a message on its own line.")
@number_option("--lines", "-n", least=0, text="Only the last N lines.")
@click.option("--follow", "-f", is_flag=True,
              help="Also print later frames, while the recorder runs. `latest` then waits for a"
              " running recording.")  # fmt: skip
@click.option("--until", multiple=True, metavar="WHEN", allow_from_autoenv=False,
              help="With --follow, end at one of these: stall:S, S seconds of silence of the agent "
              "(exit 3); problem, an error (exit 1); end. Can be given several times."
              )  # fmt: skip
@printing
def log(
    rec: str,
    filter_words: str,
    json: bool,
    raw: bool,
    seq: int | None,
    around: int | None,
    context: int,
    turn: int | None,
    session: str | None,
    time: str,
    no_fold: bool,
    lines: int | None,
    follow: bool,
    until: tuple[str, ...],
) -> None:
    """Show a recording's timeline, one line per frame.

    Each line has the frame's number, the seconds since the start, the direction (→ to the agent, ←
    to the client, ! stderr, · an event), the method (✓ answered, ✗ answered with an error), the id,
    the paired frame's number and the latency, the size, and a preview. Consecutive chunks of a
    message are joined into one line, such as `agent_message_chunk ×57`, with the first and the last
    number, the time, and the whole text. The messages of a batch are listed below the line of the
    batch.

    FILTER selects frames: dir:to-client, kind:error, method:session/*, latency:2s.., turn:last,
    params.update.sessionUpdate=tool_call and more, joined by `or`, `not` and parentheses.

    On a terminal, lines are coloured and cut to its width, and columns have titles. A horizontal
    line separates the turns, and each long pause has a line that tells who was waited for. In a
    pipe, lines are plain and complete.

    Examples:
      acp-proxy log latest
          all messages, page by page
      acp-proxy log latest 'failed or unanswered or latency:2s..'
          errors, unanswered requests and slow answers
      acp-proxy log latest --turn 2 'not params.update.content.type=text'
          the second turn without the text
      acp-proxy log latest --around 42
          the frames before and after frame 42; --seq 42 shows the frame itself
      acp-proxy log latest --time clock
          with local times, to find the same moment in the editor's log
      acp-proxy log latest -n 20 --follow
          the last twenty lines of a running chat, and all later ones
      acp-proxy log latest --json | jq -c 'select(.kind == "request") | .method'
          for a program
    """
    if json and raw:
        raise Refusal("expected --json or --raw, got both")
    if (json or raw) and time != "relative":
        raise Refusal("--time cannot be combined with --json or --raw")
    if around is not None and (seq is not None or follow or lines is not None):
        raise Refusal("--around cannot be combined with --seq, --lines or --follow")
    if until and (not follow or seq is not None):
        raise Refusal("--until needs --follow, and cannot be combined with --seq")
    if not all(map(_UNTIL.fullmatch, until)):
        raise Refusal(f"expected --until stall:60s, problem or end, got {' '.join(until)}")
    with open_recording(rec, follow=follow and seq is None) as reader:
        form = (_RawTimeline if raw else _JsonTimeline)(reader, Writer())
        if not (json or raw):
            layout = TimelineLayout(stdout_screen(), reader, time)
            form = _TimelineScreen(reader, Writer(), layout, not no_fold)
        if seq is not None:
            form.print_one(row_of(reader, seq))
            return
        parts = [chosen_in(reader, filter_words)]
        parts += [of_turn(reader, turn)] if turn is not None else []
        parts += [of_session(reader, session)] if session is not None else []
        if around is not None:
            form.print_around(around, context, all_of(parts))
            return
        most = None if lines is None else min(lines, _MOST_LINES)
        look = _look_for(until, reader) if until else None
        form.print(all_of(parts), most, look, follow=follow)
        if filter_words.strip() and next(reader.rows(all_of(parts)), None) is None:
            asked = [filter_words, "" if turn is None else f"turn:{turn}"]
            asked += [] if session is None else [f"session:{session}"]
            warn(why_nothing(reader, " ".join(filter(None, asked))))


def _look_for(until: Sequence[str], reader: RecordingReader) -> _Look:
    """Returns a function that tests whether a condition of ``--until`` is met."""
    from acp_proxy.check.judgement import LiveWatch  # late: it loads the rules

    ends = filter(None, map(_UNTIL.fullmatch, until))
    stall_s = min((float(end[1]) for end in ends if end[1]), default=None)
    return LiveWatch(reader, stall_s, problem="problem" in until).look


@frozen
class _JsonTimeline:
    """Prints rows as JSON. Subclasses print rows in other forms."""

    reader: RecordingReader
    out: Writer

    def print(self, chosen: Filter, lines: int | None, look: _Look | None, *, follow: bool) -> None:
        """Prints the frames so far. With `follow`, also prints later ones until the recorder ends.

        Calls `look` now and then. `look` returns None until a condition of ``--until`` is met, and
        then the condition and a sentence. In that case this method prints the sentence and ends the
        process.
        """
        was_live = self.reader.live
        printed = self.print_last(chosen, lines) if lines is not None else self.print_all(chosen, 0)
        wait_line = WaitLine(self.reader)
        for poll in count():
            self.out.flush()
            is_live = follow and self.reader.live
            is_due = not is_live or poll % _POLLS == 0
            if look and is_due and (met := look(clock.monotonic_ns())) is not None:
                wait_line.clear()
                warn(met[1])
                sys.exit(_CODES[met[0]])
            if not is_live:
                break
            wait_line.draw()
            clock.sleep(_POLL)
            self.reader.refresh()
            if not self.reader.live or self.reader.newest > printed:
                wait_line.clear()
            printed = self.print_all(chosen, printed)
        if follow and (was_live or look):
            warn(f"the recording has ended: {self.reader.path}")

    def print_all(self, chosen: Filter, after: int) -> int:
        """Prints the chosen rows numbered above `after`; returns the highest number of all rows."""
        last = after

        def watched() -> Iterator[Row]:
            nonlocal last
            for row in self.reader.rows(chosen, after):
                last = row["seq"]
                yield row

        self.write(self.items(watched()))
        return max(last, self.reader.newest)  # includes rows that were not chosen

    def print_last(self, chosen: Filter, count: int) -> int:
        """Prints the last `count` lines of the chosen rows; returns the highest number of all."""
        newest = last_number(self.reader)
        span = count * _TAIL
        while count:
            after = max(0, newest - span)
            items = deque(self.items(self.reader.rows(chosen, after)), maxlen=count + 1)
            if len(items) > count:
                items.popleft()  # the run may begin earlier
                after = 0
            if after == 0:
                self.write(items)
                break
            span *= 8
        return newest

    def print_one(self, row: Row) -> None:
        self.write([row])

    def print_around(self, seq: int, context: int, chosen: Filter) -> None:
        """Prints a frame or event, the other frame of its exchange, and chosen rows nearby."""
        self.write(self.items(rows_around(self.reader, seq, context, chosen)))

    def items(self, rows: Iterable[Row]) -> Iterable[Row | ChunkRun]:
        """Yields the content of each line: a row, or a run of chunks."""
        return rows

    def write(self, items: Iterable[Row | ChunkRun]) -> None:
        recording = self.reader.recording
        for item in items:
            assert isinstance(item, dict)
            row = known_members(recording, item)
            if row["seq"] in recording.row_notes:
                row = {**row, "note": recording.row_notes[row["seq"]]}
            if "raw" not in row:
                self.out.json(event_json(row))
            elif is_excerpt(item):
                for part in large_frame_json(row, partial(self.reader.pieces, row["seq"])):
                    self.out.raw(part)
                self.out.raw(b"\n")
            else:
                self.out.json(frame_json(row))


class _RawTimeline(_JsonTimeline):
    """Prints the bytes of frames as they were received. Events are not printed."""

    def items(self, rows: Iterable[Row]) -> Iterable[Row | ChunkRun]:
        return (row for row in rows if "raw" in row)

    def write(self, items: Iterable[Row | ChunkRun]) -> None:
        for row in items:
            assert isinstance(row, dict)
            if "raw" in row:
                for part in line_parts(row, self.reader):
                    self.out.raw(part)


@frozen
class _TimelineScreen(_JsonTimeline):
    """Prints lines of text, coloured on a terminal."""

    layout: TimelineLayout
    folded: bool

    def print_one(self, row: Row) -> None:
        from acp_proxy.cli.explain.frame_screen import FramePage

        page, number = FramePage(self.layout), pair_of(row)
        pair = None if number is None else row_of(self.reader, number)
        for line in page.lines(row, pair):
            self.out.line(line)

    def print_around(self, seq: int, context: int, chosen: Filter) -> None:
        self.layout.mark(seq, pair_of(row_of(self.reader, seq)))
        super().print_around(seq, context, chosen)

    def items(self, rows: Iterable[Row]) -> Iterable[Row | ChunkRun]:
        folded = fold(rows, self.layout.marked, self.layout.pauses) if self.folded else rows
        is_terminal = self.folded and self.layout.screen.columns is not None
        return fold_ends(folded) if is_terminal else folded

    def write(self, items: Iterable[Row | ChunkRun]) -> None:
        self.layout.live = self.reader.is_open
        for item in items:
            for line in self.layout.lines(item):
                self.out.line(line)
