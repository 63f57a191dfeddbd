"""Turns the records of a log into frames, events and the row of the recording.

A chunk of a stream is split into lines, and each line is labelled. A record about a fault changes
an earlier line of its stream, or adds a line. Most other records become events, and some of them
also change the recording's row.
"""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from attrs import asdict, define, evolve, field

from acp_proxy.protocol.framing import Line, LineFramer
from acp_proxy.protocol.jsonrpc import Kind, Message, Stream, read
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.recording import Recording
from acp_proxy.redaction.edits import apply
from acp_proxy.redaction.redactor import RedactorState
from acp_proxy.redaction.text_streams import NotYet
from acp_proxy.store.indexing import line_masking
from acp_proxy.store.indexing.indexer_state import IndexerState
from acp_proxy.store.indexing.line_masking import ReadLine, read_line
from acp_proxy.store.indexing.row_batch import Same
from acp_proxy.store.indexing.row_writer import RowWriter
from acp_proxy.store.log.log_reader import (
    EVENT_KINDS,
    LOG_STREAMS,
    LogReader,
    LogRecord,
    event_data,
    number,
)

_CUT_OFF = "the recorder was killed, or could not write any more"
"""The reason for the end of a recording whose log does not contain the end."""
_STDERR = Stream.STDERR  # looking it up takes a while
_Fields = dict[str, Any]


@define(eq=False)
class RecordHandler:
    """Handles the records of one log in order.

    Args:
        state: the state of the indexer.
        log: the log, for lines that began in an earlier chunk or are too large for memory.
        rows: receives frames and events.
        waits: whether to wait for more of the log if a piece of text may end with the start of a
            secret.

    Attributes:
        masking: masks lines and events; None if nothing is masked.
    """

    _state: IndexerState
    _log: LogReader
    _rows: RowWriter
    _waits: bool = field(default=True, kw_only=True)
    masking: line_masking.Masking | None = field(init=False, default=None)

    def handle(self, record: LogRecord) -> None:
        """Adds the content of a record to the rows.

        Raises:
            NotYet: the masking depends on later records that are not logged yet. Nothing was added.
        """
        known = self.masking.redactor.known if self.masking is not None else 0
        try:
            self._handle(record)
        finally:
            if self.masking is not None and self.masking.redactor.known > known:
                self._state.search_before = self._state.next_seq

    def _handle(self, record: LogRecord) -> None:
        if record.kind == capture_log.MASKING:  # its time says nothing about the conversation
            if self.masking is None:
                self.masking = line_masking.load(self._log, record.payload, waits=self._waits)
            return
        self._state.last_ns = record.t_ns
        stream = LOG_STREAMS.get(record.stream)
        of_line = self._OF_LINES.get(record.kind)
        if of_line is not None:
            if stream is not None:
                of_line(self, record, stream)
            return
        if record.kind == capture_log.BASE:
            return
        fields = self._masked_fields(event_data(record))  # `_start` masks the first record
        if (of_event := self._OF_EVENTS.get(record.kind)) is not None:
            of_event(self, record, fields)
        if record.kind != capture_log.CLOSE:  # CLOSE only changes the recording's row
            t_ns = max(0, record.t_ns - self._state.origin_ns)
            kind = EVENT_KINDS.get(record.kind, "note")
            self._rows.add_event(kind, t_ns, json.dumps(fields))

    def settle(self) -> None:
        """Ends the recording of a dead recorder: unfinished lines become frames."""
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

    def note(self, fields: _Fields, t_ns: int) -> None:
        """Adds a note by acp-proxy.

        Args:
            fields: the fields of the note, which need no masking.
            t_ns: the time of the note by the recorder's clock.
        """
        t_ns = max(0, t_ns - self._state.origin_ns)
        self._rows.add_event("note", t_ns, json.dumps(fields))

    def note_handshake(self) -> None:
        """Adds what the handshake says about both peers to the recording's row."""
        state = self._state
        if state.recording is not None:
            state.recording = evolve(state.recording, **asdict(state.correlation.handshake))

    def _add_chunk(self, record: LogRecord, stream: Stream) -> None:
        begin, payload, framer = record.offset, record.payload, self._state.framers[stream]
        before = framer.copy()
        lines = [*framer.feed(payload, begin, record.t_ns)]
        bodies: list[bytes | None] = []
        for line in lines:
            place = line.segments[0][0] - begin
            is_within = len(line.segments) == 1 and place >= 0
            bodies.append(payload[place : place + line.size] if is_within else None)
        if self.masking is None:
            for line, raw in zip(lines, bodies, strict=True):
                self._add_line(stream, line, raw)
        else:
            self._add_masked(record, stream, lines, bodies, before)
        if lines:
            self._state.undelivered.pop(stream, None)

    def _add_masked(
        self,
        record: LogRecord,
        stream: Stream,
        lines: list[Line],
        bodies: list[bytes | None],
        before: LineFramer,
    ) -> None:
        """Masks all lines of a chunk, then adds them. If masking raises `NotYet`, adds no line."""
        assert self.masking is not None
        self.masking.begin(lines, self._state.framers[stream], record.end, record.payload)
        mark = self.masking.redactor.mark()
        try:
            read = [
                read_line(self._log, self.masking, stream, line, raw, number)
                for number, (line, raw) in enumerate(zip(lines, bodies, strict=True), 1)
            ]
        except NotYet:
            self._state.framers[stream] = before
            self.masking.redactor.restore(mark)
            raise
        for line, masked in zip(lines, read, strict=True):
            self._add_read(stream, line, masked)

    def _add_line(
        self, stream: Stream, line: Line, raw: bytes | None = None, delivered: str = "full"
    ) -> None:
        """Adds a frame; reads the bytes of the line from the log if ``raw`` is None."""
        self._add_read(
            stream, line, read_line(self._log, self.masking, stream, line, raw), delivered
        )

    def _add_read(
        self, stream: Stream, line: Line, read_line: ReadLine, delivered: str = "full"
    ) -> None:
        state = self._state
        message, newline, body, received = read_line
        state.latest[stream] = state.next_seq
        t_ns, lag_ns = line.t_ns - state.origin_ns, line.t_ns - line.t_first_ns
        is_masked = received is not None
        self._rows.add_frame(
            stream, message, newline, t_ns, lag_ns, body, delivered, None, is_masked, received
        )

    def _finish_line(self, stream: Stream, t_ns: int) -> None:
        """Adds a frame for the last line of an ended stream, if that line has no newline."""
        lost = self._state.undelivered.pop(stream, 0)
        line = self._state.framers[stream].finish(t_ns)
        if line is not None:
            delivered = "full" if not lost else "none" if lost >= line.size else "partial"
            self._add_line(stream, line, delivered=delivered)

    def _keep_part(self, record: LogRecord, stream: Stream) -> None:
        """Stores where in the log a piece of a line is, for the next record about a fault."""
        place = (record.offset, len(record.payload))
        self._state.parts.setdefault(stream, []).append(place)

    def _take_parts(self, stream: Stream) -> bytes:
        return self._log.read_segments(tuple(self._state.parts.pop(stream, ())))

    def _mark_fault(self, record: LogRecord, stream: Stream) -> None:
        """Marks the latest line of a stream with the rule that fired on the line."""
        changed = self._masked_made(stream, self._take_parts(stream))
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
            late_ns = self._late_ns(seq, fields)
            self._rows.add_fired(seq, rule, action, Same.LINE, delivered, late_ns)

    def _add_made(self, record: LogRecord, stream: Stream) -> None:
        """Adds a line that a fault injected. An injected piece of a line has no newline."""
        state, made = self._state, self._take_parts(stream)
        line = self._masked_made(stream, made)
        fields = event_data(record)
        rule, action = _rule_and_action(fields)
        raw = line.removesuffix(b"\n")
        newline = b"" if raw == line else b"\n"
        if newline and raw.endswith(b"\r"):
            raw, newline = raw[:-1], b"\r\n"
        message = Message(Kind.STDERR) if stream is _STDERR else read(raw)
        t_ns = number(fields, "at", record.t_ns) - state.origin_ns
        late_ns = self._late_ns(state.next_seq, fields)
        self._rows.add_fired(state.next_seq, rule, action, None, line, late_ns)
        is_masked = line is not made
        self._rows.add_frame(stream, message, newline, t_ns, 0, raw, fault=rule, masked=is_masked)

    def _late_ns(self, seq: int, fields: _Fields) -> int | None:
        """Returns a line's delay; None if not known. Remembers a line that is still held back."""
        if (key := number(fields, "held", None)) is not None:
            self._state.delayed[key] = seq
        return number(fields, "late", None)

    def _note_sent(self, record: LogRecord, _: Stream) -> None:
        """Sets the delay of a line that was held back and is forwarded now."""
        fields = event_data(record)
        seq = self._state.delayed.pop(number(fields, "held", 0), None)
        late_ns = number(fields, "late", None)
        if seq is not None and late_ns is not None:
            self._rows.mark_late(seq, late_ns)

    def _start(self, record: LogRecord, fields: _Fields) -> None:
        state = self._state
        if state.recording is not None:
            return  # a second START, which no recorder writes, is ignored
        state.origin_ns = number(fields, "origin", record.t_ns)
        state.wall_ns = number(fields, "wall", 0)
        self._rows.set_dialect(str(fields.get("dialect", "auto")))
        level, key = str(fields.get("redaction")), str(fields.pop(capture_log.MARKER_KEY, ""))
        known = fields.pop(capture_log.SECRETS_KEY, [])
        secrets = dict(zip(known[1::2], known[::2], strict=False))
        known = RedactorState(key, secrets, hashes=fields.pop(capture_log.HASHES_KEY, []))
        self.masking = line_masking.start(self._log, level, known, waits=self._waits)
        fields.update(self._masked_fields(fields))
        state.recording = Recording(
            id=str(fields.get("id", "")),
            name=str(fields.get("name", "")),
            tool_version=str(fields.get("tool_version", "")),
            started_at=self._iso(state.origin_ns),
            command=json.dumps(fields.get("command", []), ensure_ascii=False),
            cwd=str(fields.get("cwd", "")),
            platform=str(fields.get("platform", "")),
            redaction=self.masking.level if self.masking is not None else "none",
            connection_id=fields.get("connection_id"),
            parent=fields.get("parent") or None,
            fault_plan=fields.get("fault_plan"),
            seed=number(fields, "seed", None),
        )

    def _end_stream(self, record: LogRecord, _: _Fields) -> None:
        if (stream := LOG_STREAMS.get(record.stream)) is not None:
            self._finish_line(stream, record.t_ns)

    def _note_undelivered(self, record: LogRecord, fields: _Fields) -> None:
        """Marks the undelivered frames at the end of a stream."""
        stream, lost = LOG_STREAMS.get(record.stream), number(fields, "bytes", 0)
        if stream is None:
            return
        if unfinished := self._state.framers[stream].size:
            self._state.undelivered[stream] = lost
            lost -= unfinished
        if lost > 0:
            self._rows.mark_undelivered(stream, lost)

    def _close_gap(self, record: LogRecord, fields: _Fields) -> None:
        """Ends each line that lost bytes, since bytes after the gap belong to another line."""
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

    def _masked_made(self, stream: Stream, line: bytes) -> bytes:
        """Masks a line that a fault changed or injected."""
        if self.masking is None or not line:
            return line
        raw = line.removesuffix(b"\n").removesuffix(b"\r")
        edits = self.masking.redactor.changed(stream, raw)
        return apply(raw, edits) + line[len(raw) :] if edits else line

    def _masked_fields(self, fields: _Fields) -> _Fields:
        """Masks the fields of an event."""
        if self.masking is None:
            return fields
        return line_masking.masked_fields(self.masking.redactor, fields)

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
        capture_log.SENT: _note_sent,
    }
    _OF_EVENTS: ClassVar[dict[int, Callable[["RecordHandler", LogRecord, _Fields], None]]] = {
        capture_log.START: _start,
        capture_log.END: _end_stream,
        capture_log.UNDELIVERED: _note_undelivered,
        capture_log.GAP: _close_gap,
        capture_log.EXIT: _exit,
        capture_log.CLOSE: _close,
    }


def _rule_and_action(fields: _Fields) -> tuple[str, str]:
    return str(fields.get("rule", "")), str(fields.get("action", ""))
