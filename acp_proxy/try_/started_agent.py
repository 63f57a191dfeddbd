"""Starts a recorder with an agent, and ends both.

The recorder is the one of ``acp-proxy record``, so the recording is like any other. If we are
killed, the recorder reads the end of its input and ends the agent.
"""

import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from subprocess import PIPE

import trio
from attrs import define, field
from trio.abc import ReceiveStream, SendStream

from acp_proxy.playback.drivers.recorder_shutdown import Orphans, RecorderShutdown
from acp_proxy.playback.drivers.verifier import environment

GRACE_S = 5.0
"""Seconds in which an agent ends after its input was closed."""


@define(eq=False)
class StartedAgent:
    """A recorder that is our child, and its agent.

    Attributes:
        process: the recorder; when it has ended, its exit code is the agent's own.
        source: the agent's output.
        sink: the agent's input.
        stderr: the agent's stderr, and messages of the recorder.
        signum: the signal that stopped us, or None.
        is_hopeless: whether the agent will not end by itself.
        left_behind: processes of the agent that outlived it; they were ended.
    """

    process: trio.Process
    source: ReceiveStream
    sink: SendStream
    stderr: ReceiveStream
    signum: int | None = None
    is_hopeless: bool = False
    left_behind: list[str] = field(factory=list)


@asynccontextmanager
async def started_agent(
    command: Sequence[str],
    recording: str,
    grace_s: float = GRACE_S,
    signals: AsyncIterator[int] | None = None,
) -> AsyncIterator[StartedAgent]:
    """Starts a recorder with an agent; ends both when the context is left.

    Args:
        command: the command of the agent.
        recording: the path of the new recording, which must not exist.
        grace_s: the seconds that the agent has to end after its input was closed.
        signals: signals that kill both while they are being ended; None if there are none.
    """
    recorder = [sys.executable, "-P", "-m", "acp_proxy", "record", "--require-recording"]
    recorder += ["-o", recording, "--grace", str(grace_s), "--", *command]
    with Orphans() as orphans:
        process = await trio.lowlevel.open_process(
            recorder,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(os.environ),
            start_new_session=True,  # a terminal's Ctrl-C is ours, and becomes session/cancel
        )
        source, sink, stderr = process.stdout, process.stdin, process.stderr
        assert source is not None
        assert sink is not None
        assert stderr is not None
        agent = StartedAgent(process, source, sink, stderr)
        try:
            yield agent
        finally:
            with trio.CancelScope(shield=True):
                await _end(agent, grace_s, signals)
                agent.left_behind = await orphans.end(grace_s)


async def _end(agent: StartedAgent, grace_s: float, signals: AsyncIterator[int] | None) -> None:
    shutdown = RecorderShutdown(agent.process, grace_s)
    shutdown.signum, shutdown.is_hopeless = agent.signum, agent.is_hopeless
    async with trio.open_nursery() as nursery:
        if signals is not None:
            nursery.start_soon(shutdown.kill_on_signal, signals)
        await shutdown.end()
        nursery.cancel_scope.cancel()
