# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In a replay, a client may cancel a turn earlier or later than in the recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

CANCELLED = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- session/update {"sessionId": "s", "update": {"n": 1}}
    7 <- session/update {"sessionId": "s", "update": {"n": 2}}
    8 -> session/cancel {"sessionId": "s"}
    9 <- session/update {"sessionId": "s", "update": {"n": 3}}
    10 <- #2 result {"stopReason": "cancelled"}
"""
PLAIN = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- #0 session/request_permission {"sessionId": "s", "options": [{"optionId": "y", "kind": "allow_once"}]}
    7 -> #0 result {"outcome": {"outcome": "selected", "optionId": "y"}}
    8 <- #2 result {"stopReason": "end_turn"}
"""


def begun(record: Record, text: str, **start: str) -> Live:
    """Returns a replay whose client has sent the request that creates a session."""
    return record(text, **start).replay(1, 3)


def test_frames_after_a_cancellation_wait_for_it(record: Record) -> None:
    """A replay sends the frames after a recorded cancel only when the client cancels."""
    live = begun(record, CANCELLED)
    live.check("""
        5-7
        .. 20s
        8-10
    """)
    assert live.divergences == []


def test_a_cancellation_before_its_prompt_counts_as_unrecorded(record: Record) -> None:
    """If a client cancels a turn before its prompt, a replay reports the cancel as unrecorded."""
    live = begun(record, CANCELLED)
    live.send(8)
    assert live.mismatches == ["unrecorded-cancel primary in s"]


def test_an_early_cancellation_sends_pending_frames_at_once(record: Record) -> None:
    """If a client cancels before the recorded updates have come, a replay sends these at once."""
    from acp_proxy.playback.shared.playback_options import Pacing

    live = record(CANCELLED).replay(pacing=Pacing(1000.0))
    for message in (1, 3):
        live.send(message)
        live.wait("1s")
    live.check("""
        -> 5
        -> 8
        <- 6
        <- 7
        .. 1s
        <- 9
        .. 1s
        <- 10
    """)


def test_an_unrecorded_cancellation_ends_the_turn(record: Record) -> None:
    """If a client cancels a turn that was recorded without a cancel, a replay ends the turn."""
    live = begun(record, PLAIN)
    live.check("""
        -> #"p" session/prompt {"sessionId": "s", "prompt": []}
        <- 6
        -> session/cancel {"sessionId": "s"}
        <- {"jsonrpc":"2.0","id":"p","result":{"stopReason":"cancelled"}}
        -> #0 result {"outcome": {"outcome": "cancelled"}}
        -> end
        <- end
    """)
    assert live.mismatches == ["unrecorded-cancel primary in s"]


def test_a_second_cancellation_is_exhausted(record: Record) -> None:
    """If a client cancels a turn twice, a replay reports the second cancel as a divergence."""
    live = begun(record, CANCELLED)
    live.send(5, 8)
    live.check("""
        -> 8
    """)
    assert live.mismatches == ["exhausted primary in s 8"]


def test_a_missing_cancellation_is_reported_at_the_end(record: Record) -> None:
    """If the live client leaves without a recorded cancel, a replay reports the missing cancel."""
    live = begun(record, CANCELLED)
    live.send(5)
    live.leave()
    assert live.mismatches == ["missing-expected primary in s 8", "unplayed cascade in s 9"]


def test_after_a_cancellation_a_permission_may_be_cancelled(record: Record) -> None:
    """If a client cancels its turn, a replay lets it cancel a permission that was granted."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #0 session/request_permission {"sessionId": "s", "options": [{"optionId": "y", "kind": "allow_once"}]}
        7 -> #0 result {"outcome": {"outcome": "selected", "optionId": "y"}}
        8 <- session/update {"sessionId": "s", "update": {}}
        9 -> session/cancel {"sessionId": "s"}
        10 <- #2 result {"stopReason": "cancelled"}
    """)  # fmt: skip
    live.check("""
        -> 5
        <- 6
        -> 9
        -> #0 result {"outcome": {"outcome": "cancelled"}}
        <- 8
        <- 10
    """)
    assert live.mismatches == []
    assert live.informed == ["early in s 9", "drift in s 7"]


def test_a_cancelled_turn_does_not_excuse_the_next(record: Record) -> None:
    """In a replay, a cancelled permission is a divergence even if the turn before was cancelled."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 -> session/cancel {"sessionId": "s"}
        7 <- #2 result {"stopReason": "cancelled"}
        8 -> #3 session/prompt {"sessionId": "s", "prompt": []}
        9 <- #0 session/request_permission {"sessionId": "s", "options": [{"optionId": "y", "kind": "allow_once"}]}
        10 -> #0 result {"outcome": {"outcome": "selected", "optionId": "y"}}
        11 <- #3 result {"stopReason": "end_turn"}
    """)  # fmt: skip
    live.send(5, 6, 8)
    live.check("""
        -> #0 result {"outcome": {"outcome": "cancelled"}}
        <- refusal #3
    """)
    assert live.mismatches == ["outcome-differs primary in s 10"]


CANCEL_REQUEST = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- session/update {"sessionId": "s", "update": {}}
    7 -> $/cancel_request {"requestId": 2}
    8 <- {"jsonrpc": "2.0", "id": 2, "error": {"code": -32800, "message": "cancelled"}}
"""


def test_a_cancel_request_is_matched_by_the_live_id(record: Record) -> None:
    """In a replay, a `$/cancel_request` matches if it names the live id of the recorded request."""
    live = begun(record, CANCEL_REQUEST)
    live.check("""
        -> #"mine" session/prompt {"sessionId": "s", "prompt": []}
        <- 6
        .. 5s
        -> $/cancel_request {"requestId": "mine"}
        <- {"jsonrpc": "2.0", "id": "mine", "error": {"code": -32800, "message": "cancelled"}}
    """)
    assert live.divergences == []


def test_an_unrecorded_cancel_request_is_granted_and_reported(record: Record) -> None:
    """A replay obeys a `$/cancel_request` that was not recorded, and reports a divergence."""
    live = begun(record, PLAIN)
    live.send(5)
    (answer,) = live.send('$/cancel_request {"requestId": 2}')
    assert '"id":2,"error":{"code":-32800,' in answer
    assert live.mismatches == ["unrecorded-cancel primary in s"]


def test_a_second_cancel_request_is_exhausted(record: Record) -> None:
    """If a client sends `$/cancel_request` twice, the second one is a divergence in a replay."""
    live = begun(record, CANCEL_REQUEST)
    live.send(5, 7, 7)
    assert live.mismatches == ["exhausted primary in connection 7"]


def test_cancelling_a_request_that_is_not_open_is_reported(record: Record) -> None:
    """A `$/cancel_request` for a request that is not open is a divergence in a replay."""
    live = begun(record, CANCEL_REQUEST)
    live.check("""
        -> $/cancel_request {"requestId": 77}
        5-8
    """)
    assert live.mismatches == ["unexpected-notification primary in connection"]


def test_a_recorded_cancel_request_of_no_open_request_matches(record: Record) -> None:
    """In a replay, a recorded `$/cancel_request` for no open request matches or may be omitted."""
    text = """
        1-2 handshake
        3 -> #1 session/list {}
        4 <- #1 result {"sessions": []}
        5 -> $/cancel_request {"requestId": 1}
        6 -> #2 session/list {}
        7 <- #2 result {"sessions": []}
    """
    for said in ((1, 3, 5, 6), (1, 3, 6)):
        live = record(text).replay()
        assert live.send(*said) == ["<- 2", "<- 4", "<- 7"]
        live.leave()
        assert live.divergences == []


def test_in_v2_an_update_ends_the_cancelled_turn(record: Record) -> None:
    """If a client cancels an open turn, a replay of v2 ends the turn with a state update."""
    live = begun(record, """
        1 -> #0 initialize {"protocolVersion": 2, "info": {"name": "c", "version": "1"}}
        2 <- #0 result {"protocolVersion": 2, "info": {"name": "a", "version": "1"}}
        3 -> #1 session/new {"cwd": "/p"}
        4 <- #1 result {"sessionId": "s"}
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #2 result {}
        7 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "running"}}
        8 <- #0 elicitation/create {"sessionId": "s", "message": "?"}
        9 -> #0 result {"action": "accept"}
        10 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}}
    """)  # fmt: skip
    live.check("""
        5-8
        -> session/cancel {"sessionId": "s"}
        <- {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}}}
    """)
    assert live.mismatches == ["unrecorded-cancel primary in s"]
