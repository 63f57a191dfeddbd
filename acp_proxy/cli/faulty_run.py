"""A run of a replay with faults between the recorded agent and its client."""

import contextlib
import os
import shlex
import signal
import sys

from attrs import evolve

from acp_proxy.cli.replay_run import ReplayRun
from acp_proxy.engine.agent.recording_choice import RecordingChoice
from acp_proxy.engine.agent.report import ReplayReport
from acp_proxy.faults.effects import ExitEffect, SignalEffect
from acp_proxy.faults.plan import chosen_plan
from acp_proxy.runtime.faulty_streams import play_with_faults


class FaultyRun(ReplayRun):
    """A run with faults.

    Args:
        rules: the values of ``--fault``.
        plan: the value of ``--faults``.
        seed: the value of ``--seed``; without one, the plan's, or a random one.

    Raises:
        BadPlan: the rules or the plan are wrong; nothing has been played then.
    """

    def __init__(self, rules: tuple[str, ...], plan: str | None, seed: int | None) -> None:
        self._plan, self._seed = chosen_plan(rules, plan, seed)
        self._has_seed = seed is not None or self._plan.seed is not None
        self._fired: dict[str, int] = {}
        self._agent_end: SignalEffect | ExitEffect | None = None

    def play(self, replay: RecordingChoice, source: int, sink: int) -> None:
        """Plays; see `ReplayRun.play`."""
        self._fired, self._agent_end = play_with_faults(
            self._plan, self._seed, replay, source, sink
        )

    def completed(self, report: ReplayReport) -> ReplayReport:
        """Adds which faults fired, and the command that repeats them."""
        words = ["acp-proxy", *sys.argv[1:]]
        again = shlex.join(words if self._has_seed else [*words[:2], f"--seed={self._seed}",
                                                         *words[2:]])  # fmt: skip
        return evolve(report, faults=self._fired, seed=self._seed, reproduce=again)

    def leave(self) -> None:
        """Ends the process as a fault ended the agent, if one did."""
        if isinstance(self._agent_end, ExitEffect):
            os._exit(self._agent_end.code)
        if isinstance(self._agent_end, SignalEffect):
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(self._agent_end.signum, signal.SIG_DFL)
            os.kill(os.getpid(), self._agent_end.signum)
