"""Tests into which lane a replay puts each step of a recording."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.recording.steps import (
    Answer,
    Ask,
    LaneFinder,
    Step,
    announced_session,
    introduced,
    is_mcp,
    referred,
)


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """Returns a step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def lanes(*steps: Step) -> list[str | None]:
    """Returns the lanes of some steps, in their order."""
    finder = LaneFinder()
    for placed in steps:
        finder.place(placed)
    return [placed.lane for placed in steps]


def test_a_reply_is_in_the_lane_of_its_request() -> None:
    """`replay` puts a response into the lane of its request."""
    assert (
        lanes(
            step(1, kind="request", session="s", exchange=1),
            step(2, agent=True, kind="response", answers=(Answer(1, "1"),)),
            step(
                3, agent=True, kind="request", session="s", exchange=2, asks=(Ask(2, "0", "m", 4),)
            ),
            step(4, kind="response", exchange=2),
        )
        == ["s"] * 4
    )


def test_a_frame_without_a_session_is_in_the_previous_frames_lane() -> None:
    """`replay` puts a frame of the agent without a session into the agent's latest lane."""
    stray = step(3, agent=True, kind="invalid")
    assert lanes(step(1, agent=True, session="s"), step(2), stray) == ["s", None, None]
    assert lanes(step(1, agent=True, session="s"), step(2, agent=True)) == ["s", "s"]


def test_a_parse_error_answers_the_oldest_invalid_line() -> None:
    """`replay` pairs an error without an id with the oldest invalid line that has no answer."""
    first, second = step(1, kind="invalid"), step(2, kind="invalid")
    update = step(3, agent=True, session="s")
    errors = [step(n, agent=True, kind="error", rpc_id="null") for n in (4, 5, 6)]
    assert lanes(first, second, update, *errors) == [None, None, "s", None, None, None]
    assert [error.request_seq for error in errors] == [1, 2, None]
    assert (first.response_seq, second.response_seq) == (4, 5)


def test_an_error_with_an_id_answers_no_invalid_line() -> None:
    """`replay` does not pair an error that has an id with an invalid line."""
    garbage, again = step(1, kind="invalid"), step(2, agent=True, kind="error", rpc_id="7")
    lanes(garbage, again)
    assert again.answers == ()


def test_a_session_that_no_request_opened_has_no_lane_of_its_own() -> None:
    """If only an update announces a session, `replay` puts the session into the update's lane."""

    def opening(seq: int, session: str) -> Step:
        return step(seq, kind="request", method="session/load", session=session, exchange=seq)

    def update(seq: int, session: str, *names: str) -> Step:
        return step(seq, agent=True, session=session, introduces=names)

    steps = [
        *(opening(1, "a"), opening(2, "b")),
        *(update(3, "a", "session c"), update(4, "b"), update(5, "c"), update(6, "d")),
        *(step(7, session="c"), step(8, session="e"), opening(9, "c"), update(10, "c")),
    ]
    assert lanes(*steps) == ["a", "b", "a", "b", "a", "a", "a", "e", "c", "c"]
    assert lanes(update(1, "x"), update(2, "y")) == ["x", "x"]


def test_of_several_lanes_of_a_name_the_one_in_use_counts() -> None:
    """If sessions share an MCP server, `replay` puts its messages into their lane used last."""

    def opening(seq: int, session: str) -> Step:
        names = ("server t",)
        return step(seq, kind="request", session=session, exchange=seq, introduces=names)

    use = [
        step(n, agent=True, kind="request", exchange=n, belongs_to=("server t",)) for n in (4, 6)
    ]
    between = step(5, agent=True, session="c")
    first = [opening(1, "a"), opening(2, "b"), step(3, agent=True, session="a")]
    assert lanes(*first, use[0], opening(7, "c2"), use[1])[3:] == ["a", "c2", "c2"]
    assert lanes(*first, step(8, session="c"), use[0], between)[-2] == "b"
    assert lanes(step(1, session="a"), step(2), *use) == ["a", None, "a", "a"]


ANNOUNCED = {"sessionId": "s", "update": {"sessionUpdate": "subagent_update", "sessionId": "c"}}
SPOKEN_OF = {
    "sessionId": "s",
    "update": {"sessionUpdate": "agent_message_chunk", "text": "subagent_update"},
}


def message(**members: object) -> bytes:
    """Returns a message as bytes of JSON."""
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def test_an_update_announces_a_session() -> None:
    """`introduced` returns the session of a `subagent_update`, but none if a chat has this word."""
    assert announced_session(message(params=ANNOUNCED)) == "c"
    assert announced_session(message(params=SPOKEN_OF)) is None
    assert introduced("session/update", message(params=ANNOUNCED)) == ("session c",)
    assert introduced("session/update", message(params=SPOKEN_OF)) == ()


def test_a_session_declares_its_servers() -> None:
    """`introduced` returns the ids and names of MCP servers in the params of `session/new`."""
    servers = [{"name": "t", "serverId": "1"}, {"id": "2"}, {"acpId": "3"}, 4]
    names = introduced("session/new", message(params={"mcpServers": servers}))
    assert names == ("server 1", "server t", "server 2", "server 3")
    assert introduced("session/load", message(params={"mcpServers": {"a": 1}})) == ()


def test_an_answer_names_a_connection() -> None:
    """`introduced` returns the MCP connection that the answer to `mcp/connect` contains."""
    answer = message(id=1, result={"connectionId": "c"})
    assert introduced("mcp/connect", answer) == ("connection c",)
    assert introduced("mcp/connect", message(id=1, params={"serverId": "s"})) == ()
    assert referred(message(params={"connectionId": "c"})) == ("connection c",)


@pytest.mark.parametrize("name", ["serverId", "acpId", "serverName"])
def test_a_request_names_a_server(name: str) -> None:
    """`referred` returns the MCP server that a request names by its id or its name."""
    assert referred(message(params={name: "s"})) == ("server s",)
    assert referred(b"no JSON") == ()


def test_the_methods_of_mcp_are_known() -> None:
    """`is_mcp` is true for `mcp/connect` and `_mcp/request`, but false for `_my/mcp`."""
    assert [is_mcp(m) for m in ("mcp/connect", "_mcp/request", "_my/mcp", None)] == [
        True,
        True,
        False,
        False,
    ]
