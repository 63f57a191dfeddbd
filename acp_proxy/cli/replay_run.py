"""Plays a replay between the client's two descriptors."""

import os
import select
import time

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.commands import Send
from acp_proxy.engine.agent.recording_choice import RecordingChoice
from acp_proxy.engine.agent.report import ReplayReport
from acp_proxy.events import LineReceived

_SAFE = 4096
"""Bytes that an empty pipe takes at once."""


class ReplayRun:
    """A run of a replay without faults; subclasses put something between the two peers."""

    def play(self, replay: RecordingChoice, source: int, sink: int) -> None:
        """Plays until the end, and closes the sink.

        Args:
            replay: the recorded agent.
            source: the descriptor that the client writes to.
            sink: the descriptor that the client reads from.
        """
        heard, unsaid = answer_first(replay, source, sink)
        if not replay.is_over or unsaid:
            from acp_proxy.runtime.replayer import play

            play(replay, source, sink, received=heard, unsent=unsaid)
        os.close(sink)

    def completed(self, report: ReplayReport) -> ReplayReport:
        """Returns the report with what only the run knows."""
        return report

    def leave(self) -> None:
        """Ends the process, if the run ends in a way of its own; otherwise returns."""


def answer_first(choice: RecordingChoice, source: int, sink: int) -> tuple[bytes, bytes]:
    """Answers the client's first line, if it is there already, before trio is even imported.

    Args:
        choice: the recorded agent.
        source: the descriptor that the client writes to.
        sink: the descriptor that the client reads from.

    Returns:
        What was read and not fed; and what is still to be written, since more than the few bytes
        that every pipe takes at first might block.
    """
    poller = select.poll()
    poller.register(source, select.POLLIN)
    if not poller.poll(0):
        return b"", b""
    try:
        heard = os.read(source, CHUNK)
    except OSError:  # somebody else was quicker, or it is broken: whoever reads on finds out
        return b"", b""
    line, newline, rest = heard.partition(b"\n")
    if not newline:
        return heard, b""
    event = LineReceived(line.removesuffix(b"\r"), time.monotonic_ns())
    said = b"".join(c.data for c in choice.feed(event) if isinstance(c, Send))
    try:
        written = os.write(sink, said[:_SAFE])
    except OSError:  # no room, or nobody who reads it: whoever writes on finds out
        written = 0
    return rest, said[written:]
