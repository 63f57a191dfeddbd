"""Takes the output of terminals where the client pushes it, as in the 1.0 draft.

How often that happens, and how the output is cut, is chance. So pieces that were recorded may be
missing, and nothing waits for them once the program has ended; more pieces than were recorded are
answered as those were, until the terminal is released.
"""

from acp_proxy.commands import Command
from acp_proxy.engine.agent.error_replies import received
from acp_proxy.engine.agent.message_comparison import ClientMessage, MessageComparer
from acp_proxy.engine.agent.message_matcher import MessageMatch
from acp_proxy.engine.agent.sender import AgentSender
from acp_proxy.engine.agent.state import ReplayState
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.methods import PUSH

_ENDS = ("terminal/wait_for_exit", "terminal/release")
"""Requests of the agent after whose answer a terminal has no more output."""


class PushedOutput:
    """Takes pieces of output.

    Args:
        state: the state of the replay.
        sender: repeats recorded answers.
        comparer: reads recorded messages.
    """

    def __init__(self, state: ReplayState, sender: AgentSender, comparer: MessageComparer) -> None:
        self._schedule = state.schedule
        self._bindings = state.bindings
        self._sender = sender
        self._comparer = comparer

    def is_extra(self, match: MessageMatch | None, live: ClientMessage) -> bool:
        """Returns whether a request is output of an open terminal, and was not recorded.

        Args:
            match: the recorded request that it matches, if any.
            live: the request.
        """
        is_push = live.message.method == PUSH
        if not is_push or _terminal(live.value) not in self._bindings.live_terminals:
            return False
        return match is None or bool(match.comparison.conflicts or match.comparison.proposals)

    def answer(self, live: ClientMessage) -> Command:
        """Answers a piece as the recorded agent answered another one."""
        token = live.message.rpc_id or "null"
        lanes = self._schedule.lanes.values()
        for step in (one for lane in lanes for one in (*lane.played, *lane.expected)):
            if step.is_push and step.response_seq is not None and step.rpc_id is not None:
                return self._sender.repeat_answer(step, token)
        return received(token)

    def end(self, method: str | None, terminal: str, live: ClientMessage) -> None:
        """Waits for no more output of a terminal if the client answers that its program has ended.

        Args:
            method: the agent's request that the client answered.
            terminal: the recorded terminal that it was about.
            live: the answer.
        """
        result = live.value.get("result") if isinstance(live.value, dict) else None
        if method not in _ENDS or (isinstance(result, dict) and result.get("timedOut") is True):
            return
        for lane in self._schedule.lanes.values():
            for step in lane.expected:
                if step.is_push and self._terminal_of(step) == terminal:
                    self._schedule.exempt.let_pass(step)

    def _terminal_of(self, step: Step) -> str | None:
        return _terminal(self._comparer.value(step))


def _terminal(message: object) -> str | None:
    params = message.get("params") if isinstance(message, dict) else None
    terminal = params.get("terminalId") if isinstance(params, dict) else None
    return terminal if isinstance(terminal, str) else None
