"""Takes what a terminal puts out where the client pushes it, as in the 1.0 draft.

How often that happens, and how the output is cut, is chance. So pieces that were recorded may be
missing, and nobody waits for them once the program has ended; more pieces than were recorded are
answered as those were, until the terminal is released.
"""

from acp_proxy.commands import Command, Send
from acp_proxy.engine.agent.error_replies import received
from acp_proxy.engine.agent.request_matcher import Found, Heard
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.steps import PUSH, Step

_ENDS = ("terminal/wait_for_exit", "terminal/release")
"""Requests of the agent's after whose answer a terminal puts nothing out."""


class Pushes:
    """Takes pieces of output."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._schedule = stage.schedule

    def is_extra(self, found: Found | None, heard: Heard) -> bool:
        """Whether a request is output of a terminal that is there, and was not recorded.

        Args:
            found: the recorded request that it would be, if any.
            heard: what came.
        """
        if heard.message.method != PUSH or _terminal(heard.value) not in self._live():
            return False
        return found is None or bool(found.comparison.conflicts or found.comparison.proposals)

    def answer(self, heard: Heard) -> Command:
        """Answers a piece as the recorded agent answered another one."""
        token = heard.message.rpc_id or "null"
        answered = (step for step in self._recorded() if step.response_seq is not None)
        step = next(answered, None)
        if step is None or step.rpc_id is None:
            return received(token)
        return Send(self._stage.player.repeated(step, token))

    def end(self, method: str | None, terminal: str, heard: Heard) -> None:
        """Waits for no more output of a terminal, if the client says that its program has ended.

        Args:
            method: the agent's request that the client answered.
            terminal: the recorded terminal that it was about.
            heard: the answer.
        """
        result = heard.value.get("result") if isinstance(heard.value, dict) else None
        if method not in _ENDS or (isinstance(result, dict) and result.get("timedOut") is True):
            return
        for lane in self._schedule.lanes.values():
            for step in lane.expected:
                if step.is_push and self._terminal_of(step) == terminal:
                    self._schedule.let_go(step)

    def _live(self) -> set[str]:
        """What the client calls its terminals that are not released."""
        bindings = self._stage.bindings
        return {new for old, new in bindings.terminals.items() if old not in bindings.released}

    def _recorded(self) -> list[Step]:
        lanes = self._schedule.lanes.values()
        return [s for lane in lanes for s in (*lane.played, *lane.expected) if s.is_push]

    def _terminal_of(self, step: Step) -> str | None:
        return _terminal(self._stage.listener.value(step))


def _terminal(message: object) -> str | None:
    params = message.get("params") if isinstance(message, dict) else None
    terminal = params.get("terminalId") if isinstance(params, dict) else None
    return terminal if isinstance(terminal, str) else None
