"""In which lane a frame is, and what a frame of the connection waits for."""

from __future__ import annotations

from typing import Any

from acp_proxy.engine.agent.lanes import Connection, Lane, latest
from acp_proxy.engine.shared.lane_finder import LaneFinder
from acp_proxy.engine.shared.steps import Answer, Ask, Step


def step(seq: int, *, agent: bool = False, kind: str = "notification", **more: Any) -> Step:
    """A step at ``seq`` milliseconds."""
    return Step(seq, seq * 10**6, agent, kind, **more)


def lanes(*steps: Step) -> list[str | None]:
    """The lanes of steps that come in this order."""
    finder = LaneFinder()
    for one in steps:
        finder.place(one)
    return [one.lane for one in steps]


def test_a_reply_is_in_the_lane_of_its_request() -> None:
    """Whatever it says itself, of either side."""
    assert (
        lanes(
            step(1, kind="request", session="s", exchange=1),
            step(2, agent=True, kind="response", answers=(Answer(1, "1"),)),
            step(
                3, agent=True, kind="request", session="s", exchange=2, asks=(Ask(2, "0", "m", 4),)
            ),
            step(4, kind="response", exchange=2),
        )
        == ["s"] * 4
    )


def test_what_names_no_session_is_where_its_agent_was() -> None:
    """A stray line follows the frame before it; a client's message is the connection's."""
    stray = step(3, agent=True, kind="invalid")
    assert lanes(step(1, agent=True, session="s"), step(2), stray) == ["s", None, None]
    assert lanes(step(1, agent=True, session="s"), step(2, agent=True)) == ["s", "s"]


def test_a_parse_error_answers_the_line_that_it_is_about() -> None:
    """Garbage and the error belong together, in the connection's lane, the oldest first."""
    first, second = step(1, kind="invalid"), step(2, kind="invalid")
    said = step(3, agent=True, session="s")
    errors = [step(n, agent=True, kind="error", rpc_id="null") for n in (4, 5, 6)]
    assert lanes(first, second, said, *errors) == [None, None, "s", None, None, None]
    assert [error.request_seq for error in errors] == [1, 2, None]
    assert (first.response_seq, second.response_seq) == (4, 5)


def test_an_error_with_an_id_answers_no_garbage() -> None:
    """A reply that was sent twice is about a request, and not about a line."""
    garbage, again = step(1, kind="invalid"), step(2, agent=True, kind="error", rpc_id="7")
    lanes(garbage, again)
    assert again.answers == ()


def test_a_lane_waits_for_what_is_required_first() -> None:
    """Requests, replies and cancellations, but not what may be left out."""
    lane = Lane("s")
    focus = step(1, method="_focus", lane="s")
    cancel = step(2, method="session/cancel", lane="s")
    for one in (focus, cancel):
        lane.expect(one)
    before = lane.awaited
    lane.match(cancel)
    assert (before, lane.awaited, lane.is_overtaken) == (cancel, None, False)


def test_a_lane_is_overtaken_by_a_later_message() -> None:
    """Until the earlier one has come."""
    lane = Lane("s")
    first, second = (step(n, kind="request", method="m", lane="s") for n in (1, 2))
    lane.expect(first)
    lane.expect(second)
    overtaken = []
    for one in (second, first):
        lane.match(one)
        overtaken.append(lane.is_overtaken)
    assert overtaken == [True, False]


def test_what_a_lane_remembers_has_an_end() -> None:
    """It counts all messages, and holds some hundred of them."""
    lane = Lane("s")
    for n in range(1000):
        lane.expect(one := step(n, kind="request", method="m"))
        lane.match(one)
    assert (lane.messages, len(lane.played), lane.played[-1].seq) == (1000, 200, 999)


def asked(seq: int, answered: int | None, exchange: int) -> Step:
    """A request of the connection."""
    return step(seq, kind="request", method="m", exchange=exchange, response_seq=answered)


def answer(seq: int, request_seq: int, exchange: int) -> Step:
    """The reply to one."""
    answers = (Answer(exchange, "1"),)
    return step(seq, agent=True, kind="response", answers=answers, request_seq=request_seq)


def test_exchanges_that_were_not_in_flight_together_do_not_meet() -> None:
    """A reply waits for its own request, and not for one that was answered before."""
    connection = Connection()
    connection.add_request(asked(1, 2, 1))
    connection.add_frame(answer(2, 1, 1))
    connection.add_request(asked(3, 4, 2))
    connection.add_frame(answer(4, 3, 2))
    second = connection.waiting[1]
    assert (second.asked, second.messages, second.frames) == ({(3, 0)}, {(3, 0)}, set())


def test_exchanges_in_flight_together_keep_their_order() -> None:
    """The later reply waits for both requests and for the earlier reply."""
    connection = Connection()
    one, two = asked(1, 4, 1), asked(2, 3, 2)
    connection.add_request(one)
    connection.add_request(two)
    connection.add_frame(answer(3, 2, 2))
    connection.add_frame(answer(4, 1, 1))
    first, second = connection.waiting
    connection.came(two, 50)
    free = [(first.is_free, second.is_free)]
    connection.came(one, 60)
    free.append((first.is_free, second.is_free))
    connection.went(first, 70)
    free.append((first.is_free, second.is_free))
    assert free == [(False, False), (True, False), (True, True)]
    assert second.since == (70, 3 * 10**6)


def test_what_may_be_left_out_is_let_pass() -> None:
    """Only by frames that were asked for, and it is told what they had waited for."""
    connection = Connection()
    connection.add_request(asked(1, 4, 1))
    connection.add_request(two := asked(2, 3, 2))
    connection.add_frame(answer(3, 2, 2))
    connection.add_frame(answer(4, 1, 1))
    assert connection.relax({(1, 0), (2, 0)}) == set()
    connection.came(two, 5)
    assert connection.relax({(1, 0)}) == {(1, 0)}
    assert [waiting.is_free for waiting in connection.waiting] == [True, False]


def test_the_latest_of_two_moments() -> None:
    """Live and recorded time are looked at each by itself."""
    assert latest(None, 5, 7) == (5, 7)
    assert latest((6, 3), 5, 7) == (6, 7)
