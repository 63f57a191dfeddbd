"""Playbooks: a replay ends as the recorded agent did, and says what it left unanswered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.engine.agent.report import report
from acp_proxy.engine.shared.playback_options import Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript

LISTED = """
    1-4 session
    5 -> #2 session/list {}
    6 <- #2 result {"sessions": []}
"""
"""The last request is one that a client may leave out."""


@pytest.mark.parametrize("told", ["-> SIGTERM", "-> SIGINT", "-> SIGHUP", "-> end"])
def test_an_agent_that_was_told_to_stop_waits_to_be_told(
    record: Callable[..., RecordedTranscript], told: str
) -> None:
    """However late the last optional request comes, it is answered; the client's end is the end."""
    live = record(LISTED + f"{told}\n<- end").replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        .. 100000s
        -> 5
        <- 6
        .. 100000s
        -> end
        <- end
    """)
    assert live.divergences == []
    assert (live.report.verdict, live.report.unplayed) == ("clean", 0)


def test_a_signal_that_stops_nobody_is_no_goodbye(
    record: Callable[..., RecordedTranscript],
) -> None:
    """An agent that was told that its window has changed, and exited later, did so by itself."""
    live = record(LISTED + "-> SIGWINCH\n<- end").replay()
    assert live.say(1, 3, 5) == ["<- 2", "<- 4", "<- 6", "<- end"]


def test_a_crash_comes_after_the_last_frame(record: Callable[..., RecordedTranscript]) -> None:
    """The agent ended by itself, and its replay does as soon as all has come and is said."""
    live = record(LISTED + "<- end\n-> SIGTERM").replay()
    assert live.say(1, 3, 5) == ["<- 2", "<- 4", "<- 6", "<- end"]
    assert live.divergences == []


def test_an_agent_that_ends_by_itself_waits_a_second_for_what_may_be_left_out(
    record: Callable[..., RecordedTranscript],
) -> None:
    """An optional request that comes in time is answered, as it was; the end follows it."""
    live = record(LISTED + "<- end").replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        .. 999ms
        -> 5
        <- 6
        <- end
    """)
    assert live.divergences == []


def test_what_was_left_out_is_named_when_the_agent_ends_by_itself(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A second after the last message the agent ends; its answer that nobody asked for is named."""
    recorded = record(LISTED + "<- end")
    live = recorded.replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        .. 999ms
        .. 1ms
        <- end
    """)
    assert (live.report.verdict, live.report.unplayed) == ("clean", 1)
    assert live.informed == ["missing-expected in connection 5"]
    (left_out,) = live.divergences
    assert left_out.summary == (
        f"the client never sent session/list #{recorded.seq(5)}, and need not have;"
        f" its answer #{recorded.seq(6)} was not played"
    )


def test_a_notification_that_was_recorded_before_the_end_may_still_come(
    record: Callable[..., RecordedTranscript],
) -> None:
    """An agent that a notification has made to exit does not exit before it."""
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


def test_a_request_that_was_never_answered_is_named(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What the recorded agent left unanswered is left so again, and is clean but not unsaid."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p"}
        <- end
    """).replay()
    assert live.say(1, 3) == ["<- 2", "<- end"]
    assert live.report.verdict == "clean"
    assert live.informed == ["unanswered in connection 3"]


def test_a_batch_that_is_answered_in_part_is_not_clean(
    record: Callable[..., RecordedTranscript],
) -> None:
    """One request of a batch came, the other did not, and their one answer never went out."""
    live = record(r"""
        1-2 handshake
        3 -> | [{"jsonrpc":"2.0","id":1,"method":"_a"},{"jsonrpc":"2.0","id":2,"method":"_b"}]
        4 <- | [{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":2}]
    """).replay()
    assert live.say(
        1,
        "#1 _a",
    ) == ["<- 2"]
    live.leave()
    assert live.found == ["unplayed primary in connection 4"]


@pytest.mark.parametrize("order", list(Order))
def test_how_fast_a_client_leaves_changes_no_verdict(
    record: Callable[..., RecordedTranscript], order: Order
) -> None:
    """Frames that waited for an optional request go out at the end, also within the second."""
    live = record("""
        1-2 handshake
        3 -> #1 session/list {}
        4 -> #2 providers/list {}
        5 <- #1 result {"sessions": []}
        6 <- #2 result {"providers": []}
    """).replay(order=order)
    live.say(1, 4)
    live.leave()
    assert live.found == []
    assert live.informed == ["missing-expected in connection 3"]
    assert live.report.unplayed == 1


def test_an_incomplete_recording_is_played_to_its_end_without_what_may_be_left_out(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The recorder was killed after an answer that nobody has to ask for."""
    live = record(LISTED).replay()
    live.say(1, 3)
    live.leave()
    found = report(live.engine, "recorded", is_incomplete=True)
    assert (found.verdict, found.exit_code, found.unplayed) == ("incomplete", 3, 1)
