# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""When the recorded client says what, to a live agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.pacing import Pacing
from acp_proxy.engine.story import Order
from tests.verify_book import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import Book

START = """
    1 -> #0 initialize {"protocolVersion": 1}
    2 <- #0 result {"protocolVersion": 1}
    3 -> #1 session/new {"cwd": "/p"}
    4 <- #1 result {"sessionId": "s"}
"""
STARTED = """
    -> 1
    <- 2
    -> 3
    <- 4
"""
UPDATE = 'session/update {"sessionId": "s", "update": {"n": %d}}'
READ = 'fs/read_text_file {"sessionId": "s", "path": "/p/%s"}'


def test_a_message_waits_for_the_answers_before_it(record: Callable[..., Book]) -> None:
    """However long the agent takes, nothing is said before it has answered."""
    live = verify(
        record(f'{START} 5 -> #2 session/prompt {{"sessionId": "s"}}\n6 <- #2 result {{}}')
    )
    live.check("""
        -> 1
        .. 20s
        <- 2
        -> 3
        .. 20s
        <- 4
        -> 5
        <- 6
        -> end
    """)
    assert live.found == []


def test_what_was_in_flight_together_is_so_again(record: Callable[..., Book]) -> None:
    """Two requests that were open at once go out at once, and their answers may come in any order."""
    book = record("""
        1 -> #0 initialize {"protocolVersion": 1}
        2 <- #0 result {"protocolVersion": 1}
        3 -> #"a" session/new {"cwd": "/p"}
        4 -> #"b" session/new {"cwd": "/p"}
        5 <- #"b" result {"sessionId": "two"}
        6 <- #"a" result {"sessionId": "one"}
        7 -> #"c" session/prompt {"sessionId": "one"}
        8 <- #"c" result {"stopReason": "end_turn"}
    """)
    verify(book).check("""
        -> 1
        <- 2
        -> 3
        -> 4
        <- 6
        <- 5
        -> 7
        <- 8
        -> end
    """)


def test_lanes_do_not_wait_for_what_came_later(record: Callable[..., Book]) -> None:
    """A session's message waits for answers that were recorded before it, and not for later ones."""
    book = record("""
        1 -> #0 initialize {}
        2 <- #0 result {}
        3 -> #1 session/new {"cwd": "/"}
        4 <- #1 result {"sessionId": "a"}
        5 -> #2 session/new {"cwd": "/"}
        6 <- #2 result {"sessionId": "b"}
        7 -> #3 session/prompt {"sessionId": "a"}
        8 -> #4 session/prompt {"sessionId": "b"}
        9 <- #4 result {}
        10 -> #5 session/prompt {"sessionId": "b"}
        11 <- #3 result {}
        12 <- #5 result {}
    """)
    verify(book).check("""
        -> 1
        <- 2
        -> 3
        <- 4
        -> 5
        <- 6
        -> 7
        -> 8
        <- 9
        -> 10
        <- 12
        <- 11
        -> end
    """)


def test_a_message_follows_what_the_agent_said_after_its_last_answer(
    record: Callable[..., Book],
) -> None:
    """What trails an answer is waited for, but not longer than the agent is silent."""
    book = record(f"""{START}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    verify(book).check(f"""{STARTED}
        <- 5
        -> 6
        <- 7
        -> end
    """)
    live = verify(book).check(f"""{STARTED}
        .. 1s
        -> 6
        <- 7
        -> end
    """)
    assert live.found == []
    assert live.sent[-2] == ("6", 1000.0)


def test_one_that_was_silent_for_long_may_be_so_again(record: Callable[..., Book]) -> None:
    """Where the recorded agent took two seconds, four of silence are nothing."""
    book = record(f"""{START}
        .. 2s
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(book).check(f"""{STARTED}
        .. 4s
        .. 1s
        -> 6
        <- 7
        -> end
    """)
    assert 4000 <= live.sent[-2][1] < 4010


def test_an_agent_that_is_never_silent_is_not_waited_for_for_ever(
    record: Callable[..., Book],
) -> None:
    """What does not come is given up after a while, whatever else comes."""
    book = record(f"""{START}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(book).check(STARTED)
    said = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(30)]
    assert [place for place, news in enumerate(said) if "-> 6" in news] == [24]


def test_the_end_waits_for_the_last_words(record: Callable[..., Book]) -> None:
    """All that the recorded agent said at last is waited for, or a silence."""
    book = record(f"{START} 5 <- {UPDATE % 1}\n6 <- {UPDATE % 2}")
    verify(book).check(f"""{STARTED}
        <- 5
        <- 6
        -> end
    """)
    verify(book).check(f"""{STARTED}
        <- 5
        .. 1s
        -> end
    """)


CANCELLED = f"""{START}
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- {UPDATE % 1}
    7 <- {UPDATE % 2}
    8 -> session/cancel {{"sessionId": "s"}}
    9 <- {UPDATE % 3}
    10 <- #2 result {{"stopReason": "cancelled"}}
"""


def test_a_cancellation_comes_when_as_much_was_said(record: Callable[..., Book]) -> None:
    """The user pressed stop after two updates."""
    live = verify(record(CANCELLED))
    live.check(f"""{STARTED}
        -> 5
        <- 6
        <- {UPDATE % 9}
        -> 8
        <- 9
        <- 10
        -> end
    """)
    assert (live.found, live.informed) == ([], [])


def test_a_cancellation_does_not_wait_for_a_silent_agent(record: Callable[..., Book]) -> None:
    """An agent that says less, and waits, is cancelled all the same."""
    live = verify(record(CANCELLED))
    live.check(f"""{STARTED}
        -> 5
        <- 6
        .. 1s
        -> 8
        <- 10
        -> end
    """)
    assert live.found == []


def test_what_is_over_is_not_cancelled(record: Callable[..., Book]) -> None:
    """An agent that ends its turn before the user would press stop is not told to stop."""
    live = verify(record(CANCELLED))
    live.check(f"""{STARTED}
        -> 5
        <- 6
        <- 10
        -> end
    """)
    assert live.found == []
    assert live.informed == ["late in s 8"]


def test_a_cancelled_request_is_cancelled_if_it_is_open(record: Callable[..., Book]) -> None:
    """The same holds for `$/cancel_request`."""
    book = record("""
        1 -> #0 initialize {}
        2 <- #0 result {}
        3 -> #1 session/list {}
        4 -> $/cancel_request {"requestId": 1}
        5 <- #1 error {"code": -32800, "message": "cancelled"}
    """)
    verify(book).check("""
        -> 1
        <- 2
        -> 3
        -> 4
        <- 5
        -> end
    """)


def test_answers_keep_their_place_among_questions(record: Callable[..., Book]) -> None:
    """A program is over when the agent has looked twice, as it was; or when it does not look."""
    book = record(f"""{START}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #0 terminal/create {{"sessionId": "s", "command": "ls"}}
        7 -> #0 result {{"terminalId": "t"}}
        8 <- #1 terminal/wait_for_exit {{"sessionId": "s", "terminalId": "t"}}
        9 <- #2 terminal/output {{"sessionId": "s", "terminalId": "t"}}
        10 -> #2 result {{"output": "a", "truncated": false}}
        11 <- #3 terminal/output {{"sessionId": "s", "terminalId": "t"}}
        12 -> #3 result {{"output": "ab", "truncated": false}}
        13 -> #1 result {{"exitCode": 0}}
        14 <- #2 result {{}}
    """)
    live = verify(book).check(f"""{STARTED}
        -> 5
        <- 6
        -> 7
        <- 8
        <- 9
        -> 10
        <- 11
        -> 12
        -> 13
        <- 14
        -> end
    """)
    assert live.found == []
    verify(book).check(f"""{STARTED}
        -> 5
        <- 6
        -> 7
        <- 8
        <- 9
        -> 10
        .. 1s
        -> 13
        <- 14
        -> end
    """)


def test_an_answer_is_never_held_back_for_long(record: Callable[..., Book]) -> None:
    """An agent that asks in an earlier turn than it did is answered, since it may wait for that."""
    book = record(f"""{START}
        5 -> #2 session/prompt {{"sessionId": "s", "prompt": [1]}}
        6 <- #2 result {{}}
        7 -> #3 session/prompt {{"sessionId": "s", "prompt": [2]}}
        8 <- #0 {READ % "f"}
        9 -> #0 result {{"content": "x"}}
        10 <- #3 result {{}}
    """)
    live = verify(book).check(f"""{STARTED}
        -> 5
        <- 8
        .. 1s
        -> 9
        <- 6
        -> 7
        <- 10
        -> end
    """)
    assert live.found == []


def test_recorded_order_waits_for_all_that_was_said(record: Callable[..., Book]) -> None:
    """Also for what was said in another session."""
    book = record("""
        1 -> #0 initialize {}
        2 <- #0 result {}
        3 -> #1 session/new {"cwd": "/"}
        4 <- #1 result {"sessionId": "a"}
        5 -> #2 session/new {"cwd": "/"}
        6 <- #2 result {"sessionId": "b"}
        7 <- session/update {"sessionId": "a"}
        8 -> #3 session/prompt {"sessionId": "b"}
        9 <- #3 result {}
    """)
    opened = """
        -> 1
        <- 2
        -> 3
        <- 4
        -> 5
        <- 6
    """
    verify(book, order=Order.RECORDED).check(f"{opened}\n<- 7\n-> 8\n<- 9\n-> end")
    verify(book).check(f"{opened}\n-> 8\n<- 7\n<- 9\n-> end")


def test_causal_order_waits_for_answers_alone(record: Callable[..., Book]) -> None:
    """A cancellation goes out as soon as there is something to cancel."""
    verify(record(CANCELLED), order=Order.CAUSAL).check(f"""{STARTED}
        -> 5
        -> 8
        <- 10
        -> end
    """)


@pytest.mark.parametrize(
    ("pacing", "gap"),
    [
        (Pacing(), 0),
        (Pacing(1.0), 3000),
        (Pacing(0.5), 1500),
        (Pacing(1.0, cap_ns=10**9), 1000),
        (Pacing(fixed_ns=20 * 10**6), 20),
    ],
)
def test_a_client_thinks_as_long_as_it_is_told_to(
    record: Callable[..., Book], pacing: Pacing, gap: float
) -> None:
    """Its thinking time is counted from when it could have gone on."""
    book = record("""
        1 -> #0 initialize {}
        2 <- #0 result {}
        .. 2.999s
        3 -> #1 _x/y {}
        4 <- #1 result {}
    """)
    live = verify(book, pacing=pacing)
    live.play(".. 1s", "<- 2", ".. 4s", "<- 4")
    (_, _), (what, at), _ = live.sent
    assert (what, at) == ("3", 1000 + gap)
    assert live.found == []


def test_in_v2_a_prompt_waits_for_the_turn_before_it(record: Callable[..., Book]) -> None:
    """There an update ends the turn, and not the answer."""
    idle = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}'
    book = record(f"""
        1 -> #0 initialize {{"protocolVersion": 2, "capabilities": {{}}}}
        2 <- #0 result {{"protocolVersion": 2, "capabilities": {{}}}}
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #2 result {{}}
        7 <- {UPDATE % 1}
        8 <- {idle}
        9 -> #3 session/prompt {{"sessionId": "s"}}
        10 <- #3 result {{}}
        11 <- {idle}
    """)
    verify(book).check(f"""{STARTED}
        -> 5
        <- 6
        <- 7
        .. 20s
        <- 8
        -> 9
        <- 10
        .. 20s
        <- 11
        -> end
    """)
