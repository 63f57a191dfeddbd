"""A live agent in this process, whose messages a test sends and reads one by one."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from trio.testing import memory_stream_one_way_pair, memory_stream_pair

from acp_proxy.try_.agent_connection import AgentConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from trio.abc import ReceiveStream, SendStream

    from acp_proxy.playback.drivers.recorder_process import RecorderProcess
    from acp_proxy.try_.agent_connection import Handler, Watch


async def refuse_all(method: str, _message: Any) -> Any:
    """Fails the test: this handler is for tests in which the agent makes no request."""
    raise AssertionError(f"expected no request, got {method}")


@asynccontextmanager
async def running(source: ReceiveStream, sink: SendStream) -> AsyncIterator[RecorderProcess]:
    """Yields an agent in this process as if a recorder ran it; there is output on its stderr."""
    noise, stderr = memory_stream_one_way_pair()
    await noise.send_all(b"noise")
    noise.close()
    process = SimpleNamespace(stderr=stderr)
    recorder = SimpleNamespace(process=process, source=source, sink=sink, left_behind=[])
    yield cast("RecorderProcess", recorder)


class LiveAgent:
    """The agent's end of a connection, for the test, and the client's end of it."""

    def __init__(
        self, handler: Handler = refuse_all, watch: Watch = lambda _direction, _raw: None
    ) -> None:
        self.client, self._stream = memory_stream_pair()
        self._rest = b""
        self.connection = AgentConnection(self.client, self.client, handler, watch)

    async def read(self) -> dict[str, Any]:
        """Returns the next message of the client."""
        while b"\n" not in self._rest:
            chunk = await self._stream.receive_some()
            assert chunk, "the client has ended its output"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    async def send(self, **message: Any) -> None:
        """Sends a message to the client."""
        await self.send_raw(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def send_raw(self, data: bytes) -> None:
        """Sends bytes to the client."""
        await self._stream.send_all(data)

    async def answer(self, result: Any) -> dict[str, Any]:
        """Answers the next request of the client, and returns the request."""
        request = await self.read()
        await self.send(id=request["id"], result=result)
        return request

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Sends a request, whose id is the method, and returns the client's answer."""
        await self.send(id=method, method=method, params=params)
        return await self.read()

    async def leave(self) -> None:
        """Closes the agent's output."""
        await self._stream.aclose()
