"""A replay with faults: the plan of the command line, between the recorded agent and the client."""

import contextlib
import os
import shlex
import signal
import sys

from attrs import evolve

from acp_proxy.cli.commands.replay import Stage
from acp_proxy.engine.agent.recording_choice import RecordingChoice
from acp_proxy.engine.agent.report import ReplayReport
from acp_proxy.faults.choosing import chosen_plan
from acp_proxy.faults.effects import ExitEffect, SignalEffect
from acp_proxy.runtime.faulty_streams import play_with_faults


class FaultyStage(Stage):
    """Faults stand between the recorded agent and its client.

    Raises:
        BadPlan: they are wrong; nothing has been played then.
    """

    def __init__(self, rules: tuple[str, ...], plan: str | None, seed: int | None) -> None:
        self._plan, self._seed = chosen_plan(rules, plan, seed)
        self._has_seed = seed is not None or self._plan.seed is not None
        self._fired: dict[str, int] = {}
        self._fate: SignalEffect | ExitEffect | None = None

    def play(self, replay: RecordingChoice, source: int, sink: int) -> None:
        """Plays."""
        self._fired, self._fate = play_with_faults(self._plan, self._seed, replay, source, sink)

    def told(self, found: ReplayReport) -> ReplayReport:
        """Adds which faults fired, and how to have them again."""
        words = ["acp-proxy", *sys.argv[1:]]
        again = shlex.join(words if self._has_seed else [*words[:2], f"--seed={self._seed}",
                                                         *words[2:]])  # fmt: skip
        return evolve(found, faults=self._fired, seed=self._seed, reproduce=again)

    def leave(self) -> None:
        """Ends as the agent did, if a fault has ended it."""
        if isinstance(self._fate, ExitEffect):
            os._exit(self._fate.code)
        if isinstance(self._fate, SignalEffect):
            with contextlib.suppress(OSError):  # nobody can say what SIGKILL does
                signal.signal(self._fate.signum, signal.SIG_DFL)
            os.kill(os.getpid(), self._fate.signum)
