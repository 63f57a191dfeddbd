"""Talks to a recorded agent: the handshake, a session, and one prompt after the other."""

import os
import signal
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

import trio
from attrs import define, field

from acp_proxy.playback.drivers.event_loop import received
from acp_proxy.protocol.dialects import CANCEL, INITIALIZE, OPENING, PROMPT, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import Direction, read
from acp_proxy.try_.agent_connection import AgentLeft, Watch
from acp_proxy.try_.agent_requests import Ask, Policy
from acp_proxy.try_.connected_agent import ConnectedAgent, RunningAgent, connected
from acp_proxy.try_.forms import Forms

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_IDLE = "idle"
"""The name under which `AgentConnection.expected` waits for the update that ends a turn of v2."""


class Refused(Exception):
    """The agent refused a request of the handshake, so the conversation cannot go on."""


class TrialScreen(Protocol):
    """Shows a conversation while it runs, and asks the user."""

    watch: Watch
    ask: Ask

    def prompts(self) -> AsyncGenerator[str, None]:
        """Yields the prompts. The next prompt is requested when a turn has ended."""
        ...

    def stderr(self, text: bytes) -> None:
        """Shows what the agent has written to its stderr.

        Args:
            text: the new bytes.
        """
        ...

    def tick(self, quiet_since: int) -> None:
        """Shows whether the agent or the user is waited for; called every second.

        Args:
            quiet_since: when bytes were last sent or received, in nanoseconds of trio's clock.
        """
        ...


@define(eq=False)
class Trial:
    """Talks to an agent as its client, prompt by prompt.

    Args:
        start: starts the agent; receives the signals that stop acp-proxy.
        screen: shows the conversation, and supplies the prompts.
        policy: who decides what the agent may do.
        forms: the messages of the dialect to begin with; replaced if the agent answers with another
            version.
        servers: the commands of the MCP servers of the session.
        timeout_s: the seconds of silence after which an agent that has to answer counts as hung.

    Attributes:
        agent: the agent; its process has ended when `play` returns.
        detail: why the conversation ended too early; empty if all prompts were answered.
    """

    _start: Callable[[AsyncIterator[int]], RunningAgent]
    _screen: TrialScreen
    _policy: Policy
    _forms: Forms
    _servers: Sequence[Sequence[str]]
    _timeout_s: float
    agent: ConnectedAgent = field(init=False)
    detail: str = field(init=False, default="")
    _turn: str | None = field(init=False, default=None)
    """The id of the session whose turn can be cancelled; None if there is none."""

    async def play(self) -> None:
        """Starts the agent, talks to it until the conversation is over, and ends the agent."""
        with received(*_SIGNALS) as signals:
            async with (
                connected(
                    self._start(signals),
                    self._policy,
                    self._screen.ask,
                    self._watch,
                    self._screen.stderr,
                    self._timeout_s,
                ) as self.agent,
                trio.open_nursery() as nursery,
            ):
                nursery.start_soon(self._tick)
                nursery.start_soon(self._stop_on_signal, signals, nursery.cancel_scope)
                try:
                    await self._converse()
                except AgentLeft:
                    self.detail = self.agent.silence or "the agent ended before it had answered"
                except Refused as e:
                    self.detail = str(e)
                nursery.cancel_scope.cancel()

    async def _converse(self) -> None:
        """Opens a session, and sends each prompt when the turn before it has ended.

        Raises:
            AgentLeft: the agent's output has ended, or the agent was silent for too long.
            Refused: the agent refused ``initialize`` or ``session/new``, or named no session.
        """
        peer, requests = self.agent.peer, self.agent.requests
        requests.dialect = self._forms.dialect
        result = await self._asked(INITIALIZE[0], self._forms.initialize(writes=requests.writes))
        self._forms = self._forms.following(result)
        requests.dialect = self._forms.dialect
        params = self._forms.session(os.getcwd(), self._servers)  # noqa: PTH109
        session = member(await self._asked(OPENING[0], params), "sessionId")
        if not isinstance(session, str):
            raise Refused("the answer to session/new has no sessionId")
        async with aclosing(self._screen.prompts()) as prompts:
            async for prompt in prompts:
                self._turn = session
                with peer.expected(_IDLE) as idle:
                    answer = await peer.request(PROMPT, self._forms.prompt(session, prompt))
                    if self._forms.dialect == V2 and member(answer, "error") is None:
                        await idle.receive()
                self._turn, requests.is_cancelled = None, False

    async def _asked(self, method: str, params: Any) -> Any:
        """Sends a request, and returns the result of its answer.

        Raises:
            AgentLeft: the agent's output ended before the answer came, or the agent hangs.
            Refused: the answer is an error.
        """
        answer = await self.agent.peer.request(method, params)
        if (error := member(answer, "error")) is not None:
            words = member(error, "message")
            raise Refused(f"the agent answered {method} with an error: {words}")
        return member(answer, "result")

    def _watch(self, direction: Direction, raw: bytes) -> None:
        is_update = direction is Direction.TO_CLIENT and b"state_update" in raw
        if is_update and read(raw).state == "idle":
            self.agent.peer.give(_IDLE, None)
        self._screen.watch(direction, raw)

    async def _tick(self) -> None:
        while True:
            await trio.sleep(1)
            self._screen.tick(self.agent.peer.moved_ns)

    async def _stop_on_signal(self, signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        """Cancels the open turn on the first Ctrl-C; ends the conversation on any other signal."""
        async for signum in signals:
            if signum == signal.SIGINT and self._turn is not None:
                session, self._turn = self._turn, None
                await self.agent.peer.notify(CANCEL, {"sessionId": session})
                self.agent.requests.cancel()
                continue
            self.agent.recorder.signum, self.detail = signum, "stopped"
            scope.cancel()
