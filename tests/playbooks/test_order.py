# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Which frame goes out when: lanes, replies, the handshake, and what a client may leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.engine.shared.playback_options import Order

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript

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


def test_a_replay_begins_with_silence(record: Callable[..., RecordedTranscript]) -> None:
    """Nothing goes out before the client has said something."""
    live = record(TWO_SESSIONS).replay()
    live.check(".. 20s")


def test_each_message_releases_what_followed_it(record: Callable[..., RecordedTranscript]) -> None:
    """A client that says what was said hears what was answered, frame by frame."""
    live = record(TWO_SESSIONS).replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        -> 5
        <- 6
        -> 7
        <- 10
        <- 12
        -> 8
        <- 9
        <- 11
        -> end
        <- end
    """)
    assert live.divergences == []


def test_two_sessions_do_not_wait_for_each_other(record: Callable[..., RecordedTranscript]) -> None:
    """The turn of one session goes on whatever the other's client does."""
    live = record(TWO_SESSIONS).replay()
    live.say(1, 3, 5)
    live.check("""
        -> 8
        <- 9
        <- 11
        .. 20s
        -> 7
        <- 10
        <- 12
    """)
    assert live.found == []


def test_recorded_order_keeps_all_frames_in_theirs(
    record: Callable[..., RecordedTranscript],
) -> None:
    """With ``--order recorded`` a frame waits for every frame before it, whatever its session."""
    live = record(TWO_SESSIONS).replay(order=Order.RECORDED)
    live.say(1, 3, 5)
    live.check("""
        -> 8
        -> 7
        <- 9
        <- 10
        <- 11
        <- 12
    """)
    assert live.found == []


def test_causal_order_waits_for_requests_alone(record: Callable[..., RecordedTranscript]) -> None:
    """With ``--order causal`` only a reply waits, and what stands behind it in its session."""
    live = record(TWO_SESSIONS).replay(order=Order.CAUSAL)
    live.check("""
        -> 1
        <- 2
        -> 5
        <- 6
        <- 9
        -> 8
        <- 11
        -> 3
        <- 4
        <- 10
        -> 7
        <- 12
    """)


def test_two_equal_session_new_and_swapped_replies(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A client asks for two sessions at once, is answered the wrong way round, and all is well."""
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
    assert live.found == []


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


def test_sessions_with_the_same_history_are_interchangeable(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A prompt that comes in the twin of the session it was recorded in swaps the two."""
    live = record(INTERCHANGEABLE).replay()
    live.say(1, 3, 5, 7, 9)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
        <- #9 result {"stopReason": "end_turn"}
        -> end
        <- end
    """)
    assert live.found == []


def test_twins_are_interchangeable_in_another_directory(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Where the client works has nothing to do with whether two sessions are alike."""
    live = record(INTERCHANGEABLE).replay()
    elsewhere = 'session/new {"cwd": "/elsewhere", "mcpServers": []}'
    live.say(1, f"#1 {elsewhere}", f"#2 {elsewhere}", 7, 9)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- session/update {"sessionId": "b", "update": {"sessionUpdate": "plan"}}
        <- #9 result {"stopReason": "end_turn"}
    """)


def test_sessions_with_other_histories_are_not_interchangeable(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Once something else was said in one of them, a session is itself alone."""
    live = record(INTERCHANGEABLE).replay()
    live.say(1, 3, 5, 7)
    live.check("""
        -> #9 session/prompt {"sessionId": "b", "prompt": []}
        <- refusal #9
    """)
    assert live.found == ["unmatched primary in b 9"]


def test_updates_come_before_the_reply_that_creates_their_session(
    record: Callable[..., RecordedTranscript],
) -> None:
    """They wait for the request, and go out in their place."""
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
        -> 3
        <- 4
        <- 5
    """)


def test_an_update_after_the_turn_comes_without_another_word(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A turn is not over when its answer has passed."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #2 result {"stopReason": "end_turn"}
        7 <- session/update {"sessionId": "s", "update": {"sessionUpdate": "session_info_update"}}
        8 -> #3 session/prompt {"sessionId": "s", "prompt": []}
        9 <- #3 result {"stopReason": "end_turn"}
    """).replay()
    live.say(1, 3)
    live.check("""
        -> 5
        <- 6
        <- 7
        -> 8
        <- 9
    """)


def test_replies_go_out_of_order_as_they_did(record: Callable[..., RecordedTranscript]) -> None:
    """The reply that was recorded first goes first, though it was asked for last."""
    live = record("""
        1-4 session
        5 -> #2 session/set_mode {"sessionId": "s", "modeId": "x"}
        6 -> #3 session/set_mode {"sessionId": "s", "modeId": "y"}
        7 <- #3 result {"second": 1}
        8 <- #2 result {"first": 1}
    """).replay()
    live.say(1, 3)
    live.check("""
        -> 5
        -> 6
        <- 7
        <- 8
    """)


def test_the_same_id_is_open_in_both_directions(record: Callable[..., RecordedTranscript]) -> None:
    """Both sides number their own requests; a reply belongs to the request of the other side."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #2 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
        7 -> #2 result {"content": "x"}
        8 <- #2 result {"stopReason": "end_turn"}
    """).replay()
    live.say(1, 3)
    live.check("""
        -> #"mine" session/prompt {"sessionId": "s", "prompt": []}
        <- 6
        -> 7
        <- #"mine" result {"stopReason": "end_turn"}
    """)
    assert live.found == []


def test_an_id_that_the_agent_uses_twice_is_answered_twice(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Of two open requests with one id, a reply answers the older one."""
    recorded = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #7 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
        7 <- #7 fs/read_text_file {"sessionId": "s", "path": "/p/b"}
        8 -> #7 result {"content": "a"}
        9 -> #7 result {"content": "b"}
        10 <- #2 result {"stopReason": "end_turn"}
    """)
    live = recorded.replay()
    live.say(1, 3)
    live.check("""
        -> 5
        <- 6
        <- 7
        -> 8
        -> 9
        <- 10
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


def test_a_history_panel_need_not_be_opened(record: Callable[..., RecordedTranscript]) -> None:
    """A request of the connection that nobody depends on may be left out; that is told, no more."""
    live = record(HISTORY_PANEL).replay()
    live.check("""
        -> 1
        <- 2
        -> 4
        <- 8
        -> end
        <- end
    """)
    assert live.found == []
    assert live.informed == [
        "missing-expected in connection 3",
        "missing-expected in connection 5",
    ]
    assert live.report.verdict == "clean"


def test_what_was_in_flight_together_stays_in_order(
    record: Callable[..., RecordedTranscript],
) -> None:
    """A reply waits a second for another request that was open in the recording, and not longer."""
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


def test_a_request_that_is_left_out_holds_nothing_up(
    record: Callable[..., RecordedTranscript],
) -> None:
    """After a second of silence the reply that waits for it goes out; asked late, it is answered."""
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
    assert live.found == []
    assert live.informed == ["late in connection 3"]


def test_recorded_order_lets_pass_what_is_left_out(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Also in recorded order nobody waits for a history panel longer than a second."""
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
    assert live.found == []


def test_initialize_twice(record: Callable[..., RecordedTranscript]) -> None:
    """A client that initializes twice is answered twice."""
    live = record("""
        1 -> #0 initialize {"protocolVersion": 1}
        2 <- #0 result {"protocolVersion": 1, "first": true}
        3 -> #1 initialize {"protocolVersion": 1}
        4 <- #1 result {"protocolVersion": 1}
    """).replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
    """)
    live.leave()
    assert live.divergences == []


def test_nothing_goes_out_before_the_handshake(record: Callable[..., RecordedTranscript]) -> None:
    """A session is matched, and its frames wait for the reply to initialize."""
    live = record(TWO_SESSIONS).replay()
    live.check("""
        -> 3
        -> 1
        <- 2
        <- 4
    """)
    assert live.found == []


def test_the_recording_may_show_that_a_frame_came_before_the_handshake(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What the recorded agent said before its initialize reply is said again."""
    live = record("""
        1 <- _auth/status_update {"state": "out"}
        2 -> #0 initialize {"protocolVersion": 1}
        3 <- _auth/status_update {"state": "in"}
        4 <- #0 result {"protocolVersion": 1}
    """).replay()
    live.check("""
        <- 1
        -> 2
        <- 3
        <- 4
    """)


def test_a_client_may_pipeline(record: Callable[..., RecordedTranscript]) -> None:
    """A message that comes before its time is taken, and what goes out stays in order."""
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
    assert live.found == []
    assert live.informed == ["early in s 6"]


def test_notifications_of_the_client_block_nothing(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Left out, late or in time: a notification that cancels nothing is never waited for."""
    text = """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 -> _focus {"sessionId": "s"}
        7 <- #2 result {"stopReason": "end_turn"}
    """
    for last in ([], [6]):
        live = record(text).replay()
        live.say(1, 3)
        live.check("""
            -> 5
            <- 7
        """)
        live.say(*last)
        live.leave()
        assert live.divergences == []


def test_a_fork_begins_the_session_that_it_makes(record: Callable[..., RecordedTranscript]) -> None:
    """Updates of a forked session wait for the request that forks it."""
    live = record("""
        1-4 session
        5 -> #2 session/fork {"sessionId": "s", "cwd": "/p"}
        6 <- session/update {"sessionId": "t", "update": {"sessionUpdate": "plan"}}
        7 <- #2 result {"sessionId": "t"}
        8 -> #3 session/prompt {"sessionId": "t", "prompt": []}
        9 <- #3 result {"stopReason": "end_turn"}
    """).replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        -> 5
        <- 6
        <- 7
        -> 8
        <- 9
        -> end
        <- end
    """)
    assert live.divergences == []


def test_a_request_that_was_never_answered_is_not_answered(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Neither by the agent, nor does the client have to answer what it never answered."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- #0 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
    """).replay()
    live.say(1, 3)
    live.check("""
        -> 5
        <- 6
        -> #0 result {"content": "after all"}
        -> end
        <- end
    """)
    assert live.found == []
    assert live.informed == ["drift in s 6", "unanswered in s 5"]


def test_an_agent_that_died_mid_turn_dies_again(record: Callable[..., RecordedTranscript]) -> None:
    """Its output ends once all that it had said is out and the client has said its part."""
    live = record("""
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        <- end
    """).replay()
    live.check("""
        -> 1
        <- 2
        -> 3
        <- 4
        .. 5s
        -> 5
        <- end
    """)
    assert (live.found, live.informed) == ([], ["unanswered in s 5"])


def test_a_connection_without_sessions_is_played_to_its_end(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Notifications far behind the last request go out, too."""
    noise = "\n".join(f'{n} <- _tick {{"n": {n}}}' for n in range(3, 1003))
    live = record(f"""
        1-2 handshake
        {noise}
    """).replay()
    assert live.say(1) == [f"<- {n}" for n in range(2, 1003)]
