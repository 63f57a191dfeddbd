"""The one pass over all frames on which a summary rests.

It counts, follows who waits for whom, notes each tool call, and keeps what was open when a peer
left. What is open is asked of the state machine of the connection.
"""

from collections.abc import Sequence

from attrs import define, field

from acp_proxy.inspection.describe.values import HEAD
from acp_proxy.inspection.diagnosis.messages import read_messages
from acp_proxy.inspection.diagnosis.tool_calls import CallLog
from acp_proxy.inspection.message_pass import PAUSE_NS, MessagePass, Watch, messages_of
from acp_proxy.inspection.waits import OpenWait, Party, WaitTracker
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.dialects import OPENING
from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Direction
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording import FrameRun, RecordedEvent
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_events import is_peer_leaving

HISTORY = OPENING[1:]
"""Requests before whose answer an agent streams a session's history."""


@define
class FrameCounts:
    """What one pass has found."""

    waits: WaitTracker
    counts: dict[tuple[str, str], int] = field(factory=dict)
    """Frames by stream and kind."""
    updates: int = 0
    """Session updates, those of a replayed history included."""
    calls: CallLog = field(factory=CallLog)
    """Those of a replayed history are not among them."""
    last_seq: int = 0
    """Of the last frame that is no line of stderr."""
    open_at_end: list[OpenWait] | None = None
    """What was open when the first of the two peers left; None if neither did."""
    end_ns: int = 0
    is_exact: bool = True
    """Whether no silence is left out, however short."""


def count_frames(
    reader: RecordingReader,
    events: Sequence[RecordedEvent],
    watch: Watch = iter,
    pause_ns: int = PAUSE_NS,
) -> FrameCounts:
    """Reads all frames and events in their order.

    Args:
        reader: the recording.
        events: all its events.
        watch: is given all runs of frames, and passes them on.
        pause_ns: silences that are not longer may be left out.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    return _FramePass(reader, events, watch).read(pause_ns)


class _FramePass:
    def __init__(
        self, reader: RecordingReader, events: Sequence[RecordedEvent], watch: Watch
    ) -> None:
        self._events = events
        self._watch = watch
        self._reader = reader
        self._messages = MessagePass(reader)
        self._connection = self._messages.connection
        self._found = FrameCounts(WaitTracker(self._connection))

    def read(self, pause_ns: int) -> FrameCounts:
        found, upcoming = self._found, iter(self._events)
        event = next(upcoming, None)
        last_ns = 0
        for run, message, done in self._messages.read(pause_ns, self._watch):
            while event is not None and event.seq < run.seq:
                self._take_event(event)
                event = next(upcoming, None)
            key = (run.stream, run.kind)
            found.counts[key] = found.counts.get(key, 0) + run.frames
            last_ns = run.last_ns
            if run.kind == "stderr":
                continue
            found.last_seq = run.last_seq
            for one, its_done in messages_of(message, done):
                self._take(run, one, its_done)
            if run.last_seq != run.seq:
                found.is_exact = False
                found.updates += run.frames - 1
                found.waits.stream_on(done.session, run.last_seq, run.last_ns)
        while event is not None:
            self._take_event(event)
            event = next(upcoming, None)
        found.end_ns = max(last_ns, *(event.t_ns for event in self._events), 0)
        return found

    def _take(self, run: FrameRun, message: Message, done: Transition) -> None:
        self._found.waits.feed(run.seq, run.t_ns, run.stream, message, done)
        if message.method != UPDATE or message.rpc_id is not None:
            return
        self._found.updates += 1
        if done.tool_call is None:
            return
        # After its turn an update counts only if it is of a known call and no replayed history.
        calls, key = self._found.calls, (done.session, done.tool_call)
        if done.turn is not None or (key in calls.states and not self._is_history(done.session)):
            raw = message.raw
            if raw is None:
                raw = b"".join(one.raw for one in read_messages(self._reader, [run.seq], HEAD))
            calls.add(key, run.seq, raw)

    def _is_history(self, session: str | None) -> bool:
        opening = self._connection.open_requests(Direction.TO_AGENT)
        return any(one.method in HISTORY and one.session == session for one in opening)

    def _take_event(self, event: RecordedEvent) -> None:
        waits, stream = self._found.waits, event.data.get("stream")
        if self._found.open_at_end is None and is_peer_leaving(event):
            self._found.open_at_end = waits.open(event.t_ns)
        match event.kind:
            case "exit":
                waits.leave(Party.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-client":
                waits.leave(Party.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-agent":
                waits.leave(Party.CLIENT, event.seq, event.t_ns)
            case "note" if isinstance(stream, str):
                if (action := event.data.get("action")) in ("stalled", "resumed"):
                    reads = action == "resumed"
                    waits.set_reading(stream, event.seq, event.t_ns, reads=reads)
