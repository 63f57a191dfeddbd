"""Requests of the client are open until they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.client.lane import SentRequest
from acp_proxy.engine.client.open_requests import PendingAnswers
from acp_proxy.engine.client.recorded_client import RecordedClient
from tests.playbook import RecordedTranscript, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TALK = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p"}
    4 -> #1 session/list {}
    5 <- #1 result {"sessionId": "s"}
    6 -> #3 session/list {"never": "answered"}
"""
S = 10**9


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedTranscript]:
    """Requests of the client, some in flight together, and one without an answer."""
    made = record(tmp_path, TALK)
    yield made
    made.close()


@pytest.fixture
def recording(recorded: RecordedTranscript) -> RecordedClient:
    """The same, read."""
    return RecordedClient(recorded.script(as_sent=True))


def sent(recording: RecordedClient, pending: PendingAnswers) -> list[SentRequest]:
    """Sends all requests, a second apart."""
    frames = [(lane, frame) for lane in recording.lanes.values() for frame in lane.queue.frames]
    found: list[SentRequest] = []
    for lane, frame in sorted(frames, key=lambda one: one[1].seq):
        found.append(SentRequest(frame.steps[0], lane, len(found) * S))
        pending.add(found[-1])
    return found


def test_requests_are_pending_that_were_answered_in_the_recording(
    recording: RecordedClient, recorded: RecordedTranscript
) -> None:
    """They are listed with the oldest first."""
    pending = PendingAnswers(recording)
    assert (pending.items, pending.awaited) == ([], "the agent's last messages")
    sent(recording, pending)
    (what, request), *_ = pending.items
    number = next(seq for seq, one in recorded.numbers.items() if one == 1)
    assert (what, request.at) == (f"the answer to initialize #{number}", 0)
    assert pending.awaited == what
    assert pending.lane is recording.lanes[None]
    assert all(one.step.response_seq is not None for one in pending.requests)
