"""The recording from the client's side: its frames, and how much came before each frame.

The recording is read once. The client's messages and the agent's requests are kept in memory
without their payloads. Everything else from the agent is only counted (`stream_progress`).

Secrets may replace markers in messages to the agent, and in permission requests that are compared.
Reports and recordings are masked again.
"""

import json
from array import array
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from functools import lru_cache

from attrs import define, evolve, field, frozen

from acp_proxy.playback.verify.lane import (
    ClientFrame,
    ClientLane,
    LaneEnd,
    ReceivedBefore,
    SendQueue,
)
from acp_proxy.playback.verify.recorded_requests import (
    RecordedMessages,
    RecordedRequest,
    RecordedRequests,
)
from acp_proxy.playback.verify.stream_progress import (
    ITEM,
    StreamProgress,
    TotalProgress,
    increment_of,
)
from acp_proxy.protocol.dialects import PERMISSION, PROMPT, V2
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.typed_places import Place, places_of, spans
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.steps import Ask, LaneFinder, Script, Step, Wire
from acp_proxy.redaction.markers import MARKER_BYTES


@frozen
class RecordedReply:
    """How the client answered a request of the agent."""

    lane: ClientLane
    step: Step


@define
class _LaneReader:
    """Builds one lane while the recording is read.

    Some counts begin again at each request, answer or end of a turn.
    """

    lane: ClientLane
    frames: list[ClientFrame] = field(factory=list)
    progress: StreamProgress = field(factory=StreamProgress)
    states: set[str] = field(factory=set)
    """The kinds of state updates that have come."""
    passed_ns: int = 0
    silence_ns: int = 0
    """The longest silence of the agent."""
    prompts: set[int] = field(factory=set)
    """The exchanges of the open prompts."""

    def clear(self) -> None:
        self.progress.clear()
        self.states.clear()
        self.silence_ns = 0

    def finish(self) -> None:
        """Completes the lane, and leaves out answers that have no recorded request."""
        for frame in self.frames:
            frame.steps = [s for s in frame.steps if not s.is_reply or s.exchange is not None]
        sent = [frame for frame in self.frames if frame.steps]
        states = {kind: self.progress.states[kind] for kind in self.states}
        self.lane.end = LaneEnd(self.progress.mark, states, self.silence_ns)
        self.lane.queue = SendQueue(sent)
        self.lane.queue.discarded = len(self.frames) - len(sent)


class RecordedClient:
    """A recording as one verification needs it.

    Attributes:
        answers: how the agent answered the client's requests, by exchange.
        expected_answers: the frame number and the exchange of each answer in `answers`, in order.
        replies: how the client answered the agent's requests, by exchange.
        unasked: the client's answers that were recorded before their request or without a request.
        unnamed: the agent's requests without a session, in all lanes.
        announcing: the numbers of the frames that may announce tool calls, in order.
        joined: the sessions that no request opened, in order, each with the name of its lane.
        strays: how often the agent answered without a request, by the id of the answer.
        garbage: how many lines of the agent were not messages.
        frames: how many frames the agent sent.
        roots: the directories that the client chose, in the order of their first use.
        is_v2: whether turns end by an update and not by the answer to the prompt.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.messages = RecordedMessages(script)
        self.lanes: dict[str | None, ClientLane] = {None: ClientLane(None)}
        self.answers: dict[int, Step] = {}
        self.expected_answers: list[tuple[int, int]] = []
        self.replies: dict[int, RecordedReply] = {}
        self.unasked: list[RecordedReply] = []
        self.unnamed = RecordedRequests()
        self.permissions: list[RecordedRequest] = []
        self.announcing = array("q")
        self.joined: dict[str, str] = {}
        self.strays: Counter[str] = Counter()
        self.garbage = 0
        self.frames = 0
        self.duration_ns = 0
        self.roots: list[str] = []
        self.is_v2 = script.dialect == V2
        self._readers: dict[str | None, _LaneReader] = {None: _LaneReader(self.lanes[None])}
        self._total = TotalProgress()
        self._frame: ClientFrame | None = None
        self._requested: set[int | None] = set()
        self._asked: set[str] = set()
        """The ids of the agent's requests so far."""
        self._early: dict[str, deque[RecordedReply]] = {}
        """The client's answers that came before any request with the same id, by this id."""
        self._read()
        for reader in self._readers.values():
            reader.finish()
        self._readers.clear()

    def _read(self) -> None:
        finder, began = LaneFinder(), None
        while steps := self.script.read():
            for step in steps:
                if step.from_agent and self.script.gave_up_at and step.seq > self.script.gave_up_at:
                    continue  # the agent sent this only because it was told to end
                finder.place(step)
                self._add(step)
                began = step.t_ns if began is None else began
                self.duration_ns = step.t_ns - began
        self.joined = finder.joined

    def _add(self, step: Step) -> None:
        reader = self._readers.get(step.lane)
        if reader is None:
            lane = self.lanes[step.lane] = ClientLane(step.lane)
            reader = self._readers[step.lane] = _LaneReader(lane)
        if step.from_agent:
            reader.silence_ns = max(reader.silence_ns, step.t_ns - reader.passed_ns)
            self._add_received(step, reader)
        else:
            self._add_sent(step, reader)
        reader.passed_ns = step.t_ns

    def _add_received(self, step: Step, reader: _LaneReader) -> None:
        self.frames += 1
        self._add_requests(step, reader.lane)
        is_update = step.kind == "notification" and step.method == UPDATE
        raw = self.script.wire(step.seq).raw if is_update or step.kind == "batch" else b""
        if b"tool_call" in raw:
            self.announcing.append(step.seq)
        answered = [answer.exchange for answer in step.answers if answer.exchange > 0]
        for exchange in answered:
            self.answers[exchange] = step
            if exchange in self._requested:
                self.expected_answers.append((step.seq, exchange))
            reader.clear()
        if not self.is_v2:
            reader.prompts.difference_update(answered)
        if answered:
            self._total = self._total.plus(ITEM)
        elif step.is_reply:
            self.strays[step.rpc_id or "null"] += 1
        elif step.kind == "invalid":
            self.garbage += 1
        elif step.kind != "blank":
            self._count(raw, step.method if is_update else None, reader)
        has_turn = self.is_v2 and is_update and reader.prompts
        if has_turn and step.session == step.lane and b"idle" in raw and read(raw).state == "idle":
            reader.lane.turns.recorded_ends.append(step.seq)
            reader.prompts.clear()
            reader.clear()

    def _add_requests(self, step: Step, lane: ClientLane) -> None:
        for ask in step.asks:
            request = RecordedRequest(step, self._with_early_answer(ask))
            self._asked.add(ask.rpc_id)
            lane.requests.append(request)
            if ask.method == PERMISSION:
                self.permissions.append(request)
            if not step.names_session:
                self.unnamed.append(request)

    def _with_early_answer(self, ask: Ask) -> Ask:
        """Returns a request, with its answer if the answer was recorded before the request."""
        if ask.reply_seq is not None or not (early := self._early.get(ask.rpc_id)):
            return ask
        reply = early.popleft()
        reply.step.exchange, reply.step.method = ask.exchange, ask.method
        self.replies[ask.exchange] = reply
        return evolve(ask, reply_seq=reply.step.seq)

    def _note_unasked(self, reply: RecordedReply) -> None:
        """Notes an answer without an open request: a repeated answer, or an early answer."""
        self.unasked.append(reply)
        token = reply.step.rpc_id or "null"
        if token not in self._asked:
            self._early.setdefault(token, deque()).append(reply)

    def _count(self, raw: bytes, method: str | None, reader: _LaneReader) -> None:
        increment = increment_of(raw, method)
        self._total = self._total.plus(increment)
        reader.progress.add(increment)
        if increment.state is not None:
            reader.states.add(increment.state)

    def _add_sent(self, step: Step, reader: _LaneReader) -> None:
        if self._frame is not None and self._frame.seq == step.seq:
            self._frame.steps.append(step)
        else:
            before = ReceivedBefore(
                mark=reader.progress.mark,
                total=self._total,
                turn_ends=len(reader.lane.turns.recorded_ends),
                is_turn_open=bool(reader.prompts),
                silence_ns=reader.silence_ns,
            )
            passed = reader.passed_ns
            self._frame = ClientFrame(reader.lane, step.seq, step.t_ns, [step], passed, before)
            reader.frames.append(self._frame)
        if step.is_reply and step.exchange is not None:
            self.replies[step.exchange] = RecordedReply(self._frame.lane, step)
        elif step.is_reply:
            self._note_unasked(RecordedReply(self._frame.lane, step))
        elif step.kind == "request":
            self._requested.add(step.exchange)
            reader.clear()
            if step.method == PROMPT and step.exchange is not None:
                reader.prompts.add(step.exchange)
            self._add_roots(step)

    def _add_roots(self, step: Step) -> None:
        places = places_of(step.kind, step.method)
        params = places.get("params")
        if not isinstance(params, dict) or "cwd" not in params:
            return
        text = self.script.wire(step.seq).raw.decode("utf-8", "surrogateescape")
        if step.member is not None:
            places = {"*": places}
        for span in spans(text, places):
            root = json.loads(text[span.start : span.end]) if span.place is Place.ROOT else None
            if isinstance(root, str) and root not in self.roots:
                self.roots.append(root)


class FilledScript:
    """A script whose markers are replaced by secrets; implements `Script`.

    Args:
        script: the recording.
        secrets: the secret values by the hash of their marker.
    """

    def __init__(self, script: Script, secrets: Mapping[str, str] | None = None) -> None:
        self._script = script
        self.fill(secrets or {})
        self.agent_left_at = script.agent_left_at
        self.gave_up_at = script.gave_up_at
        self.dialect = script.dialect
        self.redaction = script.redaction

    def fill(self, secrets: Mapping[str, str]) -> None:
        """Sets the secret values, by the hash of their marker."""
        values = {
            name.encode(): json.dumps(value)[1:-1].encode() for name, value in secrets.items()
        }

        @lru_cache(8)  # a batch is requested again for each of its messages
        def filled(raw: bytes) -> bytes:
            return MARKER_BYTES.sub(lambda match: values.get(match[2], match[0]), raw)

        self._filled = filled

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; none at the end."""
        return self._script.read()

    def wire(self, seq: int) -> Wire:
        """Returns a frame with secrets in place of markers."""
        wire = self._script.wire(seq)
        return wire._replace(raw=self._filled(wire.raw))

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Yields later messages of the client, in order, without moving the reading position.

        Args:
            method: the method of the messages.
            kind: the kind of the messages.
            after: a frame number; only messages with a higher number are yielded.
        """
        return self._script.later(method, kind, after)


def markers_to_send(recording: RecordedClient) -> dict[str, str]:
    """Returns the markers in the client's frames by hash, in the order of the lanes."""
    markers: dict[str, str] = {}
    for lane in recording.lanes.values():
        for frame in (*lane.queue.frames, *lane.queue.answers.values()):
            for marker in MARKER_BYTES.finditer(recording.script.wire(frame.seq).raw):
                markers.setdefault(marker[2].decode(), marker[0].decode())
    return markers
