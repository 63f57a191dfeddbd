"""Plays a replay between the two descriptors of a client, with or without faults."""

import contextlib
import os
import select
import shlex
import signal
import sys
import time
from typing import TYPE_CHECKING

from acp_proxy.capture.pumps import CHUNK
from acp_proxy.commands import Send
from acp_proxy.engine.agent.recording_choice import RecordingChoice
from acp_proxy.engine.agent.report import ReplayReport
from acp_proxy.events import LineReceived

if TYPE_CHECKING:
    from acp_proxy.faults.effects import ExitEffect, SignalEffect

_SAFE = 4096
"""Bytes that an empty pipe takes at once."""


class ReplayRun:
    """A run of a replay without faults; subclasses put something between the two peers."""

    def play(self, replay: RecordingChoice, source: int, sink: int) -> None:
        """Plays until the end, and closes the sink.

        Args:
            replay: the recorded agent.
            source: the descriptor that the client writes to.
            sink: the descriptor that the client reads from.
        """
        received, unsent = answer_first(replay, source, sink)
        if not replay.is_over or unsent:
            from acp_proxy.runtime.replayer import play

            play(replay, source, sink, received=received, unsent=unsent)
        os.close(sink)

    def completed(self, report: ReplayReport) -> ReplayReport:
        """Returns the report with what only the run knows."""
        return report

    def leave(self) -> None:
        """Ends the process, if the run ends in a way of its own; otherwise returns."""


def answer_first(choice: RecordingChoice, source: int, sink: int) -> tuple[bytes, bytes]:
    """Answers the client's first line, if it is there already, before trio is even imported.

    Args:
        choice: the recorded agent.
        source: the descriptor that the client writes to.
        sink: the descriptor that the client reads from.

    Returns:
        What was read and not fed; and what is still to be written, since more than the few bytes
        that every pipe takes at first might block.
    """
    poller = select.poll()
    poller.register(source, select.POLLIN)
    if not poller.poll(0):
        return b"", b""
    try:
        received = os.read(source, CHUNK)
    except OSError:  # another reader was quicker, or it is broken: the player will find out
        return b"", b""
    line, newline, rest = received.partition(b"\n")
    if not newline:
        return received, b""
    event = LineReceived(line.removesuffix(b"\r"), time.monotonic_ns())
    answer = b"".join(c.data for c in choice.feed(event) if isinstance(c, Send))
    try:
        written = os.write(sink, answer[:_SAFE])
    except OSError:  # no room, or no reader: the player will find out
        written = 0
    return rest, answer[written:]


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
        from acp_proxy.faults.plan import chosen_plan  # late: most replays have no faults

        self._plan, self._seed = chosen_plan(rules, plan, seed)
        self._has_seed = seed is not None or self._plan.seed is not None
        self._fired: dict[str, int] = {}
        self._agent_end: SignalEffect | ExitEffect | None = None

    def play(self, replay: RecordingChoice, source: int, sink: int) -> None:
        """Plays; see `ReplayRun.play`.

        Args:
            replay: the recorded agent.
            source: the descriptor that the client writes to.
            sink: the descriptor that the client reads from.
        """
        from acp_proxy.runtime.faulty_streams import play_with_faults

        self._fired, self._agent_end = play_with_faults(
            self._plan, self._seed, replay, source, sink
        )

    def completed(self, report: ReplayReport) -> ReplayReport:
        """Adds which faults fired, and the command that repeats them."""
        from attrs import evolve

        words = ["acp-proxy", *sys.argv[1:]]
        if not self._has_seed:
            words.insert(2, f"--seed={self._seed}")
        return evolve(report, faults=self._fired, seed=self._seed, reproduce=shlex.join(words))

    def leave(self) -> None:
        """Ends the process as a fault ended the agent, if one did."""
        from acp_proxy.faults.effects import ExitEffect, SignalEffect

        if isinstance(self._agent_end, ExitEffect):
            os._exit(self._agent_end.code)
        if isinstance(self._agent_end, SignalEffect):
            with contextlib.suppress(OSError):  # SIGKILL has no handler
                signal.signal(self._agent_end.signum, signal.SIG_DFL)
            os.kill(os.getpid(), self._agent_end.signum)
