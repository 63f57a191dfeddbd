"""Which requests are open, in both directions, and which turns."""

from __future__ import annotations

import pytest

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.open_requests import OpenRequests
from acp_proxy.engine.shared.steps import Answer, Ask, Step
from acp_proxy.protocol.jsonrpc import Kind, Message
from acp_proxy.protocol.states import TurnPhase


def asked(exchange: int, rpc_id: str, lane: str = "s", method: str = "m") -> Step:
    """A request of the client."""
    step = Step(exchange, 0, False, "request", method, rpc_id, exchange=exchange)
    step.lane = lane
    return step


def answered(exchange: int, rpc_id: str) -> Step:
    """The recorded answer to one."""
    return Step(9, 0, True, "response", answers=(Answer(exchange, rpc_id),))


def test_an_answer_gets_the_live_id() -> None:
    """The recorded one remains where the request never came."""
    requests = OpenRequests("v1")
    requests.add_of_client(asked(1, "0"), '"a"')
    assert requests.ids == {"0": '"a"'}
    assert [one.token for one in requests.open_in(Lane("s"))] == ['"a"']
    assert requests.answer(answered(1, "0")) == {"0": '"a"'}
    assert requests.answer(answered(2, "1")) == {"1": "1"}
    assert (requests.ids, requests.open_in(Lane("s")), requests.live_ids) == ({}, [], {})


def test_an_answer_to_a_request_that_never_came_closes_no_other() -> None:
    """Although another request has its recorded id."""
    requests = OpenRequests("v1")
    requests.add_of_client(asked(1, "0"), "1")
    requests.answer(answered(2, "1"))
    assert requests.ids == {"0": "1"}


def test_a_closed_request_still_waits_for_its_recorded_answer() -> None:
    """A cancellation closes it, and a recorded cancellation finds it all the same."""
    requests = OpenRequests("v1")
    requests.add_of_client(asked(1, "0"), "7")
    request = requests.with_id("7")
    assert request is not None
    requests.close(request)
    assert requests.with_id("7") is None
    assert requests.exchanges_of("7") == {1}


def test_requests_are_open_by_lane() -> None:
    """Oldest first."""
    requests = OpenRequests("v1")
    for exchange, lane in enumerate(("a", "b", "a")):
        requests.add_of_client(asked(exchange, str(exchange), lane), str(exchange))
    assert [request.token for request in requests.open_in(Lane("a"))] == ["0", "2"]


def test_the_oldest_request_with_an_id_is_answered() -> None:
    """An agent may use an id again, and each of its requests is answered once."""
    requests = OpenRequests("v1")
    for number in (1, 2):
        ask = Ask(number, "0", "m", None)
        requests.add_of_agent(ask, Step(number, 0, True, "request", "m", asks=(ask,)))
    taken = [requests.take(Message(Kind.RESPONSE, rpc_id="0")) for _ in range(3)]
    assert [one and one.step.seq for one in taken] == [1, 2, None]


@pytest.mark.parametrize(("dialect", "phase"), [("v1", None), ("v2", TurnPhase.CANCELLING)])
def test_turns_are_those_of_the_connection(dialect: str, phase: TurnPhase | None) -> None:
    """In v1 the answer to the prompt ends one, in v2 it does not."""
    requests = OpenRequests(dialect)
    prompt = asked(1, "0", method="session/prompt")
    requests.add_of_client(prompt, "0")
    requests.cancel_turns(Lane("s"))
    requests.answer(answered(1, "0"))
    turn = requests.turn_of(Lane("s"))
    assert (turn and turn.state) == phase
