"""Tests when a replay sends its frames: lanes, replies and optional messages decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.playback.shared.playback_options import Order

if TYPE_CHECKING:
    from tests.support.playbook import Record

TWO_SESSIONS = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "a"}
    5 -> #2 session/new {"cwd": "/q", "mcpServers": []}
    6 <- #2 result {"sessionId": "b"}
    7 -> #3 session/prompt {"sessionId": "a", "prompt": [{"type": "text", "text": "one"}]}
    8 -> #4 session/prompt {"sessionId": "b", "prompt": [{"type": "text", "text": "two"}]}
    9 <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan", "entries": []}}
    10 <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan", "entries": []}}
    11 <- #4 result {"stopReason": "end_turn"}
    12 <- #3 result {"stopReason": "end_turn"}
"""


def test_a_replay_begins_with_the_client(record: Record) -> None:
    """A replay sends no frame before the client's first message."""
    live = record(TWO_SESSIONS).replay()
    live.check(".. 20s")


def test_each_message_releases_the_frames_after_it(record: Record) -> None:
    """In a replay, a frame waits for the client's messages that were recorded before it."""
    live = record(TWO_SESSIONS).replay()
    live.check("""
        1-7
        <- 10
        <- 12
        -> 8
        <- 9
        <- 11
        -> end
        <- end
    """)
    assert live.divergences == []


def test_sessions_do_not_wait_for_each_other(record: Record) -> None:
    """In a replay of two sessions, a session continues even if the other gets no message."""
    live = record(TWO_SESSIONS).replay(1, 3, 5)
    live.check("""
        -> 8
        <- 9
        <- 11
        .. 20s
        -> 7
        <- 10
        <- 12
    """)
    assert live.mismatches == []


def test_recorded_order_keeps_the_order_of_all_frames(record: Record) -> None:
    """With `replay --order recorded`, a frame waits for every frame recorded before it."""
    live = record(TWO_SESSIONS).replay(1, 3, 5, order=Order.RECORDED)
    live.check("""
        -> 8
        -> 7
        9-12
    """)
    assert live.mismatches == []


def test_equal_requests_for_sessions_match_in_recorded_order(record: Record) -> None:
    """If a client opens sessions by equal requests, a replay matches them in the recorded order."""
    live = record("""
        1 -> #"i" initialize {"protocolVersion": 1}
        2 <- #"i" result {"protocolVersion": 1}
        3 -> #"x" session/new {"cwd": "/p", "mcpServers": []}
        4 -> #"y" session/new {"cwd": "/p", "mcpServers": []}
        5 <- #"y" result {"sessionId": "second"}
        6 <- #"x" result {"sessionId": "first"}
        7 -> #"z" session/prompt {"sessionId": "second", "prompt": []}
        8 <- #"z" result {"stopReason": "end_turn"}
    """).replay()
    live.check("""
        -> 1
        <- 2
        -> #"y" session/new {"cwd": "/p", "mcpServers": []}
        <- #"y" result {"sessionId": "first"}
        -> #"x" session/new {"cwd": "/p", "mcpServers": []}
        <- #"x" result {"sessionId": "second"}
        -> #"z" session/prompt {"sessionId": "second", "prompt": []}
        <- 8
        -> end
        <- end
    """)
    assert live.mismatches == []


INTERCHANGEABLE = """
    1-2 handshake
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "a"}
    5 -> #2 session/new {"cwd": "/p", "mcpServers": []}
    6 <- #2 result {"sessionId": "b"}
    7 -> #3 session/set_mode {"sessionId": "a", "modeId": "code"}
    8 <- #3 result {}
    9 -> #4 session/set_mode {"sessionId": "b", "modeId": "code"}
    10 <- #4 result {}
    11 -> #5 session/prompt {"sessionId": "a", "prompt": []}
    12 <- session/update {"sessionId": "a", "update": {"sessionUpdate": "plan"}}
    13 <- #5 result {"stopReason": "end_turn"}
"""


def test_sessions_with_equal_histories_are_interchangeable(record: Record) -> None:
    """If a client uses two sessions in swapped roles, a replay plays each in its new role.

    The messages of the two sessions must have been equal so far.
    """
    live = record(INTERCHANGEABLE).replay(1, 3, 5, 7, 9)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
        <- #9 result {"stopReason": "end_turn"}
        -> end
        <- end
    """)
    assert live.mismatches == []


def test_interchangeable_sessions_may_be_in_another_directory(record: Record) -> None:
    """A replay lets two equal sessions change roles even if the client works in a new directory."""
    live = record(INTERCHANGEABLE).replay()
    elsewhere = 'session/new {"cwd": "/elsewhere", "mcpServers": []}'
    live.send(1, f"#1 {elsewhere}", f"#2 {elsewhere}", 7, 9)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
        <- #9 result {"stopReason": "end_turn"}
    """)


def test_sessions_with_other_histories_are_not_interchangeable(record: Record) -> None:
    """If two sessions already had different messages, a replay does not let them change roles."""
    live = record(INTERCHANGEABLE).replay(1, 3, 5, 7)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- refusal #9
    """)
    assert live.mismatches == ["unmatched primary in b 9"]


def test_updates_may_precede_the_reply_that_creates_their_session(record: Record) -> None:
    """Replayed updates of a session wait for the request that creates it, not for its answer."""
    live = record("""
        1-2 handshake
        3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
        4 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        5 <- #1 result {"sessionId": "s"}
    """).replay()
    live.check("""
        -> 1
        <- 2
        .. 5s
        3-5
    """)


def test_an_update_after_the_turn_goes_out_at_once(record: Record) -> None:
    """In a replay, an update after the end of a turn is sent without waiting for a message."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #2 result {"stopReason": "end_turn"}
        7 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "session_info_update"}}
        8 -> #3 session/prompt {"sessionId": "s", "prompt": []}
        9 <- #3 result {"stopReason": "end_turn"}
    """).replay(1, 3)
    live.check("""
        5-9
    """)


def test_replies_keep_their_recorded_order(record: Record) -> None:
    """A replay sends responses in the recorded order, even if the requests had another order."""
    live = record("""
        1-4 session
        5 -> #2 session/set_mode {"sessionId": "s", "modeId": "x"}
        6 -> #3 session/set_mode {"sessionId": "s", "modeId": "y"}
        7 <- #3 result {"second": 1}
        8 <- #2 result {"first": 1}
    """).replay(1, 3)
    live.check("""
        5-8
    """)


def test_one_id_may_be_open_in_both_directions(record: Record) -> None:
    """If open requests of client and agent have the same recorded id, a replay does not diverge."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #2 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
        7 -> #2 result {"content": "x"}
        8 <- #2 result {"stopReason": "end_turn"}
    """).replay(1, 3)
    live.check("""
        -> #"mine" session/prompt {"sessionId": "s", "prompt": []}
        <- 6
        -> 7
        <- #"mine" result {"stopReason": "end_turn"}
    """)
    assert live.mismatches == []


def test_an_id_that_the_agent_uses_twice_is_answered_twice(record: Record) -> None:
    """If two open requests of the agent have one id, a replay accepts an answer to each of them."""
    recorded = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #7 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
        7 <- #7 fs/read_text_file {"sessionId": "s", "path": "/p/b"}
        8 -> #7 result {"content": "a"}
        9 -> #7 result {"content": "b"}
        10 <- #2 result {"stopReason": "end_turn"}
    """)
    live = recorded.replay(1, 3)
    live.check("""
        5-10
    """)
    assert live.divergences == []


HISTORY_PANEL = """
    1-2 handshake
    3 -> #1 session/list {}
    4 -> #2 session/new {"cwd": "/p"}
    5 -> #3 providers/list {}
    6 <- #1 result {"sessions": []}
    7 <- #3 result {"providers": []}
    8 <- #2 result {"sessionId": "s"}
"""


def test_an_optional_request_may_be_left_out(record: Record) -> None:
    """In a replay, a client may leave out an optional request."""
    live = record(HISTORY_PANEL).replay()
    live.check("""
        -> 1
        <- 2
        -> 4
        <- 8
        -> end
        <- end
    """)
    assert live.mismatches == []
    assert live.informed == [
        "missing-expected in connection 3",
        "missing-expected in connection 5",
    ]
    assert live.report.verdict == "clean"


def test_requests_in_flight_together_keep_their_order(record: Record) -> None:
    """If overlapping requests come swapped within a second, a replay answers in recorded order."""
    live = record(HISTORY_PANEL).replay()
    live.check("""
        -> 1
        <- 2
        -> 5
        .. 999ms
        -> 3
        <- 6
        <- 7
    """)
    assert live.divergences == []


def test_a_missing_optional_request_delays_by_a_second_only(record: Record) -> None:
    """If an optional request is missing, a replay delays later responses by one second only."""
    live = record(HISTORY_PANEL).replay()
    live.check("""
        -> 1
        <- 2
        -> 5
        .. 999ms
        .. 1ms
        <- 7
        .. 5s
        -> 3
        <- 6
    """)
    assert live.mismatches == []
    assert live.informed == ["late in connection 3"]
    late = live.divergences[-1]
    assert late.summary.endswith(" came after the replay had stopped waiting for it")


def test_recorded_order_passes_optional_requests(record: Record) -> None:
    """`replay --order recorded` waits only a second for a missing optional request."""
    live = record(HISTORY_PANEL).replay(order=Order.RECORDED)
    live.check("""
        -> 1
        <- 2
        -> 4
        .. 1s
        <- 8
        -> 3
        <- 6
        -> end
        <- end
    """)
    assert live.mismatches == []


def test_initialize_may_come_twice(record: Record) -> None:
    """A replay also answers a second `initialize` request."""
    live = record("""
        1 -> #0 initialize {"protocolVersion": 1}
        2 <- #0 result {"protocolVersion": 1, "first": true}
        3 -> #1 initialize {"protocolVersion": 1}
        4 <- #1 result {"protocolVersion": 1}
    """).replay()
    live.check("""
        1-4
    """)
    live.leave()
    assert live.divergences == []


def test_nothing_goes_out_before_the_handshake(record: Record) -> None:
    """A replay sends no frames of a session before `initialize` has been answered."""
    live = record(TWO_SESSIONS).replay()
    live.check("""
        -> 3
        -> 1
        <- 2
        <- 4
    """)
    assert live.mismatches == []


def test_frames_recorded_before_the_handshake_go_out_before_it(record: Record) -> None:
    """A frame that was recorded before the answer to `initialize` is replayed before the answer."""
    live = record("""
        1 <- _auth/status_update {"state": "out"}
        2 -> #0 initialize {"protocolVersion": 1}
        3 <- _auth/status_update {"state": "in"}
        4 <- #0 result {"protocolVersion": 1}
    """).replay()
    live.check("""
        1-4
    """)


def test_a_client_may_pipeline(record: Record) -> None:
    """If a client sends all messages at once, in reverse, a replay keeps the order of frames."""
    live = record("""
        1-2 handshake
        3 -> #1 session/load {"sessionId": "s", "cwd": "/p", "mcpServers": []}
        4 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan"}}
        5 <- #1 result {}
        6 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        7 <- #2 result {"stopReason": "end_turn"}
    """).replay()
    live.check("""
        -> 6
        -> 3
        -> 1
        <- 2
        <- 4
        <- 5
        <- 7
        -> end
        <- end
    """)
    assert live.mismatches == []
    assert live.informed == ["early in s 6"]
    (divergence,) = live.divergences
    assert divergence.summary.endswith(" came before earlier recorded messages")


def test_notifications_of_the_client_block_nothing(record: Record) -> None:
    """In a replay, no frame waits for a notification of the client."""
    text = """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 -> _focus {"sessionId": "s"}
        7 <- #2 result {"stopReason": "end_turn"}
    """
    for last in ([], [6]):
        live = record(text).replay()
        live.send(1, 3)
        live.check("""
            -> 5
            <- 7
        """)
        live.send(*last)
        live.leave()
        assert live.divergences == []


def test_the_lane_of_a_fork_begins_with_its_request(record: Record) -> None:
    """In a replay, updates of a forked session wait for the request `session/fork`."""
    live = record("""
        1-4 session
        5 -> #2 session/fork {"sessionId": "s", "cwd": "/p"}
        6 <- session/update {"sessionId": "t", "update": {"sessionUpdate": "plan"}}
        7 <- #2 result {"sessionId": "t"}
        8 -> #3 session/prompt {"sessionId": "t", "prompt": []}
        9 <- #3 result {"stopReason": "end_turn"}
    """).replay()
    live.check("""
        1-9
        -> end
        <- end
    """)
    assert live.divergences == []


def test_an_unanswered_request_stays_unanswered(record: Record) -> None:
    """If a request has no recorded answer, a replay does not answer it."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #0 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
    """).replay(1, 3)
    live.check("""
        -> 5
        <- 6
        -> #0 result {"content": "after all"}
        -> end
        <- end
    """)
    assert live.mismatches == []
    assert live.informed == ["drift in s 6", "unanswered in s 5"]


def test_a_connection_without_sessions_is_played_to_its_end(record: Record) -> None:
    """If a recording without sessions ends with 1,000 notifications, a replay sends them all."""
    noise = "\n".join(f'{n} <- _tick {{"n": {n}}}' for n in range(3, 1003))
    live = record(f"""
        1-2 handshake
        {noise}
    """).replay()
    assert live.send(1) == [f"<- {n}" for n in range(2, 1003)]
