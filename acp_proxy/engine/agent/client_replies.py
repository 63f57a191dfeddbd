"""Takes the client's answers to the agent's requests: the outcome has to be the recorded one.

An agent that was allowed to write went on as one that was. After another outcome the rest of the
recording does not fit, and the session is given up. Other content is information.
"""

from collections.abc import Iterable, Iterator

from acp_proxy.commands import Command
from acp_proxy.engine.agent.divergence_handler import DivergenceHandler
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.message_comparison import ClientMessage, MessageComparer
from acp_proxy.engine.agent.message_matcher import MessageMatch
from acp_proxy.engine.agent.open_requests import OpenAgentRequest
from acp_proxy.engine.agent.outcomes import CANCELLED, described
from acp_proxy.engine.agent.pushed_output import PushedOutput
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import Step

_RELEASE = "terminal/release"


class ClientReplies:
    """Takes replies, one after the other.

    Args:
        state: the state of the replay.
        comparer: compares replies.
        divergences: handles divergences.
        pushed: waits for no more output of a terminal whose program has ended.
    """

    def __init__(
        self,
        state: ReplayState,
        comparer: MessageComparer,
        divergences: DivergenceHandler,
        pushed: PushedOutput,
    ) -> None:
        self._schedule = state.schedule
        self._bindings = state.bindings
        self._requests = state.agent_requests
        self._comparer = comparer
        self._divergences = divergences
        self._pushed = pushed

    def take(self, live: ClientMessage) -> Iterator[Command]:
        """Takes a reply; it answers the oldest open request with its id."""
        token = live.message.rpc_id or "null"
        request = self._requests.take(token)
        if request is None:
            yield from self._take_unknown(live, token)
            return
        lane = self._schedule.lanes[request.step.lane]
        if lane.abandoned:
            return
        recorded = self._recorded_reply(request, lane)
        if recorded is None:
            seq = request.step.seq
            summary = f"the recorded client never answered {request.ask.method} #{seq}"
            self._divergences.note(DivergenceKind.DRIFT, lane, summary, live, seq=seq)
        elif self._have_one_outcome(request, recorded, live, lane):
            yield from self._take_content(request, recorded, live, lane)
        else:
            yield from self._divergences.abandon(lane)

    def _have_one_outcome(
        self, request: OpenAgentRequest, recorded: Step, live: ClientMessage, lane: Lane
    ) -> bool:
        """Whether the outcome is the recorded one; notes a divergence if it is not."""
        expected, came = self._comparer.outcomes(request, recorded, live)
        # After a cancellation a client has to answer that a permission request is cancelled.
        if expected == came or (lane.turn.is_cancelled and came == CANCELLED):
            return True
        self._divergences.note(
            DivergenceKind.OUTCOME_DIFFERS,
            lane,
            f"{request.ask.method} #{request.step.seq}: the recording expected"
            f" {described(expected)}, the client answered {described(came)}",
            live,
            seq=recorded.seq,
            compared=self._comparer.compare(recorded, live),
        )
        return False

    def _take_content(
        self, request: OpenAgentRequest, recorded: Step, live: ClientMessage, lane: Lane
    ) -> Iterator[Command]:
        """Takes what a reply with the recorded outcome contains."""
        comparison = self._comparer.compare(recorded, live)
        if not comparison.bind_to(self._bindings):
            match = MessageMatch(recorded, comparison)
            yield from self._divergences.refuse(live, conflict=match, lane=lane)
            return
        if comparison.differences:
            self._divergences.note(
                DivergenceKind.DRIFT,
                lane,
                f"the answer to {request.ask.method} #{request.step.seq} has other content",
                live,
                seq=recorded.seq,
                compared=comparison,
            )
        terminal = self._comparer.terminal_of(request)
        self._pushed.end(request.ask.method, terminal, live)
        if request.ask.method == _RELEASE:
            self._bindings.release(terminal)
        self._schedule.match(recorded, live.at)

    def _take_unknown(self, live: ClientMessage, token: str) -> Iterator[Command]:
        """Takes a reply to no open request: doubled, late, or sent before it was asked for."""
        lanes = self._schedule.lanes.values()
        expected = sorted(_replies((s for lane in lanes for s in lane.expected), token), key=_key)
        for step in expected:
            if step.exchange is None and self._comparer.compare(step, live).is_match:
                self._schedule.match(step, live.at)
                return
        early = next((step for step in expected if step.exchange is not None), None)
        if early is not None and not self._schedule.lanes[early.lane].abandoned:
            lane = self._schedule.lanes[early.lane]
            summary = f"the client answered id {token} before the agent asked"
            kind = DivergenceKind.UNKNOWN_REPLY_ID
            self._divergences.note(kind, lane, summary, live, seq=early.seq)
            yield from self._divergences.abandon(lane)
            return
        played = _replies((s for lane in lanes for s in lane.played), token)
        before = max(played, default=None, key=_key)
        self._divergences.note(
            DivergenceKind.UNKNOWN_REPLY_ID,
            self._schedule.lanes[None if before is None else before.lane],
            f"the client answered id {token}, which no open request of the agent has",
            live,
            seq=None if before is None else before.seq,
        )

    def _recorded_reply(self, request: OpenAgentRequest, lane: Lane) -> Step | None:
        if request.ask.reply_seq is None:
            return None
        self._schedule.read_to(request.ask.reply_seq)
        exchange = request.ask.exchange
        replies = (s for s in lane.expected if s.exchange == exchange and s.is_reply)
        return next(replies, None)


def _replies(steps: Iterable[Step], token: str) -> list[Step]:
    """The recorded replies with an id."""
    return [step for step in steps if step.is_reply and step.rpc_id == token]


def _key(step: Step) -> tuple[int, int]:
    return step.key
