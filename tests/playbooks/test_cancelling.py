# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Cancellation: the moment at which a user presses stop changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import Live, RecordedTranscript

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


def begun(record: Callable[..., RecordedTranscript], text: str, **start: str) -> Live:
    """A replay in which there is a session."""
    live = record(text, **start).replay()
    live.say(1, 3)
    return live


def test_a_late_cancel_finds_what_it_waited_for(record: Callable[..., RecordedTranscript]) -> None:
    """What followed the cancellation waits for it, as long as it takes."""
    live = begun(record, CANCELLED)
    live.check("""
        -> 5
        <- 6
        <- 7
        .. 20s
        -> 8
        <- 9
        <- 10
    """)
    assert live.divergences == []


def test_a_cancel_before_its_prompt_cancels_nothing(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What overtakes the prompt of its turn would not have ended it; the turn ends as it should."""
    live = begun(record, CANCELLED)
    live.say(8)
    assert live.found == ["unrecorded-cancel primary in s"]


def test_an_early_cancel_waits_for_no_clock(record: Callable[..., RecordedTranscript]) -> None:
    """In recorded time, too, the frames before the cancellation go out at once."""
    from acp_proxy.engine.shared.playback_options import Pacing

    live = record(CANCELLED).replay(pacing=Pacing(1000.0))
    for message in (1, 3):
        live.say(message)
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


def test_a_cancel_that_was_not_recorded_ends_the_turn(
    record: Callable[..., RecordedTranscript],
) -> None:
    """It is a divergence, and the turn ends as the specification wants it, so no client hangs."""
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
    assert live.found == ["unrecorded-cancel primary in s"]


def test_a_cancel_too_many_is_used_up(record: Callable[..., RecordedTranscript]) -> None:
    """One recorded cancellation lets one pass."""
    live = begun(record, CANCELLED)
    live.say(5, 8)
    live.check("""
        -> 8
    """)
    assert live.found == ["exhausted primary in s 8"]


def test_a_cancel_left_out_is_missing_at_the_end(record: Callable[..., RecordedTranscript]) -> None:
    """It is required, since the agent acted on it."""
    live = begun(record, CANCELLED)
    live.say(5)
    live.leave()
    assert live.found == ["missing-expected primary in s 8", "unplayed cascade in s 9"]


def test_after_a_cancel_the_permission_is_cancelled(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The client must answer so, whatever the recorded one had answered by then."""
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
    assert live.found == []
    assert live.informed == ["early in s 9", "drift in s 7"]


def test_a_cancelled_turn_excuses_nothing_in_the_next(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Once the turn is over, a permission that is cancelled differs from one that is granted."""
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
    live.say(5, 6, 8)
    live.check("""
        -> #0 result {"outcome": {"outcome": "cancelled"}}
        <- refusal #3
    """)
    assert live.found == ["outcome-differs primary in s 10"]


CANCEL_REQUEST = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- session/update {"sessionId": "s", "update": {}}
    7 -> $/cancel_request {"requestId": 2}
    8 <- {"jsonrpc": "2.0", "id": 2, "error": {"code": -32800, "message": "cancelled"}}
"""


def test_the_id_in_a_cancel_request_is_the_live_one(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The recorded message that cancels the same request is it, whatever ids are used."""
    live = begun(record, CANCEL_REQUEST)
    live.check("""
        -> #"mine" session/prompt {"sessionId": "s", "prompt": []}
        <- 6
        .. 5s
        -> $/cancel_request {"requestId": "mine"}
        <- {"jsonrpc": "2.0", "id": "mine", "error": {"code": -32800, "message": "cancelled"}}
    """)
    assert live.divergences == []


def test_a_cancel_request_that_was_not_recorded_is_granted_and_told(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The request is answered as a cancelled one, and the session is given up."""
    live = begun(record, PLAIN)
    live.say(5)
    (answer,) = live.say('$/cancel_request {"requestId": 2}')
    assert '"id":2,"error":{"code":-32800,' in answer
    assert live.found == ["unrecorded-cancel primary in s"]


def test_a_cancel_request_too_many_is_used_up(record: Callable[..., RecordedTranscript]) -> None:
    """One recorded message lets one pass."""
    live = begun(record, CANCEL_REQUEST)
    live.say(5, 7, 7)
    assert live.found == ["exhausted primary in connection 7"]


def test_cancelling_what_is_not_open_is_told(record: Callable[..., RecordedTranscript]) -> None:
    """Nothing is answered, and nothing given up."""
    live = begun(record, CANCEL_REQUEST)
    live.check("""
        -> $/cancel_request {"requestId": 77}
        -> 5
        <- 6
        -> 7
        <- 8
    """)
    assert live.found == ["unexpected-notification primary in connection"]


def test_a_recorded_cancel_request_that_came_too_late_is_taken(
    record: Callable[..., RecordedTranscript],
) -> None:
    """One that met no open request harmed nobody, and nobody waits for it."""
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
        assert live.say(*said) == ["<- 2", "<- 4", "<- 7"]
        live.leave()
        assert live.divergences == []


def test_in_v2_an_update_ends_the_turn_that_is_cancelled(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The prompt was answered long ago; what the client waits for is that the session is idle."""
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
        -> 5
        <- 6
        <- 7
        <- 8
        -> session/cancel {"sessionId": "s"}
        <- {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}}}
    """)
    assert live.found == ["unrecorded-cancel primary in s"]
