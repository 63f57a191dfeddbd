"""Watches a conversation that still runs: who has to act."""

import time

from acp_proxy.explain.message_pass import PAUSE_NS, Listener, MessagePass
from acp_proxy.explain.show.current_waits import LiveWait, live_waits
from acp_proxy.explain.show.diagnosis_context import DiagnosisContext
from acp_proxy.explain.show.summary import finished
from acp_proxy.store.reader import RecordingReader


class WaitWatch:
    """Reads the new frames of a running recording, and tells who has to act.

    Args:
        reader: the recording; the caller refreshes it.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self._reader = reader
        self._begin()

    def _begin(self) -> None:
        self._dialect = self._reader.recording.dialect
        self._messages = MessagePass(self._reader)
        self._listeners: list[Listener] = []

    def context(self, now_ns: int, pause_ns: int = PAUSE_NS) -> DiagnosisContext:
        """Reads the new frames. Returns the facts about the conversation so far.

        Args:
            now_ns: the present time on the monotonic clock.
            pause_ns: the longest time between two frames of a run, in nanoseconds.
        """
        if self._reader.recording.dialect != self._dialect:  # the first messages do not show it
            self._begin()
        self._messages.play_to(self._listeners, pause_ns)
        return finished(self._reader, self._messages, now_ns, is_over=False)

    def waits(self) -> list[LiveWait]:
        """Returns the waits of this moment, in the order in which they are shown."""
        return live_waits(self.context(time.monotonic_ns())) if self._reader.live else []

    def elapsed_ns(self) -> int:
        """Returns the time since the start of a running recording, in nanoseconds."""
        events = self._messages.events
        origin = next((e.data.get("origin") for e in events if e.kind == "start"), None)
        if not self._reader.live or not isinstance(origin, int):
            return 0
        return time.monotonic_ns() - origin

    def line(self, waits: list[LiveWait]) -> str:
        """Returns one line about waits, such as ``agent silent 7 s, prompt #4 open``.

        Args:
            waits: an earlier result of `waits`; the durations in the line are those of now.
        """
        now_ns = self.elapsed_ns()
        return " · ".join(wait.words.at(now_ns) for wait in waits[:_SHOWN])


_SHOWN = 2
"""The largest number of waits in one line."""
