"""Takes what the agent says."""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.client.agent_requests import AgentRequests
from acp_proxy.engine.client.known_files import Files
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.state import Open, Stage
from acp_proxy.engine.client.stream_progress import ITEM, Meter, Said, said
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import PROMPT, REPLIES, UPDATE
from acp_proxy.protocol.dialects import INITIALIZE, OPENING
from acp_proxy.protocol.jsonrpc import Kind, Message, read


class AgentMessages:
    """Takes lines.

    Args:
        stage: what is known.
        files: what is known of files.
    """

    def __init__(self, stage: Stage, files: Files) -> None:
        self._stage = stage
        self._asking = AgentRequests(stage, files)
        self._nowhere = ClientLane(None)
        self._unplaced = ""
        """The session of which it is not known whose it is, if somebody spoke there."""
        self._garbage = 0

    def take(self, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a line; yields what is to be said at once."""
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        self._stage.lines += 1
        if message.kind is Kind.INVALID:
            self._take_garbage(raw, at)
        elif message.kind is Kind.BATCH:
            for member in message.members:
                yield from self._take(member, member.raw or b"", at)
            self._count(ITEM, at, begins=any(m.kind in REPLIES for m in message.members))
        else:
            ends_turn = self._ends_turn(message)
            yield from self._take(message, raw, at)
            is_update = message.kind is Kind.NOTIFICATION and message.method == UPDATE
            adds = said(raw, message.method) if is_update else ITEM
            self._count(adds, at, begins=ends_turn or message.kind in REPLIES)

    def _count(self, adds: Said, at: int, *, begins: bool) -> None:
        """Counts a message in the lane in which it was said, unless counting begins after it."""
        self._stage.total = self._stage.total.plus(adds)
        lane = self._stage.last
        if lane is self._nowhere:
            self._stage.unplaced.setdefault(self._unplaced, Meter()).take(adds)
        elif not begins and lane.heard.take(adds):
            lane.grew_at = at

    def _take(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        if message.kind in REPLIES:
            yield from self._take_reply(message, raw, at)
            return
        lane = self._asking.lane_of(message.session)
        if lane is None and message.session is not None and self._stage.opening:
            self._stage.last, self._unplaced = self._nowhere, message.session
        else:
            self._stage.last = lane or self._stage.recording.lanes[None]
        if message.kind is Kind.NOTIFICATION:
            self._stage.leave.take(message, raw)
        if message.kind is Kind.REQUEST:
            yield from self._asking.take(message, raw, at)
        elif lane is not None and self._ends_turn(message):
            self._end_turn(lane)

    def _take_reply(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        token = message.rpc_id or "null"
        opened = self._stage.open.get(token)
        if not opened:
            self._take_stray(token, raw, at)
            return
        request = opened.pop(0)
        if not opened:
            del self._stage.open[token]
        self._stage.answered[token] = self._stage.last = request.lane
        self._stage.progress()
        request.lane.heard.clear()
        self._stage.recording.settle(request.step.exchange or 0)
        if request.step.method == PROMPT:
            self._end_prompt(request)
        self._conclude(request, message, raw, at)
        yield from self._asking.release(at)

    def _end_prompt(self, request: Open) -> None:
        """What was asked for in a turn is not waited for any longer when it is over."""
        self._stage.turns += 1
        lane, exchange = request.lane, request.step.exchange or 0
        if self._stage.recording.is_v2:
            return
        lane.prompts.pop(exchange, None)
        lane.is_cancelled = lane.is_cancelled and bool(lane.prompts)
        answer = self._stage.recording.answers.get(exchange)
        if not lane.prompts and answer is not None:
            lane.questions.give_up(answer.seq)

    def _ends_turn(self, message: Message) -> bool:
        """Whether it is an update that ends a turn, which the answer to the prompt does in v1."""
        if message.state != "idle" or not self._stage.recording.is_v2:
            return False
        lane = self._asking.lane_of(message.session)
        return lane is not None and bool(lane.prompts)

    def _end_turn(self, lane: ClientLane) -> None:
        """The same where an update ends it."""
        lane.idles += 1
        if (end := lane.end_after(max(seq for seq, _ in lane.prompts.values()))) is not None:
            lane.questions.give_up(end)
        lane.prompts.clear()
        lane.heard.clear()
        lane.is_cancelled = False

    def _conclude(self, request: Open, message: Message, raw: bytes, at: int) -> None:
        """Sees whether the story can go on after an answer."""
        step = request.step
        answer = self._stage.recording.answers.get(step.exchange or 0)
        has_failed = message.kind is Kind.ERROR and answer is not None and answer.kind == "response"
        is_opening = step.method in OPENING and step.session is not None
        if request in self._stage.opening:
            self._stage.opening.remove(request)
            if message.session is not None:
                self._stage.bind(request.lane, message.session)
        if is_opening and message.kind is Kind.RESPONSE:
            request.lane.is_made = True
        is_handshake = step.method in INITIALIZE
        if not has_failed or not (is_handshake or (is_opening and not request.lane.is_made)):
            return
        summary = f"{step.method} #{step.seq} was answered with an error, and not in the recording"
        self._stage.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS,
            request.lane,
            summary,
            at,
            seq=answer.seq if answer is not None else None,
            line=self._stage.lines,
            came=raw,
            of_handshake=is_handshake,
        )
        lanes = self._stage.recording.lanes.values() if is_handshake else [request.lane]
        for lane in lanes:
            self._stage.give_up(lane, at)

    def _take_stray(self, token: str, raw: bytes, at: int) -> None:
        """An answer that nobody waits for: one more, or to nothing."""
        strays = self._stage.recording.strays
        if strays[token] > 0:
            strays[token] -= 1
            return
        lane = self._stage.answered.get(token)
        if lane is not None:
            kind, summary = (
                DivergenceKind.ANSWERED_TWICE,
                f"the agent answered id {token} once more",
            )
        else:
            kind = DivergenceKind.UNKNOWN_REPLY_ID
            summary = f"the agent answered id {token}, which it was not asked"
        lane = lane or self._stage.recording.lanes[None]
        self._stage.divergences.note(kind, lane, summary, at, line=self._stage.lines, came=raw)

    def _take_garbage(self, raw: bytes, at: int) -> None:
        self._garbage += 1
        if self._garbage > self._stage.recording.garbage:
            summary = "the agent wrote a line that is no JSON-RPC message"
            self._stage.divergences.note(
                DivergenceKind.MALFORMED_INPUT,
                self._stage.last,
                summary,
                at,
                line=self._stage.lines,
                came=raw,
                is_harmless=True,
            )
