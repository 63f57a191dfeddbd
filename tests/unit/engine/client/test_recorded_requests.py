"""Recorded requests are found by their keys until the live agent has made them."""

from __future__ import annotations

from acp_proxy.engine.client.recorded_requests import Keys, RecordedRequest, RecordedRequests
from acp_proxy.engine.shared.steps import Ask, Step


def request(seq: int, method: str = "m") -> RecordedRequest:
    """A request of the agent."""
    step = Step(seq, seq, from_agent=True, kind="request", method=method)
    return RecordedRequest(step, Ask(seq, str(seq), method, None))


def collection(*requests: RecordedRequest) -> RecordedRequests:
    """Requests in their order."""
    found = RecordedRequests()
    for one in requests:
        found.append(one)
    return found


def parity(one: RecordedRequest) -> Keys:
    """Keys of which two requests have the same if both numbers are odd, or even."""
    return one.step.seq, one.step.seq % 2


def test_requests_are_found_by_method_and_key() -> None:
    """Those that were made are not found again."""
    requests = [request(1), request(2), request(3), request(4, "other")]
    found = collection(*requests)
    assert [*found.of("m")] == requests[:3]
    assert [*found.with_key("m", 1, 1, parity)] == [requests[0], requests[2]]
    requests[0].mark_made()
    assert [*found.with_key("m", 1, 1, parity)] == [requests[2]]
    assert [*found.with_key("m", 0, 1, parity)] == []
    assert [*found.with_key("none", 0, 1, parity)] == [*found.of("none")] == []
    assert [*found] == requests[1:]


def test_a_request_that_was_made_is_found_among_those() -> None:
    """The first one with its key."""
    requests = [request(1), request(3)]
    found = collection(*requests)
    assert found.made("m", 1, 1, parity) is None
    for one in requests:
        one.mark_made()
        found.note_made(one)
    assert found.made("m", 1, 1, parity) is requests[0]
    assert found.made("m", 0, 3, parity) is requests[1]
    assert found.made("m", 1, 0, parity) is None


def test_requests_are_awaited_in_order() -> None:
    """Until they are made or given up; those that are given up may still come."""
    requests = [request(1), request(3), request(5)]
    found = collection(*requests)
    assert (found.are_made_before(1), found.are_made_before(2)) == (True, False)
    requests[0].mark_made()
    assert (found.are_made_before(3), found.are_made_before(4)) == (True, False)
    found.give_up(5)
    assert found.first_awaited is requests[2]
    assert [*found.of("m")] == requests[1:]


def test_requests_that_are_cleared_are_never_matched() -> None:
    """Nor in another collection."""
    one = request(1)
    lane, unnamed = collection(one), collection(one)
    lane.clear()
    assert (lane.first_awaited, unnamed.first_awaited, [*unnamed.of("m")]) == (None, None, [])
