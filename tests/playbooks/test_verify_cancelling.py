"""`verify` sends recorded cancellations, even if the live agent is at another point."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.permission_playbook import (
    ALLOW,
    END,
    HAS_SESSION,
    LS,
    REJECT,
    SESSION,
    START,
    STARTED,
    UPDATE,
    asking,
    outcome,
    permission,
    selected,
)
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record


CANCELLED = f"""{SESSION}
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- {UPDATE % 1}
    7 <- {UPDATE % 2}
    8 -> session/cancel {{"sessionId": "s"}}
    9 <- {UPDATE % 3}
    10 <- #2 result {{"stopReason": "cancelled"}}
"""


def test_a_cancellation_is_sent_after_as_many_updates(record: Record) -> None:
    """`verify` cancels a turn after as many updates as were recorded before the cancel."""
    live = verify(record(CANCELLED))
    live.check(f"""{HAS_SESSION}
        -> 5
        <- 6
        <- {UPDATE % 9}
        8-10
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], [])


def test_a_cancellation_does_not_wait_for_a_silent_agent(record: Record) -> None:
    """If an agent is silent, `verify` sends the recorded cancel before the stall timeout."""
    live = verify(record(CANCELLED))
    live.check(f"""{HAS_SESSION}
        -> 5
        <- 6
        .. 26.9s
        .. 0.1s
        -> 8
        <- 10
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], ["early in s 8"])
    assert live.divergences[0].summary.endswith(
        "was sent before the agent had sent as much as in the recording: nothing came for 27.0 s"
    )


def test_a_slow_agent_is_not_cancelled_early(record: Record) -> None:
    """If an agent sends an update every 26 s, `verify` does not cancel the turn early."""
    live = verify(record(CANCELLED)).check(f"{HAS_SESSION}\n-> 5\n.. 26s\n<- 6\n.. 26s\n<- 7\n-> 8")
    assert live.informed == []
    live = verify(record(CANCELLED), stall_ns=None)
    live.check(f"{HAS_SESSION}\n-> 5\n<- 6\n.. 269s\n.. 1s\n-> 8\n<- 10\n-> end")


def test_a_finished_turn_is_not_cancelled(record: Record) -> None:
    """`verify` does not cancel a turn that has already ended."""
    live = verify(record(CANCELLED))
    live.check(f"""{HAS_SESSION}
        -> 5
        <- 6
        <- 10
        -> end
    """)
    assert live.mismatches == []
    assert live.informed == ["late in s 8"]


def test_only_an_open_request_is_cancelled(record: Record) -> None:
    """`verify` does not cancel a request that was already answered."""
    recorded = record("""
        1-2 handshake
        3 -> #1 session/list {}
        4 <- _x/y {}
        5 -> $/cancel_request {"requestId": 1}
        6 <- #1 error {"code": -32800, "message": "cancelled"}
    """)
    live = verify(recorded).check("""
        1-6
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], [])
    live = verify(recorded).check("""
        1-3
        <- #1 result {}
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], ["late in connection 5"])


def test_a_request_after_a_cancellation_is_cancelled(record: Record) -> None:
    """After `verify` has cancelled a turn, it answers permission requests with `cancelled`."""
    live = asking(
        record,
        f"""
        <- {permission(LS, ALLOW)}
        -> {selected("y")}
        -> session/cancel {{"sessionId": "s"}}
        """,
    )
    gone = '{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"cancelled"}}}'
    live.check(f"""
        .. 27s
        -> 8
        <- {permission(LS, ALLOW)}
        -> {gone % 0}
        <- {permission({}, REJECT, token=1)}
        -> {gone % 1}
        <- {END}
        -> end
    """)
    assert live.mismatches == []
    assert live.informed == ["early in s 8", "late in s 7", "late in s"]


def test_a_cancellation_answers_open_permission_requests(record: Record) -> None:
    """When `verify` cancels a turn, it answers open permission requests with `cancelled`."""
    live = asking(
        record,
        f"""
        <- {permission({}, ALLOW)}
        -> session/cancel {{"sessionId": "s"}}
        -> #0 result {{"outcome": {{"outcome": "cancelled"}}}}
        """,
    )
    live.check(f"""
        <- {permission({}, ALLOW)}
        -> 7
        -> 8
        <- {END}
        -> end
    """)
    live = asking(record, f'<- {permission({}, ALLOW)}\n-> session/cancel {{"sessionId": "s"}}')
    live.check(f"""
        <- {permission({}, ALLOW)}
        -> 7
        -> {{"jsonrpc":"2.0","id":0,"result":{{"outcome":{{"outcome":"cancelled"}}}}}}
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_a_permission_of_another_session_stays_open(record: Record) -> None:
    """When `verify` cancels a turn, a permission request of another session stays open."""
    ask = permission({}, token=7).replace('"sessionId": "s"', '"sessionId": "b"')
    recorded = record(f"""
        1-2 handshake
        3 -> #1 session/new {{"cwd": "/"}}
        4 <- #1 result {{"sessionId": "a"}}
        5 -> #2 session/new {{"cwd": "/"}}
        6 <- #2 result {{"sessionId": "b"}}
        7 -> #3 session/prompt {{"sessionId": "a"}}
        8 -> #4 session/prompt {{"sessionId": "b"}}
        9 <- {ask}
        10 <- {UPDATE.replace('"s"', '"a"') % 1}
        11 -> session/cancel {{"sessionId": "a"}}
        12 <- #3 result {{}}
        13 -> session/cancel {{"sessionId": "b"}}
        14 <- #4 result {{}}
    """)
    live = verify(recorded)
    live.play("<- 2", "<- 4", "<- 6")
    live.check(f"<- 9\n<- 10\n-> 11\n<- 12\n-> 13\n-> {outcome(None, 7)}\n<- 14\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


def test_an_answer_after_the_client_gave_up_is_not_awaited(record: Record) -> None:
    """`verify` does not wait for an answer that was recorded after the client had left."""
    live = verify(
        record(f"""
        {START}
        6 <- session/update {{"sessionId": "s", "update": {{"n": 1}}}}
        -> gives up
        7 <- #2 result {{"stopReason": "cancelled"}}
        -> end
        <- end
    """)
    )
    live.check(f"{STARTED}\n<- 6\n-> end")
    assert live.divergences == []
