"""Names by which messages without a known session find their lane."""

from __future__ import annotations

import json

import pytest

from acp_proxy.engine.shared.lane_names import announced_session, introduced, is_mcp, referred

ANNOUNCED = {"sessionId": "s", "update": {"sessionUpdate": "subagent_update", "sessionId": "c"}}
SPOKEN_OF = {
    "sessionId": "s",
    "update": {"sessionUpdate": "agent_message_chunk", "text": "subagent_update"},
}


def message(**members: object) -> bytes:
    """A message as it is written."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_an_update_announces_a_session() -> None:
    """Only one of that kind does, and not a text that has the word in it."""
    assert announced_session(message(params=ANNOUNCED)) == "c"
    assert announced_session(message(params=SPOKEN_OF)) is None
    assert introduced("session/update", message(params=ANNOUNCED)) == ("session c",)
    assert introduced("session/update", message(params=SPOKEN_OF)) == ()


def test_a_session_declares_its_servers() -> None:
    """By their ids, of any generation, and by their names; what is no list declares nothing."""
    servers = [{"name": "t", "serverId": "1"}, {"id": "2"}, {"acpId": "3"}, 4]
    found = introduced("session/new", message(params={"mcpServers": servers}))
    assert found == ("server 1", "server t", "server 2", "server 3")
    assert introduced("session/load", message(params={"mcpServers": {"a": 1}})) == ()


def test_an_answer_names_a_connection() -> None:
    """Messages to the server then name it."""
    answer = message(id=1, result={"connectionId": "c"})
    assert introduced("mcp/connect", answer) == ("connection c",)
    assert introduced("mcp/connect", message(id=1, params={"serverId": "s"})) == ()
    assert referred(message(params={"connectionId": "c"})) == ("connection c",)


@pytest.mark.parametrize("name", ["serverId", "acpId", "serverName"])
def test_a_request_names_a_server(name: str) -> None:
    """Under the member of its generation."""
    assert referred(message(params={name: "s"})) == ("server s",)
    assert referred(b"no JSON") == ()


def test_the_methods_of_mcp_are_known() -> None:
    """Also the older one with an underscore."""
    assert [is_mcp(m) for m in ("mcp/connect", "_mcp/request", "_my/mcp", None)] == [
        True,
        True,
        False,
        False,
    ]
