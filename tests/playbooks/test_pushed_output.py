# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In the 1.0 draft, the client may push the output of a terminal in any number of pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

BEGIN = """
    1 -> #0 initialize {"protocolVersion": 1, "clientInfo": {"name": "c"}, "capabilities": {"terminal": {}}}
    2 <- #0 result {"protocolVersion": 1, "agentInfo": {"name": "a"}, "capabilities": {}}
    3 -> #1 session/new {"workingDirectory": "/p"}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "content": []}
    6 <- #7 terminal/create {"command": "ls"}
    7 -> #7 result {"terminalId": "t"}
"""
WATCHED = (
    BEGIN
    + """
    8 -> #3 terminal/output {"terminalId": "t", "data": "a"}
    9 <- #3 result {"received": true, "_n": 1}
    10 -> #4 terminal/output {"terminalId": "t", "data": "b"}
    11 <- #4 result {"received": true, "_n": 2}
    12 <- #2 result {"stopReason": "end_turn"}
"""
)
AWAITED = (
    BEGIN
    + """
    8 <- #8 terminal/wait_for_exit {"terminalId": "t"}
    9 -> #3 terminal/output {"terminalId": "t", "data": "a"}
    10 <- #3 result {"received": true}
    11 -> #4 terminal/output {"terminalId": "t", "data": "b"}
    12 <- #4 result {"received": true}
    13 -> #8 result {"exitCode": 0}
    14 <- #9 terminal/release {"terminalId": "t"}
    15 -> #9 result {"released": true}
    16 <- #2 result {"stopReason": "end_turn"}
"""
)


def until(record: Record, text: str, **options: bool) -> Live:
    """Returns a replay whose client has created a terminal, with another id than recorded."""
    live = record(text).replay(1, 3, 5, **options)
    live.send('#7 result {"terminalId": "T"}')
    return live


def test_pushed_output_is_answered_in_the_recorded_order(record: Record) -> None:
    """In the 1.0 draft, a replay answers pushed terminal output in order, whatever its text."""
    live = until(record, WATCHED)
    live.check("""
        -> #"x" terminal/output {"terminalId": "T", "data": "something else"}
        <- #"x" result {"received": true, "_n": 1}
        .. 500ms
        -> #4 terminal/output {"terminalId": "T", "data": ""}
        <- 11
        <- 12
        -> end
        <- end
    """)
    assert live.divergences == []


@pytest.mark.parametrize("pieces", [0, 1])
def test_less_pushed_output_is_enough(record: Record, pieces: int) -> None:
    """If a client pushes less terminal output than recorded, a replay still answers the prompt."""
    live = until(record, WATCHED)
    for number in range(pieces):
        live.send(f'#{number + 3} terminal/output {{"terminalId": "T", "data": "a"}}')
    assert live.wait("2s") == ["<- 12"]
    live.leave()
    assert live.mismatches == []
    assert live.informed == [f"missing-expected in s {8 + 2 * pieces}"]
    assert live.report.verdict == "clean"


def test_late_output_is_answered(record: Record) -> None:
    """In the 1.0 draft, a replay answers terminal output even after the prompt is answered."""
    live = until(record, WATCHED)
    assert live.wait("2s") == ["<- 12"]
    assert live.send('#3 terminal/output {"terminalId": "T", "data": "a"}') == ["<- 9"]
    live.leave()
    assert live.mismatches == []
    assert live.report.verdict == "clean"


def test_additional_output_is_answered(record: Record) -> None:
    """If a client pushes more terminal output than recorded, a replay still answers it."""
    live = until(record, AWAITED)
    for number in range(3, 9):
        said = live.send(f'#{number} terminal/output {{"terminalId": "T", "data": "a"}}')
        recorded = {3: ["<- 10"], 4: ["<- 12"]}.get(number)
        extra = f'<- {{"jsonrpc": "2.0", "id": {number}, "result": {{"received": true}}}}'
        assert said == (recorded or [extra])
    live.send(13, 15)
    assert live.divergences == []
    assert live.send('#9 terminal/output {"terminalId": "T", "data": "a"}') == ["<- refusal #9"]


def test_nothing_waits_for_output_of_an_ended_program(record: Record) -> None:
    """After a program's exit, a replay does not wait for more output of its terminal."""
    live = until(record, AWAITED)
    live.check("""
        -> #8 result {"exitCode": 0}
        <- #9 terminal/release {"terminalId": "T"}
        -> 15
        <- 16
    """)
    assert live.mismatches == []


def test_a_wait_that_timed_out_does_not_end_the_output(record: Record) -> None:
    """After a wait for a terminal's exit has timed out, a replay still accepts terminal output."""
    text = AWAITED.replace('{"exitCode": 0}', '{"exitCode": null, "timedOut": true}')
    live = until(record, text)
    assert live.send('#8 result {"exitCode": null, "timedOut": true}') == []
    assert live.send('#3 terminal/output {"terminalId": "T", "data": "a"}') == ["<- 10"]


def test_output_of_an_unknown_terminal_is_refused(record: Record) -> None:
    """If a client pushes output of an unknown terminal, a replay refuses it."""
    live = until(record, WATCHED)
    said = live.send('#3 terminal/output {"terminalId": "other", "data": "a"}')
    assert said[0] == "<- refusal #3"
    assert live.mismatches[0] == "binding-conflict primary in s 8"


def test_output_belongs_to_its_terminal(record: Record) -> None:
    """In a replay, pushed output of one terminal does not count as output of another terminal."""
    live = until(
        record,
        BEGIN
        + """
    8 -> #3 terminal/output {"terminalId": "t", "data": "a"}
    9 <- #3 result {"received": true}
    10 <- #8 terminal/create {"command": "pwd"}
    11 -> #8 result {"terminalId": "u"}
    12 -> #4 terminal/output {"terminalId": "u", "data": "b"}
    13 <- #4 result {"received": true}
    14 <- #2 result {"stopReason": "end_turn"}
""",
    )
    live.check("""
        -> #3 terminal/output {"terminalId": "T", "data": "a"}
        <- 9
        <- 10
        -> #4 terminal/output {"terminalId": "T", "data": "more"}
        <- #4 result {"received": true}
        -> #8 result {"terminalId": "U"}
        -> #5 terminal/output {"terminalId": "T", "data": "more"}
        <- #5 result {"received": true}
        -> #6 terminal/output {"terminalId": "U", "data": "b"}
        <- #6 result {"received": true}
        <- 14
    """)
    assert live.mismatches == []


def test_output_of_a_withheld_terminal_is_not_awaited(record: Record) -> None:
    """If a replay withheld `terminal/create`, it does not wait for the terminal's output."""
    live = record(AWAITED).replay(1, 3, inert=True)
    assert live.send(5) == ["<- 16"]
    live.leave()
    assert live.mismatches == []


def test_verify_pushes_the_recorded_output(record: Record) -> None:
    """In the 1.0 draft, `verify` pushes terminal output as recorded."""
    live = verify(record(AWAITED)).check("""
        1-5
        <- #70 terminal/create {"command": "ls"}
        -> #70 result {"terminalId": "t"}
        <- #71 terminal/wait_for_exit {"terminalId": "t"}
        -> 9
        <- #3 result {"received": true, "_more": "b"}
        -> 11
        <- 12
        -> #71 result {"exitCode": 0}
        <- #72 terminal/release {"terminalId": "t"}
        -> #72 result {"released": true}
        <- 16
        -> end
    """)
    assert live.mismatches == []


def test_verify_pushes_no_output_of_a_terminal_that_was_not_created(record: Record) -> None:
    """If the agent has not created a terminal, `verify` pushes no output of the terminal."""
    live = verify(record(WATCHED)).check("""
        1-5
        <- #2 result {"stopReason": "end_turn"}
        -> end
    """)
    assert live.mismatches == []
    assert live.informed == ["late in s 8", "late in s 10"]
