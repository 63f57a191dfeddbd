"""`ScriptedClient` sends each recorded message after it has received the earlier messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.events import EndOfInput, Finish, LineReceived, PartReceived, Send, Wakeup
from acp_proxy.playback.verify.scripted_client import ScriptedClient

if TYPE_CHECKING:
    from tests.support.playbook import Record, RecordedTranscript

TALK = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/a"}
    4 -> #2 session/new {"cwd": "/b"}
    5 <- #1 result {"sessionId": "a"}
    6 <- #2 result {"sessionId": "b"}
    7 -> #3 session/prompt {"sessionId": "a", "prompt": []}
    8 -> #4 session/prompt {"sessionId": "b", "prompt": []}
    9 <- | {"jsonrpc":"2.0","id":4,"result":{}}\\r
    10 <- #3 result {"stopReason": "end_turn"}
"""


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A recording of a conversation in two sessions."""
    return record(TALK)


def begin(client: ScriptedClient) -> list[bytes]:
    """Returns the messages that a client sends at its start."""
    return [command.data for command in client.feed(Wakeup(0)) if isinstance(command, Send)]


def take(client: ScriptedClient, line: bytes) -> list[bytes]:
    """Feeds a client with a line that has no newline, and returns the messages that it sends."""
    commands = client.feed(LineReceived(line, 0))
    return [command.data for command in commands if isinstance(command, Send)]


def hear(client: ScriptedClient, recorded: RecordedTranscript, number: int) -> list[bytes]:
    """Feeds a client with a recorded frame of the agent, and returns the messages that it sends."""
    return take(client, recorded.raw[number].removesuffix(b"\n"))


def test_each_lane_goes_on_by_itself(recorded: RecordedTranscript) -> None:
    """`python -m acp_proxy.client` sends frames of one session while another session waits."""
    client = ScriptedClient(recorded.script())
    assert begin(client) == [recorded.raw[1], recorded.raw[3], recorded.raw[4]]
    assert hear(client, recorded, 2) == []
    assert hear(client, recorded, 6) == [recorded.raw[8]]
    assert hear(client, recorded, 9) == []
    was_done = client.is_done
    assert hear(client, recorded, 5) == [recorded.raw[7]]
    assert hear(client, recorded, 10) == []
    assert (was_done, client.is_done, client.unexpected) == (False, True, None)


def test_an_unexpected_line_stops_the_client(recorded: RecordedTranscript) -> None:
    """`python -m acp_proxy.client` stops at a line of the agent that is not in the recording."""
    for wrong in (b"{}", recorded.raw[10].rstrip()):
        client = ScriptedClient(recorded.script())
        assert begin(client) != []
        assert take(client, wrong) == []
        assert client.unexpected == wrong
        assert take(client, b"more") == []
        assert client.unexpected == wrong


def test_it_ends_with_the_agent_or_with_the_recording(recorded: RecordedTranscript) -> None:
    """`python -m acp_proxy.client` ends when the agent's output ends, or the recording."""
    client = ScriptedClient(recorded.script())
    begin(client)
    assert [*client.feed(EndOfInput(1))] == [Finish()]
    assert (client.has_left, client.is_done, client.is_hopeless) == (True, False, False)
    client = ScriptedClient(recorded.script())
    begin(client)
    sent = [[*client.feed(LineReceived(recorded.raw[n].rstrip(), 1))] for n in (2, 6, 9, 5, 10)]
    assert sent[-1] == [Finish()]
    assert [*client.feed(EndOfInput(2))] == []


def test_a_line_without_an_end_changes_nothing(recorded: RecordedTranscript) -> None:
    """`python -m acp_proxy.client` takes a line of the agent only when its newline has come."""
    client = ScriptedClient(recorded.script())
    begin(client)
    assert [*client.feed(PartReceived(7, 1))] == []
