"""What faults do to the agent's process: signals, at once or later, and an exit not its own."""

import signal
from collections.abc import Callable
from functools import partial

from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.faults.effects import SignalEffect
from acp_proxy.runtime.fault_notes import Actor, FaultNotes


class AgentSignals:
    """The signals that one agent gets.

    Args:
        agent: who gets them; one that has exited gets none.
        notes: where it is written down first.
        clock: monotonic nanoseconds.

    Attributes:
        later: what has to happen at a moment: when, and what.
        wake: called when there is something new in ``later``.
    """

    def __init__(self, agent: AgentProcess, notes: FaultNotes, clock: Callable[[], int]) -> None:
        self.later: list[tuple[int, Callable[[], None]]] = []
        self.wake: Callable[[], None] = lambda: None
        self._agent = agent
        self._notes = notes
        self._clock = clock

    def send(self, effect: SignalEffect, actor: Actor) -> None:
        """Sends a signal for a rule, and sees to the one that may have to follow."""
        if self._agent.exited.is_set:
            return
        self._notes.effect(actor, signal=effect.signum)
        self._agent.send_signal(effect.signum)
        if effect.then_kill_after_ns is not None:
            kill = partial(self.send, SignalEffect(signal.SIGKILL), actor)
            self.later.append((self._clock() + effect.then_kill_after_ns, kill))
            self.wake()

    def make_exit(self, code: int, actor: Actor) -> None:
        """Ends the agent, and lets it appear as if it had exited with a code."""
        self._notes.effect(actor, code=code)
        if not self._agent.exited.is_set:
            self._agent.appears_as = code
            self._agent.send_signal(signal.SIGKILL)
