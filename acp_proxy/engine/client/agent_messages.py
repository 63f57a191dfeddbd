"""Takes the messages of the live agent."""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.client.agent_requests import AgentRequests
from acp_proxy.engine.client.known_files import KnownFiles
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.pending import SentRequest
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

    Args:
        state: the state of the verification.
        files: the known contents of files.

    Attributes:
        turns: how many prompts were answered.
    """

    def __init__(self, state: VerifyState, files: KnownFiles) -> None:
        self.turns = 0
        self._state = state
        self._requests = AgentRequests(state, files)
        self._strays = state.recording.strays.copy()
        """Recorded answers to no request that have not come yet."""
        self._garbage = 0

    def take(self, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a line and yields what to send at once.

        Args:
            raw: the line, without its end.
            at: the moment, in nanoseconds.
        """
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        self._state.output.add_line()
        if message.kind is Kind.INVALID:
            self._take_garbage(raw, at)
        elif message.kind is Kind.BATCH:
            for member in message.members:
                yield from self._take(member, member.raw or b"", at)
            self._count(ITEM, at, is_cleared=any(m.kind in REPLIES for m in message.members))
        else:
            ends_turn = self._ends_turn(message)
            yield from self._take(message, raw, at)
            is_update = message.kind is Kind.NOTIFICATION and message.method == UPDATE
            increment = increment_of(raw, message.method) if is_update else ITEM
            self._count(increment, at, is_cleared=ends_turn or message.kind in REPLIES)

    def _count(self, increment: Increment, at: int, *, is_cleared: bool) -> None:
        self._state.output.add(increment)
        self._state.sessions.count(increment, at, is_cleared=is_cleared)

    def _take(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        if message.kind in REPLIES:
            yield from self._take_reply(message, raw, at)
            return
        lane = self._state.sessions.enter(message.session)
        if message.kind is Kind.NOTIFICATION:
            self._state.permissions.take(message, raw)
        if message.kind is Kind.REQUEST:
            yield from self._requests.take(message, raw, at)
        elif lane is not None and self._ends_turn(message):
            self._end_turn(lane)

    def _take_reply(self, message: Message, raw: bytes, at: int) -> Iterator[Command]:
        token = message.rpc_id or "null"
        request = self._state.pending.take(token)
        if request is None:
            self._take_stray(token, raw, at)
            return
        self._state.sessions.enter_lane(request.lane)
        self._state.output.note_progress()
        request.lane.progress.clear()
        if request.step.method == PROMPT:
            self._end_prompt(request)
        self._conclude(request, message, raw, at)
        yield from self._requests.release(at)

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
        """Does the same where an update ends a turn."""
        if (end := lane.turns.end()) is not None:
            lane.requests.give_up(end)
        lane.progress.clear()

    def _conclude(self, request: SentRequest, message: Message, raw: bytes, at: int) -> None:
        """Gives up lanes if an answer makes it impossible to continue there."""
        step = request.step
        answer = self._state.recording.answers.get(step.exchange or 0)
        has_failed = message.kind is Kind.ERROR and answer is not None and answer.kind == "response"
        is_opening = step.method in OPENING and step.session is not None
        self._state.sessions.note_answered(request, message.session)
        if is_opening and message.kind is Kind.RESPONSE:
            self._state.sessions.note_opened(request.lane)
        is_handshake = step.method in INITIALIZE
        is_lost = is_opening and not self._state.sessions.is_opened(request.lane)
        if not has_failed or not (is_handshake or is_lost):
            return
        summary = f"{step.method} #{step.seq} was answered with an error, and not in the recording"
        self._state.divergences.note(
            DivergenceKind.OUTCOME_DIFFERS,
            request.lane,
            summary,
            at,
            seq=answer.seq if answer is not None else None,
            line=self._state.output.lines,
            came=raw,
            of_handshake=is_handshake,
        )
        lanes = self._state.recording.lanes.values() if is_handshake else [request.lane]
        for lane in lanes:
            self._state.abandon(lane, at)

    def _take_stray(self, token: str, raw: bytes, at: int) -> None:
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
        line = self._state.output.lines
        self._state.divergences.note(kind, lane, summary, at, line=line, came=raw)

    def _take_garbage(self, raw: bytes, at: int) -> None:
        self._garbage += 1
        if self._garbage > self._state.recording.garbage:
            self._state.divergences.note(
                DivergenceKind.MALFORMED_INPUT,
                self._state.sessions.last,
                "the agent wrote a line that is no JSON-RPC message",
                at,
                line=self._state.output.lines,
                came=raw,
                is_harmless=True,
            )
