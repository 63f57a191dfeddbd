"""The last line of `log --follow` and `show --follow`: who is waited for, and how long already."""

import sys
import time

from acp_proxy.cli.screens.output import show_status
from acp_proxy.explain.show.wait_watch import WaitWatch
from acp_proxy.store.reader import RecordingReader

_EVERY_S = 1.0
"""The time after which the line is drawn again although nothing has happened."""


class WaitLine:
    """Draws a line that says who is waited for, if stderr is a terminal.

    Args:
        reader: the recording; the caller refreshes it.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self._watch = WaitWatch(reader) if sys.stderr.isatty() else None
        self._newest, self._drawn_at = -1, 0.0
        self._waits = [] if self._watch is None else self._watch.waits()
        self._shown = ""

    def draw(self) -> None:
        """Draws the line if the recording has grown, or if a second has passed."""
        watch, newest, now = self._watch, self._reader.newest, time.monotonic()
        if watch is None or (newest == self._newest and now - self._drawn_at < _EVERY_S):
            return
        if newest != self._newest:
            self._newest, self._waits = newest, watch.waits()
        self._drawn_at = now
        self._show(watch.line(self._waits))

    def clear(self) -> None:
        """Removes the line, so that other lines can be printed."""
        self._drawn_at = 0.0
        self._show("")

    def _show(self, text: str) -> None:
        if text != self._shown:
            self._shown = text
            show_status(text)
