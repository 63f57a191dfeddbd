"""Requests of either side are open until they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.client.lane import ClientLane, SentRequest
from acp_proxy.engine.client.open_requests import (
    AnswerQueue,
    LiveRequest,
    PendingAnswers,
)
from acp_proxy.engine.client.patience import Patience
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
    7 <- #7 _x/one {}
    8 <- #8 _x/two {}
    9 -> #7 result 1
    10 -> #8 result 2
    11 <- #9 session/request_permission {"options": []}
"""
S = 10**9


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedTranscript]:
    """Requests of both sides, some in flight together, and one of each without an answer."""
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


def test_the_first_pending_answer_holds_frames_back(
    recording: RecordedClient, recorded: RecordedTranscript
) -> None:
    """It holds back frames of other lanes, too; an answer that will not come is settled."""
    pending = PendingAnswers(recording)
    seq = {number: seq for seq, number in recorded.numbers.items()}
    assert pending.first_seq == seq[2]
    requests = sent(recording, pending)
    assert pending.take("0") is requests[0]
    assert pending.first_seq == seq[5]
    for request in requests[1:]:
        pending.settle(request.step.exchange or 0)
    assert pending.first_seq is None


def test_the_oldest_request_with_an_id_is_answered(recording: RecordedClient) -> None:
    """The next answer is for the next one; then the id is known only as answered."""
    pending = PendingAnswers(recording)
    requests = sent(recording, pending)
    assert pending.answered_in("1") is None
    assert pending.take("1") is requests[1]
    assert [pending.is_open(one.step.exchange) for one in requests[1:3]] == [False, True]
    assert pending.take("1") is requests[2]
    assert pending.take("1") is None
    assert pending.answered_in("1") is requests[2].lane


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


def live(recording: RecordedClient) -> list[LiveRequest]:
    """The live requests, one for each recorded one."""
    requests = sorted(recording.lanes[None].requests, key=lambda one: one.step.seq)
    return [LiveRequest(one, f"live-{n}", b"{}") for n, one in enumerate(requests)]


def test_an_answer_is_released_after_silence(recording: RecordedClient) -> None:
    """It is released after ten times as long if the agent sends something else."""
    patience = Patience(30 * S)
    queue, lane = AnswerQueue(recording, patience), recording.lanes[None]
    first, second, _ = live(recording)
    assert (bool(queue), [*queue.moments()]) == (False, [])
    queue.add(first)
    assert (bool(queue), [*queue.moments()]) == (True, [1 * S, 10 * S])
    for patience.now, released in ((S - 1, []), (S, ["7"])):
        queue.release_patient()
        assert [frame.steps[0].rpc_id for frame in lane.queue.released] == released
    patience.now = 2 * S
    queue.add(second)
    patience.last_activity, patience.now = 12 * S - 1, 12 * S
    queue.release_patient()
    assert [frame.steps[0].rpc_id for frame in lane.queue.released] == ["7", "8"]


def test_a_request_is_known_until_it_is_answered(recording: RecordedClient) -> None:
    """It is found by the exchange of the recorded request."""
    queue = AnswerQueue(recording, Patience(None))
    first, second, _ = live(recording)
    queue.add(first)
    exchange = first.recorded.ask.exchange
    assert queue.get(exchange) is first
    assert (queue.get(second.recorded.ask.exchange), queue.get(None)) == (None, None)
    assert queue.remove(exchange) is first
    assert queue.remove(exchange) is None
    assert not queue


def test_a_request_without_recorded_answer_is_kept_apart(recording: RecordedClient) -> None:
    """It does not hold up the end; a cancellation answers it."""
    queue, lane = AnswerQueue(recording, Patience(None)), recording.lanes[None]
    never = live(recording)[2]
    queue.add(never)
    assert (bool(queue), [*queue.moments()]) == (False, [])
    assert [*queue.remove_permissions(ClientLane("s"))] == []
    assert [*queue.remove_permissions(lane)] == [never]
    assert [*queue.remove_permissions(lane)] == []
