"""In `verify`, requests of the client are open until they are answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.verify.lane import ClientFrame, ClientLane, ReceivedBefore, SentRequest
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.stream_progress import ITEM
from acp_proxy.playback.verify.verify_requests import Patience, PendingAnswers
from acp_proxy.recording.steps import Step

if TYPE_CHECKING:
    from tests.support.playbook import Record, RecordedTranscript

TALK = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p"}
    4 -> #1 session/list {}
    5 <- #1 result {"sessionId": "s"}
    6 -> #3 session/list {"never": "answered"}
"""
S = 10**9


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A recording of requests of the client, some open at the same time, one without an answer."""
    return record(TALK)


@pytest.fixture
def recording(recorded: RecordedTranscript) -> RecordedClient:
    """Returns the recorded client, as `verify` plays it."""
    return RecordedClient(recorded.script(as_sent=True))


def sent(recording: RecordedClient, pending: PendingAnswers) -> list[SentRequest]:
    """Sends all requests of the recorded client, a second apart."""
    frames = [(lane, frame) for lane in recording.lanes.values() for frame in lane.queue.frames]
    sent_requests: list[SentRequest] = []
    for lane, frame in sorted(frames, key=lambda item: item[1].seq):
        sent_requests.append(SentRequest(frame.steps[0], lane, len(sent_requests) * S))
        pending.add(sent_requests[-1])
    return sent_requests


def test_requests_are_pending_that_were_answered_in_the_recording(
    recording: RecordedClient, recorded: RecordedTranscript
) -> None:
    """`verify` waits for the answer to a request only if the recording contains an answer."""
    pending = PendingAnswers(recording)
    assert (pending.items, pending.awaited) == ([], "the agent's last messages")
    sent(recording, pending)
    (what, request), *_ = pending.items
    number = next(seq for seq, item in recorded.numbers.items() if item == 1)
    assert (what, request.at) == (f"the answer to initialize #{number}", 0)
    assert pending.awaited == what
    assert pending.lane is recording.lanes[None]
    assert all(item.step.response_seq is not None for item in pending.requests)


@pytest.mark.parametrize(("silence_s", "waits_s"), [(0, 5), (1, 5), (2, 10), (100, 27)])
def test_optional_messages_get_a_multiple_of_the_recorded_silence(
    silence_s: int, waits_s: int
) -> None:
    """`verify` waits for an optional message for 5 times the recorded silence, within limits."""
    assert Patience(30 * S).after_silence(silence_s * S) == waits_s * S


@pytest.mark.parametrize(
    ("silence_s", "waits_s"), [(0.0, 1), (0.25, 2.5), (2, 5), (4, 8), (99, 27)]
)
def test_an_answer_waits_by_the_recorded_silence(silence_s: float, waits_s: float) -> None:
    """The longer the recorded silence, the longer `verify` waits before an answer: 1 to 27 s."""
    answer = Patience(30 * S).of_answer(int(silence_s * S))
    assert answer == (waits_s * S, 10 * waits_s * S)


def test_without_a_limit_for_stalls_there_is_one_for_silence() -> None:
    """Without a stall timeout, `verify` waits for an optional message for at most 270 seconds."""
    assert Patience(None).after_silence(1000 * S) == 270 * S


def waiting(patience: Patience, frame: ClientFrame, now_s: int) -> tuple[int, str]:
    """Returns the second until which a frame waits, and the reason to send it then."""
    patience.now = now_s * S
    return patience.deadline(frame) // S, patience.reason(frame)


def test_activity_elsewhere_prolongs_the_wait() -> None:
    """`verify` holds a frame back until nothing comes for 5 seconds, but at most for 50 seconds."""
    patience, lane = Patience(30 * S), ClientLane("s")
    frame = ClientFrame(lane, 1, 0, [], before=ReceivedBefore(silence_ns=0))
    frame.start_waiting(100 * S)
    patience.last_activity = 103 * S
    assert waiting(patience, frame, 108) == (108, "nothing came for 5.0 s")
    patience.last_activity = 149 * S
    assert waiting(patience, frame, 150) == (150, "only other messages came for 50.0 s")
    lane.progress.add(ITEM, 149 * S)
    assert patience.deadline(frame) == 154 * S


def test_an_open_turn_is_waited_for_almost_until_a_stall() -> None:
    """While a turn is open, `verify` makes the next frame wait for almost the stall timeout."""
    patience, lane = Patience(30 * S), ClientLane("s")
    prompt = Step(1, 0, from_agent=False, kind="request", exchange=1)
    lane.turns.open(SentRequest(prompt, lane, 0))
    assert patience.deadline(ClientFrame(lane, 2, 0, [])) == 27 * S


def test_a_vain_wait_of_a_frame_becomes_a_pause() -> None:
    """If a frame of `verify` waits in vain, the pause is the silence, or else the whole wait."""
    patience, frame = Patience(30 * S), ClientFrame(ClientLane("s"), 1, 0, [])
    frame.start_waiting(10 * S)
    for last_activity_s, now_s in ((12, 12), (12, 20), (59, 60)):
        patience.last_activity, patience.now = last_activity_s * S, now_s * S
        patience.note_pause(frame)
    assert patience.pauses == [(10 * S, 12 * S), (12 * S, 20 * S), (10 * S, 60 * S)]
