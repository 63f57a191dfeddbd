"""Takes what the client sends: pairs it with the recording, or notes how it diverges."""

from collections.abc import Iterator

from acp_proxy.commands import Command, Send
from acp_proxy.engine.agent.cancellation import Cancellations
from acp_proxy.engine.agent.client_replies import ClientReplies
from acp_proxy.engine.agent.divergence_handler import DivergenceHandler
from acp_proxy.engine.agent.error_replies import refusal
from acp_proxy.engine.agent.frame_scheduler import FrameScheduler
from acp_proxy.engine.agent.message_comparison import ClientMessage, MessageComparer
from acp_proxy.engine.agent.message_matcher import MessageMatcher
from acp_proxy.engine.agent.pairing import MessagePairing
from acp_proxy.engine.agent.pushed_output import PushedOutput
from acp_proxy.engine.agent.sender import AgentSender
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.protocol.dialects import V2
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Kind, read
from acp_proxy.protocol.methods import CANCEL, CANCEL_REQUEST, PROMPT

_PARSE_ERROR = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'


class ClientMessages:
    """Takes the client's lines, one after the other.

    Args:
        state: the state of the replay.
        scheduler: chooses frames.
        sender: sends them.
        comparer: compares messages.
        matcher: finds recorded messages.
        divergences: handles divergences.

    Attributes:
        lines: how many lines came.
    """

    def __init__(
        self,
        state: ReplayState,
        scheduler: FrameScheduler,
        sender: AgentSender,
        comparer: MessageComparer,
        matcher: MessageMatcher,
        divergences: DivergenceHandler,
    ) -> None:
        pairing = MessagePairing(state, scheduler, matcher, comparer, divergences)
        pushed = PushedOutput(state, sender, comparer)
        self.lines = 0
        self._state = state
        self._comparer = comparer
        self._matcher = matcher
        self._divergences = divergences
        self._pairing = pairing
        self._pushed = pushed
        self._replies = ClientReplies(state, comparer, divergences, pushed)
        self._cancellations = Cancellations(state, scheduler, sender, matcher, divergences, pairing)

    def take(self, raw: bytes, at: int) -> Iterator[Command]:
        """Takes a line.

        Args:
            raw: the line, without its newline.
            at: when it came, in live nanoseconds.
        """
        self.lines += 1
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        for member in message.members or (message,):
            part = member.raw or b""
            yield from self._take(ClientMessage(member, part, self.lines, at, json_or_none(part)))

    def _take(self, live: ClientMessage) -> Iterator[Command]:
        match live.message.kind:
            case Kind.REQUEST:
                yield from self._take_request(live)
            case Kind.NOTIFICATION:
                yield from self._take_notification(live)
            case Kind.RESPONSE | Kind.ERROR:
                yield from self._replies.take(live)
            case _:
                yield from self._take_unreadable(live)

    def _take_request(self, live: ClientMessage) -> Iterator[Command]:
        message, token = live.message, live.message.rpc_id or "null"
        lane = self._matcher.lane_of(message.session)
        self._cancellations.forget(token)
        if lane.abandoned:
            summary = f"{message.method} in a session that has diverged"
            divergence = self._divergences.note(DivergenceKind.UNMATCHED, lane, summary, live)
            yield refusal(message.rpc_id, divergence)
            return
        match = self._pairing.find(live)
        if self._pushed.is_extra(match, live):
            yield self._pushed.answer(live)
            return
        if match is None or not match.comparison.bind_to(self._state.bindings):
            yield from self._divergences.refuse(live, conflict=match)
            return
        lane, step = self._pairing.pair(match, live)
        self._state.client_requests.add(lane, step, token)
        if step.method == PROMPT:
            lane.turn.begin(is_v2=self._state.script.dialect == V2)

    def _take_notification(self, live: ClientMessage) -> Iterator[Command]:
        if live.message.method == CANCEL_REQUEST:
            yield from self._cancellations.take_request(live)
            return
        lane = self._matcher.lane_of(live.message.session)
        match = self._pairing.find(live)
        if lane.abandoned:
            return
        if live.message.method == CANCEL:
            yield from self._cancellations.take_turn(match, lane, live)
        elif match is not None and match.comparison.bind_to(self._state.bindings):
            self._pairing.pair(match, live)
        else:
            summary = f"the client sent {live.message.method}, which was not recorded there"
            self._divergences.note(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, live)

    def _take_unreadable(self, live: ClientMessage) -> Iterator[Command]:
        """Takes a line that is no message; only one that was recorded is not answered by us."""
        lane = self._state.schedule.lanes[None]
        for step in [step for step in lane.expected if step.kind == "invalid"]:
            if self._comparer.compare(step, live).is_equal:
                self._state.client_requests.add_unreadable(step)
                self._state.schedule.match(step, live.at)
                return
        reason = live.message.parse_error or "no JSON-RPC message"
        summary = f"the client sent no message: {reason}"
        self._divergences.note(DivergenceKind.MALFORMED_INPUT, lane, summary, live)
        yield Send(_PARSE_ERROR)
