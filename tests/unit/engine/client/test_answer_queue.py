"""An answer that the agent has asked for is sent at last, whatever else it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.client.answer_queue import AnswerQueue, LiveRequest
from acp_proxy.engine.client.patience import Patience
from acp_proxy.engine.client.recorded_client import RecordedClient
from tests.playbook import RecordedTranscript, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TALK = """
    1 <- #7 _x/one {}
    2 <- #8 _x/two {}
    3 -> #7 result 1
    4 -> #8 result 2
    5 <- #9 _x/never {}
"""
S = 10**9


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[RecordedTranscript]:
    """Two requests with answers, and one without."""
    made = record(tmp_path, TALK)
    yield made
    made.close()


@pytest.fixture
def recording(recorded: RecordedTranscript) -> RecordedClient:
    """The same, read."""
    return RecordedClient(recorded.script(as_said=True))


def live(recording: RecordedClient) -> list[LiveRequest]:
    """The live requests, one for each recorded one."""
    requests = sorted(recording.lanes[None].requests, key=lambda one: one.step.seq)
    return [LiveRequest(one, f"live-{n}", b"{}") for n, one in enumerate(requests)]


def test_an_answer_is_released_after_silence(recording: RecordedClient) -> None:
    """Or after ten times as long, if the agent sends something else meanwhile."""
    patience = Patience(30 * S)
    queue, lane = AnswerQueue(recording, patience, is_causal=False), recording.lanes[None]
    first, second, _ = live(recording)
    assert (bool(queue), [*queue.moments()]) == (False, [])
    queue.add(first, 0)
    assert (bool(queue), [*queue.moments()]) == (True, [1 * S, 10 * S])
    queue.release_patient(S - 1)
    assert lane.queue.released == []
    queue.release_patient(S)
    assert [frame.steps[0].rpc_id for frame in lane.queue.released] == ["7"]
    queue.add(second, 2 * S)
    patience.note_activity(12 * S - 1)
    queue.release_patient(12 * S)
    assert [frame.steps[0].rpc_id for frame in lane.queue.released] == ["7", "8"]


def test_a_request_is_known_until_it_is_answered(recording: RecordedClient) -> None:
    """By the exchange of the recorded one."""
    queue = AnswerQueue(recording, Patience(None), is_causal=False)
    first, second, _ = live(recording)
    queue.add(first, 0)
    exchange = first.recorded.ask.exchange
    assert queue.get(exchange) is first
    assert (queue.get(second.recorded.ask.exchange), queue.get(None)) == (None, None)
    assert queue.remove(exchange) is first
    assert queue.remove(exchange) is None
    assert not queue


def test_a_causal_answer_waits_for_its_request_alone(recording: RecordedClient) -> None:
    """It is released at once."""
    queue = AnswerQueue(recording, Patience(None), is_causal=True)
    queue.add(live(recording)[1], 0)
    assert [one.steps[0].rpc_id for one in recording.lanes[None].queue.released] == ["8"]


def test_what_was_never_answered_is_kept_apart(recording: RecordedClient) -> None:
    """It does not hold up the end; a cancellation answers it."""
    queue, lane = AnswerQueue(recording, Patience(None), is_causal=False), recording.lanes[None]
    never = live(recording)[2]
    queue.add(never, 0)
    assert (bool(queue), [*queue.moments()]) == (False, [])
    assert [*queue.remove_unanswered(lane, "_x/other")] == []
    assert [*queue.remove_unanswered(lane, "_x/never")] == [never]
    assert [*queue.remove_unanswered(lane, "_x/never")] == []
