# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""A replay reports how its client differs from the recording, and other sessions continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

CHAT = """
    1 -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {"terminal": true}, "clientInfo": {"name": "a", "version": "1"}}
    2 <- #0 result {"protocolVersion": 1}
    3 -> #1 session/new {"cwd": "/p", "mcpServers": []}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "one"}], "n": 1}
    6 <- #2 result {"stopReason": "end_turn"}
    7 -> #3 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "two"}]}
    8 <- #3 result {"stopReason": "end_turn"}
"""
SECOND = """
    9 -> #4 session/new {"cwd": "/q", "mcpServers": []}
    10 <- #4 result {"sessionId": "t"}
    11 -> #5 session/prompt {"sessionId": "t", "prompt": []}
    12 <- #5 result {"stopReason": "end_turn"}
"""


def begun(record: Record, text: str = CHAT, **options: object) -> Live:
    """Returns a replay whose client has sent the request that creates a session."""
    return record(text).replay(1, 3, **options)


def test_an_error_for_other_params_names_both_sides(record: Record) -> None:
    """If the params of a request are unrecorded, a replay refuses it and names both values."""
    live = begun(record)
    live.check("""
        -> #7 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "none"}], "n": 1}
        <- refusal #7
    """)  # fmt: skip
    assert live.mismatches == ["params-differ primary in s 5"]
    (divergence,) = live.divergences
    assert divergence.summary == (
        f"the recording expected session/prompt #{divergence.seq}; the client sent another message"
    )
    assert live.near(divergence) == [5, 7]
    (difference,) = divergence.near_misses[0].differences
    assert difference.pointer == "/params/prompt/0/text"
    assert (difference.recorded, difference.live) == ('"one"', '"none"')
    assert divergence.ignores == ("--ignore /params/prompt/0/text",)
    assert divergence.line == 3
    assert b'"pointer":"/params/prompt/0/text"' in live.bytes


def test_the_code_of_a_refusal_is_not_reserved(record: Record) -> None:
    """A replay refuses a request with an error code that neither JSON-RPC nor ACP reserves."""
    live = begun(record)
    live.send('#7 session/prompt {"sessionId": "s"}')
    assert b'"error":{"code":-31999,' in live.bytes


def test_later_divergences_of_a_session_are_cascades(record: Record) -> None:
    """After the first divergence of a session, a replay counts later ones as consequences."""
    live = begun(record)
    live.check("""
        -> #7 session/prompt {"sessionId": "s", "prompt": []}
        <- refusal #7
        -> 7
        <- refusal #3
    """)
    assert live.mismatches == ["params-differ primary in s 5", "unmatched cascade in s"]


def test_another_session_continues(record: Record) -> None:
    """If one session of a replay diverges, the other sessions continue."""
    live = begun(record, CHAT + SECOND)
    live.check("""
        -> #7 session/prompt {"sessionId": "s", "prompt": []}
        <- refusal #7
        9-12
        -> end
        <- end
    """)
    assert live.mismatches == ["params-differ primary in s 5"]


def test_open_requests_of_an_abandoned_session_are_answered(record: Record) -> None:
    """If a session diverges, a replay answers the session's open requests with errors."""
    live = begun(record, """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 -> #3 session/set_mode {"sessionId": "s", "modeId": "x"}
        7 <- #3 result {}
        8 <- #2 result {"stopReason": "end_turn"}
    """)  # fmt: skip
    live.check("""
        -> 5
        -> #3 session/set_mode {"sessionId": "s", "modeId": "y"}
        <- refusal #3
        <- refusal #2
    """)
    assert live.mismatches == ["params-differ primary in s 6"]


def test_a_repeated_message_is_exhausted(record: Record) -> None:
    """If a client repeats a message, a replay reports that it came more often than recorded."""
    live = begun(record)
    live.check("""
        -> 5
        <- 6
        -> 5
        <- refusal #2
    """)
    assert live.mismatches == ["exhausted primary in s 5"]
    (divergence,) = live.divergences
    assert divergence.summary == (
        f"the client sent session/prompt #{divergence.seq} more often than recorded"
    )
    assert live.near(divergence) == [7, 5]
    assert [miss.is_played for miss in divergence.near_misses] == [False, True]


def test_an_unrecorded_method_is_unmatched(record: Record) -> None:
    """If a client calls a method that was not recorded, a replay refuses and reports the call."""
    live = begun(record)
    live.check("""
        -> #9 session/set_mode {"sessionId": "s", "modeId": "x"}
        <- refusal #9
    """)
    assert live.mismatches == ["unmatched primary in s 5"]
    (divergence,) = live.divergences
    assert (
        divergence.summary
        == "the client sent session/set_mode, which was not recorded at this point"
    )
    assert '"session/set_mode"' in (divergence.came or "")
    assert (divergence.line, divergence.near_misses) == (3, ())


@pytest.mark.parametrize(
    ("method", "member", "secret"),
    [
        ("session/load", "mcpServers", '[{"name": "x", "env": [{"name": "A", "value": "b"}]}]'),
        ("authenticate", "credentials", '{"apiKey": "secret"}'),
    ],
)
def test_the_line_that_came_has_no_credentials(
    record: Record, method: str, member: str, secret: str
) -> None:
    """If a replay reports a line of its client, credentials in the line are masked."""
    live = begun(record)
    line = (
        f'{{"jsonrpc": "2.0", "id":9, "method":"{method}", "params": {{"x":"s", "{member}":%s}}}}'
    )
    live.send(f"| {line % secret}")
    (divergence,) = live.divergences
    came = divergence.came or ""
    assert came.startswith(line.partition("%s")[0])
    assert secret not in came
    assert "(hidden)" in came or "[redacted:" in came


def test_an_unrecorded_session_id_is_refused(record: Record) -> None:
    """If a request names a session that was not recorded, a replay refuses only this request."""
    live = begun(record)
    live.check("""
        -> #9 session/prompt {"sessionId": "nobody", "prompt": []}
        <- refusal #9
        -> 5
        <- 6
    """)
    assert live.mismatches == ["unmatched primary in connection"]


def test_an_unexpected_notification_abandons_nothing(record: Record) -> None:
    """A replay reports an unexpected notification, but the session of this message continues."""
    live = begun(record)
    live.check("""
        -> _x/typing {"sessionId": "s"}
        -> 5
        <- 6
    """)
    assert live.mismatches == ["unexpected-notification primary in s"]


def test_a_missing_message_is_reported_after_a_second(record: Record) -> None:
    """A replay reports a missing message one second after it has received a later message."""
    live = begun(record)
    live.check("""
        -> 7
        .. 999ms
        .. 1ms
        <- refusal #3
    """)
    assert live.mismatches == ["missing-expected primary in s 5"]


def test_reordered_messages_are_no_divergence(record: Record) -> None:
    """A replay accepts messages in a different order if a missing message comes within a second."""
    live = begun(record)
    live.check("""
        -> 7
        .. 900ms
        -> 5
        <- 6
        <- 8
        .. 10s
    """)
    assert live.mismatches == []


def test_each_line_restarts_the_second(record: Record) -> None:
    """After each line of the client, a replay waits another second for a missing message."""
    live = begun(record, CHAT + SECOND)
    live.check("""
        -> 7
        .. 900ms
        -> 9
        <- 10
        .. 999ms
        -> 5
        <- 6
        <- 8
    """)
    assert live.mismatches == []


def test_a_missing_message_is_reported_once(record: Record) -> None:
    """A replay reports a missing message only once, also at the end of input."""
    live = begun(record)
    live.send(7)
    live.wait("100s")
    live.leave()
    assert live.mismatches == ["missing-expected primary in s 5"]


def test_an_abandoned_session_asks_for_no_wakeup(record: Record) -> None:
    """A replay does not wait for messages of a session that has diverged."""
    live = begun(record)
    live.check("""
        -> 7
        -> #9 session/set_mode {"sessionId": "s", "modeId": "x"}
        <- refusal #9
        <- refusal #3
        .. 100s
        -> end
        <- end
    """)
    assert live.mismatches == ["unmatched primary in s 5"]


def test_lenient_skips_a_missing_exchange(record: Record) -> None:
    """`replay --lenient` skips a request that the client leaves out."""
    live = begun(record, lenient=True)
    live.check("""
        -> 7
        .. 1s
        <- 8
        -> end
        <- end
    """)
    assert live.mismatches == ["missing-expected primary in s 5"]


def test_lenient_continues_after_a_different_message(record: Record) -> None:
    """If a prompt differs from the recorded one, `replay --lenient` refuses it and plays on."""
    live = begun(record, lenient=True)
    live.check("""
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "none"}], "n": 1}
        <- refusal #2
        -> 7
        .. 1s
        <- 8
    """)  # fmt: skip
    assert live.mismatches == ["params-differ primary in s 5", "missing-expected cascade in s 5"]


def test_lenient_skips_a_missing_handshake(record: Record) -> None:
    """If a client never sends `initialize`, `replay --lenient` continues after one second."""
    live = record(CHAT).replay(lenient=True)
    live.check("""
        -> 3
        .. 1s
        4-6
    """)
    assert live.mismatches == ["missing-expected primary in connection 1"]


def test_a_missing_handshake_is_reported_after_a_second(record: Record) -> None:
    """If a client never sends `initialize`, a replay refuses other requests after a second."""
    live = record(CHAT).replay()
    live.check("""
        -> 3
        .. 1s
        <- refusal #1
        -> end
        <- end
    """)
    assert live.mismatches == [
        "missing-expected primary in connection 1",
        "unplayed cascade in connection 2",
    ]


def test_after_another_handshake_all_divergences_are_cascades(record: Record) -> None:
    """If the handshake differs, a replay counts all later divergences as consequences."""
    live = record(CHAT).replay()
    live.check("""
        -> #0 initialize {"protocolVersion": 1, "clientCapabilities": {"terminal": false}}
        <- refusal #0
    """)
    live.leave()
    assert live.mismatches[0] == "params-differ primary in connection 1"
    assert all(" cascade " in item for item in live.mismatches[1:])


def test_ignored_members_do_not_count(record: Record) -> None:
    """With `replay --ignore /params/prompt/*/text`, a prompt with a different text matches."""
    live = begun(record, ignored=("/params/prompt/*/text",))
    live.check("""
        -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}], "n": 1}
        <- 6
    """)
    assert live.divergences == []


def test_equal_requests_match_in_recorded_order(record: Record) -> None:
    """If a client makes equal requests, a replay answers them in the recorded order."""
    live = begun(record, """
        1-4 session
        5 -> #2 _again {"sessionId": "s"}
        6 -> #3 _again {"sessionId": "s"}
        7 <- #2 result {"first": true}
        8 <- #3 result {"second": true}
    """)  # fmt: skip
    live.check("""
        -> #8 _again {"sessionId": "s"}
        -> #9 _again {"sessionId": "s"}
        <- #8 result {"first": true}
        <- #9 result {"second": true}
    """)


def test_an_invalid_line_gets_a_parse_error(record: Record) -> None:
    """If a client sends an invalid line, a replay answers with a parse error."""
    live = begun(record)
    live.check(r"""
        -> | this is not JSON
        <- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
        -> | \xff\xfe
        <- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
        -> []
        <- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}
        -> 5
        <- 6
    """)
    assert live.mismatches == [
        "malformed-input primary in connection",
        "malformed-input cascade in connection",
        "malformed-input cascade in connection",
    ]


def test_blank_lines_of_a_client_are_skipped(record: Record) -> None:
    """A replay ignores an empty line of the client."""
    live = begun(record)
    live.send("| ", "| \\x20\\r", 5)
    assert live.divergences == []


def test_a_recorded_invalid_line_gets_the_recorded_answer(record: Record) -> None:
    """If a client repeats a recorded invalid line, a replay sends the recorded answer."""
    recorded = record(r"""
        1-2 handshake
        3 -> | what?
        4 <- {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"says the agent"}}
        5 -> | never mind
        6 -> []
        7 -> #1 session/new {"cwd": "/p"}
        8 <- #1 result {"sessionId": "s"}
    """)
    live = recorded.replay()
    live.check("""
        -> 1
        <- 2
        .. 5s
        3-8
        -> end
        <- end
    """)
    assert live.divergences == []
    sober = recorded.replay()
    sober.send(1, 7)
    sober.leave()
    assert sober.mismatches == []


def test_a_reply_to_no_open_request_is_reported(record: Record) -> None:
    """If a client's response answers no open request, a replay reports the response as unknown."""
    live = begun(record)
    live.check("""
        -> #99 result {}
        -> 5
        <- 6
    """)
    assert live.mismatches == ["unknown-reply-id primary in connection"]


def test_a_recorded_reply_to_no_request_matches(record: Record) -> None:
    """In a replay, a recorded response that belongs to no request matches, or may be omitted."""
    text = """
        1-2 handshake
        3 <- | Starting up...
        4 -> {"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}}
        5 -> #1 session/new {"cwd": "/p"}
        6 <- #1 result {"sessionId": "s"}
    """
    for said in ((1, 4, 5), (1, 5)):
        live = record(text).replay()
        assert live.send(*said) == ["<- 2", "<- 3", "<- 6"]
        live.leave()
        assert live.divergences == []


def test_a_stall_names_what_each_lane_waits_for(record: Record) -> None:
    """If a replay and its client wait for each other, the report names what each session awaits."""
    live = begun(record, CHAT + SECOND)
    live.send(5, 9)
    live.check("""
        .. 29.999s
        .. 1ms
        <- end
    """)
    assert live.mismatches == ["stall primary in s 7", "stall primary in t 11"]
    report = live.report
    assert (report.verdict, report.exit_code, report.unplayed) == ("stalled", 3, 2)
    assert [(wait.lane, wait.waits_for, wait.method) for wait in report.waits] == [
        ("s", "client", "session/prompt"),
        ("t", "client", "session/prompt"),
    ]


def test_without_a_stall_timeout_a_replay_never_stalls(record: Record) -> None:
    """Without a stall timeout, a replay waits for its client without a limit."""
    live = begun(record, stall_ns=None)
    live.check("""
        .. 1000000s
        -> 5
        <- 6
    """)
    assert live.mismatches == []


def test_a_client_may_be_silent_after_the_last_message(record: Record) -> None:
    """After the last message, the client of a replay may be silent for any time."""
    live = begun(record)
    live.send(5, 7)
    live.wait("1000000s")
    live.leave()
    assert live.divergences == []


def test_the_end_of_input_reports_what_was_left(record: Record) -> None:
    """At the end of its input, a replay reports all recorded messages that did not come."""
    live = begun(record, CHAT + SECOND)
    live.check("""
        -> end
        <- end
    """)
    assert live.mismatches == [
        "missing-expected primary in s 5",
        "missing-expected primary in t 9",
        "unplayed cascade in s 6",
        "unplayed cascade in t 10",
    ]
    assert live.report.unplayed == 4
    assert live.report.exit_code == 1


def test_a_replay_sends_nothing_after_its_end(record: Record) -> None:
    """After the end of its input, a replay sends nothing, even if another message comes."""
    live = begun(record)
    live.leave()
    assert live.send(5) == []
    assert live.wait("100s") == []


def test_a_thousand_invalid_lines_do_not_hide_a_divergence(record: Record) -> None:
    """After 1100 invalid lines, a replay still reports the first divergence of a session."""
    live = begun(record)
    live.send(*["| garbage"] * 1100)
    live.send('#7 session/prompt {"sessionId": "s", "prompt": []}')
    assert live.mismatches[-1] == "params-differ primary in s 5"
    assert live.report.left_out == 100
    assert live.report.verdict == "diverged"
