"""Takes the output of terminals where the client pushes it, as in the 1.0 draft.

How often that happens, and how the output is cut, is chance. So pieces that were recorded may be
missing, and nothing waits for them once the program has ended; more pieces than were recorded are
answered as those were, until the terminal is released.
"""

from acp_proxy.commands import Command
from acp_proxy.engine.agent.error_replies import received
from acp_proxy.engine.agent.message_comparison import ClientMessage
from acp_proxy.engine.agent.message_matcher import MessageMatch
from acp_proxy.engine.agent.sender import AgentSender
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.methods import PUSH


class PushedOutput:
    """Takes pieces of output."""

    def __init__(self, state: ReplayState, sender: AgentSender) -> None:
        self._lanes = state.schedule.lanes
        self._state = state
        self._sender = sender

    def is_extra(self, match: MessageMatch | None, live: ClientMessage) -> bool:
        """Returns whether a request is output of an open terminal, and was not recorded.

        Args:
            match: the recorded request that it matches, if any.
            live: the request.
        """
        message = live.message
        if message.method != PUSH or message.terminal not in self._state.bindings.live_terminals:
            return False
        return match is None or bool(match.comparison.conflicts or match.comparison.proposals)

    def answer(self, live: ClientMessage) -> Command:
        """Answers a piece as the recorded agent answered another one."""
        for step in (s for lane in self._lanes.values() for s in (*lane.played, *lane.expected)):
            if step.is_push and step.response_seq is not None and step.rpc_id is not None:
                return self._sender.repeat_answer(step, live.token)
        return received(live.token)

    def end(self, terminal: str | None) -> None:
        """Waits for no more output of a recorded terminal whose program has ended."""
        for lane in self._lanes.values():
            for step in lane.expected:
                if step.is_push and read(self._state.comparer.raw(step)).terminal == terminal:
                    self._state.schedule.exempt.let_pass(step)
