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
        .. 5s
        -> 6
        <- 7
        -> end
    """)
    assert (live.found, live.informed) == ([], ["early in s 6"])
    assert live.sent[-2] == ("6", 5000.0)


def test_one_that_was_silent_for_long_may_be_so_again(record: Callable[..., Book]) -> None:
    """Where the recorded agent took two seconds, nine of silence are nothing."""
    book = record(f"""{START}
        .. 2s
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(book).check(f"""{STARTED}
        .. 9s
        .. 1.1s
        -> 6
        <- 7
        -> end
    """)
    assert 10_000 <= live.sent[-2][1] < 10_010


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
    said = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(130)]
    assert [place for place, news in enumerate(said) if "-> 6" in news] == [124]
    assert "other things came for 50.0 s" in live.departures[0].summary


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
        .. 5s
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
    """An agent that says less, and waits, is cancelled all the same, before that is a stall."""
    live = verify(record(CANCELLED))
    live.check(f"""{STARTED}
        -> 5
        <- 6
        .. 26.9s
        .. 0.1s
        -> 8
        <- 10
        -> end
    """)
    assert (live.found, live.informed) == ([], ["early in s 8"])
    assert live.departures[0].summary.endswith(
        "was sent before the agent had said as much as in the recording: nothing came for 27.0 s"
    )


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


def chunk(text: str, kind: str = "agent_message_chunk") -> str:
    """A piece of a text."""
    content = f'{{"type": "text", "text": "{text}"}}'
    update = f'{{"sessionUpdate": "{kind}", "content": {content}}}'
    return f'session/update {{"sessionId": "s", "update": {update}}}'


FIRST_HALF, SECOND_HALF = r"ab\ud83d", r"\ude00"
STATE = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "%s"}}'
STOPPED = f"""{START}
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- {chunk("Let me ")}
    7 <- {chunk("think")}
    8 <- {UPDATE % 1}
    9 <- {chunk("so it is")}
    10 -> session/cancel {{"sessionId": "s"}}
    11 <- #2 result {{"stopReason": "cancelled"}}
"""


@pytest.mark.parametrize(
    "cut",
    [
        [["Let me think"], ["so it is"]],
        [["L", "et", " ", "me", " thi", "nk"], ["so", " ", "it", " is"]],
        [["", "Let me think", ""], ["so it", "", " is"]],
        [["Let us see"], ["so it was"]],
        [["I would say that this takes a while"], ["so", " it is"]],
    ],
)
def test_how_a_text_is_cut_does_not_matter(
    record: Callable[..., Book], cut: list[list[str]]
) -> None:
    """A text that is over counts as one; of one that is not, its characters count."""
    first, (*before, last) = ([chunk(text) for text in texts] for texts in cut)
    said = "\n".join(f"<- {what}" for what in [*first, UPDATE % 2, *before])
    live = verify(record(STOPPED)).check(f"{STARTED}\n-> 5\n{said}\n.. 9s")
    live.check(f"<- {last}\n-> 10\n<- 11\n-> end")
    assert (live.found, live.informed) == ([], [])


def test_a_character_may_be_cut_in_two(record: Callable[..., Book]) -> None:
    """Some agents do so; it is as long as it was."""
    book = record(f"""{START}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- {chunk(FIRST_HALF)}
        7 <- {chunk(SECOND_HALF)}
        8 -> session/cancel {{"sessionId": "s"}}
        9 <- #2 result {{}}
    """)
    live = verify(book).check(f"{STARTED}\n-> 5\n<- {chunk('abc')}")
    live.check(f"<- {chunk('😀')}\n-> 8\n<- 9\n-> end")
    assert live.informed == []
    live = verify(book).check(f"{STARTED}\n-> 5\n<- {chunk('😀')}\n<- {chunk('😀')}\n-> 8")


def test_a_thought_is_another_text(record: Callable[..., Book]) -> None:
    """So is another message, where they have names."""
    live = verify(record(STOPPED)).check(f"{STARTED}\n-> 5\n<- {chunk('Let me think so it is')}")
    live.check(f"<- {chunk('Hm', 'agent_thought_chunk')}\n<- {chunk('so it is')}\n-> 10")


@pytest.mark.parametrize(
    "kind", ["usage_update", "session_info_update", "available_commands_update"]
)
def test_how_things_are_does_not_count(record: Callable[..., Book], kind: str) -> None:
    """That comes when it pleases: it is not waited for, and stands for nothing else."""
    state = STATE % kind
    book = record(f"""{START}
        5 <- {state}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- {state}
        8 <- {chunk("ab")}
        9 -> session/cancel {{"sessionId": "s"}}
        10 <- #2 result {{}}
    """)
    live = verify(book).check(f"{STARTED}\n-> 6\n<- 5\n<- {state}\n<- {chunk('a')}\n<- {state}")
    live.check(f"<- {chunk('b')}\n-> 9\n<- 10\n-> end")
    assert (live.found, live.informed) == ([], [])


def test_at_the_end_it_is_waited_for(record: Callable[..., Book]) -> None:
    """As often as it was said in all, if it was said last; or five seconds."""
    title, usage = STATE % "session_info_update", STATE % "usage_update"
    book = record(f"""{START}
        5 <- {title}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- {usage}
        8 <- #2 result {{}}
        9 <- {title}
    """)
    verify(book).check(f"{STARTED}\n-> 6\n<- 5\n<- 8\n.. 4.9s\n<- {title}\n-> end")
    verify(book).check(f"{STARTED}\n-> 6\n<- 5\n<- {title}\n<- 8\n-> end")
    verify(book).check(f"{STARTED}\n-> 6\n<- 5\n<- 8\n.. 4.9s\n.. 0.1s\n-> end")


def test_an_agent_that_is_slow_is_not_cancelled_early(record: Callable[..., Book]) -> None:
    """While its turn goes on, it has all the time before a stall."""
    live = verify(record(CANCELLED)).check(f"{STARTED}\n-> 5\n.. 26s\n<- 6\n.. 26s\n<- 7\n-> 8")
    assert live.informed == []
    live = verify(record(CANCELLED), stall_ns=None)
    live.check(f"{STARTED}\n-> 5\n<- 6\n.. 269s\n.. 1s\n-> 8\n<- 10\n-> end")


def test_one_that_goes_on_with_its_turn_is_not_cancelled_early(
    record: Callable[..., Book],
) -> None:
    """However slowly the text comes; but other things are not waited for as long."""
    live = verify(record(STOPPED)).check(f"{STARTED}\n-> 5\n<- {UPDATE % 1}\n<- {UPDATE % 2}")
    for _ in range(7):
        live.check(f"<- {chunk('a')}\n.. 26s")
    for _ in range(9):
        live.check(f"<- {STATE % 'usage_update'}\n.. 26s")
    assert live.play(f"<- {STATE % 'usage_update'}", ".. 26s") == ["-> 10"]
    assert live.departures[0].summary.endswith("other things came for 270.0 s")


def test_what_was_said_in_a_turn_that_is_over_is_said_at_once(
    record: Callable[..., Book],
) -> None:
    """Nothing that it waits for will come."""
    book = record(f"""{START}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- {UPDATE % 1}
        7 -> #3 session/set_mode {{"sessionId": "s"}}
        8 <- #3 result {{}}
        9 <- #2 result {{}}
    """)
    live = verify(book).check(f"{STARTED}\n-> 5\n<- 9\n-> 7\n<- 8\n-> end")
    assert (live.found, live.informed) == ([], ["early in s 7"])
    assert live.departures[0].summary.endswith("the turn was over")


def test_recorded_order_does_not_depend_on_the_cutting_either(
    record: Callable[..., Book],
) -> None:
    """Characters of all texts count, and all else by number."""
    book = record(STOPPED)
    live = verify(book, order=Order.RECORDED).check(f"{STARTED}\n-> 5")
    for text in "Let me thin":
        live.check(f"<- {chunk(text)}")
    live.check(f"<- {chunk('k')}\n<- {UPDATE % 1}\n<- {chunk('so it ')}\n<- {chunk('is')}\n-> 10")
