"""The course of a conversation, from one pass over its frames without their payloads.

Counts, waits, tool calls, and what was open when a peer left. What it notes are numbers of frames;
whoever wants to say more about one reads its line. A million frames take a few seconds and little
memory.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from attrs import define, field, frozen

from acp_proxy.capture.relay import STOPPING
from acp_proxy.inspection.diagnosis.late import REPLAYING
from acp_proxy.inspection.diagnosis.lines import LARGEST
from acp_proxy.inspection.diagnosis.waits import Awaited, Wait, Waits
from acp_proxy.recording import FrameHead
from acp_proxy.store.reader import RecordingReader

_MOST_CALLS = 100_000

Row = dict[str, Any]


@define
class Call:
    """The first and the last frame about a tool call."""

    first: int
    last: int
    count: int = 1


@frozen
class Happened:
    """An event."""

    seq: int
    t_ns: int
    kind: str
    data: Row


@define
class Course:
    """What one pass has found."""

    waits: Waits
    counts: Counter[tuple[str, str]] = field(factory=Counter)
    """Frames by stream and kind."""
    updates: int = 0
    """Session updates, those of a replayed history included."""
    calls: dict[tuple[str | None, str], Call] = field(factory=dict)
    """By session and id; those of a replayed history are none. At most 100,000."""
    last_seq: int = 0
    """Of the last frame that is no line of stderr."""
    open_at_end: list[Wait] | None = None
    """What was open when the first of the two peers left; None if neither did."""
    end_ns: int = 0


Watch = Callable[[Iterator[FrameHead]], Iterator[FrameHead]]


class CourseReader:
    """Goes through frames and events in their order.

    Args:
        reader: the recording.
        events: what happened in it.
        watch: is given all frames to pass them on, by whoever shows how far we are.
    """

    def __init__(
        self, reader: RecordingReader, events: list[Happened], watch: Watch = iter
    ) -> None:
        self._reader = reader
        self._watch = watch
        self._events = events
        self._turns = _turn_ends(reader)
        ends = {seq: [turn for turn, _ in turns] for seq, turns in self._turns.items()}
        self.course = Course(Waits(ends, _program_ends(reader)))
        self._ended: set[str | None] = set()
        self._replaying: dict[int, str | None] = {}

    def read(self) -> Course:
        """Reads all frames and events."""
        course, upcoming = self.course, iter(self._events)
        event = next(upcoming, None)
        counts = course.counts
        t_ns = 0
        for head in self._watch(self._reader.heads()):
            seq, t_ns, stream, kind, *_ = head
            while event is not None and event.seq < seq:
                self._happen(event)
                event = next(upcoming, None)
            counts[stream, kind] += 1
            if kind == "stderr":
                continue
            course.last_seq = seq
            if kind == "batch":
                for member in _members(self._reader, head):
                    if member.kind != "invalid":
                        self._take(member)
            else:
                self._take(head)
        while event is not None:
            self._happen(event)
            event = next(upcoming, None)
        course.end_ns = max(t_ns, *(e.t_ns for e in self._events), 0)
        return course

    def _take(self, head: FrameHead) -> None:
        self.course.waits.feed(head)
        if head.kind == "notification":
            if head.method == "session/update":
                self.course.updates += 1
                if head.turn is None:
                    self._note_late_call(head)
                elif head.tool_call is not None:
                    self._note_call(head)
        else:
            self._note(head)
        if head.seq in self._turns:
            self._end_turns(head)

    def _note(self, head: FrameHead) -> None:
        if head.method in REPLAYING and head.exchange is not None:
            if head.kind == "request":
                self._replaying[head.exchange] = head.session
            else:
                self._replaying.pop(head.exchange, None)

    def _end_turns(self, head: FrameHead) -> None:
        self._ended.update(session for _, session in self._turns[head.seq])

    def _note_late_call(self, head: FrameHead) -> None:
        """Notes what is told of a known tool call after its turn."""
        if head.session not in self._ended or head.session in self._replaying.values():
            return
        if head.tool_call is not None and (head.session, head.tool_call) in self.course.calls:
            self._note_call(head)

    def _note_call(self, head: FrameHead) -> None:
        assert head.tool_call is not None
        calls, key = self.course.calls, (head.session, head.tool_call)
        call = calls.get(key)
        if call is not None:
            call.last = head.seq
            call.count += 1
        elif len(calls) < _MOST_CALLS:
            calls[key] = Call(head.seq, head.seq)

    def _happen(self, event: Happened) -> None:
        waits, stream = self.course.waits, event.data.get("stream")
        if self.course.open_at_end is None and is_end(event):
            self.course.open_at_end = waits.open(event.t_ns)
        match event.kind:
            case "exit":
                waits.leave(Awaited.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-client":
                waits.leave(Awaited.AGENT, event.seq, event.t_ns)
            case "eof" if stream == "to-agent":
                waits.leave(Awaited.CLIENT, event.seq, event.t_ns)
            case "note" if isinstance(stream, str):
                if event.data.get("action") == "stalled":
                    waits.stop_reading(stream, event.seq, event.t_ns)
                elif event.data.get("action") == "resumed":
                    waits.read_again(stream, event.seq, event.t_ns)


def is_end(event: Happened) -> bool:
    """Whether a peer leaves with an event, or the agent is told to."""
    match event.kind:
        case "exit":
            return True
        case "eof":
            return event.data.get("stream") == "to-client" or is_client_leaving(event)
    return is_client_leaving(event)


def is_client_leaving(event: Happened) -> bool:
    """Whether the client closes its end with an event, or tells the agent to stop."""
    if event.kind == "eof":
        by_itself = event.data.get("reason") == "end of file"
        return by_itself and event.data.get("stream") == "to-agent"
    is_passed_on = event.kind == "signal" and event.data.get("action") == "passed on"
    return is_passed_on and event.data.get("signal") in STOPPING


def read_events(reader: RecordingReader) -> list[Happened]:
    """Reads all events."""
    return [
        Happened(row["seq"], row["t_ns"], row["kind"], _object(row["data"]))
        for row in reader.query("SELECT seq, t_ns, kind, data FROM events ORDER BY seq")
    ]


def _object(data: object) -> Row:
    try:
        value = json.loads(str(data))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _turn_ends(reader: RecordingReader) -> dict[int, list[tuple[int, str | None]]]:
    ends: dict[int, list[tuple[int, str | None]]] = {}
    sql = "SELECT id, session, end_seq FROM turns WHERE end_seq IS NOT NULL ORDER BY id"
    for row in reader.query(sql):
        ends.setdefault(row["end_seq"], []).append((row["id"], row["session"]))
    return ends


def _program_ends(reader: RecordingReader) -> set[int]:
    """The answers to ``terminal/output`` that tell that its program has exited."""
    sql = (
        "SELECT seq FROM frames WHERE method = 'terminal/output' AND kind = 'response'"
        " AND instr(raw, CAST('\"exitStatus\":' AS BLOB)) > 0"
        " AND instr(raw, CAST('\"exitStatus\":null' AS BLOB)) = 0"
    )
    return {row["seq"] for row in reader.query(sql)}


def _members(reader: RecordingReader, head: FrameHead) -> Iterator[FrameHead]:
    """The messages of a batch; itself, which nobody waits for, if it is too large to be read."""
    batch = {"seq": head.seq, "t_ns": head.t_ns, "stream": head.stream}
    batch["raw"] = b"".join(reader.pieces(head.seq)) if head.size <= LARGEST else b""
    for member in reader.members(batch):
        yield FrameHead._make(member[name] for name in FrameHead._fields)
