"""The one pass over all frames, without their payloads, on which a summary rests.

It counts, follows who waits for whom, notes each tool call, and keeps what was open when a peer
left. It notes numbers of frames; what is in one is read later, where a sentence needs it. A million
frames take about two seconds and little memory.
"""

from collections.abc import Callable, Iterator, Sequence

from attrs import define, field

from acp_proxy.inspection.diagnosis.messages import LARGEST
from acp_proxy.inspection.waits import OpenWait, Party, WaitTracker
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording import FrameHead, RecordedEvent
from acp_proxy.store.exchange_queries import turn_spans
from acp_proxy.store.frame_queries import program_exits
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_events import is_peer_leaving

HISTORY = ("session/load", "session/resume", "session/fork")
"""Requests before whose answer an agent streams a session's history."""
_MOST_CALLS = 100_000

CallKey = tuple[str | None, str]
"""The session and the id of a tool call."""
Watch = Callable[[Iterator[FrameHead]], Iterator[FrameHead]]
"""Passes frames on, and shows how far the pass is."""


@define
class CallFrames:
    """The first and the last frame about a tool call."""

    first: int
    last: int
    count: int = 1


@define
class FrameCounts:
    """What one pass has found."""

    waits: WaitTracker
    counts: dict[tuple[str, str], int] = field(factory=dict)
    """Frames by stream and kind."""
    updates: int = 0
    """Session updates, those of a replayed history included."""
    calls: dict[CallKey, CallFrames] = field(factory=dict)
    """Those of a replayed history are not among them. At most 100,000."""
    last_seq: int = 0
    """Of the last frame that is no line of stderr."""
    open_at_end: list[OpenWait] | None = None
    """What was open when the first of the two peers left; None if neither did."""
    end_ns: int = 0


class FramePass:
    """Goes through frames and events in their order."""

    def __init__(
        self, reader: RecordingReader, events: Sequence[RecordedEvent], watch: Watch = iter
    ) -> None:
        """Prepares a pass.

        Args:
            reader: the recording.
            events: all its events.
            watch: is given all frames, and passes them on.
        """
        self._reader = reader
        self._watch = watch
        self._events = events
        self._sessions_ending: dict[int, list[str | None]] = {}
        turn_ends: dict[int, list[int]] = {}
        for turn in turn_spans(reader):
            if turn.end_seq is not None:
                turn_ends.setdefault(turn.end_seq, []).append(turn.id)
                self._sessions_ending.setdefault(turn.end_seq, []).append(turn.session)
        self.found = FrameCounts(WaitTracker(turn_ends, program_exits(reader)))
        self._ended: set[str | None] = set()
        self._histories: dict[int, str | None] = {}

    def read(self) -> FrameCounts:
        """Reads all frames and events."""
        found, upcoming = self.found, iter(self._events)
        event = next(upcoming, None)
        counts: dict[tuple[str, str], int] = {}
        last_seq = t_ns = updates = 0
        feed_update, ends = found.waits.feed_update, self._sessions_ending
        for head in self._watch(self._reader.heads()):
            seq, t_ns, stream, kind, method, _, session, turn, tool_call, _, _ = head
            while event is not None and event.seq < seq:
                self._take_event(event)
                event = next(upcoming, None)
            key = (stream, kind)
            counts[key] = counts.get(key, 0) + 1
            if kind == "stderr":
                continue
            last_seq = seq
            is_update = kind == "notification" and method == UPDATE
            # Nearly all frames are chunks, so these take the shortest way.
            if is_update and turn is not None and tool_call is None and seq not in ends:
                updates += 1
                feed_update(session, stream, seq, t_ns)
            elif kind == "batch":
                for member in _members(self._reader, head):
                    if member.kind != "invalid":
                        self._take(member)
            else:
                self._take(head)
        while event is not None:
            self._take_event(event)
            event = next(upcoming, None)
        found.counts, found.last_seq = counts, last_seq
        found.updates += updates
        found.end_ns = max(t_ns, *(event.t_ns for event in self._events), 0)
        return found

    def _take(self, head: FrameHead) -> None:
        self.found.waits.feed(head)
        if head.kind == "notification":
            if head.method == UPDATE:
                self.found.updates += 1
                if head.turn is None:
                    self._note_late_call(head)
                elif head.tool_call is not None:
                    self._note_call((head.session, head.tool_call), head.seq)
        elif head.method in HISTORY and head.exchange is not None:
            if head.kind == "request":
                self._histories[head.exchange] = head.session
            else:
                self._histories.pop(head.exchange, None)
        if head.seq in self._sessions_ending:
            self._ended.update(self._sessions_ending[head.seq])

    def _note_late_call(self, head: FrameHead) -> None:
        """Notes an update of a known tool call after its turn."""
        if head.session not in self._ended or head.session in self._histories.values():
            return
        if head.tool_call is not None and (head.session, head.tool_call) in self.found.calls:
            self._note_call((head.session, head.tool_call), head.seq)

    def _note_call(self, key: CallKey, seq: int) -> None:
        calls = self.found.calls
        call = calls.get(key)
        if call is not None:
            call.last = seq
            call.count += 1
        elif len(calls) < _MOST_CALLS:
            calls[key] = CallFrames(seq, seq)

    def _take_event(self, event: RecordedEvent) -> None:
        waits, stream = self.found.waits, event.data.get("stream")
        if self.found.open_at_end is None and is_peer_leaving(event):
            self.found.open_at_end = waits.open(event.t_ns)
        match event.kind:
            case "exit":
                waits.leave(Party.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-client":
                waits.leave(Party.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-agent":
                waits.leave(Party.CLIENT, event.seq, event.t_ns)
            case "note" if isinstance(stream, str):
                if event.data.get("action") == "stalled":
                    waits.stop_reading(stream, event.seq, event.t_ns)
                elif event.data.get("action") == "resumed":
                    waits.read_again(stream, event.seq, event.t_ns)


def _members(reader: RecordingReader, head: FrameHead) -> Iterator[FrameHead]:
    """The messages of a batch; the batch itself if it is too large to be read."""
    batch = {"seq": head.seq, "t_ns": head.t_ns, "stream": head.stream}
    batch["raw"] = b"".join(reader.pieces(head.seq)) if head.size <= LARGEST else b""
    for member in reader.members(batch):
        yield FrameHead._make(member[name] for name in FrameHead._fields)
