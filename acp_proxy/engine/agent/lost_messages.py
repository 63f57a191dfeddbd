"""Takes the client's messages that a fault dropped on their way to the replayed agent.

Such a message was sent, so it is no divergence of the client that the agent never gets it, nor what
follows from that: what was recorded later does not come or is not played, or the turn is cancelled.
If the client sends the message once more, it counts as the recorded one.
"""

from acp_proxy.engine.agent.message_comparison import ClientMessage
from acp_proxy.engine.agent.message_matcher import MessageMatcher
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.steps import REPLIES, Step
from acp_proxy.protocol.jsonrpc import Message, read


class LostMessages:
    """Takes lines that did not arrive."""

    def __init__(self, state: ReplayState, matcher: MessageMatcher) -> None:
        self._state = state
        self._matcher = matcher

    def take(self, raw: bytes, rule: str) -> None:
        """Takes a line without its newline.

        Args:
            raw: the line.
            rule: the rule that dropped it.
        """
        message = read(raw)
        for member in message.members or (message,):
            if (step := self._recorded(member)) is not None:
                lane = self._state.schedule.lanes[step.lane]
                if step.key in lane.lost:
                    continue
                lane.lost.add(step.key)
                self._state.divergences.excuse(lane, step.seq)
                summary = f"{step.title} #{step.seq} was dropped by fault {rule}"
                kind = DivergenceKind.DROPPED
                self._state.divergences.note(kind, lane, summary, seq=step.seq)

    def _recorded(self, message: Message) -> Step | None:
        """Returns the recorded message that a lost one matches."""
        schedule = self._state.schedule
        seq: int | None = None
        exchange: int | None = None
        if message.kind in REPLIES:
            if (request := self._state.requests.oldest_of_agent(message.rpc_id)) is not None:
                seq, exchange = request.ask.reply_seq, request.ask.exchange
        elif message.method is not None:
            match = self._matcher.find(ClientMessage(message, 0, self._state.masking))
            if match is not None:
                seq, exchange = match.step.seq, match.step.exchange
        if seq is None:
            return None
        schedule.read_to(seq)
        wanted = (seq, exchange)
        return next((one for one in schedule.expected if (one.seq, one.exchange) == wanted), None)
