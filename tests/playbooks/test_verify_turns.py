# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In `verify`, the end of a turn ends the wait for the requests in the turn."""

from __future__ import annotations

import pytest

from tests.support.permission_playbook import outcome, permission
from tests.support.playbook import START_NS, Record
from tests.support.verify_playbook import verify

YES = 'result {"outcome": {"outcome": "selected", "optionId": "y"}}'
LS, RM = {"rawInput": {"command": "ls"}}, {"rawInput": {"command": "rm -rf ~"}}
READ = 'fs/read_text_file {"sessionId": "s", "path": "/p/a"}'
IDLE = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}'
TWO_PROMPTS = f"""
    1-4 session
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 -> #3 session/prompt {{"sessionId": "s"}}
    7 <- #2 result {{"stopReason": "end_turn"}}
    8 <- {permission(LS)}
    9 -> #0 {YES}
    10 <- #3 result {{"stopReason": "end_turn"}}
"""


def test_the_end_of_a_turn_cancels_no_other_turn(record: Record) -> None:
    """When one turn of a session ends, `verify` does not treat another open turn as cancelled."""
    live = verify(record(TWO_PROMPTS)).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n-> 6\n<- 7")
    live.check(f"<- {permission(RM, token=9)}\n-> {outcome('n', 9)}\n<- 8\n-> 9\n<- 10\n-> end")
    assert (live.mismatches, live.informed) == (["permission-differs primary in s 8"], [])


def test_a_cancellation_holds_for_all_turns_of_a_session(record: Record) -> None:
    """When `verify` cancels a session, it treats all open turns of the session as cancelled."""
    recorded = record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 -> #3 session/prompt {{"sessionId": "s"}}
        7 -> session/cancel {{"sessionId": "s"}}
        8 <- #2 result {{"stopReason": "cancelled"}}
        9 <- #3 result {{"stopReason": "cancelled"}}
        10 -> #4 session/prompt {{"sessionId": "s"}}
        11 <- {permission(LS)}
        12 -> #0 {YES}
        13 <- #4 result {{"stopReason": "end_turn"}}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n-> 6\n-> 7\n<- 8")
    live.check(
        f"<- {permission(LS, token=9)}\n-> {outcome(None, 9)}\n<- 9\n-> 10\n<- 11\n-> 12\n<- 13\n-> end"
    )
    assert (live.mismatches, live.informed) == ([], ["late in s"])


def test_a_request_of_the_next_turn_is_not_cancelled(record: Record) -> None:
    """If a turn was cancelled, `verify` does not cancel the requests of the next turn."""
    recorded = record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 -> session/cancel {{"sessionId": "s"}}
        7 -> #3 session/prompt {{"sessionId": "s"}}
        8 <- #2 result {{"stopReason": "cancelled"}}
        9 <- {permission(LS)}
        10 -> #0 {YES}
        11 <- #3 result {{"stopReason": "end_turn"}}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n-> 6\n-> 7\n<- 8")
    live.check(f"<- {permission(RM, token=9)}\n-> {outcome('n', 9)}\n<- 9\n-> 10\n<- 11\n-> end")
    assert live.mismatches == ["permission-differs primary in s 9"]


def test_a_request_after_a_cancelled_turn_is_not_cancelled(record: Record) -> None:
    """After a cancelled turn has ended, `verify` does not cancel later requests."""
    recorded = record(f"""
        1 -> #0 initialize {{"protocolVersion": 2}}
        2 <- #0 result {{"protocolVersion": 2}}
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #2 result {{}}
        7 -> session/cancel {{"sessionId": "s"}}
        8 <- {IDLE}
        9 <- {permission(LS)}
        10 -> #0 {YES}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8")
    live.check(f"<- {permission(RM, token=9)}\n-> {outcome('n', 9)}\n<- 9\n-> 10\n-> end")
    assert live.mismatches == ["permission-differs primary in s 9"]


@pytest.mark.parametrize("version", [1, 2])
def test_a_request_that_misses_its_turn_is_not_waited_for(record: Record, version: int) -> None:
    """If an agent leaves out a recorded request, `verify` waits for it until the turn ends."""
    answer, answered = ('{"stopReason": "end_turn"}', "") if version == 1 else ("{}", f"<- {IDLE}")
    ends = f"<- #2 result {answer}" if version == 1 else f"<- {IDLE}"
    begins = "" if version == 1 else f"<- #2 result {answer}"
    live = verify(
        record(f"""
            -> #0 initialize {{"protocolVersion": {version}}}
            <- #0 result {{"protocolVersion": {version}}}
            -> #1 session/new {{"cwd": "/p"}}
            <- #1 result {{"sessionId": "s"}}
            -> #2 session/prompt {{"sessionId": "s"}}
            {begins}
            <- #10 {READ}
            -> #10 result {{"content": "A"}}
            {ends}
            -> #3 session/prompt {{"sessionId": "s"}}
            <- #3 result {answer}
            {answered}
        """)
    )
    live.play("<- 2", "<- 4", f"<- #2 result {answer}")
    if version == 2:
        assert live.play(".. 1s") == []
        live.play(f"<- {IDLE}")
    (sent, at), now = live.sent[-1], (live.now - START_NS) / 10**6
    assert (sent, at) == (("9", now) if version == 1 else ("10", now))
    assert (live.mismatches, live.informed) == ([], [])


def test_an_open_turn_is_waited_for(record: Record) -> None:
    """If an earlier request of an open v2 turn is missing, `verify` delays a later one's answer."""
    recorded = record(f"""
        1 -> #0 initialize {{"protocolVersion": 2}}
        2 <- #0 result {{"protocolVersion": 2}}
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #2 result {{}}
        7 <- {IDLE}
        8 -> #3 session/prompt {{"sessionId": "s"}}
        9 <- #3 result {{}}
        10 <- #10 {READ}
        11 -> #10 result {{"content": "A"}}
        12 <- #11 {READ.replace("/p/a", "/p/b")}
        13 -> #11 result {{"content": "B"}}
        14 <- {IDLE}
    """)
    live = verify(recorded).check(
        f"-> 1\n<- 2\n-> 3\n<- {IDLE}\n<- 4\n-> 5\n<- 6\n<- 7\n-> 8\n<- 9"
    )
    live.check("<- 12\n.. 0.9s\n<- 10\n-> 11\n-> 13\n<- 14\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


def test_a_cancelled_turn_goes_on_until_the_agent_is_idle(record: Record) -> None:
    """In v2, `verify` gives recorded answers to requests after a cancel until the agent is idle."""
    recorded = record(f"""
        1 -> #0 initialize {{"protocolVersion": 2}}
        2 <- #0 result {{"protocolVersion": 2}}
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #2 result {{}}
        7 -> session/cancel {{"sessionId": "s"}}
        8 <- #10 {READ}
        9 -> #10 result {{"content": "A"}}
        10 <- {IDLE}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7")
    live.check("<- 8\n-> 9\n<- 10\n-> end")
    assert (live.mismatches, live.informed) == ([], [])
