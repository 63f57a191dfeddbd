"""The state of one replay: parts that each change themselves, for those that share them."""

from attrs import frozen

from acp_proxy.engine.agent.open_requests import OpenAgentRequests, OpenClientRequests
from acp_proxy.engine.agent.options import ReplayOptions
from acp_proxy.engine.agent.schedule import ReplaySchedule
from acp_proxy.engine.agent.withheld_effects import WithheldEffects
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.divergence import DivergenceLog
from acp_proxy.engine.shared.steps import Script


@frozen
class ReplayState:
    """The parts of the state; none of them is ever replaced.

    Attributes:
        options: how to play.
        script: the recording.
        schedule: lanes and tracks, as far as they are read.
        bindings: the live values of what the client chose.
        client_requests: the client's requests that came.
        agent_requests: the agent's requests that went out.
        effects: what follows from what was withheld.
        divergences: where the client diverged.
    """

    options: ReplayOptions
    script: Script
    schedule: ReplaySchedule
    bindings: Bindings
    client_requests: OpenClientRequests
    agent_requests: OpenAgentRequests
    effects: WithheldEffects
    divergences: DivergenceLog

    @classmethod
    def begin(cls, script: Script, options: ReplayOptions) -> "ReplayState":
        """Returns the state of a replay that has not begun.

        Args:
            script: the recording.
            options: how to play it.
        """
        effects = WithheldEffects(script)
        return cls(
            options=options,
            script=script,
            schedule=ReplaySchedule(script, options.order, effects),
            bindings=Bindings(),
            client_requests=OpenClientRequests(),
            agent_requests=OpenAgentRequests(),
            effects=effects,
            divergences=DivergenceLog(),
        )
