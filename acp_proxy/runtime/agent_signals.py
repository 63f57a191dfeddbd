"""Carries out what faults do to the agent's process: signals, and an exit that is not its own."""

import signal

from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.faults.effects import SignalEffect
from acp_proxy.runtime.fault_notes import Actor, FaultNotes


class AgentSignals:
    """The signals that one agent gets.

    Args:
        agent: what gets them; an agent that has exited gets none.
        notes: where they are written down first.
    """

    def __init__(self, agent: AgentProcess, notes: FaultNotes) -> None:
        self._agent = agent
        self._notes = notes

    def send(self, effect: SignalEffect, actor: Actor) -> bool:
        """Sends a signal for a rule.

        Args:
            effect: which signal.
            actor: the rule.

        Returns:
            Whether there was still an agent to send it to.
        """
        if self._agent.exited.is_set:
            return False
        self._notes.effect(actor, signal=effect.signum)
        self._agent.send_signal(effect.signum)
        return True

    def make_exit(self, code: int, actor: Actor) -> None:
        """Ends the agent, and lets it appear as if it had exited with a code.

        Args:
            code: the exit code.
            actor: the rule.
        """
        self._notes.effect(actor, code=code)
        if not self._agent.exited.is_set:
            self._agent.appears_as = code
            self._agent.send_signal(signal.SIGKILL)
