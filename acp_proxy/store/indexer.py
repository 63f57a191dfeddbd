"""Turns a capture log into rows, in batches that neither lose nor double a frame.

The indexer is a machine over log records: it splits lines, numbers frames and events by where they
end in the log, reads their headers, and gives them to a `RowWriter`, which correlates them. Each
batch is one transaction that also stores the log offset and all that the machine remembers
(`Memory`), so whoever comes next, the same process, another one after a crash, or a reader that may
not write, goes on from exactly there with the same code.

What it refuses to know: when to run (`runtime.indexing`), who may finish a dead recording
(`store.reader`), and how rows are written (`store.row_writer`).
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from attrs import asdict, evolve

from acp_proxy.capture import log as capture_log
from acp_proxy.protocol.framing import Line, Segment
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.outline import EDGE, read_outline
from acp_proxy.protocol.peers import Direction, Stream
from acp_proxy.recording import Exchange, Recording
from acp_proxy.store.indexer_state import load_memory
from acp_proxy.store.log_events import EVENT_KINDS, event_data, number
from acp_proxy.store.log_reader import LogReader, Record
from acp_proxy.store.row_writer import SAME, RowWriter

LARGE = 2 << 20
"""Bytes from which on a line is never held whole: its header is outlined, its BLOB copied."""

BATCH = 1 << 18
"""Bytes of log to index in one transaction; a few milliseconds."""

_CUT_OFF = "the recorder was killed, or could not write any more"
"""Why a recording has no end, as far as its log can tell."""
_OF_FAULTS = (capture_log.PART, capture_log.FAULT, capture_log.MADE)
_STREAMS = {
    capture_log.TO_AGENT: Stream.TO_AGENT,
    capture_log.TO_CLIENT: Stream.TO_CLIENT,
    capture_log.STDERR: Stream.STDERR,
}


class Indexer:
    """Indexes one log into one connection.

    Args:
        connection: a database with our tables, writable at least in ``schema``.
        log: the log, read from where the database's ``indexing`` row says.
        schema: ``main``, or ``temp`` for a reader that adds what is not indexed yet.
    """

    def __init__(
        self, connection: sqlite3.Connection, log: LogReader, *, schema: str = "main"
    ) -> None:
        self.connection = connection
        self.log = log
        self.memory = load_memory(connection)
        self._rows = RowWriter(connection, self.memory, schema=schema)
        self._pending = False
        self._taken = self.memory.offset  # beyond the memory's while a batch is not committed

    @property
    def behind(self) -> int:
        """Bytes of log that are not in committed rows yet."""
        return self.log.end - self.memory.offset

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left in the log that rows do not have, unfinished lines included."""
        unfinished = any(framer.segments for framer in self.memory.framers.values())
        return not unfinished and not self._pending and not any(self.memory.parts.values())

    def open_requests(self, direction: Direction) -> list[Exchange]:
        """Returns the requests that wait for their answer, as far as the log is indexed.

        One that a fault has kept from arriving waits for nothing.
        """
        waiting = self._rows.correlator.open_requests(direction)
        lost = self._rows.lost([exchange.request_seq for exchange in waiting])
        return [exchange for exchange in waiting if exchange.request_seq not in lost]

    def step(self, limit: int = BATCH) -> int:
        """Indexes a batch; returns the bytes of log it committed, 0 at the end of the log.

        Raises:
            sqlite3.Error: the batch could not be committed. It is kept, and the next step tries
                again before it reads on.
        """
        start = self.memory.offset
        if self._pending:
            self._commit()
        for record in self.log.records(self._taken, limit):
            self._take(record)
            self._taken = record.end
            self._pending = True
        if self._pending:
            self._commit()
        return self.memory.offset - start

    def settle(self) -> None:
        """Ends the recording of a writer that died: unfinished lines become frames.

        Raises:
            sqlite3.Error: as `step`.
        """
        memory = self.memory
        for stream in Stream:
            self._finish_line(stream, memory.last_ns)
        if memory.recording is not None and not memory.closed:
            memory.recording = evolve(
                memory.recording,
                state="incomplete",
                ended_at=self._iso(memory.last_ns),
                end_reason=memory.recording.end_reason or _CUT_OFF,
            )
        self._commit()

    def _take(self, record: Record) -> None:
        memory = self.memory
        memory.last_ns = record.t_ns
        if record.kind == capture_log.DATA:
            self._take_chunk(record)
            return
        if record.kind in _OF_FAULTS:
            self._take_fault(record)
            return
        if record.kind == capture_log.BASE:
            return
        data = event_data(record)
        stream = _STREAMS.get(record.stream)
        match record.kind:
            case capture_log.START:
                self._begin(record, data)
            case capture_log.END if stream is not None:
                self._finish_line(stream, record.t_ns)
            case capture_log.UNDELIVERED if stream is not None:
                self._mark_undelivered(stream, number(data, "bytes", 0))
            case capture_log.GAP:
                for cut in Stream:
                    if cut in data:
                        self._finish_line(cut, record.t_ns)
            case capture_log.EXIT:
                self._update(
                    exit_code=number(data, "code", None),
                    exit_signal=number(data, "signal", None),
                    end_reason=data.get("reason"),
                )
            case capture_log.CLOSE:
                memory.closed = True
                self._update(
                    state="complete",
                    ended_at=self._iso(record.t_ns),
                    end_reason=data.get("reason"),
                )
                return
        self._add_event(EVENT_KINDS.get(record.kind, "note"), record.t_ns, data)

    def _take_chunk(self, record: Record) -> None:
        stream = _STREAMS.get(record.stream)
        if stream is None:
            return
        begin, payload = record.offset, record.payload
        for line in self.memory.framers[stream].feed(payload, begin, record.t_ns):
            if len(line.segments) == 1 and line.segments[0][0] >= begin:
                place = line.segments[0][0] - begin
                self._add_line(stream, line, payload[place : place + line.size])
            elif line.size <= LARGE:
                self._add_line(stream, line, self.log.read_segments(line.segments))
            else:
                self._add_large(stream, line)
            self.memory.undelivered.pop(stream, None)

    def _take_fault(self, record: Record) -> None:
        """Takes what faults did to the last line of a stream, or a line that one made up."""
        stream = _STREAMS.get(record.stream)
        if stream is None:
            return
        if record.kind == capture_log.PART:
            place = (record.offset, len(record.payload))
            self.memory.parts.setdefault(stream, []).append(place)
            return
        changed = self.log.read_segments(tuple(self.memory.parts.pop(stream, ())))
        data = event_data(record)
        rule, action = str(data.get("rule", "")), str(data.get("action", ""))
        if record.kind == capture_log.MADE:
            self._add_made(stream, number(data, "at", record.t_ns), changed, rule, action)
            return
        if "last" in data:
            self._finish_line(stream, record.t_ns)
        seq = self.memory.latest.get(stream)
        if seq is None:
            return
        self._rows.mark_fault(seq, rule, str(data.get("delivered", "full")))
        if "again" not in data:
            delivered = SAME if "same" in data else changed or None
            self._rows.add_fired((seq, rule, action, SAME, delivered))

    def _add_made(self, stream: Stream, t_ns: int, line: bytes, rule: str, action: str) -> None:
        """Adds a line that nobody has said; a part of one is a line without an end."""
        raw = line.removesuffix(b"\n")
        newline = b"" if raw == line else b"\n"
        if newline and raw.endswith(b"\r"):
            raw, newline = raw[:-1], b"\r\n"
        message = Message(Kind.STDERR) if stream is Stream.STDERR else read(raw)
        t_ns -= self.memory.origin_ns
        self._rows.add_fired((self.memory.next_seq, rule, action, None, line))
        self._rows.add_frame(stream, message, newline, t_ns, 0, raw, fault=rule)

    def _finish_line(self, stream: Stream, t_ns: int) -> None:
        """Makes a frame of what stands after the last newline of a stream that has ended."""
        memory = self.memory
        lost = memory.undelivered.pop(stream, 0)
        line = memory.framers[stream].finish(t_ns)
        if line is None:
            return
        delivered = "full" if not lost else "none" if lost >= line.size else "partial"
        if line.size <= LARGE:
            self._add_line(stream, line, self.log.read_segments(line.segments), delivered)
        else:
            self._add_large(stream, line, delivered)

    def _add_line(self, stream: Stream, line: Line, raw: bytes, delivered: str = "full") -> None:
        newline = b""
        if line.terminated:
            newline = b"\r\n" if raw.endswith(b"\r\n") else b"\n"
            raw = raw[: -len(newline)]
        message = Message(Kind.STDERR) if stream is Stream.STDERR else read(raw)
        t_ns = line.t_ns - self.memory.origin_ns
        lag_ns = line.t_ns - line.t_first_ns
        self.memory.latest[stream] = self.memory.next_seq
        self._rows.add_frame(stream, message, newline, t_ns, lag_ns, raw, delivered)

    def _add_large(self, stream: Stream, line: Line, delivered: str = "full") -> None:
        """Adds a line that is too large to hold, by its edges; its BLOB is copied at the commit."""
        head = self._read_part(line, 0, EDGE)
        tail = self._read_part(line, line.size - EDGE, EDGE)
        newline = b""
        if line.terminated:
            newline = b"\r\n" if tail.endswith(b"\r\n") else b"\n"
        size = line.size - len(newline)
        if stream is Stream.STDERR:
            message = Message(Kind.STDERR)
        else:
            message = read_outline(head, tail[: len(tail) - len(newline)])
        t_ns = line.t_ns - self.memory.origin_ns
        lag_ns = line.t_ns - line.t_first_ns
        parts = self._parts(line.segments, size)
        self.memory.latest[stream] = self.memory.next_seq
        self._rows.add_large(stream, message, newline, t_ns, lag_ns, size, parts, delivered)

    def _begin(self, record: Record, data: dict[str, Any]) -> None:
        memory = self.memory
        memory.origin_ns = number(data, "origin", record.t_ns)
        memory.wall_ns = number(data, "wall", 0)
        dialect = str(data.get("dialect", "auto"))
        self._rows.speak(dialect)
        command = data.get("command", [])
        memory.recording = Recording(
            id=str(data.get("id", "")),
            name=str(data.get("name", "")),
            tool_version=str(data.get("tool_version", "")),
            started_at=self._iso(memory.origin_ns),
            command=json.dumps(command, ensure_ascii=False),
            cwd=str(data.get("cwd", "")),
            platform=str(data.get("platform", "")),
            redaction=data.get("redaction"),
            connection_id=data.get("connection_id"),
            parent=data.get("parent") or None,
            fault_plan=data.get("fault_plan"),
            seed=number(data, "seed", None),
        )

    def _update(self, **changes: Any) -> None:
        known = {name: value for name, value in changes.items() if value is not None}
        if self.memory.recording is not None:
            self.memory.recording = evolve(self.memory.recording, **known)

    def _add_event(self, kind: str, t_ns: int, data: dict[str, Any]) -> None:
        t_ns = max(0, t_ns - self.memory.origin_ns)
        self._rows.add_event(kind, t_ns, json.dumps(data))

    def _mark_undelivered(self, stream: Stream, lost: int) -> None:
        """Marks the frames that the last ``lost`` bytes of a stream belong to."""
        framer = self.memory.framers[stream]
        if framer.size:
            self.memory.undelivered[stream] = lost
            lost -= framer.size
        if lost > 0:
            self._rows.mark_undelivered(stream, lost)

    def _commit(self) -> None:
        """Writes all that was collected in one transaction; keeps it all if that fails."""
        memory = self.memory
        if memory.recording is not None:
            handshake = asdict(memory.correlation.handshake)
            memory.recording = evolve(memory.recording, **handshake)
        committed, memory.offset = memory.offset, self._taken
        try:
            self._rows.commit()
        except sqlite3.Error:
            memory.offset = committed
            self._pending = True
            raise
        self._pending = False

    def _parts(self, segments: tuple[Segment, ...], size: int) -> Callable[[], Iterator[bytes]]:
        """Reads what stands at ``segments`` piece by piece, up to ``size`` bytes in all."""

        def parts() -> Iterator[bytes]:
            left = size
            for offset, length in segments:
                if part := self.log.read(offset, length)[:left]:
                    left -= len(part)
                    yield part

        return parts

    def _read_part(self, line: Line, start: int, size: int) -> bytes:
        """Reads part of a line from the log, without reading the rest."""
        parts = []
        for offset, length in line.segments:
            if start < length and size > 0:
                part = self.log.read(offset + start, min(length - start, size))
                parts.append(part)
                size -= len(part)
                start = 0
            else:
                start -= min(start, length)
        return b"".join(parts)

    def _iso(self, t_ns: int) -> str:
        """The wall clock's time at a moment of the monotonic clock."""
        moment = datetime.fromtimestamp(0, UTC) + timedelta(
            microseconds=(self.memory.wall_ns + t_ns - self.memory.origin_ns) // 1000
        )
        return moment.isoformat(timespec="microseconds")
