"""The client's frames wait in a queue for each lane, answers apart from the others."""

from __future__ import annotations

from acp_proxy.engine.client.client_frames import ClientFrame, SendQueue
from acp_proxy.engine.shared.steps import Step


def frame(seq: int, *kinds: str) -> ClientFrame:
    """A frame of the client; a batch if it has several kinds."""
    steps = [
        Step(seq, seq, from_agent=False, kind=kind, method="m", exchange=seq, member=n)
        for n, kind in enumerate(kinds)
    ]
    return ClientFrame(seq, seq, steps)


def queue_of(*frames: ClientFrame) -> SendQueue:
    """A queue that was read to its end."""
    queue = SendQueue()
    for one in frames:
        queue.append(one)
    queue.separate_answers()
    return queue


def test_only_answers_wait_apart() -> None:
    """A batch with anything else is sent in its order."""
    queue = queue_of(
        frame(1, "request"),
        frame(2, "response"),
        frame(3, "response", "request"),
        frame(4, "error"),
    )
    assert [one.seq for one in queue.frames] == [1, 3]
    assert [*queue.answers] == [2, 4]
    assert len(queue) == 4


def test_the_first_asked_answer_is_the_first_recorded_one() -> None:
    """Whatever order the agent asks in; a released one is no longer asked for."""
    answers = {seq: frame(seq, "response") for seq in (2, 4, 6)}
    queue = queue_of(*answers.values())
    for seq in (6, 2, 4):
        queue.mark_asked(answers[seq])
    assert queue.first_asked is answers[2]
    queue.release(answers[4])
    queue.release(answers[2])
    assert queue.first_asked is answers[6]
    assert queue.released == [answers[2], answers[4]]
    queue.take(answers[4])
    assert (queue.released, [*queue.answers]) == ([answers[2]], [2, 6])


def test_what_is_discarded_is_counted() -> None:
    """Its answers are released, so that they leave the queues over all lanes."""
    queue = queue_of(frame(1, "request"), answer := frame(2, "response"))
    queue.mark_asked(answer)
    assert [one.seq for one in queue.discard()] == [1, 2]
    assert (len(queue), queue.discarded, answer.is_released) == (0, 2, True)
    assert (queue.first, queue.first_asked, queue.released) == (None, None, [])


def test_a_part_of_a_batch_has_not_waited() -> None:
    """It is sent when its own conditions hold."""
    batch = frame(1, "response", "response")
    batch.start_waiting(5)
    batch.set_ready(6)
    batch.release()
    part = batch.part(batch.steps[1:])
    assert (part.waits_since, part.ready_at, part.is_released) == (None, None, False)
    assert (part.title, batch.title) == ("the answer to m", "a batch")


def test_the_first_moment_counts() -> None:
    """A frame does not begin to wait again."""
    one = frame(1, "request")
    one.start_waiting(5)
    one.start_waiting(7)
    assert (one.waits_since, one.set_ready(8), one.set_ready(9)) == (5, 8, 8)
