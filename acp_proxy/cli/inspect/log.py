"""``acp-proxy inspect log``: the timeline."""

import sys
import time
from typing import Any

import click

from acp_proxy.cli.main import Refusal
from acp_proxy.cli.opening import open_recording
from acp_proxy.cli.output import fit, pad, say, width, write_line
from acp_proxy.filters import Filter, parse
from acp_proxy.inspection.frames import EventView, FrameView
from acp_proxy.inspection.preview import visible
from acp_proxy.inspection.timeline import Line, event_line, frame_line
from acp_proxy.store.reader import RecordingReader

_POLL = 0.1
_LARGEST = 2**63 - 1  # that SQLite can compare with
Row = dict[str, Any]


@click.command()
@click.argument("rec")
@click.argument("filter_words", metavar="[FILTER]...", nargs=-1)
@click.option("--json", is_flag=True, help="One JSON object per frame or event.")
@click.option("--raw", is_flag=True, help="The bytes of the frames, as they were received.")
@click.option(
    "--seq", type=click.IntRange(min=1), metavar="N", help="Only frame or event number N, in full."
)
@click.option("--follow", "-f", is_flag=True, help="Wait for more while the recorder runs.")
def log(
    rec: str, filter_words: tuple[str, ...], json: bool, raw: bool, seq: int | None, follow: bool
) -> None:
    """Show a recording's timeline, a line per frame.

    Each line has the frame's number, the seconds since the start, its direction (→ to the agent,
    ← to the client, ! stderr, · an event), the method (✓ answered, ✗ answered with an error), the
    id, the number of the frame it is paired with and the latency, the size, and what it says.

    FILTER chooses among them: dir:to-client, kind:error, method:session/*, latency:>2s, text:"foo",
    params.update.sessionUpdate=tool_call and more, joined by `or`, `not` and parentheses.
    """
    if json and raw:
        raise Refusal("expected --json or --raw, got both")
    chosen = parse(" ".join(filter_words))
    with open_recording(rec) as reader:
        if seq is not None:
            _print_one(reader, seq, as_json=json, raw=raw)
            return
        printer = _Printer(reader, chosen, as_json=json, raw=raw)
        try:
            printer.print_new()
            while follow and reader.live:
                sys.stdout.flush()
                time.sleep(_POLL)
                reader.refresh()
                printer.print_new()
        except KeyboardInterrupt:
            sys.exit(130)


class _Printer:
    """Prints the frames and events of a recording that it has not printed yet."""

    def __init__(
        self, reader: RecordingReader, chosen: Filter, *, as_json: bool, raw: bool
    ) -> None:
        self._reader = reader
        self._chosen = chosen
        self._as_json = as_json
        self._raw = raw
        self._last = 0
        self._width = width()

    def print_new(self) -> None:
        """Prints what has come."""
        for row in self._reader.rows(self._chosen, self._last):
            self._last = row["seq"]
            if self._raw:
                if "raw" in row:
                    _write_raw(row)
            elif self._as_json:
                _write_json(row)
            else:
                _write_line(self._line(row), self._width)
        self._last = max(self._last, self._reader.newest)  # what was not meant was seen as well

    def _line(self, row: Row) -> Line:
        if "raw" not in row:
            return event_line(row)
        return frame_line(row)


def _print_one(reader: RecordingReader, seq: int, *, as_json: bool, raw: bool) -> None:
    row = next(reader.rows(parse(f"seq:{min(seq, _LARGEST)}")), None)
    if row is None:
        raise Refusal(f"no frame or event {seq} in {reader.path}")
    if as_json:
        _write_json(row)
    elif raw:
        if "raw" in row:
            _write_raw(row)
    elif "raw" not in row:
        _write_line(event_line(row), None)
    else:
        _write_line(frame_line(row), width())
        for name in ("stream", "kind", "session", "turn", "tool_call", "terminal", "delivered"):
            if row[name] is not None:
                say(f"  {name}: {row[name]}", dim=True)
        say(FrameView.of(row).pretty())


def _write_raw(row: Row) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(bytes(row["raw"]) + row["newline"].encode())


def _write_json(row: Row) -> None:
    view = FrameView.of(row) if "raw" in row else EventView.of(row)
    write_line(view.json().encode())


_WIDTHS = (6, 9, 1, 28, 5, 14, 8)
_NARROW = (5, 7, 1, 28, 4, 0, 0)
"""On a narrow terminal what a frame says is worth more than its pair and its size."""


def _write_line(line: Line, columns: int | None) -> None:
    widths = _WIDTHS if columns is None or columns >= 110 else _NARROW
    columns_of_line = zip(line.cells, widths, strict=True)
    cells = [pad(visible(cell), wanted) for cell, wanted in columns_of_line if wanted]
    text = visible(f"{' '.join(cells)} {line.text}".rstrip())
    say(fit(text, columns), fg=line.color)
