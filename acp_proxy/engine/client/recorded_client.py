"""What was recorded, as the client sees it: what it says, and what it has heard before that.

The recording is read once. The client's messages and the agent's requests are held, without their
payloads; of all else the agent said it is only counted how much came when (`extent`). So a million
updates are a few numbers.
"""

import json
from array import array
from collections import Counter, deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.engine.client.lane import ClientLane, Line
from acp_proxy.engine.client.recorded_requests import Question, Questions
from acp_proxy.engine.client.stream_progress import ITEM, Meter, Total, said
from acp_proxy.engine.shared.lane_finder import LaneFinder
from acp_proxy.engine.shared.steps import PERMISSION, PROMPT, UPDATE, Script, Step
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.splice import Place, spans
from acp_proxy.protocol.typed_places import places_of


@define
class Recorded:
    """How a request of the client's was answered in the recording."""

    seq: int
    kind: str
    """response or error."""


@define(eq=False)
class Reply:
    """How the client answered a request of the agent's."""

    lane: ClientLane
    line: Line
    step: Step


@define
class _Lane:
    """What is counted of a lane while it is read."""

    meter: Meter = field(factory=Meter)
    trailing: set[str] = field(factory=set)
    """The kinds of states since it began."""
    passed_ns: int = 0
    silence_ns: int = 0
    """The longest that the agent was silent since then."""
    prompts: set[int] = field(factory=set)
    """Exchanges of the prompts that are open."""

    def begin(self) -> None:
        """Begins to count anew, after a request, an answer or the end of a turn."""
        self.meter.clear()
        self.trailing.clear()
        self.silence_ns = 0


class RecordedClient:
    """A recording.

    Attributes:
        lanes: by session, None for the connection's.
        answers: by exchange, of all requests that were answered.
        replies: how the client answered, by the exchange of the agent's request.
        unnamed: what the agent asked without naming a session, in all lanes.
        permissions: the requests among these, and among those of the lanes, that ask for leave.
        announcing: the numbers of the frames that may announce tool calls, in order.
        strays: how often the agent answered something that nobody had asked, by the id's token.
        garbage: how many lines of the agent's were no messages.
        frames: how many the agent said.
        duration_ns: from the first frame to the last.
        roots: the directories that the client chose, in the order in which it named them.
        agent_left_at: see `Script`.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.lanes: dict[str | None, ClientLane] = {None: ClientLane(None)}
        self.answers: dict[int, Recorded] = {}
        self.replies: dict[int, Reply] = {}
        self.unnamed = Questions()
        self.permissions: list[Question] = []
        self.announcing = array("q")
        self.strays: Counter[str] = Counter()
        self.garbage = 0
        self.frames = 0
        self.duration_ns = 0
        self.roots: list[str] = []
        self.agent_left_at = script.agent_left_at
        self._counted: dict[str | None, _Lane] = {}
        self._total = Total()
        self._line: Line | None = None
        self._owed: deque[tuple[int, int]] = deque()
        self._settled: set[int] = set()
        self._read()

    @property
    def is_v2(self) -> bool:
        """Whether an update ends a turn, and not the answer to the prompt."""
        return self.script.dialect == V2

    @property
    def first_owed(self) -> int | None:
        """The number of the first recorded answer that the live agent has not given."""
        while self._owed and self._owed[0][1] in self._settled:
            self._owed.popleft()
        return self._owed[0][0] if self._owed else None

    def settle(self, exchange: int) -> None:
        """Notes that nobody waits for an answer: it came, or will not come."""
        self._settled.add(exchange)

    def _read(self) -> None:
        finder, began = LaneFinder(), None
        while steps := self.script.read():
            for step in steps:
                finder.place(step)
                self._add(step)
                began = step.t_ns if began is None else began
                self.duration_ns = step.t_ns - began
        for name, counted in self._counted.items():
            lane = self.lanes[name]
            lane.trailing = counted.meter.extent
            lane.trailing_states = {kind: counted.meter.states[kind] for kind in counted.trailing}
            lane.trailing_idles = len(lane.ends)
            lane.silence_ns = counted.silence_ns
        for lane in self.lanes.values():
            self._note_replies(lane)
            lane.sort()
        self._owed.extend(sorted(self._answers_owed()))

    def _note_replies(self, lane: ClientLane) -> None:
        for line in lane.lines:
            for step in line.steps:
                if step.is_reply and step.exchange is not None:
                    self.replies[step.exchange] = Reply(lane, line, step)

    def _answers_owed(self) -> Iterator[tuple[int, int]]:
        for lane in self.lanes.values():
            for line in lane.lines:
                for step in line.steps:
                    answer = self.answers.get(step.exchange or 0)
                    if step.kind == "request" and answer is not None:
                        yield answer.seq, step.exchange or 0

    def _add(self, step: Step) -> None:
        counted = self._counted.get(step.lane)
        if counted is None:
            counted = self._counted[step.lane] = _Lane()
            self.lanes.setdefault(step.lane, ClientLane(step.lane))
        lane = self.lanes[step.lane]
        if step.from_agent:
            counted.silence_ns = max(counted.silence_ns, step.t_ns - counted.passed_ns)
            self._add_heard(step, lane, counted)
        else:
            self._add_said(step, lane, counted)
        counted.passed_ns = step.t_ns

    def _add_heard(self, step: Step, lane: ClientLane, counted: _Lane) -> None:
        self.frames += 1
        for ask in step.asks:
            question = Question(step, ask)
            lane.questions.append(question)
            if ask.method == PERMISSION:
                self.permissions.append(question)
            if not step.names_session:
                self.unnamed.append(question)
        if step.kind == "batch" or (step.kind == "notification" and step.method == UPDATE):
            self._note_announcing(step.seq)
        answered = [answer.exchange for answer in step.answers if answer.exchange > 0]
        for exchange in answered:
            self.answers[exchange] = Recorded(step.seq, step.kind)
            counted.begin()
        if not self.is_v2:
            counted.prompts.difference_update(answered)
        if step.is_reply and not answered:
            self.strays[step.rpc_id or "null"] += 1
        elif step.kind == "invalid":
            self.garbage += 1
        elif not answered and step.kind != "blank":
            self._count(step, counted)
        if answered:
            self._total = self._total.plus(ITEM)
        is_update = self.is_v2 and step.method == UPDATE
        if is_update and counted.prompts and self._is_idle(step.seq):
            lane.ends.append(step.seq)
            counted.prompts.clear()
            counted.begin()

    def _note_announcing(self, seq: int) -> None:
        if b"tool_call" in self.script.wire(seq).raw:
            self.announcing.append(seq)

    def _add_said(self, step: Step, lane: ClientLane, counted: _Lane) -> None:
        if self._line is not None and self._line.seq == step.seq:
            self._line.steps.append(step)
        else:
            self._line = Line(
                seq=step.seq,
                t_ns=step.t_ns,
                steps=[step],
                after_ns=counted.passed_ns,
                extent=counted.meter.extent,
                total=self._total,
                idles=len(lane.ends),
                is_turn_open=bool(counted.prompts),
                silence_ns=counted.silence_ns,
            )
            lane.lines.append(self._line)
        if step.kind == "request":
            counted.begin()
            if step.method == PROMPT and step.exchange is not None:
                counted.prompts.add(step.exchange)
            self._add_roots(step)

    def _count(self, step: Step, counted: _Lane) -> None:
        is_update = step.kind == "notification" and step.method == UPDATE
        adds = said(self.script.wire(step.seq).raw, step.method) if is_update else ITEM
        self._total = self._total.plus(adds)
        counted.meter.take(adds)
        if adds.state is not None:
            counted.trailing.add(adds.state)

    def _is_idle(self, seq: int) -> bool:
        raw = self.script.wire(seq).raw
        return b"idle" in raw and read(raw).state == "idle"

    def _add_roots(self, step: Step) -> None:
        places = places_of(step.kind, step.method)
        if not _has_roots(places):
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


def _has_roots(places: dict[str, object]) -> bool:
    params = places.get("params")
    return isinstance(params, dict) and "cwd" in params
