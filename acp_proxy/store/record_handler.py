"""Turns the records of a log into frames, events and the recording's row, one handler a kind.

A chunk of a stream is split into lines, and the header of each line is read. A record of faults
changes the last line of its stream or adds one. Every other record is an event, some of which also
change the recording's row. What no recorder writes is skipped, and never raises an error.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, ClassVar

from attrs import asdict, evolve

from acp_proxy.capture import log_format as capture_log
from acp_proxy.protocol.framing import Line
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.outline import EDGE, read_outline
from acp_proxy.protocol.peers import Stream
from acp_proxy.recording import Recording
from acp_proxy.store.indexer_state import IndexerState
from acp_proxy.store.log_reader import EVENT_KINDS, LogReader, LogRecord, event_data, number
from acp_proxy.store.row_batch import LargeLine, Same
from acp_proxy.store.row_writer import RowWriter

LARGE = 2 << 20
"""Bytes from which on a line is never held whole: its header is outlined, its BLOB copied."""

_CUT_OFF = "the recorder was killed, or could not write any more"
"""Why a recording has no end, as far as its log shows."""
_STREAMS = {
    capture_log.TO_AGENT: Stream.TO_AGENT,
    capture_log.TO_CLIENT: Stream.TO_CLIENT,
    capture_log.STDERR: Stream.STDERR,
}
_STDERR = Stream.STDERR  # looking it up takes a while
_Fields = dict[str, Any]


class RecordHandler:
    """Handles the records of one log in their order.

    Args:
        state: of the indexer.
        log: for lines that began in an earlier chunk, or are too large to hold.
        rows: takes frames and events.
    """

    def __init__(self, state: IndexerState, log: LogReader, rows: RowWriter) -> None:
        self._state = state
        self._log = log
        self._rows = rows

    def handle(self, record: LogRecord) -> None:
        """Adds the content of a record to the rows."""
        self._state.last_ns = record.t_ns
        stream = _STREAMS.get(record.stream)
        of_line = self._OF_LINES.get(record.kind)
        if of_line is not None:
            if stream is not None:
                of_line(self, record, stream)
            return
        if record.kind == capture_log.BASE:
            return
        fields = event_data(record)
        if (of_event := self._OF_EVENTS.get(record.kind)) is not None:
            of_event(self, record, fields)
        if record.kind != capture_log.CLOSE:  # its row in `recording` has it
            t_ns = max(0, record.t_ns - self._state.origin_ns)
            kind = EVENT_KINDS.get(record.kind, "note")
            self._rows.add_event(kind, t_ns, json.dumps(fields))

    def settle(self) -> None:
        """Ends the recording of a writer that died: unfinished lines become frames."""
        state = self._state
        for stream in Stream:
            self._finish_line(stream, state.last_ns)
        if state.recording is not None and not state.closed:
            state.recording = evolve(
                state.recording,
                state="incomplete",
                ended_at=self._iso(state.last_ns),
                end_reason=state.recording.end_reason or _CUT_OFF,
            )

    def note_handshake(self) -> None:
        """Adds to the recording's row what the handshake shows of the two peers."""
        state = self._state
        if state.recording is not None:
            state.recording = evolve(state.recording, **asdict(state.correlation.handshake))

    def _add_chunk(self, record: LogRecord, stream: Stream) -> None:
        begin, payload = record.offset, record.payload
        for line in self._state.framers[stream].feed(payload, begin, record.t_ns):
            raw = None
            if len(line.segments) == 1 and line.segments[0][0] >= begin:
                place = line.segments[0][0] - begin
                raw = payload[place : place + line.size]
            self._add_line(stream, line, raw)
            self._state.undelivered.pop(stream, None)

    def _add_line(
        self, stream: Stream, line: Line, raw: bytes | None = None, delivered: str = "full"
    ) -> None:
        """Adds a frame; its bytes are read from the log if they are not given."""
        state = self._state
        body: bytes | LargeLine
        if raw is None and line.size > LARGE:
            message, newline, body = self._outlined(stream, line)
        else:
            whole = self._log.read_segments(line.segments) if raw is None else raw
            newline = _newline_of(line, whole)
            body = held = whole[: len(whole) - len(newline)]
            message = Message(Kind.STDERR) if stream is _STDERR else read(held)
        state.latest[stream] = state.next_seq
        t_ns, lag_ns = line.t_ns - state.origin_ns, line.t_ns - line.t_first_ns
        self._rows.add_frame(stream, message, newline, t_ns, lag_ns, body, delivered)

    def _outlined(self, stream: Stream, line: Line) -> tuple[Message, bytes, LargeLine]:
        """Reads the header of a line that is too large to hold from its two edges."""
        head = self._log.read_range(line.segments, 0, EDGE)
        tail = self._log.read_range(line.segments, line.size - EDGE, EDGE)
        newline = _newline_of(line, tail)
        if stream is _STDERR:
            message = Message(Kind.STDERR)
        else:
            message = read_outline(head, tail[: len(tail) - len(newline)])
        size = line.size - len(newline)
        return message, newline, LargeLine(size, partial(self._log.pieces, line.segments, size))

    def _finish_line(self, stream: Stream, t_ns: int) -> None:
        """Makes a frame of the bytes after the last newline of a stream that has ended."""
        lost = self._state.undelivered.pop(stream, 0)
        line = self._state.framers[stream].finish(t_ns)
        if line is not None:
            delivered = "full" if not lost else "none" if lost >= line.size else "partial"
            self._add_line(stream, line, delivered=delivered)

    def _keep_part(self, record: LogRecord, stream: Stream) -> None:
        """Keeps the place of a piece of a line, for the record of faults that follows."""
        place = (record.offset, len(record.payload))
        self._state.parts.setdefault(stream, []).append(place)

    def _take_parts(self, stream: Stream) -> bytes:
        return self._log.read_segments(tuple(self._state.parts.pop(stream, ())))

    def _mark_fault(self, record: LogRecord, stream: Stream) -> None:
        """Marks the last line of a stream with the rule that fired at it."""
        changed = self._take_parts(stream)
        fields = event_data(record)
        rule, action = _rule_and_action(fields)
        if "last" in fields:
            self._finish_line(stream, record.t_ns)
        seq = self._state.latest.get(stream)
        if seq is None:
            return
        self._rows.mark_fault(seq, rule, str(fields.get("delivered", "full")))
        if "again" not in fields:
            delivered = Same.LINE if "same" in fields else changed or None
            self._rows.add_fired(seq, rule, action, Same.LINE, delivered)

    def _add_made(self, record: LogRecord, stream: Stream) -> None:
        """Adds a line that a fault made up; a part of a line is one without a newline."""
        state, line = self._state, self._take_parts(stream)
        fields = event_data(record)
        rule, action = _rule_and_action(fields)
        raw = line.removesuffix(b"\n")
        newline = b"" if raw == line else b"\n"
        if newline and raw.endswith(b"\r"):
            raw, newline = raw[:-1], b"\r\n"
        message = Message(Kind.STDERR) if stream is _STDERR else read(raw)
        t_ns = number(fields, "at", record.t_ns) - state.origin_ns
        self._rows.add_fired(state.next_seq, rule, action, None, line)
        self._rows.add_frame(stream, message, newline, t_ns, 0, raw, fault=rule)

    def _start(self, record: LogRecord, fields: _Fields) -> None:
        state = self._state
        if state.recording is not None:
            return  # a recorder writes one; of a second one the rows would depend on the batches
        state.origin_ns = number(fields, "origin", record.t_ns)
        state.wall_ns = number(fields, "wall", 0)
        self._rows.set_dialect(str(fields.get("dialect", "auto")))
        state.recording = Recording(
            id=str(fields.get("id", "")),
            name=str(fields.get("name", "")),
            tool_version=str(fields.get("tool_version", "")),
            started_at=self._iso(state.origin_ns),
            command=json.dumps(fields.get("command", []), ensure_ascii=False),
            cwd=str(fields.get("cwd", "")),
            platform=str(fields.get("platform", "")),
            redaction=fields.get("redaction"),
            connection_id=fields.get("connection_id"),
            parent=fields.get("parent") or None,
            fault_plan=fields.get("fault_plan"),
            seed=number(fields, "seed", None),
        )

    def _end_stream(self, record: LogRecord, _: _Fields) -> None:
        if (stream := _STREAMS.get(record.stream)) is not None:
            self._finish_line(stream, record.t_ns)

    def _note_undelivered(self, record: LogRecord, fields: _Fields) -> None:
        """Marks the frames that the last bytes of a stream belong to."""
        stream, lost = _STREAMS.get(record.stream), number(fields, "bytes", 0)
        if stream is None:
            return
        if unfinished := self._state.framers[stream].size:
            self._state.undelivered[stream] = lost
            lost -= unfinished
        if lost > 0:
            self._rows.mark_undelivered(stream, lost)

    def _close_gap(self, record: LogRecord, fields: _Fields) -> None:
        """Ends the lines of which bytes are missing: what follows is no part of them."""
        for stream in Stream:
            if stream in fields:
                self._finish_line(stream, record.t_ns)

    def _exit(self, _: LogRecord, fields: _Fields) -> None:
        self._update(
            exit_code=number(fields, "code", None),
            exit_signal=number(fields, "signal", None),
            end_reason=fields.get("reason"),
        )

    def _close(self, record: LogRecord, fields: _Fields) -> None:
        self._state.closed = True
        ended_at = self._iso(record.t_ns)
        self._update(state="complete", ended_at=ended_at, end_reason=fields.get("reason"))

    def _update(self, **changes: Any) -> None:
        known = {name: value for name, value in changes.items() if value is not None}
        if self._state.recording is not None:
            self._state.recording = evolve(self._state.recording, **known)

    def _iso(self, t_ns: int) -> str:
        moment = datetime.fromtimestamp(0, UTC) + timedelta(
            microseconds=(self._state.wall_ns + t_ns - self._state.origin_ns) // 1000
        )
        return moment.isoformat(timespec="microseconds")

    _OF_LINES: ClassVar[dict[int, Callable[["RecordHandler", LogRecord, Stream], None]]] = {
        capture_log.DATA: _add_chunk,
        capture_log.PART: _keep_part,
        capture_log.FAULT: _mark_fault,
        capture_log.MADE: _add_made,
    }
    _OF_EVENTS: ClassVar[dict[int, Callable[["RecordHandler", LogRecord, _Fields], None]]] = {
        capture_log.START: _start,
        capture_log.END: _end_stream,
        capture_log.UNDELIVERED: _note_undelivered,
        capture_log.GAP: _close_gap,
        capture_log.EXIT: _exit,
        capture_log.CLOSE: _close,
    }


def _newline_of(line: Line, end: bytes) -> bytes:
    if not line.terminated:
        return b""
    return b"\r\n" if end.endswith(b"\r\n") else b"\n"


def _rule_and_action(fields: _Fields) -> tuple[str, str]:
    return str(fields.get("rule", "")), str(fields.get("action", ""))
