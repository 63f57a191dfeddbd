"""Handles the client's cancellations of a turn or of a single request.

When exactly the user pressed stop must not matter, so all that was recorded before a recorded
cancellation goes out first. An unrecorded cancellation is a divergence. It still ends what it
cancels, as the specification demands, so that no client hangs.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.agent.divergence_handler import DivergenceHandler
from acp_proxy.engine.agent.error_replies import (
    cancelled_answer,
    cancelled_request,
    cancelled_update,
)
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.message_comparison import ClientMessage
from acp_proxy.engine.agent.message_matcher import MessageMatch, MessageMatcher
from acp_proxy.engine.agent.sender import AgentSender
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.comparison import Comparison
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.dialects import CANCEL_REQUEST, PROMPT, V2


class Cancellations:
    """Handles cancellations, one after the other."""

    def __init__(
        self,
        state: ReplayState,
        sender: AgentSender,
        matcher: MessageMatcher,
        handler: DivergenceHandler,
    ) -> None:
        self._state = state
        self._schedule = state.schedule
        self._requests = state.requests
        self._sender = sender
        self._matcher = matcher
        self._handler = handler
        self._cancelled: dict[str, int] = {}
        """The recorded cancellations of requests that came, by the live id of the request."""

    def take_turn(
        self, match: MessageMatch | None, lane: Lane, live: ClientMessage
    ) -> Iterator[Command]:
        """Handles a ``session/cancel``; one that comes before its prompt counts as unrecorded.

        Args:
            match: the recorded cancellation, if there is one.
            lane: the lane of the message's session.
            live: the message.
        """
        self._requests.cancel_turns(lane)
        if match is None or self._is_too_early(match.step, lane):
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
        """Notes that the client uses an id for another request."""
        self._cancelled.pop(token, None)

    def _is_too_early(self, cancel: Step, lane: Lane) -> bool:
        return any(step.method == PROMPT and step.key < cancel.key for step in lane.expected)

    def _take_unrecorded_of_request(self, token: str, live: ClientMessage) -> Iterator[Command]:
        request = self._requests.with_id(token)
        lane = self._schedule.lanes[None if request is None else request.step.lane]
        if (again := self._cancelled.get(token)) is not None:
            summary = f"the client cancelled request {token} once more than recorded"
            self._handler.note(DivergenceKind.EXHAUSTED, lane, summary, live, seq=again)
        elif request is not None:
            summary = f"the client cancelled request {token}, which was not recorded"
            kind = DivergenceKind.UNRECORDED_CANCEL
            divergence = self._handler.note(kind, lane, summary, live)
            self._requests.close(request)
            yield cancelled_request(token, divergence)
        else:
            summary = f"the client cancelled request {token}, which is not open"
            self._handler.note(DivergenceKind.UNEXPECTED_NOTIFICATION, lane, summary, live)
        if request is not None:
            yield from self._handler.abandon(lane)

    def _take_unrecorded(self, lane: Lane, live: ClientMessage) -> Iterator[Command]:
        """Ends the turn as the specification demands."""
        if (again := self._matcher.find_played(live)) is not None:
            kind, seq = DivergenceKind.EXHAUSTED, again.seq
            summary = "the client cancelled once more than recorded"
        else:
            kind, seq = DivergenceKind.UNRECORDED_CANCEL, None
            summary = "the client cancelled, which was not recorded"
        self._handler.note(kind, lane, summary, live, seq=seq)
        for request in self._requests.open_in(lane):
            if request.step.method == PROMPT:
                self._requests.close(request)
                yield cancelled_answer(request.token, is_v2=self._state.script.dialect == V2)
        # In v2 an update ends the turn, and not the answer to the prompt.
        session = live.message.session
        if self._requests.turn_of(lane) is not None and session is not None:
            self._requests.end_turns(lane.name)
            yield cancelled_update(session)
        yield from self._handler.abandon(lane)

    def _find_cancel_request(self, token: str) -> Step | None:
        """Returns the recorded cancellation of the request, or of none if it is not open."""
        exchanges = self._requests.exchanges_of(token)
        for step in self._schedule.expected:
            is_of_open = step.exchange in exchanges
            is_of_none = step.exchange is None and not exchanges
            if step.method == CANCEL_REQUEST and (is_of_open or is_of_none):
                return step
        return None

    def _flush(self, lane: Lane, cancel: Step) -> Iterator[Command]:
        """Sends all frames that were recorded before a cancellation, even if they are not due."""
        while (ready := self._state.scheduler.next_before(lane, cancel.seq)) is not None:
            yield from self._sender.send(ready)
