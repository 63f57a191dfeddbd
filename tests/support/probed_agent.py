"""An agent in this process that passes all probes of `try`; tests change one behaviour."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import trio
from trio.testing import memory_stream_pair

from tests.support.live_agent import running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from acp_proxy.playback.drivers.recorder_process import RecorderProcess

LONG = "long"
"""The text of a prompt whose turn only ends when it is cancelled."""
CAPABILITIES: dict[str, Any] = {
    "loadSession": True,
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
}


class ProbedAgent:
    """An agent that passes all probes.

    Attributes:
        probe: the probe that a subclass fails; "" for none.
    """

    probe = ""
    capabilities = CAPABILITIES

    def __init__(self, stream: trio.StapledStream[Any, Any], nursery: trio.Nursery) -> None:
        self._stream = stream
        self._nursery = nursery
        self._lock = trio.Lock()
        self._sessions: dict[str, trio.Event] = {}
        """The sessions by id; each event is set when the session's turn is cancelled."""
        self._count = 0

    async def serve(self) -> None:
        """Answers messages until the input ends."""
        rest = b""
        while chunk := await self._stream.receive_some():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                await self.take(line)
        await self.close()

    async def close(self) -> None:
        """Closes the agent's output."""
        await self._stream.send_stream.aclose()

    async def take(self, raw: bytes) -> None:
        """Reads a line of the client, and answers it if it is a request."""
        if not raw.strip():
            return
        try:
            message = json.loads(raw)
        except ValueError:
            await self.refuse(None, -32700)
            return
        method = message.get("method")
        if method is None and ("result" in message or "error" in message):
            return
        if not isinstance(method, str):
            await self.refuse(message.get("id"), -32600)
        elif "id" in message:
            if method == "session/prompt" and message["params"]["sessionId"] in self._sessions:
                self._sessions[message["params"]["sessionId"]] = trio.Event()
            self._nursery.start_soon(self.answer, message)
            await trio.lowlevel.checkpoint()
        else:
            await self.take_notification(method, message.get("params"))

    async def take_notification(self, method: str, params: Any) -> None:
        """Handles a notification; a cancel ends the session's turn."""
        if method == "session/cancel" and params["sessionId"] in self._sessions:
            self._sessions[params["sessionId"]].set()

    async def answer(self, message: Any) -> None:
        """Answers a request with its result or an error."""
        outcome = await self.outcome(str(message["id"]), message["method"], message["params"])
        if isinstance(outcome, int):
            await self.refuse(message["id"], outcome)
        else:
            await self.send(id=message["id"], result=outcome)

    async def outcome(self, _name: str, method: str, params: Any) -> Any:
        """Returns the result of a request, or the code of its error."""
        known = params.get("sessionId") in self._sessions
        match method:
            case "initialize":
                return {"protocolVersion": 1, "agentCapabilities": self.capabilities}
            case "session/new":
                if not isinstance(params.get("cwd"), str):
                    return -32602
                self._count += 1
                self._sessions[f"s{self._count}"] = trio.Event()
                modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
                return {"sessionId": f"s{self._count}", "modes": modes}
            case "session/list":
                return {"sessions": []}
            case "session/prompt" if known and isinstance(params.get("prompt"), list):
                return await self.turn(params["sessionId"], params["prompt"][0]["text"])
            case "session/load" | "session/resume" | "session/close" if known:
                if method == "session/close":
                    del self._sessions[params["sessionId"]]
                return {}
            case "session/load" | "session/prompt" | "session/set_mode":
                return -32602
        return -32601

    async def turn(self, session: str, text: str) -> dict[str, str]:
        """Plays a turn, and returns its stop reason."""
        cancelled = self._sessions[session]
        await self.update(session)
        if text == LONG:
            await cancelled.wait()
            return {"stopReason": "cancelled"}
        return {"stopReason": "end_turn"}

    async def update(self, session: str) -> None:
        """Sends a chunk of text."""
        content = {"type": "text", "text": "hello"}
        update = {"sessionUpdate": "agent_message_chunk", "content": content}
        await self.send(method="session/update", params={"sessionId": session, "update": update})

    async def refuse(self, number: Any, code: int) -> None:
        """Answers a request with an error."""
        await self.send(id=number, error={"code": code, "message": "no"})

    async def send(self, **message: Any) -> None:
        """Sends a message to the client."""
        await self.send_line(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def send_line(self, line: bytes) -> None:
        """Sends a line to the client."""
        async with self._lock:
            await self._stream.send_all(line + b"\n")


@asynccontextmanager
async def started(kind: type[ProbedAgent]) -> AsyncIterator[RecorderProcess]:
    """Starts an agent in this process, as if a recorder ran it."""
    client, theirs = memory_stream_pair()
    async with trio.open_nursery() as nursery:
        agent = kind(theirs, nursery)
        nursery.start_soon(agent.serve)
        async with running(client.receive_stream, client.send_stream) as recorder:
            yield recorder
        nursery.cancel_scope.cancel()
