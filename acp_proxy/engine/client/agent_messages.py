"""Takes the messages of the live agent."""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.client.agent_requests import AgentRequests
from acp_proxy.engine.client.lane import ClientLane, SentRequest
from acp_proxy.engine.client.state import VerifyState
from acp_proxy.engine.client.stream_progress import ITEM, Increment, increment_of
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import REPLIES
from acp_proxy.protocol.dialects import INITIALIZE, OPENING
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.methods import PROMPT
from acp_proxy.protocol.updates import UPDATE


class AgentMessages:
    """Takes lines.

    Attributes:
        turns: how many prompts were answered.
    """

    def __init__(self, state: VerifyState) -> None:
        self.turns = 0
        self._state = state
        self._requests = AgentRequests(state)
        self._strays = state.recording.strays.copy()
        """Recorded answers to no request that have not come yet."""
        self._garbage = 0
        self._opened: set[ClientLane] = set()
        """Lanes whose session the live agent has created or loaded."""

    def take(self, raw: bytes) -> Iterator[Command]:
        """Takes a line without its end, and yields what to send at once."""
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        self._state.output.lines += 1
        if message.kind is Kind.INVALID:
            self._take_garbage(raw)
        elif message.kind is Kind.BATCH:
            for member in message.members:
                yield from self._take(member)
            self._count(ITEM, is_cleared=any(m.kind in REPLIES for m in message.members))
        else:
            ends_turn = self._ends_turn(message)
            yield from self._take(message)
            is_update = message.kind is Kind.NOTIFICATION and message.method == UPDATE
            increment = increment_of(raw, message.method) if is_update else ITEM
            self._count(increment, is_cleared=ends_turn or message.kind in REPLIES)

    def _count(self, increment: Increment, *, is_cleared: bool) -> None:
        self._state.output.total = self._state.output.total.plus(increment)
        self._state.sessions.count(increment, self._state.now, is_cleared=is_cleared)

    def _take(self, message: Message) -> Iterator[Command]:
        if message.kind in REPLIES:
            yield from self._take_reply(message)
            return
        lane = self._state.sessions.enter(message.session)
        if message.kind is Kind.REQUEST:
            yield from self._requests.take(message)
        elif message.kind is Kind.NOTIFICATION:
            self._state.permissions.calls.take(message)
            if lane is not None and self._ends_turn(message):
                self._end_turn(lane)

    def _take_reply(self, message: Message) -> Iterator[Command]:
        token = message.rpc_id or "null"
        request = self._state.pending.take(token)
        if request is None:
            self._take_stray(token, message.raw)
            return
        self._state.sessions.last = request.lane
        self._state.output.note_progress()
        request.lane.progress.clear()
        if request.step.method == PROMPT:
            self._end_prompt(request)
        self._state.sessions.note_answered(request, message.session)
        self._conclude(request, message)
        yield from self._requests.release()

    def _end_prompt(self, request: SentRequest) -> None:
        """Stops waiting for requests of the turn that the answer to a prompt ends."""
        self.turns += 1
        lane, exchange = request.lane, request.step.exchange or 0
        if self._state.recording.is_v2:
            return
        lane.turns.close(exchange)
        answer = self._state.recording.answers.get(exchange)
        if not lane.turns.is_open and answer is not None:
            lane.requests.give_up(answer.seq)

    def _ends_turn(self, message: Message) -> bool:
        """Whether it is an update that ends a turn, which the answer to the prompt does in v1."""
        if message.state != "idle" or not self._state.recording.is_v2:
            return False
        lane = self._state.sessions.lane_of(message.session)
        return lane is not None and lane.turns.is_open

    def _end_turn(self, lane: ClientLane) -> None:
        """Stops waiting for requests of the turn that an update ends."""
        if (end := lane.turns.end()) is not None:
            lane.requests.give_up(end)
        lane.progress.clear()

    def _conclude(self, request: SentRequest, message: Message) -> None:
        """Gives up lanes if an answer makes it impossible to continue there."""
        step, lane = request.step, request.lane
        answer = self._state.recording.answers.get(step.exchange or 0)
        has_failed = message.kind is Kind.ERROR and answer is not None and answer.kind == "response"
        is_opening = step.method in OPENING and step.session is not None
        if is_opening and message.kind is Kind.RESPONSE:
            self._opened.add(lane)
        is_handshake = step.method in INITIALIZE
        is_lost = is_opening and lane not in self._opened
        if not has_failed or not (is_handshake or is_lost):
            return
        self._state.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS,
            lane,
            f"{step.method} #{step.seq} was answered with an error, and not in the recording",
            self._state.now,
            seq=answer.seq if answer is not None else None,
            line=self._state.output.lines,
            came=message.raw,
            of_handshake=is_handshake,
        )
        for lost in self._state.recording.lanes.values() if is_handshake else [lane]:
            self._state.abandon(lost)

    def _take_stray(self, token: str, raw: bytes | None) -> None:
        """Takes an answer to no open request: one that is repeated, or to nothing."""
        if self._strays[token] > 0:
            self._strays[token] -= 1
            return
        lane = self._state.pending.answered_in(token)
        if lane is not None:
            kind = DivergenceKind.ANSWERED_TWICE
            summary = f"the agent answered id {token} once more"
        else:
            kind = DivergenceKind.UNKNOWN_REPLY_ID
            summary = f"the agent answered id {token}, which it was not asked"
        lane = lane or self._state.recording.lanes[None]
        line, now = self._state.output.lines, self._state.now
        self._state.divergences.note(kind, lane, summary, now, line=line, came=raw)

    def _take_garbage(self, raw: bytes) -> None:
        self._garbage += 1
        if self._garbage > self._state.recording.garbage:
            self._state.divergences.note(
                DivergenceKind.MALFORMED_INPUT,
                self._state.sessions.last,
                "the agent wrote a line that is no JSON-RPC message",
                self._state.now,
                line=self._state.output.lines,
                came=raw,
                is_harmless=True,
            )
