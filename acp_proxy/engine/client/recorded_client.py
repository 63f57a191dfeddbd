"""The recording as the client sees it: what it sends, and what it has received before that.

The recording is read once. The client's messages and the agent's requests are held, without their
payloads; everything else from the agent is only counted (`stream_progress`). So a million updates
need no more memory than a few numbers.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterator

from attrs import define, field, frozen

from acp_proxy.engine.client.client_frames import ClientFrame, ReceivedBefore
from acp_proxy.engine.client.lane import ClientLane, LaneEnd
from acp_proxy.engine.client.messages import RecordedMessages
from acp_proxy.engine.client.recorded_requests import RecordedRequest, RecordedRequests
from acp_proxy.engine.client.stream_progress import (
    ITEM,
    StreamProgress,
    TotalProgress,
    increment_of,
)
from acp_proxy.engine.shared.steps import LaneFinder, Script, Step
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.methods import PERMISSION, PROMPT
from acp_proxy.protocol.splice import Place, spans
from acp_proxy.protocol.typed_places import places_of
from acp_proxy.protocol.updates import UPDATE


@frozen
class RecordedAnswer:
    """How the recorded agent answered a request of the client."""

    seq: int
    kind: str
    """response or error."""


@frozen
class RecordedReply:
    """How the client answered a request of the agent."""

    lane: ClientLane
    step: Step


@define
class _LaneCount:
    """What is counted of a lane while it is read."""

    progress: StreamProgress = field(factory=StreamProgress)
    states: set[str] = field(factory=set)
    """The kinds of state updates since the count was cleared."""
    passed_ns: int = 0
    silence_ns: int = 0
    """The longest silence of the agent since then."""
    prompts: set[int] = field(factory=set)
    """Exchanges of the prompts that are open."""

    def clear(self) -> None:
        """Counts from zero again, after a request, an answer or the end of a turn."""
        self.progress.clear()
        self.states.clear()
        self.silence_ns = 0

    @property
    def end(self) -> LaneEnd:
        """What came last."""
        states = {kind: self.progress.states[kind] for kind in self.states}
        return LaneEnd(self.progress.mark, states, self.silence_ns)


class RecordedClient:
    """A recording, for one verification.

    Args:
        script: the recording.

    Attributes:
        script: the same.
        messages: its messages, decoded.
        lanes: by session, None for the connection's.
        answers: how the agent answered the client's requests, by exchange.
        expected_answers: the answers, in order: the number of each, and its exchange.
        replies: how the client answered the agent's requests, by exchange.
        unnamed: the agent's requests that name no session, in all lanes.
        permissions: the agent's permission requests, in all lanes.
        announcing: the numbers of the frames that may announce tool calls, in order.
        strays: how often the agent answered what the client had not requested, by the id's token.
        garbage: how many lines of the agent were no messages.
        frames: how many frames the agent sent.
        duration_ns: from the first frame to the last.
        roots: the directories that the client chose, in the order in which it named them.
        agent_left_at: see `Script`.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.messages = RecordedMessages(script)
        self.lanes: dict[str | None, ClientLane] = {None: ClientLane(None)}
        self.answers: dict[int, RecordedAnswer] = {}
        self.replies: dict[int, RecordedReply] = {}
        self.unnamed = RecordedRequests()
        self.permissions: list[RecordedRequest] = []
        self.announcing = array("q")
        self.strays: Counter[str] = Counter()
        self.garbage = 0
        self.frames = 0
        self.duration_ns = 0
        self.roots: list[str] = []
        self.agent_left_at = script.agent_left_at
        self._counts: dict[str | None, _LaneCount] = {}
        self._total = TotalProgress()
        self._frame: ClientFrame | None = None
        self._read()
        self.expected_answers = sorted(self._find_answers())
        for lane in self.lanes.values():
            lane.queue.separate_answers()

    @property
    def is_v2(self) -> bool:
        """Whether an update ends a turn, and not the answer to the prompt."""
        return self.script.dialect == V2

    def _read(self) -> None:
        finder, began = LaneFinder(), None
        while steps := self.script.read():
            for step in steps:
                finder.place(step)
                self._add(step)
                began = step.t_ns if began is None else began
                self.duration_ns = step.t_ns - began
        for name, count in self._counts.items():
            self.lanes[name].end = count.end

    def _find_answers(self) -> Iterator[tuple[int, int]]:
        """Yields the answers to the client's requests; notes the client's own answers."""
        for lane in self.lanes.values():
            for step in (step for frame in lane.queue.frames for step in frame.steps):
                answer = self.answers.get(step.exchange or 0)
                if step.is_reply and step.exchange is not None:
                    self.replies[step.exchange] = RecordedReply(lane, step)
                elif step.kind == "request" and answer is not None:
                    yield answer.seq, step.exchange or 0

    def _add(self, step: Step) -> None:
        count = self._counts.get(step.lane)
        if count is None:
            count = self._counts[step.lane] = _LaneCount()
            self.lanes.setdefault(step.lane, ClientLane(step.lane))
        lane = self.lanes[step.lane]
        if step.from_agent:
            count.silence_ns = max(count.silence_ns, step.t_ns - count.passed_ns)
            self._add_received(step, lane, count)
        else:
            self._add_sent(step, lane, count)
        count.passed_ns = step.t_ns

    def _add_received(self, step: Step, lane: ClientLane, count: _LaneCount) -> None:
        self.frames += 1
        self._add_requests(step, lane)
        if step.kind == "batch" or (step.kind == "notification" and step.method == UPDATE):
            self._note_announcing(step.seq)
        answered = [answer.exchange for answer in step.answers if answer.exchange > 0]
        for exchange in answered:
            self.answers[exchange] = RecordedAnswer(step.seq, step.kind)
            count.clear()
        if not self.is_v2:
            count.prompts.difference_update(answered)
        if answered:
            self._total = self._total.plus(ITEM)
        elif step.is_reply:
            self.strays[step.rpc_id or "null"] += 1
        elif step.kind == "invalid":
            self.garbage += 1
        elif step.kind != "blank":
            self._count(step, count)
        is_update = self.is_v2 and step.method == UPDATE
        if is_update and count.prompts and self._is_idle(step.seq):
            lane.turns.recorded_ends.append(step.seq)
            count.prompts.clear()
            count.clear()

    def _add_requests(self, step: Step, lane: ClientLane) -> None:
        for ask in step.asks:
            request = RecordedRequest(step, ask)
            lane.requests.append(request)
            if ask.method == PERMISSION:
                self.permissions.append(request)
            if not step.names_session:
                self.unnamed.append(request)

    def _note_announcing(self, seq: int) -> None:
        if b"tool_call" in self.script.wire(seq).raw:
            self.announcing.append(seq)

    def _add_sent(self, step: Step, lane: ClientLane, count: _LaneCount) -> None:
        if self._frame is not None and self._frame.seq == step.seq:
            self._frame.steps.append(step)
        else:
            before = ReceivedBefore(
                mark=count.progress.mark,
                total=self._total,
                turn_ends=len(lane.turns.recorded_ends),
                is_turn_open=bool(count.prompts),
                silence_ns=count.silence_ns,
            )
            self._frame = ClientFrame(step.seq, step.t_ns, [step], count.passed_ns, before)
            lane.queue.append(self._frame)
        if step.kind == "request":
            count.clear()
            if step.method == PROMPT and step.exchange is not None:
                count.prompts.add(step.exchange)
            self._add_roots(step)

    def _count(self, step: Step, count: _LaneCount) -> None:
        is_update = step.kind == "notification" and step.method == UPDATE
        raw = self.script.wire(step.seq).raw if is_update else b""
        increment = increment_of(raw, step.method) if is_update else ITEM
        self._total = self._total.plus(increment)
        count.progress.add(increment)
        if increment.state is not None:
            count.states.add(increment.state)

    def _is_idle(self, seq: int) -> bool:
        raw = self.script.wire(seq).raw
        return b"idle" in raw and read(raw).state == "idle"

    def _add_roots(self, step: Step) -> None:
        places = places_of(step.kind, step.method)
        params = places.get("params")
        if not isinstance(params, dict) or "cwd" not in params:
            return
        text = self.script.wire(step.seq).raw.decode("utf-8", "surrogateescape")
        if step.member is not None:
            places = {"*": places}
        for span in spans(text, places):
            if span.place is Place.ROOT:
                self._add_root(text[span.start : span.end])

    def _add_root(self, token: str) -> None:
        root = json.loads(token)
        if isinstance(root, str) and root not in self.roots:
            self.roots.append(root)
