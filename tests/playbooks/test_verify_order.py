# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""When the recorded client says what, to a live agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.shared.playback_options import Order, Pacing
from tests.permission_playbook import END, HAS_SESSION, SESSION, UPDATE, asking, read
from tests.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript


def test_a_message_waits_for_the_answers_before_it(
    record: Callable[..., RecordedTranscript],
) -> None:
    """However long the agent takes, nothing is said before it has answered."""
    live = verify(
        record(f'{SESSION} 5 -> #2 session/prompt {{"sessionId": "s"}}\n6 <- #2 result {{}}')
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


def test_what_was_in_flight_together_is_so_again(record: Callable[..., RecordedTranscript]) -> None:
    """Two requests that were open at once go out at once, and their answers may come in any order."""
    recorded = record("""
        1-2 handshake
        3 -> #"a" session/new {"cwd": "/p"}
        4 -> #"b" session/new {"cwd": "/p"}
        5 <- #"b" result {"sessionId": "two"}
        6 <- #"a" result {"sessionId": "one"}
        7 -> #"c" session/prompt {"sessionId": "one"}
        8 <- #"c" result {"stopReason": "end_turn"}
    """)
    verify(recorded).check("""
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


def test_lanes_do_not_wait_for_what_came_later(record: Callable[..., RecordedTranscript]) -> None:
    """A session's message waits for answers that were recorded before it, and not for later ones."""
    recorded = record("""
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
    verify(recorded).check("""
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
    record: Callable[..., RecordedTranscript],
) -> None:
    """What trails an answer is waited for, but not longer than the agent is silent."""
    recorded = record(f"""{SESSION}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    verify(recorded).check(f"""{HAS_SESSION}
        <- 5
        -> 6
        <- 7
        -> end
    """)
    live = verify(recorded).check(f"""{HAS_SESSION}
        .. 5s
        -> 6
        <- 7
        -> end
    """)
    assert (live.found, live.informed) == ([], ["early in s 6"])
    assert live.sent[-2] == ("6", 5000.0)


def test_one_that_was_silent_for_long_may_be_so_again(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Where the recorded agent took two seconds, nine of silence are nothing."""
    recorded = record(f"""{SESSION}
        .. 2s
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(recorded).check(f"""{HAS_SESSION}
        .. 9s
        .. 1.1s
        -> 6
        <- 7
        -> end
    """)
    assert 10_000 <= live.sent[-2][1] < 10_010


def test_an_agent_that_is_never_silent_is_not_waited_for_for_ever(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What does not come is given up after a while, whatever else comes."""
    recorded = record(f"""{SESSION}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(recorded).check(HAS_SESSION)
    said = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(130)]
    assert [place for place, news in enumerate(said) if "-> 6" in news] == [124]
    assert "other things came for 50.0 s" in live.divergences[0].summary


def test_the_end_waits_for_the_last_words(record: Callable[..., RecordedTranscript]) -> None:
    """All that the recorded agent said at last is waited for, or a silence."""
    recorded = record(f"{SESSION} 5 <- {UPDATE % 1}\n6 <- {UPDATE % 2}")
    verify(recorded).check(f"""{HAS_SESSION}
        <- 5
        <- 6
        -> end
    """)
    verify(recorded).check(f"""{HAS_SESSION}
        <- 5
        .. 5s
        -> end
    """)


def test_an_agent_that_goes_on_and_on_does_not_put_off_the_end(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Last words that do not come are given up after a while, whatever else comes."""
    live = verify(record(f"{SESSION} 5 <- {UPDATE % 1}")).check(HAS_SESSION)
    said = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(50)]
    assert [place for place, news in enumerate(said) if "-> end" in news] == [37]
    assert live.sent[-1] == ("end", 15_000.0)
    assert (live.found, live.engine.is_played_out) == ([], True)


def test_answers_keep_their_place_among_questions(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A program is over when the agent has looked twice, as it was; or when it does not look."""
    recorded = record(f"""{SESSION}
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
    live = verify(recorded).check(f"""{HAS_SESSION}
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
    verify(recorded).check(f"""{HAS_SESSION}
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


def test_an_answer_is_never_held_back_for_long(record: Callable[..., RecordedTranscript]) -> None:
    """An agent that asks in an earlier turn than it did is answered, since it may wait for that."""
    recorded = record(f"""{SESSION}
        5 -> #2 session/prompt {{"sessionId": "s", "prompt": [1]}}
        6 <- #2 result {{}}
        7 -> #3 session/prompt {{"sessionId": "s", "prompt": [2]}}
        8 <- {read("/p/f")}
        9 -> #0 result {{"content": "x"}}
        10 <- #3 result {{}}
    """)
    live = verify(recorded).check(f"""{HAS_SESSION}
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


def test_recorded_order_waits_for_all_that_was_said(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Also for what was said in another session."""
    recorded = record("""
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
    verify(recorded, order=Order.RECORDED).check(f"{opened}\n<- 7\n-> 8\n<- 9\n-> end")
    verify(recorded).check(f"{opened}\n-> 8\n<- 7\n<- 9\n-> end")


def test_causal_order_answers_at_once(record: Callable[..., RecordedTranscript]) -> None:
    """Whatever else the agent had asked before, and in which order it was answered."""
    story = f'<- #5 _x/a {{}}\n-> #5 result 1\n<- {read("/p/f")}\n-> #0 result {{"content": "A"}}'
    live = asking(record, story, order=Order.CAUSAL)
    live.check(f"<- {read('/p/f')}\n-> 9\n<- #5 _x/a {{}}\n-> 7\n<- {END}\n-> end")
    assert (live.found, live.informed) == ([], [])
    live = asking(record, story)
    live.check(f"<- {read('/p/f')}\n.. 0.9s\n<- #5 _x/a {{}}\n-> 7\n-> 9")


@pytest.mark.parametrize(
    ("pacing", "thought", "gap"),
    [
        (Pacing(), 3, 0),
        (Pacing(1.0), 3, 3000),
        (Pacing(0.5), 3, 1500),
        (Pacing(1.0, cap_ns=10**9), 3, 1000),
        (Pacing(fixed_ns=20 * 10**6), 3, 20),
        (Pacing(1.0), 60, 60_000),
    ],
)
def test_a_client_thinks_as_long_as_it_is_told_to(
    record: Callable[..., RecordedTranscript], pacing: Pacing, thought: int, gap: float
) -> None:
    """Its thinking time is counted from when it could have gone on; that is nobody's stall."""
    recorded = record(f"""
        1 -> #0 initialize {{}}
        2 <- #0 result {{}}
        .. {thought * 1000 - 1}ms
        3 -> #1 _x/y {{}}
        4 <- #1 result {{}}
    """)
    live = verify(recorded, pacing=pacing)
    live.play(".. 1s", "<- 2", f".. {gap + 1000}ms", "<- 4")
    (_, _), (what, at), _ = live.sent
    assert (what, at) == ("3", 1000 + gap)
    assert live.found == []


def test_in_v2_a_prompt_waits_for_the_turn_before_it(
    record: Callable[..., RecordedTranscript],
) -> None:
    """There an update ends the turn, and not the answer."""
    idle = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}'
    recorded = record(f"""
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
    verify(recorded).check(f"""{HAS_SESSION}
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


def test_what_was_said_in_a_turn_that_is_over_is_said_at_once(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Nothing that it waits for will come."""
    recorded = record(f"""{SESSION}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- {UPDATE % 1}
        7 -> #3 session/set_mode {{"sessionId": "s"}}
        8 <- #3 result {{}}
        9 <- #2 result {{}}
    """)
    live = verify(recorded).check(f"{HAS_SESSION}\n-> 5\n<- 9\n-> 7\n<- 8\n-> end")
    assert (live.found, live.informed) == ([], ["early in s 7"])
    assert live.divergences[0].summary.endswith("the turn was over")
