"""The course of a conversation: the handshake, a session, and one prompt after the other."""

import os
from collections.abc import AsyncIterator, Sequence
from typing import Any

import trio
from attrs import define, field

from acp_proxy.protocol.dialects import CANCEL, INITIALIZE, OPENING, PROMPT, V2
from acp_proxy.protocol.json_text import member
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.try_.agent_connection import AgentConnection, AgentLeft
from acp_proxy.try_.agent_requests import AgentRequests
from acp_proxy.try_.forms import Forms, McpServer


class Refused(Exception):
    """The agent has answered a request with an error, so the conversation cannot go on."""


@define(eq=False)
class Dialogue:
    """Speaks to an agent as its client, prompt by prompt.

    Args:
        peer: the connection.
        requests: answers the agent's requests.
        forms: the messages of the dialect.
        servers: the MCP servers of the session.
    """

    _peer: AgentConnection
    _requests: AgentRequests
    _forms: Forms
    _servers: Sequence[McpServer]
    session: str | None = field(init=False, default=None)
    is_turn_open: bool = field(init=False, default=False)
    _is_cancelled: bool = field(init=False, default=False)
    _idle: trio.Event = field(init=False, factory=trio.Event)
    """Set when an agent of the draft of v2 says that the session is idle."""

    def note(self, raw: bytes) -> None:
        """Notes the end of a turn of v2, which is an update.

        Args:
            raw: a line of the agent.
        """
        if b"state_update" in raw and read(raw).state == "idle":
            self._idle.set()

    def leave(self) -> None:
        """Ends the wait for the end of a turn, because the agent's output has ended."""
        self._idle.set()

    async def play(self, prompts: AsyncIterator[str]) -> None:
        """Opens a session, and sends each prompt when the turn before it has ended.

        Args:
            prompts: the prompts.

        Raises:
            AgentLeft: the agent's output has ended.
            Refused: the agent has refused to go on.
        """
        writes = self._requests.writes
        result = await self._asked(INITIALIZE[0], self._forms.initialize(writes=writes))
        self._forms = self._forms.following(result)
        self._requests.dialect = self._forms.dialect
        params = self._forms.session(os.getcwd(), self._servers)  # noqa: PTH109
        self.session = member(await self._asked(OPENING[0], params), "sessionId")
        if not isinstance(self.session, str):
            raise Refused("the answer to session/new has no sessionId")
        async for prompt in prompts:
            self._idle = trio.Event()
            self.is_turn_open, self._is_cancelled = True, False
            try:
                answer = await self._peer.request(PROMPT, self._forms.prompt(self.session, prompt))
                if self._forms.dialect == V2 and member(answer, "error") is None:
                    await self._idle.wait()
                if self._peer.has_left.is_set():
                    raise AgentLeft
            finally:
                self.is_turn_open = False

    async def cancel(self) -> bool:
        """Cancels the open turn; returns False if there is none, or if it was cancelled before."""
        if not self.is_turn_open or self._is_cancelled:
            return False
        self._is_cancelled = True
        await self._peer.notify(CANCEL, {"sessionId": self.session})
        self._requests.cancel()
        return True

    async def _asked(self, method: str, params: Any) -> Any:
        """Sends a request, and returns the result.

        Raises:
            Refused: the answer is an error.
        """
        answer = await self._peer.request(method, params)
        if (error := member(answer, "error")) is not None:
            words = member(error, "message")
            raise Refused(f"the agent answered {method} with an error: {words}")
        return member(answer, "result")
