"""What a frame of the connection waits for."""

from __future__ import annotations

from typing import Any

from acp_proxy.engine.agent.connection_frames import ConnectionFrames
from acp_proxy.engine.shared.steps import Answer, Step


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """A step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def asked(seq: int, answered: int | None, exchange: int) -> Step:
    """A request of the connection."""
    return step(seq, kind="request", method="m", exchange=exchange, response_seq=answered)


def answer(seq: int, request_seq: int, exchange: int) -> Step:
    """The reply to one."""
    answers = (Answer(exchange, "1"),)
    return step(seq, agent=True, kind="response", answers=answers, request_seq=request_seq)


def test_exchanges_that_were_not_in_flight_together_are_independent() -> None:
    """A reply waits for its own request, and not for one that was answered before."""
    connection = ConnectionFrames()
    connection.add_request(asked(1, 2, 1))
    connection.add_frame(answer(2, 1, 1))
    connection.add_request(asked(3, 4, 2))
    connection.add_frame(answer(4, 3, 2))
    second = connection.waiting[1]
    assert (second.asked, second.messages, second.frames) == ({(3, 0)}, {(3, 0)}, set())


def test_exchanges_in_flight_together_keep_their_order() -> None:
    """The later reply waits for both requests and for the earlier reply."""
    connection = ConnectionFrames()
    one, two = asked(1, 4, 1), asked(2, 3, 2)
    connection.add_request(one)
    connection.add_request(two)
    connection.add_frame(answer(3, 2, 2))
    connection.add_frame(answer(4, 1, 1))
    first, second = connection.waiting
    connection.note_message(two, 50)
    free = [(first.is_free, second.is_free)]
    connection.note_message(one, 60)
    free.append((first.is_free, second.is_free))
    connection.remove(first, 70)
    free.append((first.is_free, second.is_free))
    assert free == [(False, False), (True, False), (True, True)]
    assert second.since == (70, 3 * 10**6)


def test_optional_requests_stop_blocking_frames() -> None:
    """Only frames whose own requests came; the passed requests are returned."""
    connection = ConnectionFrames()
    connection.add_request(asked(1, 4, 1))
    connection.add_request(two := asked(2, 3, 2))
    connection.add_frame(answer(3, 2, 2))
    connection.add_frame(answer(4, 1, 1))
    assert connection.stop_waiting_for({(1, 0), (2, 0)}) == set()
    connection.note_message(two, 5)
    assert connection.stop_waiting_for({(1, 0)}) == {(1, 0)}
    assert [waiting.is_free for waiting in connection.waiting] == [True, False]
