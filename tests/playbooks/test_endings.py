"""A replay ends as the recorded agent ended, and reports unanswered requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.replay.replay_report import report
from acp_proxy.playback.shared.playback_options import Order

if TYPE_CHECKING:
    from tests.support.playbook import Record

LISTED = """
    1-4 session
    5 -> #2 session/list {}
    6 <- #2 result {"sessions": []}
"""
"""A recording whose last request is optional."""


@pytest.mark.parametrize("told", ["-> SIGTERM", "-> SIGINT", "-> SIGHUP", "-> end"])
def test_a_stopped_agent_waits_for_the_end_of_input(record: Record, told: str) -> None:
    """If the client stopped the recorded agent, a replay runs until its input ends."""
    live = record(LISTED + f"{told}\n<- end").replay()
    live.check("""
        1-4
        .. 100000s
        -> 5
        <- 6
        .. 100000s
        -> end
        <- end
    """)
    assert live.divergences == []
    assert (live.report.verdict, live.report.unplayed) == ("clean", 0)


HUNG = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s"}
    6 <- session/update {"sessionId": "s", "update": {"n": 1}}
    -> gives up
    7 <- #2 result {"stopReason": "cancelled"}
    8 <- _x/bye {}
    -> end
    <- end
"""
"""A recording in which the agent hung, and answered only after its client had given up."""


@pytest.mark.parametrize("order", Order)
def test_a_hang_stays_a_hang_until_the_client_gives_up(record: Record, order: Order) -> None:
    """If an agent answered only after its client left, a replay waits until its client leaves."""
    live = record(HUNG).replay(order=order)
    live.check("""
        1-6
        .. 100000s
        -> end
        <- 7
        <- 8
        <- end
    """)
    assert live.divergences == []
    assert (live.report.verdict, live.report.unplayed) == ("clean", 0)


def test_a_client_may_cancel_a_turn_that_hangs(record: Record) -> None:
    """If a client cancels a turn that hung in the recording, a replay ends the turn."""
    live = record(HUNG).replay()
    live.check("1-6")
    assert live.send('session/cancel {"sessionId": "s"}') == [
        '<- {"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'
    ]
    assert live.mismatches == ["unrecorded-cancel primary in s"]
    assert live.leave() == ["<- end"]


def test_a_signal_that_does_not_stop_the_agent_does_not_count(record: Record) -> None:
    """A replay does not treat a recorded SIGWINCH as the signal that ended the agent."""
    live = record(LISTED + "-> SIGWINCH\n<- end").replay()
    assert live.send(1, 3, 5) == ["<- 2", "<- 4", "<- 6", "<- end"]


def test_a_crash_follows_the_last_frame(record: Record) -> None:
    """If the recorded agent crashed, a replay ends after the last frame."""
    live = record(LISTED + "<- end\n-> SIGTERM").replay()
    assert live.send(1, 3, 5) == ["<- 2", "<- 4", "<- 6", "<- end"]
    assert live.divergences == []


def test_the_end_waits_a_second_for_optional_requests(record: Record) -> None:
    """Before a replay ends, it waits a second for an optional request of the client."""
    live = record(LISTED + "<- end").replay()
    live.check("""
        1-4
        .. 999ms
        -> 5
        <- 6
        <- end
    """)
    assert live.divergences == []


def test_the_end_reports_an_optional_request_that_did_not_come(record: Record) -> None:
    """If an optional request never came, the report of a replay names the missing request."""
    recorded = record(LISTED + "<- end")
    live = recorded.replay()
    live.check("""
        1-4
        .. 999ms
        .. 1ms
        <- end
    """)
    assert (live.report.verdict, live.report.unplayed) == ("clean", 1)
    assert live.informed == ["missing-expected in connection 5"]
    (left_out,) = live.divergences
    assert left_out.summary == (
        f"the client never sent session/list #{recorded.seq(5)}, which is optional;"
        f" its answer #{recorded.seq(6)} was not played"
    )


def test_the_end_waits_for_a_notification_recorded_before_it(record: Record) -> None:
    """Before its end, a replay waits for a notification that the recorded client sent."""
    live = record("""
        1-2 handshake
        3 -> _demo/quit {}
        <- end
    """).replay()
    live.check("""
        -> 1
        <- 2
        .. 500ms
        -> 3
        <- end
    """)
    assert live.divergences == []


def test_an_unanswered_request_is_reported(record: Record) -> None:
    """If a request has no recorded answer, a replay leaves it open and notes this in its report."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        <- end
    """).replay()
    assert live.send(1, 3) == ["<- 2", "<- end"]
    assert live.report.verdict == "clean"
    assert live.informed == ["unanswered in connection 3"]


def test_a_half_answered_batch_is_a_divergence(record: Record) -> None:
    """If one request of a recorded JSON-RPC batch never comes, a replay reports a divergence."""
    live = record(r"""
        1-2 handshake
        3 -> | [{"jsonrpc":"2.0","id":1,"method":"_a"},{"jsonrpc":"2.0","id":2,"method":"_b"}]
        4 <- | [{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]
    """).replay()
    assert live.send(
        1,
        "#1 _a",
    ) == ["<- 2"]
    live.leave()
    assert live.mismatches == ["unplayed primary in connection 4"]


@pytest.mark.parametrize("order", list(Order))
def test_an_early_end_does_not_change_the_verdict(record: Record, order: Order) -> None:
    """If a client leaves before an optional request, a replay notes the request as missing.

    The replay does not diverge.
    """
    live = record("""
        1-2 handshake
        3 -> #1 session/list {}
        4 -> #2 providers/list {}
        5 <- #1 result {"sessions": []}
        6 <- #2 result {"providers": []}
    """).replay(1, 4, order=order)
    live.leave()
    assert live.mismatches == []
    assert live.informed == ["missing-expected in connection 3"]
    assert live.report.unplayed == 1


def test_an_incomplete_recording_ends_without_optional_requests(record: Record) -> None:
    """If a client omits an optional request, an incomplete recording's replay is `incomplete`."""
    live = record(LISTED).replay(1, 3)
    live.leave()
    result = report(live.engine, "recorded", is_incomplete=True)
    assert (result.verdict, result.exit_code, result.unplayed) == ("incomplete", 3, 1)
