"""Reads a recording for the replay engines: steps in order, payloads by number."""

import contextlib
import sqlite3
from collections.abc import Iterator
from typing import Any

from acp_proxy.base.errors import UnreadableRecording
from acp_proxy.base.limits import PLAYED_LINE
from acp_proxy.protocol.dialects import DRAFT, FORK, OPENING
from acp_proxy.protocol.jsonrpc import Direction, Kind, Message, Stream, read
from acp_proxy.recording.steps import (
    ANNOUNCEMENT,
    Answer,
    Ask,
    Step,
    Wire,
    introduced,
    is_mcp,
    referred,
)
from acp_proxy.store.files import database
from acp_proxy.store.queries.fired_faults import FaultedFrames
from acp_proxy.store.queries.recorded_events import ended_by_itself_at, events, gave_up_at
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.schema import KIND_CODES, KINDS, NEWLINES, STREAM_CODES

_STEPS = 256
"""How many steps are read at a time."""
_AHEAD, _AHEAD_BYTES, _HELD_BYTES = 64, 1 << 20, 4 << 20
"""How many frames and about how many bytes are read ahead, and how many bytes are kept."""


_SMALL = 4096
"""The size of the largest update that is searched for the announcement of a session."""
_SELECT = f"""
SELECT f.seq, f.t_ns, f.flags & 3, f.kind, m.text, f.rpc_id, s.text, f.exchange,
  e.session, e.request_seq, e.response_seq,
  f.kind = {KIND_CODES[Kind.NOTIFICATION]} AND length(f.raw) < {_SMALL}
    AND instr(f.raw, x'{ANNOUNCEMENT.hex()}')
FROM frame_rows AS f
  LEFT JOIN labels AS m ON m.id = f.method
  LEFT JOIN labels AS s ON s.id = f.session
  LEFT JOIN exchanges AS e ON e.id = f.exchange
WHERE f.seq > ? AND f.flags & 3 < 3
"""
_WIRE = """
SELECT f.seq, {}, f.flags, f.t_ns, f.kind, m.text
FROM frame_rows AS f LEFT JOIN labels AS m ON m.id = f.method
WHERE f.seq >= ? AND f.flags & 3 = ? ORDER BY f.seq LIMIT ?
"""
_CLIENT, _AGENT = STREAM_CODES[Stream.TO_AGENT], STREAM_CODES[Stream.TO_CLIENT]

_Exchanges = dict[tuple[str | None, bool], tuple[Any, ...]]
"""The exchanges of a batch. The key is the id of the request, and whether the request is in the
batch."""


class RecordedSteps:
    """The steps of a recording, up to the moment when the recording was opened.

    Implements `recording.steps.Script`.

    Args:
        reader: the recording.
        as_sent: whether to return the agent's requests and notifications as the agent sent them,
            before faults changed them. Answers are always returned as the client received them.
    """

    def __init__(self, reader: RecordingReader, *, as_sent: bool = False) -> None:
        reader = reader.in_one_place()
        self._as_sent = as_sent
        self._reader = reader
        self._connection = reader.connection
        self._path = reader.path
        self._wire = _WIRE.format(reader.tables[0].lines.whole)
        self._after = 0
        self._wires: dict[int, Wire] = {}
        self._held = 0
        with self._damage_reported():
            self._faulted = FaultedFrames(self._connection)
        self.agent_left_at = None
        if reader.recording.knows("ending"):
            self.agent_left_at = ended_by_itself_at(events(reader, "eof", "signal", "exit"))
        self.gave_up_at = gave_up_at(reader)
        self.dialect = reader.recording.dialect
        self.redaction = reader.recording.redaction

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; an empty list at the end.

        Raises:
            DamagedRecording: the file is damaged. Every method that reads may raise this.
        """
        steps: list[Step] = []
        sql = f"{_SELECT} ORDER BY f.seq LIMIT {_STEPS}"
        with self._damage_reported():
            while not steps and (rows := self._query(sql, (self._after,))):
                self._after = rows[-1][0]
                for row in rows:
                    steps += self._steps(row)
        return steps

    def wire(self, seq: int) -> Wire:
        """Returns a frame with the bytes of its line."""
        if (wire := self._wires.get(seq)) is None:
            with self._damage_reported():
                self._read_ahead(seq)
                wire = self._wires[seq]
        return wire

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Yields later messages of the client, in order.

        Args:
            method: the method of the messages.
            kind: the kind of the messages.
            after: only messages with a higher number.
        """
        sql = (
            f"{_SELECT} AND f.method = (SELECT id FROM labels WHERE text = ?) AND f.kind = ?"
            f" AND f.flags & 3 = {_CLIENT} ORDER BY f.seq"
        )
        with self._damage_reported():
            for row in self._connection.execute(sql, (after, method, KIND_CODES[Kind(kind)])):
                yield from self._steps(row)

    @contextlib.contextmanager
    def _damage_reported(self) -> Iterator[None]:
        """Converts errors about a broken file to `UnreadableRecording`."""
        try:
            yield
        except (sqlite3.Error, ValueError, LookupError, TypeError) as e:
            raise database.unreadable(self._path, e) from None

    def _read_ahead(self, seq: int) -> None:
        """Reads a frame, and some frames that will probably be needed next."""
        (stream,) = self._query("SELECT flags & 3 FROM frame_rows WHERE seq = ?", (seq,))[0]
        if self._held > _HELD_BYTES:
            self._wires.clear()
            self._held = 0
        size = 0
        ahead = _AHEAD if stream == _AGENT else 1
        for row in self._connection.execute(self._wire, (seq, stream, ahead)):
            number, raw, flags, t_ns, kind, method = row
            if raw is None:
                if number != seq:
                    break
                raw = self._large(seq)
            newline = NEWLINES[flags >> 2 & 3].decode()
            as_received = stream == _AGENT and self._is_as_received(KINDS[kind])
            if as_received and number in self._faulted.changed:
                raw, newline = self._faulted.delivered(number)
            self._wires[number] = Wire(bytes(raw), newline, t_ns, KINDS[kind].value, method)
            size += len(raw)
            if size > _AHEAD_BYTES:
                break
        self._held += size + _AHEAD * 256

    def _large(self, seq: int) -> bytes:
        """Reads a line that is too large to be read ahead.

        Raises:
            UnreadableRecording: the line is too large to be replayed.
        """
        (size,) = self._query("SELECT size FROM frames WHERE seq = ?", (seq,))[0]
        if size > PLAYED_LINE:
            raise UnreadableRecording(
                self._path, f"frame {seq} has {size} bytes, and lines of more than"
                f" {PLAYED_LINE >> 20} MiB are not played"
            )  # fmt: skip
        return b"".join(self._reader.pieces(seq))

    def _is_as_received(self, kind: Kind) -> bool:
        """Whether to return a frame of the agent as its client received it."""
        return not self._as_sent or kind in (Kind.RESPONSE, Kind.ERROR)

    def _steps(self, row: tuple[Any, ...]) -> list[Step]:
        seq, t_ns, stream, code, method, rpc_id, session, exchange, of, asked, answered, new = row
        as_received = stream == _AGENT and self._is_as_received(KINDS[code])
        if not self._faulted.reached_client(seq, from_agent=as_received):
            return []
        if answered in self._faulted.lost:
            answered = None
        kind = KINDS[code]
        step = Step(
            seq=seq,
            t_ns=t_ns,
            from_agent=stream == _AGENT,
            kind=kind.value,
            method=method,
            rpc_id=rpc_id,
            session=of or session,
            names_session=session is not None and not self._is_inferred(method),
            exchange=exchange,
        )
        if new or is_mcp(method) or (method in OPENING and kind is Kind.REQUEST):
            self._name(step)
        if kind is Kind.BATCH:
            return self._batch(step)
        if method == FORK and kind is Kind.REQUEST and answered is not None:
            step.session = read(self.wire(answered).raw).session or session
        if kind is Kind.BLANK and not step.from_agent:
            return []
        if kind in (Kind.REQUEST, Kind.RESPONSE, Kind.ERROR):
            step.request_seq, step.response_seq = asked, answered
        if step.from_agent and exchange is not None and rpc_id is not None:
            if kind is Kind.REQUEST:
                step.asks = (Ask(exchange, rpc_id, method, answered),)
            elif kind in (Kind.RESPONSE, Kind.ERROR):
                step.answers = (Answer(exchange, rpc_id),)
        return [step]

    def _name(self, step: Step) -> None:
        """Stores the names that a step introduces and, for MCP, the names that it refers to."""
        raw = self.wire(step.seq).raw
        step.introduces = introduced(step.method, raw)
        if is_mcp(step.method) and step.kind in ("request", "notification"):
            step.belongs_to = referred(raw)
            step.names_session = read(raw).session is not None

    def _is_inferred(self, method: str | None) -> bool:
        """Whether messages of a method name no session, so that their session must be inferred."""
        is_unnamed = self.dialect == DRAFT and (method or "").startswith(
            ("fs/", "terminal/", "_mcp/")
        )
        return is_unnamed or (method or "").startswith("mcp/")

    def _batch(self, step: Step) -> list[Step]:
        asked = self._exchanges("request_seq", step)
        answered = self._exchanges("response_seq", step)
        if step.from_agent:
            step.asks = tuple(Ask(e, token, m, reply) for e, token, m, _, reply, _ in asked)
            step.answers = tuple(Answer(e, token) for e, token, *_ in answered)
            step.session = next((row[5] for row in (*asked, *answered) if row[5]), step.session)
            step.request_seq = min((row[3] for row in answered), default=None)
            return [step]
        members = read(self.wire(step.seq).raw).members
        if not members:
            step.kind = Kind.INVALID.value
            return [step]
        exchanges: _Exchanges = {}
        for row in (*asked, *answered):  # if an id is repeated, the last one counts
            earlier = exchanges.get(key := (row[1], row[3] == step.seq))
            exchanges[key] = row if row[5] or not earlier else (*row[:5], earlier[5])
        return [
            self._member(step, place, member, exchanges) for place, member in enumerate(members)
        ]

    def _member(self, batch: Step, place: int, message: Message, exchanges: _Exchanges) -> Step:
        step = Step(batch.seq, batch.t_ns, False, message.kind.value, message.method)
        step.rpc_id, step.session, step.member = message.rpc_id, message.session, place
        step.names_session = message.session is not None
        its = exchanges.get((message.rpc_id, message.kind is Kind.REQUEST))
        if its is not None:
            step.exchange, _, step.method, step.request_seq, step.response_seq, session = its
            step.session = session or step.session
        return step

    def _exchanges(self, column: str, step: Step) -> list[tuple[Any, ...]]:
        asks_client = (column == "request_seq") == step.from_agent
        direction = Direction.TO_CLIENT if asks_client else Direction.TO_AGENT
        return self._query(
            "SELECT id, rpc_id, method, request_seq, response_seq, session FROM exchanges"
            f" WHERE {column} = ? AND direction = ? ORDER BY id",
            (step.seq, direction.value),
        )

    def _query(self, sql: str, parameters: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, parameters).fetchall()
