"""Handles the client's lines: pairs each with a recorded message, or notes a divergence.

In the 1.0 draft the client pushes a terminal's output in pieces of random size. So no frame waits
for missing pieces after the program has ended. Additional pieces are answered like recorded pieces,
until the terminal is released.

The moment when the user pressed stop must not matter. So all frames recorded before a cancellation
go out before the cancellation is handled. An unrecorded cancellation is a divergence, but it still
ends the turn or request, so that no client hangs.
"""

from collections.abc import Iterator

from attrs import define, field

from acp_proxy.playback.events import Command, Send
from acp_proxy.playback.replay.client_replies import ClientReplies
from acp_proxy.playback.replay.divergence_handler import (
    PARSE_ERROR,
    DivergenceHandler,
    cancelled_answer,
    cancelled_request,
    cancelled_update,
    received,
    refusal,
)
from acp_proxy.playback.replay.frame_sender import AgentSender
from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.replay.message_matcher import MessageMatch, MessageMatcher
from acp_proxy.playback.replay.replay_state import ClientMessage, ReplayState
from acp_proxy.playback.shared.comparison import Comparison
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.protocol.dialects import CANCEL, CANCEL_REQUEST, PROMPT, PUSH, V2
from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.recording.steps import REPLIES, Step


@define(eq=False)
class Cancellations:
    """Handles cancellations one by one."""

    _state: ReplayState
    _sender: AgentSender
    _matcher: MessageMatcher
    _handler: DivergenceHandler
    _cancelled: dict[str, int] = field(init=False, factory=dict)
    """The live ids of cancelled requests, each with the frame number of its recorded
    cancellation."""

    def take_turn(
        self, match: MessageMatch | None, lane: Lane, live: ClientMessage
    ) -> Iterator[Command]:
        """Handles a ``session/cancel``, which counts as unrecorded if its prompt has not come.

        Args:
            match: the recorded cancellation, if any.
            lane: the lane of the message's session.
            live: the live cancellation.
        """
        self._state.requests.cancel_turns(lane)
        prompts = [step.key for step in lane.expected if step.method == PROMPT]
        if match is None or any(key < match.step.key for key in prompts):
            yield from self._take_unrecorded(lane, live)
            return
        lane, step = self._handler.pair(match, live)
        yield from self._flush(lane, step)

    def take_request(self, live: ClientMessage) -> Iterator[Command]:
        """Handles a ``$/cancel_request``."""
        token = live.message.target or "null"
        if (recorded := self._find_cancel_request(token)) is None:
            yield from self._take_unrecorded_of_request(token, live)
            return
        lane, step = self._handler.pair(MessageMatch(recorded, Comparison()), live)
        if step.exchange is not None:
            self._cancelled[token] = step.seq
        if lane.name is not None:
            yield from self._flush(lane, step)

    def forget(self, token: str) -> None:
        """Forgets the cancellation of an id, since the client uses the id for a new request."""
        self._cancelled.pop(token, None)

    def _take_unrecorded_of_request(self, token: str, live: ClientMessage) -> Iterator[Command]:
        request = self._state.requests.with_id(token)
        lane = self._state.schedule.lanes[None if request is None else request.step.lane]
        if (again := self._cancelled.get(token)) is not None:
            summary = f"the client cancelled request {token} more often than recorded"
            self._handler.note(DivergenceKind.EXHAUSTED, lane, summary, live, seq=again)
        elif request is not None:
            summary = f"the client cancelled request {token}, which was not recorded"
            kind = DivergenceKind.UNRECORDED_CANCEL
            divergence = self._handler.note(kind, lane, summary, live)
            self._state.requests.close(request)
            yield cancelled_request(token, divergence)
        else:
            summary = f"the client cancelled request {token}, which is not open"
            self._handler.note(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, live)
        if request is not None:
            yield from self._handler.abandon(lane)

    def _take_unrecorded(self, lane: Lane, live: ClientMessage) -> Iterator[Command]:
        """Notes an unrecorded cancellation, and ends the turn as the specification demands."""
        if (again := self._matcher.find_played(live)) is not None:
            kind, seq = DivergenceKind.EXHAUSTED, again.seq
            summary = "the client cancelled the turn more often than recorded"
        else:
            kind, seq = DivergenceKind.UNRECORDED_CANCEL, None
            summary = "the client cancelled the turn, which was not recorded"
        self._handler.note(kind, lane, summary, live, seq=seq)
        for request in self._state.requests.open_in(lane):
            if request.step.method == PROMPT:
                self._state.requests.close(request)
                yield cancelled_answer(request.token, is_v2=self._state.script.dialect == V2)
        # In v2 an update ends the turn, and not the answer to the prompt.
        session = live.message.session
        if self._state.requests.turn_of(lane) is not None and session is not None:
            self._state.requests.end_turns(lane.name)
            yield cancelled_update(session)
        yield from self._handler.abandon(lane)

    def _find_cancel_request(self, token: str) -> Step | None:
        """Returns the expected ``$/cancel_request`` for a request of the client.

        If no open request has the live id `token`, returns a cancellation that cancelled no open
        request in the recording either. Returns None if there is no such cancellation.
        """
        exchanges = self._state.requests.exchanges_of(token)
        for step in self._state.schedule.expected:
            is_of_open = step.exchange in exchanges
            is_of_none = step.exchange is None and not exchanges
            if step.method == CANCEL_REQUEST and (is_of_open or is_of_none):
                return step
        return None

    def _flush(self, lane: Lane, cancel: Step) -> Iterator[Command]:
        """Sends all frames recorded before a cancellation, even if they are not due."""
        while (ready := self._state.scheduler.next_before(lane, cancel.seq)) is not None:
            yield from self._sender.send(ready)


class ClientMessages:
    """Handles the client's lines one by one."""

    def __init__(self, state: ReplayState, sender: AgentSender) -> None:
        self.lines = 0
        """How many lines have come."""
        self.handler = DivergenceHandler(state, matcher := MessageMatcher(state))
        self._state = state
        self._matcher = matcher
        self._sender = sender
        self._replies = ClientReplies(state, self.handler)
        self._cancellations = Cancellations(state, sender, matcher, self.handler)

    def take(self, raw: bytes) -> Iterator[Command]:
        """Handles a line without its newline."""
        self.lines += 1
        message = read(raw)
        if message.kind is Kind.BLANK:
            return
        for member in message.members or (message,):
            yield from self._take(ClientMessage(member, self.lines, self._state.masking))

    def lose(self, raw: bytes, rule: str) -> None:
        """Handles a line that a fault dropped on its way to the agent.

        The client did send the line, so its absence and the consequences do not count as
        divergences. If the client sends the line again, the line is matched as usual.

        Args:
            raw: the line, without its newline.
            rule: the rule that dropped the line.
        """
        message = read(raw)
        for member in message.members or (message,):
            step = self._recorded(member)
            if step is None or step.key in (lost := self._state.schedule.lanes[step.lane].lost):
                continue
            lost.add(step.key)
            self._state.divergences.excuse(step.seq)
            lane = self._state.schedule.lanes[step.lane]
            summary = f"{step.title} #{step.seq} was dropped by fault {rule}"
            self._state.divergences.note(DivergenceKind.DROPPED, lane, summary, seq=step.seq)

    def _recorded(self, lost: Message) -> Step | None:
        """Returns the recorded message that matches a lost message."""
        schedule = self._state.schedule
        wanted: tuple[int | None, int | None] | None = None
        if lost.kind in REPLIES:
            request = self._state.requests.oldest_of_agent(lost.rpc_id)
            wanted = (request.ask.reply_seq, request.ask.exchange) if request else None
        elif lost.method is not None:
            match = self._matcher.find(ClientMessage(lost, self.lines, self._state.masking))
            wanted = (match.step.seq, match.step.exchange) if match else None
        if wanted is None or wanted[0] is None:
            return None
        schedule.read_to(wanted[0])
        return next((s for s in schedule.expected if (s.seq, s.exchange) == wanted), None)

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
        message = live.message
        lane = self._matcher.lane_of(message.session)
        self._cancellations.forget(live.token)
        if lane.abandoned:
            summary = f"{message.method} in a session that has diverged"
            divergence = self.handler.note(DivergenceKind.UNMATCHED, lane, summary, live)
            yield refusal(message.rpc_id, divergence)
            return
        match = self._matcher.find(live)
        if self._is_additional_output(match, live):
            yield self._output_answer(live)
            return
        if match is None or not match.comparison.bind_to(self._state.bindings):
            yield from self.handler.refuse(live, conflict=match)
            return
        _, step = self.handler.pair(match, live)
        self._state.requests.add_of_client(step, live.token)

    def _take_notification(self, live: ClientMessage) -> Iterator[Command]:
        if live.message.method == CANCEL_REQUEST:
            yield from self._cancellations.take_request(live)
            return
        lane = self._matcher.lane_of(live.message.session)
        match = self._matcher.find(live)
        if lane.abandoned:
            return
        if live.message.method == CANCEL:
            yield from self._cancellations.take_turn(match, lane, live)
        elif match is not None and match.comparison.bind_to(self._state.bindings):
            self.handler.pair(match, live)
        else:
            summary = f"the client sent {live.message.method}, which was not recorded at this point"
            self.handler.note(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, live)

    def _is_additional_output(self, match: MessageMatch | None, live: ClientMessage) -> bool:
        """Whether a request is an unrecorded piece of an open terminal's output."""
        is_open = live.message.terminal in self._state.bindings.live_terminals
        if live.message.method != PUSH or not is_open:
            return False
        return match is None or bool(match.comparison.conflicts or match.comparison.proposals)

    def _output_answer(self, live: ClientMessage) -> Command:
        """Returns an answer to a piece of output: a recorded answer to any piece, or a default."""
        schedule = self._state.schedule
        for step in (*schedule.played, *schedule.expected):
            if step.is_push and step.response_seq is not None and step.rpc_id is not None:
                return self._sender.repeat_answer(step, live.token)
        return received(live.token)

    def _take_unreadable(self, live: ClientMessage) -> Iterator[Command]:
        """Handles a line that is not a message. An unrecorded line is answered with an error."""
        lane = self._state.schedule.lanes[None]
        for step in lane.expected:
            if step.kind == "invalid" and self._state.comparer.compare(step, live).is_equal:
                self._state.requests.add_unreadable(step)
                self._state.schedule.match(step)
                return
        reason = live.message.parse_error or "not a JSON-RPC message"
        summary = f"the client sent a line that is not a message: {reason}"
        self.handler.note(DivergenceKind.MALFORMED_INPUT, lane, summary, live)
        yield Send(PARSE_ERROR)
