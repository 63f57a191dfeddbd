"""A recording is read once into what its client sends, and what it received before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.client.recorded_client import RecordedClient
from tests.playbook import RecordedTranscript, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TALK = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
    7 <- #7 session/request_permission {"sessionId": "s", "options": []}
    8 -> #7 result {"outcome": {"outcome": "cancelled"}}
    9 <- #8 _x/unnamed {}
    10 -> session/cancel {"sessionId": "s"}
    11 <- #2 result {"stopReason": "cancelled"}
    12 <- #99 result {}
    13 <- | no JSON
"""


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedTranscript]:
    """A conversation with one turn."""
    made = record(tmp_path, TALK)
    yield made
    made.close()


@pytest.fixture
def client(recorded: RecordedTranscript) -> RecordedClient:
    """The same, read."""
    return RecordedClient(recorded.script(as_sent=True))


def test_frames_wait_in_their_lanes(client: RecordedClient, recorded: RecordedTranscript) -> None:
    """Answers to the agent are kept apart."""
    lane, connection = client.lanes["s"], client.lanes[None]
    assert [recorded.numbers[one.seq] for one in connection.queue.frames] == [1]
    assert [recorded.numbers[one.seq] for one in lane.queue.frames] == [3, 5, 10]
    assert [recorded.numbers[seq] for seq in lane.queue.answers] == [8]
    assert client.roots == ["/p"]


def test_a_frame_knows_what_came_before(client: RecordedClient) -> None:
    """Messages are counted from the latest request or answer on."""
    create, prompt, cancel = (one.before for one in client.lanes["s"].queue.frames)
    assert (create.mark, create.is_turn_open) == ((0, 0), False)
    assert (prompt.mark, prompt.is_turn_open, prompt.total.items) == ((0, 0), False, 2)
    assert (cancel.mark, cancel.is_turn_open) == ((3, 0), True)


def test_answers_are_expected_in_their_order(
    client: RecordedClient, recorded: RecordedTranscript
) -> None:
    """Answers to no request of the client are strays."""
    assert [recorded.numbers[seq] for seq, _ in client.expected_answers] == [2, 4, 11]
    assert [answer.kind for answer in client.answers.values()] == ["response"] * 3
    assert (client.strays, client.garbage) == ({"99": 1}, 1)


def test_requests_of_the_agent_are_kept(
    client: RecordedClient, recorded: RecordedTranscript
) -> None:
    """The client's answers are kept with them; a request without a session may be in any lane."""
    (permission,) = client.permissions
    assert recorded.numbers[permission.step.seq] == 7
    reply = client.replies[permission.ask.exchange]
    assert (reply.lane.name, recorded.numbers[reply.step.seq]) == ("s", 8)
    assert client.messages.sent(reply.step)["result"] == {"outcome": {"outcome": "cancelled"}}
    assert client.messages.request(permission)["id"] == 7
    assert [one.ask.method for one in client.unnamed] == ["_x/unnamed"]
