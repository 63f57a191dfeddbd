"""Which requests are open, in both directions."""

from __future__ import annotations

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.open_requests import OpenAgentRequests, OpenClientRequests
from acp_proxy.engine.shared.steps import Ask, Step


def step(exchange: int, rpc_id: str) -> Step:
    """A request of the client."""
    return Step(exchange, 0, False, "request", "m", rpc_id, exchange=exchange)


def test_an_answer_gets_the_live_id() -> None:
    """The recorded one remains where the request never came."""
    requests = OpenClientRequests()
    requests.add(lane := Lane("s"), step(1, "0"), '"a"')
    assert requests.ids == {"0": '"a"'}
    assert [one.token for one in requests.open_in(lane)] == ['"a"']
    assert (requests.answer(1, "0"), requests.answer(2, "1")) == ('"a"', "1")
    assert (requests.ids, requests.open_in(lane), requests.live_ids) == ({}, [], {})


def test_a_closed_request_still_waits_for_its_recorded_answer() -> None:
    """A cancellation closes it, and a recorded cancellation finds it all the same."""
    requests = OpenClientRequests()
    requests.add(Lane("s"), step(1, "0"), "7")
    request = requests.with_id("7")
    assert request is not None
    requests.close(request)
    assert requests.with_id("7") is None
    assert requests.exchanges_of("7") == {1}


def test_requests_are_open_by_lane() -> None:
    """Oldest first."""
    requests, one, two = OpenClientRequests(), Lane("a"), Lane("b")
    for exchange, lane in enumerate((one, two, one)):
        requests.add(lane, step(exchange, str(exchange)), str(exchange))
    assert [request.token for request in requests.open_in(one)] == ["0", "2"]


def test_the_oldest_request_with_an_id_is_answered() -> None:
    """An agent may use an id again, and each of its requests is answered once."""
    requests = OpenAgentRequests()
    for number in (1, 2):
        ask = Ask(number, "0", "m", None)
        requests.add(ask, Step(number, 0, True, "request", "m", asks=(ask,)))
    taken = [requests.take("0") for _ in range(3)]
    assert [one and one.step.seq for one in taken] == [1, 2, None]
