"""Tests how `try` connects to an agent, and when it gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.try_.agent_connection import AgentLeft
from acp_proxy.try_.agent_requests import Policy
from acp_proxy.try_.connected_agent import connected
from tests.support.live_agent import LiveAgent, refuse_all, running

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from trio.testing import MockClock

    from acp_proxy.try_.connected_agent import ConnectedAgent

LIMIT_S = 5.0


def _connected(agent: LiveAgent, heard: list[bytes]) -> AbstractAsyncContextManager[ConnectedAgent]:
    ask: Any = refuse_all
    client = running(agent.client, agent.client)
    return connected(client, Policy.REJECT, ask, lambda *_: None, heard.append, LIMIT_S)


async def test_the_client_gives_up_on_a_silent_agent(autojump_clock: MockClock) -> None:
    """If an agent sends nothing for some seconds during a request, `try` treats it as gone."""
    assert autojump_clock.autojump_threshold == 0, "no test waits"
    heard: list[bytes] = []
    async with _connected(LiveAgent(), heard) as connection:
        with pytest.raises(AgentLeft):
            await connection.peer.request("initialize", {})
        assert trio.current_time() >= LIMIT_S
    assert connection.silence == "the agent was silent for 5 s"
    assert connection.recorder.is_hopeless
    assert heard == [b"noise"]


async def test_an_agent_that_has_nothing_to_do_may_be_silent(autojump_clock: MockClock) -> None:
    """If no request is open, `try` waits for a silent agent without a limit."""
    assert autojump_clock.autojump_threshold == 0, "no test waits"
    async with _connected(LiveAgent(), []) as connection:
        await trio.sleep(10 * LIMIT_S)
    assert not connection.silence
