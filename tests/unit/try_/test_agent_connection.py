"""Tests the connection of `try` to its agent: JSON-RPC on two streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.agent_connection import AgentLeft, RequestError
from tests.support.live_agent import LiveAgent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


async def _played(agent: LiveAgent, *, play: Callable[[], Awaitable[None]]) -> None:
    """Runs the connection of `try` while the test plays the agent and the client."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent.connection.run)
        await play()
        nursery.cancel_scope.cancel()


async def test_a_request_returns_the_answer_with_its_id() -> None:
    """If two requests of `try` are answered in reverse order, each gets its own answer."""
    agent, replies = LiveAgent(), dict[str, Any]()

    async def ask(method: str) -> None:
        replies[method] = await agent.connection.request(method, {})

    async def play() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "a")
            first = await agent.read()
            nursery.start_soon(ask, "b")
            second = await agent.read()
            await agent.send(id=second["id"], error={"code": 7, "message": "no"})
            await agent.send(id=first["id"], result={"x": 1})

    await _played(agent, play=play)
    assert replies["a"]["result"] == {"x": 1}
    assert replies["b"]["error"] == {"code": 7, "message": "no"}


async def test_a_request_fails_when_the_agent_leaves() -> None:
    """When the agent leaves, an open request of `try` fails."""
    agent = LiveAgent()

    async def play() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(agent.leave)
            with pytest.raises(AgentLeft):
                await agent.connection.request("a", {})
        with pytest.raises(AgentLeft):
            await agent.connection.request("b", {})

    await _played(agent, play=play)


async def test_a_request_of_the_agent_is_answered_while_another_waits() -> None:
    """While `try` handles one request of the agent, it can answer another one."""
    may_answer = trio.Event()

    async def handler(method: str, _message: Any) -> Any:
        if method == "slow":
            await may_answer.wait()
        return method

    agent = LiveAgent(handler)

    async def play() -> None:
        await agent.send(id=1, method="slow", params={})
        await agent.send(id="2", method="quick", params={})
        assert await agent.read() == {"jsonrpc": "2.0", "id": "2", "result": "quick"}
        assert agent.connection.answering == 1
        may_answer.set()
        assert await agent.read() == {"jsonrpc": "2.0", "id": 1, "result": "slow"}
        assert agent.connection.answering == 0

    await _played(agent, play=play)


async def test_a_refused_request_gets_an_error() -> None:
    """`try` answers a request that it cannot serve with an error."""

    async def handler(_method: str, _message: Any) -> Any:
        raise RequestError(-32601, "unknown")

    agent = LiveAgent(handler)

    async def play() -> None:
        answer = await agent.ask("x")
        assert answer["error"] == {"code": -32601, "message": "unknown"}

    await _played(agent, play=play)


async def test_the_members_of_a_batch_are_taken_one_by_one() -> None:
    """`try` answers each request in a JSON-RPC batch."""

    async def handler(method: str, _message: Any) -> Any:
        return method

    agent, replies = LiveAgent(handler), list[Any]()

    async def play() -> None:
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                replies.append(await agent.connection.request("a", {}))

            nursery.start_soon(ask)
            request = await agent.read()
            await agent.send_raw(
                b'[{"jsonrpc":"2.0","id":9,"method":"m"},{"jsonrpc":"2.0","id":%d,"result":1}]\n'
                % request["id"]
            )
            assert (await agent.read())["result"] == "m"

    await _played(agent, play=play)
    assert [reply["result"] for reply in replies] == [1]


async def test_lines_that_are_not_messages_are_shown_and_ignored() -> None:
    """`try` shows an agent's lines that are not messages, such as plain text, and ignores them."""
    lines: list[tuple[Direction, bytes]] = []
    agent = LiveAgent(watch=lambda direction, raw: lines.append((direction, raw)))

    async def play() -> None:
        await agent.send_raw(b"Loading model...\n[]\n\nnull\n")
        await agent.connection.notify("n", {})
        await agent.read()
        await wait_all_tasks_blocked()

    await _played(agent, play=play)
    assert sorted(lines) == sorted([
        (Direction.TO_CLIENT, b"Loading model..."),
        (Direction.TO_CLIENT, b"[]"),
        (Direction.TO_CLIENT, b""),
        (Direction.TO_CLIENT, b"null"),
        (Direction.TO_AGENT, b'{"jsonrpc":"2.0","method":"n","params":{}}'),
    ])  # fmt: skip


async def test_a_client_may_send_to_an_agent_that_reads_no_more() -> None:
    """If the agent has left, `try` discards what it would send to the agent."""
    agent = LiveAgent()

    async def play() -> None:
        await agent.leave()
        await agent.connection.notify("n", {})

    await _played(agent, play=play)


async def test_requests_are_taken_up_in_the_order_of_their_lines() -> None:
    """`try` handles the agent's requests in their order."""
    taken = []

    async def handler(method: str, _message: Any) -> Any:
        taken.append(method)
        await trio.sleep_forever()

    agent = LiveAgent(handler)
    methods = [f"m{number}" for number in range(20)]

    async def play() -> None:
        lines = (f'{{"jsonrpc":"2.0","id":1,"method":"{method}"}}\n' for method in methods)
        await agent.send_raw("".join(lines).encode())
        await wait_all_tasks_blocked()

    await _played(agent, play=play)
    assert taken == methods
