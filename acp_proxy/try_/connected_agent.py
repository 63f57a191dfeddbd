"""Starts an agent with a recorder, and connects us with it as its client.

The recorder is the one of ``acp-proxy record``, so the recording is like any other. If we are
killed, the recorder reads the end of its input and ends the agent.
"""

import contextlib
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from subprocess import PIPE

import trio
from attrs import define
from trio.abc import ReceiveStream

from acp_proxy.base.limits import CHUNK
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.playback.drivers.recorder_shutdown import Orphans, RecorderShutdown
from acp_proxy.playback.drivers.verifier import environment
from acp_proxy.try_.agent_connection import AgentConnection, Watch
from acp_proxy.try_.agent_requests import AgentRequests, Ask, Policy

_MOMENT_S = 0.5
"""Seconds until the stderr counts as complete after the agent has ended."""
GRACE_S = 5.0
"""Seconds in which an agent ends after its input was closed."""

RunningAgent = AbstractAsyncContextManager[RecorderShutdown]
"""Starts a recorder and its agent, and ends both when the context is left."""


@asynccontextmanager
async def started_agent(
    command: Sequence[str], recording: str, signals: AsyncIterator[int] | None = None
) -> AsyncIterator[RecorderShutdown]:
    """Starts a recorder with an agent; ends both when the context is left.

    Args:
        command: the command of the agent.
        recording: the path of the new recording, which must not exist.
        signals: signals that kill both while they are being ended; None if there are none.
    """
    words = [sys.executable, "-P", "-m", "acp_proxy", "record", "--require-recording"]
    words += ["-o", recording, "--grace", str(GRACE_S), "--", *command]
    with Orphans() as orphans:
        process = await trio.lowlevel.open_process(
            words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(os.environ),
            start_new_session=True,  # a terminal's Ctrl-C is ours, and becomes session/cancel
        )
        recorder = RecorderShutdown(process, GRACE_S)
        try:
            yield recorder
        finally:
            with trio.CancelScope(shield=True):
                recorder.last_read_ns = now_ns()
                async with trio.open_nursery() as nursery:
                    if signals is not None:
                        nursery.start_soon(recorder.kill_on_signal, signals)
                    await recorder.end()
                    nursery.cancel_scope.cancel()
                recorder.left_behind = await orphans.end(GRACE_S)


@define(eq=False)
class ConnectedAgent:
    """An agent that is running, and our connection with it.

    Attributes:
        recorder: the recorder, which is our child.
        requests: answers the agent's requests.
        peer: the connection.
        silence: why we gave up on the agent, in words; empty if we did not.
    """

    recorder: RecorderShutdown
    requests: AgentRequests
    peer: AgentConnection
    silence: str = ""

    async def watch_silence(self, limit_s: float) -> None:
        """Gives up on the agent when it has to act and is silent for too long.

        Args:
            limit_s: the seconds of silence.
        """
        await self.peer.fall_silent(limit_s, lambda: self.requests.are_running)
        self.recorder.is_hopeless = True
        self.silence = f"the agent was silent for {limit_s:g} s"
        self.peer.leave()


@asynccontextmanager
async def connected(
    running: RunningAgent,
    policy: Policy,
    ask: Ask,
    watch: Watch,
    hear: Callable[[bytes], None],
    timeout_s: float,
) -> AsyncIterator[ConnectedAgent]:
    """Starts an agent and answers its requests, which are about the current directory.

    Args:
        running: starts the agent.
        policy: who decides what the agent may do.
        ask: asks the user.
        watch: receives each line of the connection.
        hear: receives what comes on stderr, also while the agent is being ended.
        timeout_s: the seconds of silence after which an agent that has to act counts as hung.
    """
    async with trio.open_nursery() as readers:
        async with running as recorder, trio.open_nursery() as nursery:
            requests = AgentRequests(policy, ask, Path.cwd(), nursery)
            peer = AgentConnection(recorder.source, recorder.sink, requests.answer, watch)
            agent = ConnectedAgent(recorder, requests, peer)
            readers.start_soon(_read_stderr, recorder.process.stderr, hear)
            nursery.start_soon(peer.run)
            nursery.start_soon(agent.watch_silence, timeout_s)
            yield agent
            nursery.cancel_scope.cancel()
        # A process may keep stderr open: what comes soon is still part of it.
        readers.cancel_scope.deadline = trio.current_time() + _MOMENT_S


async def _read_stderr(stderr: ReceiveStream | None, hear: Callable[[bytes], None]) -> None:
    assert stderr is not None
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while text := await stderr.receive_some(CHUNK):
            hear(bytes(text))
