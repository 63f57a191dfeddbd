"""Starts an agent, connects with it as its client, and gives up on an agent that hangs."""

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE

import trio
from attrs import define
from trio.abc import ReceiveStream

from acp_proxy.base.limits import CHUNK
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.playback.drivers.recorder_process import RecorderProcess, recorded
from acp_proxy.try_.agent_connection import AgentConnection, Watch
from acp_proxy.try_.agent_requests import AgentRequests, Ask, Policy

_MOMENT_S = 0.5
"""How many seconds the agent's stderr is still read after the agent has ended."""
GRACE_S = 5.0
"""How many seconds an agent has to end after its input was closed, before it is stopped."""

RunningAgent = AbstractAsyncContextManager[RecorderProcess]
"""A context that starts a recorder and its agent, and ends both on exit."""
started_agent = partial(recorded, grace=GRACE_S, stderr=PIPE)
"""Returns a context, for `connected`, that starts a recorder with its agent."""


@define(eq=False)
class ConnectedAgent:
    """A running agent, and the connection with it.

    Attributes:
        recorder: the recorder, a child process that runs the agent.
        requests: the object that answers the agent's requests.
        peer: the connection.
        silence: a sentence about how long a hanging agent was silent; empty if it did not hang.
    """

    recorder: RecorderProcess
    requests: AgentRequests
    peer: AgentConnection
    silence: str = ""

    async def watch_silence(self, limit_s: float) -> None:
        """Gives up on the agent when it is silent for too long, although it has to act.

        Args:
            limit_s: a silence of this many seconds is too long.
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
    """Starts an agent, and answers its requests about files and commands of the current directory.

    Args:
        running: starts the agent.
        policy: who decides what the agent may do.
        ask: asks the user.
        watch: receives each line of the connection.
        hear: receives the bytes of the agent's stderr, up to shortly after the agent's end.
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
            recorder.last_read_ns = now_ns()
            nursery.cancel_scope.cancel()
        # A process may keep stderr open after the agent's end, so it is only read a little longer.
        readers.cancel_scope.deadline = trio.current_time() + _MOMENT_S


async def _read_stderr(stderr: ReceiveStream | None, hear: Callable[[bytes], None]) -> None:
    assert stderr is not None
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while text := await stderr.receive_some(CHUNK):
            hear(bytes(text))
