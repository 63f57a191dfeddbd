"""A lane has a queue of frames, knows its turns, and when nothing is left to wait for."""

from __future__ import annotations

from heapq import heappush

from acp_proxy.engine.client.lane import (
    ClientFrame,
    ClientLane,
    LaneEnd,
    SendQueue,
    SentRequest,
    TurnState,
)
from acp_proxy.engine.client.stream_progress import ITEM, Increment, ProgressMark
from acp_proxy.engine.shared.steps import Step


def prompt(exchange: int, seq: int) -> SentRequest:
    """A prompt that was sent."""
    step = Step(seq, seq, from_agent=False, kind="request", exchange=exchange)
    return SentRequest(step, ClientLane("s"), 0)


def test_an_answer_closes_one_turn() -> None:
    """A cancellation lasts until the last open turn is closed."""
    turns = TurnState()
    turns.open(prompt(1, 10))
    turns.cancel(12)
    assert (turns.was_cancelled_after(11), turns.was_cancelled_after(12)) == (True, False)
    turns.close(2)
    assert (turns.is_open, turns.is_cancelled) == (True, True)
    turns.close(1)
    assert (turns.is_open, turns.is_cancelled) == (False, False)


def test_a_new_turn_is_not_cancelled() -> None:
    """The turn before it was."""
    turns = TurnState()
    turns.open(prompt(1, 10))
    turns.cancel(12)
    turns.open(prompt(2, 14))
    assert not turns.is_cancelled


def test_an_update_ends_all_open_turns() -> None:
    """It corresponds to the first recorded one after the latest prompt."""
    turns = TurnState()
    turns.recorded_ends += [11, 15]
    for exchange, seq in ((1, 12), (2, 13)):
        turns.open(prompt(exchange, seq))
    assert turns.end() == 15
    assert (turns.is_open, turns.ended, turns.awaits_end) == (False, 1, True)
    turns.open(prompt(3, 16))
    assert turns.end() is None
    assert not turns.awaits_end


def test_an_abandoned_lane_is_done_and_complete() -> None:
    """Nothing is left to send there or to wait for."""
    lane = ClientLane("s", end=LaneEnd(ProgressMark(1, 0)))
    lane.turns.recorded_ends.append(3)
    assert (lane.is_done, lane.is_complete) == (False, False)
    lane.abandon()
    assert (lane.is_done, lane.is_complete) == (True, True)


def test_a_lane_is_complete_when_as_much_has_come() -> None:
    """State updates count by their kind, and are no progress."""
    lane = ClientLane(None, end=LaneEnd(ProgressMark(1, 0), {"usage_update": 1}))
    lane.progress.add(ITEM, 7)
    assert (lane.is_complete, lane.progress.grew_at) == (False, 7)
    lane.progress.add(Increment(state="usage_update"), 9)
    assert (lane.is_complete, lane.progress.grew_at, lane.title) == (True, 7, "connection")


def frame(seq: int, *kinds: str) -> ClientFrame:
    """A frame of the client; a batch if it has several kinds."""
    steps = [
        Step(seq, seq, from_agent=False, kind=kind, method="m", exchange=seq, member=n)
        for n, kind in enumerate(kinds)
    ]
    return ClientFrame(ClientLane("s"), seq, seq, steps)


def test_only_answers_are_kept_apart() -> None:
    """A batch with anything else is sent in its order."""
    kinds = [["request"], ["response"], ["response", "request"], ["error"]]
    queue = SendQueue(frame(seq, *of) for seq, of in enumerate(kinds, 1))
    assert [one.seq for one in queue.frames] == [1, 3]
    assert [*queue.answers] == [2, 4]
    assert len(queue) == 4


def test_the_first_asked_answer_is_the_first_recorded_one() -> None:
    """The order of the live requests does not matter; a released answer is no longer asked for."""
    answers = {seq: frame(seq, "response") for seq in (2, 4, 6)}
    queue = SendQueue(answers.values())
    for seq in (6, 2, 4):
        heappush(queue.asked, answers[seq])
    assert queue.first_asked is answers[2]
    queue.release(answers[4])
    queue.release(answers[2])
    assert queue.first_asked is answers[6]
    assert queue.released == [answers[2], answers[4]]
    queue.take(answers[4])
    assert (queue.released, [*queue.answers]) == ([answers[2]], [2, 6])


def test_discarded_frames_are_counted() -> None:
    """Answers are released, so that they leave the queues over all lanes."""
    queue = SendQueue([frame(1, "request"), answer := frame(2, "response")])
    heappush(queue.asked, answer)
    assert [one.seq for one in queue.discard()] == [1, 2]
    assert (len(queue), queue.discarded, answer.is_released) == (0, 2, True)
    assert (queue.first, queue.first_asked, queue.released) == (None, None, [])


def test_a_part_of_a_batch_has_not_waited() -> None:
    """It is sent when its own conditions hold."""
    batch = frame(1, "response", "response")
    batch.start_waiting(5)
    batch.ready_at = 6
    batch.is_released = True
    part = batch.part(batch.steps[1:])
    assert (part.waits_since, part.ready_at, part.is_released) == (None, None, False)
    assert (part.title, batch.title) == ("the answer to m #1", "a batch #1")


def test_a_part_of_a_batch_waits_beside_it() -> None:
    """Both have the same number."""
    batch = frame(1, "response", "response")
    queue = SendQueue([batch])
    heappush(queue.asked, batch)
    heappush(queue.asked, part := batch.part(batch.steps[1:]))
    queue.release(batch)
    assert queue.first_asked is part


def test_the_first_moment_counts() -> None:
    """A frame does not begin to wait again."""
    one = frame(1, "request")
    one.start_waiting(5)
    one.start_waiting(7)
    assert one.waits_since == 5
