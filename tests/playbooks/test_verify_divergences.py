# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Tests divergences after which `verify` cannot continue, and how `verify` ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.events import WriteStalled
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

CONVERSATION = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s"}
    6 <- #2 result {"stopReason": "end_turn"}
    7 -> #3 session/list {}
    8 <- #3 result {}
"""
ERROR = 'error {"code": -32603, "message": "no"}'


def test_a_session_that_cannot_be_created_is_given_up(record: Record) -> None:
    """If a session cannot be created, `verify` sends no further messages of the session."""
    live = verify(record(CONVERSATION)).check(f"""
        1-3
        <- #1 {ERROR}
        -> 7
        <- 8
        -> end
    """)
    assert live.mismatches == ["outcome-differs primary in s 4", "unplayed cascade in s 5"]
    assert (live.report.unsaid, live.report.is_played_out) == (1, False)


def test_a_session_that_cannot_be_loaded_is_given_up(record: Record) -> None:
    """If a session cannot be loaded, `verify` sends no further messages of the session."""
    load = '#2 session/load {"sessionId": "%s", "cwd": "/p"}'
    conversation = f'{CONVERSATION}\n9 -> {load % "old"}\n10 <- #2 result {{}}\n11 -> #4 session/prompt {{"sessionId": "old"}}'
    played = "-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8\n-> 9"
    live = verify(record(conversation)).check(f"{played}\n<- #2 {ERROR}\n-> end")
    assert live.mismatches == ["outcome-differs primary in old 10", "unplayed cascade in old 11"]
    conversation = f'{CONVERSATION}\n9 -> {load % "s"}\n10 <- #2 result {{}}\n11 -> #4 session/prompt {{"sessionId": "s"}}\n12 <- #4 result {{}}'
    live = verify(record(conversation)).check(f"{played}\n<- #2 {ERROR}\n-> 11\n<- 12\n-> end")
    assert live.mismatches == []


def test_a_failed_handshake_gives_up_all_lanes(record: Record) -> None:
    """If the handshake fails, `verify` sends no further messages of any session."""
    live = verify(record(CONVERSATION)).check(f"""
        -> 1
        <- #0 {ERROR}
        -> end
    """)
    assert live.mismatches == [
        "outcome-differs primary in connection 2",
        "unplayed cascade in connection 7",
        "unplayed cascade in s 3",
    ]
    assert (live.report.unsaid, live.report.is_played_out) == (3, False)


def test_an_abandoned_lane_counts_as_not_played(record: Record) -> None:
    """If `verify` stops playing a session, the recording counts as not played to its end."""
    asked = '<- #0 _x/y {"sessionId": "s"}\n-> #0 result {}'
    conversation = f'{CONVERSATION}\n{asked}\n-> session/cancel {{"sessionId": "s"}}'
    live = verify(record(conversation)).check(
        f"-> 1\n<- 2\n-> 3\n<- #1 {ERROR}\n-> 7\n<- 8\n-> end"
    )
    assert (live.report.unsaid, live.report.is_played_out) == (3, False)
    recorded = record(f"{CONVERSATION}\n9 <- _x/y {{}}")
    live = verify(recorded).check(f"-> 1\n<- 2\n-> 3\n<- #1 {ERROR}\n-> 7\n<- 8\n<- end\n-> end")
    assert live.mismatches == ["outcome-differs primary in s 4", "unplayed cascade in s 5"]
    recorded = record("1 -> #0 initialize {}\n2 <- #0 result {}")
    live = verify(recorded).check(f"-> 1\n<- #0 {ERROR}\n-> end")
    assert (live.report.unsaid, live.report.is_played_out) == (0, False)


@pytest.mark.parametrize("answer", [ERROR, 'result {"stopReason": "refusal"}'])
def test_another_result_does_not_stop_the_conversation(record: Record, answer: str) -> None:
    """If an agent answers a prompt with an error or a refusal, `verify` sends the next message."""
    live = verify(record(CONVERSATION)).check(f"""
        1-5
        <- #2 {answer}
        -> 7
        <- 8
        -> end
    """)
    assert live.mismatches == []


def test_silence_is_a_stall_while_an_answer_is_pending(record: Record) -> None:
    """If an agent is silent, `verify` reports a stall and names the missing answer."""
    live = verify(record(CONVERSATION)).check("""
        1-5
        .. 20s
        <- session/update {"sessionId": "s"}
        .. 29s
        .. 1s
        -> end
    """)
    assert live.mismatches == ["stall primary in s 5", "unplayed cascade in connection 7"]
    stall, unplayed = live.divergences
    assert stall.summary == (
        f"nothing came for 30 s; the answer to session/prompt #{stall.seq} has not come for 50.0 s"
    )
    assert unplayed.summary == f"1 message was not sent, from session/list #{unplayed.seq} on"
    assert live.engine.is_hopeless
    (owed,) = live.report.owed
    assert (owed.lane, owed.method, owed.waited_ms) == ("s", "session/prompt", 50_000)


def test_a_stall_names_the_oldest_pending_answer_first(record: Record) -> None:
    """If several answers are missing, the stall that `verify` reports names the oldest first."""
    recorded = record("""
        1-2 handshake
        3 -> #1 _x/a {}
        4 <- _x/said {}
        5 -> #2 _x/b {}
        6 <- #2 result {}
        7 <- #1 result {}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n.. 2s\n<- 4\n-> 5\n.. 30s\n-> end")
    a, b = recorded.seq(3), recorded.seq(5)
    assert live.divergences[0].summary == (
        f"nothing came for 30 s; the answer to _x/a #{a} has not come for 32.0 s;"
        f" the answer to _x/b #{b} has not come for 30.0 s"
    )
    assert [owed.seq for owed in live.report.owed] == [a, b]


def test_without_a_limit_there_is_no_stall(record: Record) -> None:
    """Without a stall timeout, `verify` never reports a stall."""
    verify(record(CONVERSATION), stall_ns=None).check("""
        -> 1
        .. 5000s
        <- 2
        -> 3
    """)


def test_an_agent_that_does_not_read_is_a_stall(record: Record) -> None:
    """`verify` reports a stall if the agent does not read."""
    live = verify(record(CONVERSATION)).check("-> 1")
    live._feed(WriteStalled(live.now))
    assert live.mismatches == [
        "stall primary in connection 1",
        "unplayed cascade in connection 7",
        "unplayed cascade in s 3",
    ]


def test_an_agent_that_leaves_too_early_is_reported(record: Record) -> None:
    """If an agent closes its output before it has answered, `verify` reports a divergence.

    It also does if the client still has a recorded message to send.
    """
    live = verify(record(CONVERSATION)).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- end\n-> end")
    assert live.mismatches == ["agent-left primary in s 5"]
    assert "the agent left before it had answered session/prompt" in live.divergences[0].summary
    trailing = f"{CONVERSATION}\n9 <- _x/y {{}}\n10 -> _x/z {{}}"
    played = "-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8"
    live = verify(record(trailing)).check(f"{played}\n<- end\n-> end")
    assert live.mismatches == ["agent-left primary in connection 10"]


def test_an_agent_may_leave_when_all_was_sent(record: Record) -> None:
    """If an agent closes its output after it has answered everything, `verify` reports nothing."""
    trailing = f"{CONVERSATION}\n9 <- _x/y {{}}"
    live = verify(record(trailing)).check(
        "-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8\n<- end\n-> end"
    )
    assert live.mismatches == []


def test_an_agent_may_leave_at_the_recorded_point(record: Record) -> None:
    """If an agent closes its output where the recorded agent did, `verify` reports nothing."""
    recorded = record("""
        1-2 handshake
        3 -> #1 _x/y {}
        <- end
        4 -> #2 _x/z {}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n-> 4\n<- end\n-> end")
    assert live.mismatches == []


def test_nothing_is_missing_after_the_recorded_point_of_leaving(record: Record) -> None:
    """If a live agent leaves, `verify` misses nothing recorded after the recorded agent left.

    A message of the client that was recorded before this point is reported as not sent.
    """
    conversation = "1 -> #0 initialize {}\n2 <- #0 result {}\n3 <- _x/a {}\n%s"
    live = verify(record(conversation % "<- end\n4 -> _x/z {}")).check("-> 1\n<- 2\n<- end\n-> end")
    assert live.mismatches == []
    live = verify(record(conversation % "4 -> _x/z {}\n<- end")).check("-> 1\n<- 2\n<- end\n-> end")
    assert live.mismatches == ["agent-left primary in connection 4"]


def test_an_additional_answer_is_reported(record: Record) -> None:
    """If an agent answers a request twice, `verify` reports the second answer as a divergence."""
    live = verify(record(CONVERSATION)).check("""
        1-3
        <- #0 result {"protocolVersion": 2}
        <- #77 result {}
        <- 4
        -> 5
    """)
    assert live.mismatches == [
        "answered-twice primary in connection",
        "unknown-reply-id cascade in connection",
    ]
    recorded = record(f"{CONVERSATION}\n9 <- #77 result {{}}\n10 <- #3 result {{}}")
    live = verify(recorded).check(
        "-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8\n-> end\n<- 9\n<- 10"
    )
    assert live.mismatches == []


def test_an_additional_answer_after_the_end_is_reported(record: Record) -> None:
    """If an agent answers again after its input has ended, `verify` reports the second answer."""
    live = verify(record(CONVERSATION)).check("""
        1-8
        -> end
        <- 8
    """)
    assert live.mismatches == ["answered-twice primary in connection"]


def test_an_invalid_line_is_information(record: Record) -> None:
    """If an agent sends invalid lines, `verify` reports them only as notes."""
    live = verify(record(CONVERSATION)).check("-> 1\n<- | hello\n<- 2\n-> 3")
    assert (live.mismatches, live.informed) == ([], ["malformed-input in connection"])
    live = verify(record("1 <- | hello\n2 -> #0 _x/y {}\n3 <- #0 result 1")).check("-> 2\n<- 1")
    assert live.informed == []


def test_an_invalid_line_of_the_client_is_sent_in_its_place(record: Record) -> None:
    """If the recorded client sent an invalid line, `verify` sends the line too."""
    recorded = record("""
        1-2 handshake
        3 -> | what?
        4 <- {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "parse error"}}
        5 -> #1 _x/y {}
        6 <- #1 result {}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n-> 5\n<- 4\n<- 6\n-> end")
    assert live.mismatches == []
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n-> 5\n<- 6\n-> end")
    assert live.mismatches == []


def test_endless_output_is_a_flood(record: Record) -> None:
    """`verify` ends its run if the agent sends a hundred thousand lines without an answer."""
    live = verify(record(CONVERSATION)).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5")
    for _ in range(100_000):
        live._do("<-", '{"jsonrpc":"2.0","method":"x"}')
    assert live.mismatches == []
    live.check("<- _x/y {}\n-> end")
    assert live.mismatches == ["flood primary in s", "unplayed cascade in connection 7"]
    assert live.engine.is_hopeless


def test_an_endless_line_is_a_flood_and_no_silence(record: Record) -> None:
    """If the agent sends an endless line, `verify` ends its run because of a flood, not a stall."""
    live = verify(record(CONVERSATION), stall_ns=3 * 10**9).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5")
    live.part(1 << 20)
    for _ in range(10):
        live.check(".. 2s")
        live.part(20 << 20)
    assert (live.mismatches, live.engine.state.output.recent_bytes) == ([], 201 << 20)
    live.check(f"<- | {'x' * 100}")
    assert live.engine.state.output.recent_bytes == (201 << 20) - (201 << 20) + 100
    live.part(256 << 20)
    assert live.mismatches == ["flood primary in s", "unplayed cascade in connection 7"]


def test_a_stall_names_the_open_turn_in_v2(record: Record) -> None:
    """In v2, the stall that `verify` reports names the turn that has not ended."""
    idle = '{"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle"}}'
    recorded = record(f"""
        1 -> #0 initialize {{"protocolVersion": 2, "capabilities": {{}}}}
        2 <- #0 result {{"protocolVersion": 2, "capabilities": {{}}}}
        3 -> #1 session/new {{"cwd": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- #2 result {{}}
        7 <- session/update {idle}
        8 -> #3 session/prompt {{"sessionId": "s"}}
        9 <- #3 result {{}}
        10 <- session/update {idle}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n.. 30s\n-> end")
    assert live.mismatches == ["stall primary in s 5", "unplayed cascade in s 8"]
    seq = live.divergences[0].seq
    assert live.divergences[0].summary == (
        f"nothing came for 30 s; the end of the turn of session/prompt #{seq} has not come"
        " for 30.0 s"
    )


DRIP = '<- _x/drip {"sessionId": "s"}'


def test_the_time_limit_ends_a_verification(record: Record) -> None:
    """After its `--timeout`, `verify` ends and names the missing answer."""
    live = verify(record(CONVERSATION), timeout_ns=60 * 10**9)
    live.check("-> 1\n<- 2\n-> 3\n.. 10s\n<- 4\n-> 5")
    for _ in range(49):
        live.check(f"{DRIP}\n.. 1s")
    live.check(f"{DRIP}\n.. 1s\n-> end")
    assert live.mismatches == ["stall primary in s 5", "unplayed cascade in connection 7"]
    assert live.engine.is_hopeless
    assert live.divergences[0].summary.startswith(
        "the run was not over after 60 s, the limit of --timeout; the answer to session/prompt"
    )


def test_the_time_limit_is_no_stall_if_only_last_messages_are_missing(record: Record) -> None:
    """If only the last notifications are missing after `--timeout`, `verify` reports no stall."""
    recorded = record(f"{CONVERSATION}\n9 <- _x/y {{}}")
    live = verify(recorded, timeout_ns=4 * 10**9)
    live.check("-> 1\n<- 2\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7\n<- 8\n.. 4s\n-> end")
    assert (live.mismatches, live.engine.is_hopeless) == ([], False)
