# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""`verify` sends the messages of the recorded client to the live agent in recorded order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.playback_options import Order, Pacing
from tests.support.permission_playbook import HAS_SESSION, SESSION, UPDATE, read
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record


def test_a_message_waits_for_the_answers_before_it(record: Record) -> None:
    """`verify` sends a message only after the answers that were recorded before the message."""
    live = verify(
        record(f'{SESSION} 5 -> #2 session/prompt {{"sessionId": "s"}}\n6 <- #2 result {{}}')
    )
    live.check("""
        -> 1
        .. 20s
        <- 2
        -> 3
        .. 20s
        4-6
        -> end
    """)
    assert live.mismatches == []


def test_requests_in_flight_together_are_sent_together(record: Record) -> None:
    """If requests were open together in the recording, `verify` sends all before any answer."""
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
        1-4
        <- 6
        <- 5
        -> 7
        <- 8
        -> end
    """)


def test_lanes_wait_only_for_earlier_answers(record: Record) -> None:
    """`verify` sends a message without waiting for another session's answer recorded later."""
    recorded = record("""
        1-2 handshake
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
        1-10
        <- 12
        <- 11
        -> end
    """)


def test_a_message_waits_for_updates_after_the_last_answer(record: Record) -> None:
    """`verify` sends a message after the updates that were recorded before the message."""
    recorded = record(f"""{SESSION}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    verify(recorded).check(f"""{HAS_SESSION}
        5-7
        -> end
    """)
    live = verify(recorded).check(f"""{HAS_SESSION}
        .. 5s
        -> 6
        <- 7
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], ["early in s 6"])
    assert live.sent[-2] == ("6", 5000.0)


def test_a_recorded_silence_prolongs_the_wait(record: Record) -> None:
    """If an update was recorded after a silence of 2 s, `verify` waits 10 s for it, not 5 s."""
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


def test_the_wait_for_updates_has_a_limit(record: Record) -> None:
    """While only other messages come, `verify` waits at most 50 s for a recorded update."""
    recorded = record(f"""{SESSION}
        5 <- {UPDATE % 1}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- #2 result {{}}
    """)
    live = verify(recorded).check(HAS_SESSION)
    sent = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(130)]
    assert [place for place, news in enumerate(sent) if "-> 6" in news] == [124]
    assert "only other messages came for 50.0 s" in live.divergences[0].summary


def test_the_end_waits_for_the_last_messages(record: Record) -> None:
    """At its end, `verify` waits up to 5 s for the agent's last recorded messages."""
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


def test_other_messages_do_not_put_off_the_end(record: Record) -> None:
    """At its end, `verify` waits at most 15 seconds for the last messages, whatever else comes."""
    live = verify(record(f"{SESSION} 5 <- {UPDATE % 1}")).check(HAS_SESSION)
    sent = [live.play('<- _x/alive {"sessionId": "z"}', ".. 0.4s") for _ in range(50)]
    assert [place for place, news in enumerate(sent) if "-> end" in news] == [37]
    assert live.sent[-1] == ("end", 15_000.0)
    assert (live.mismatches, live.engine.is_played_out) == ([], True)


def test_fewer_requests_for_output_do_not_stop_verify(record: Record) -> None:
    """If terminal output is requested less often than recorded, `verify` goes on after a second."""
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
        5-14
        -> end
    """)
    assert live.mismatches == []
    verify(recorded).check(f"""{HAS_SESSION}
        5-10
        .. 1s
        -> 13
        <- 14
        -> end
    """)


def test_an_answer_is_never_held_back_for_long(record: Record) -> None:
    """If a message recorded before an answer is missing, `verify` answers one second later."""
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
    assert live.mismatches == []


def test_recorded_order_waits_for_all_messages(record: Record) -> None:
    """With `--order recorded`, `verify` sends a message after all earlier ones of all sessions."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/"}
        4 <- #1 result {"sessionId": "a"}
        5 -> #2 session/new {"cwd": "/"}
        6 <- #2 result {"sessionId": "b"}
        7 <- session/update {"sessionId": "a"}
        8 -> #3 session/prompt {"sessionId": "b"}
        9 <- #3 result {}
    """)
    opened = """
        1-6
    """
    verify(recorded, order=Order.RECORDED).check(f"{opened}\n<- 7\n-> 8\n<- 9\n-> end")
    verify(recorded).check(f"{opened}\n-> 8\n<- 7\n<- 9\n-> end")


@pytest.mark.parametrize(
    ("pacing", "thought", "gap"),
    [
        (Pacing(), 3, 0),
        (Pacing(1.0), 3, 3000),
        (Pacing(0.5), 3, 1500),
        (Pacing(1.0, cap_ns=10**9), 3, 1000),
        (Pacing(1.0), 60, 60_000),
    ],
)
def test_pacing_delays_messages(record: Record, pacing: Pacing, thought: int, gap: float) -> None:
    """With `--timing recorded`, `verify` waits before a message as long as was recorded."""
    recorded = record(f"""
        1-2 handshake
        .. {thought * 1000 - 1}ms
        3 -> #1 _x/y {{}}
        4 <- #1 result {{}}
    """)
    live = verify(recorded, pacing=pacing)
    live.play(".. 1s", "<- 2", f".. {gap + 1000}ms", "<- 4")
    (_, _), (what, at), _ = live.sent
    assert (what, at) == ("3", 1000 + gap)
    assert live.mismatches == []


def test_a_prompt_waits_for_the_turn_before_it_in_v2(record: Record) -> None:
    """In v2, `verify` sends a prompt after the update that ends the previous turn."""
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
        5-7
        .. 20s
        8-10
        .. 20s
        <- 11
        -> end
    """)


def test_a_message_of_a_finished_turn_is_sent_at_once(record: Record) -> None:
    """If a turn has ended early, `verify` sends the turn's other recorded messages immediately."""
    recorded = record(f"""{SESSION}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- {UPDATE % 1}
        7 -> #3 session/set_mode {{"sessionId": "s"}}
        8 <- #3 result {{}}
        9 <- #2 result {{}}
    """)
    live = verify(recorded).check(f"{HAS_SESSION}\n-> 5\n<- 9\n-> 7\n<- 8\n-> end")
    assert (live.mismatches, live.informed) == ([], ["early in s 7"])
    assert live.divergences[0].summary.endswith("the turn was over")
