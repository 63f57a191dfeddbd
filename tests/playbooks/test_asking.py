# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In a replay, a client's reply to a request of the agent must have the recorded outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

OPTIONS = (
    '[{"optionId": "y", "kind": "allow_once"}, {"optionId": "yy", "kind": "allow_once"},'
    ' {"optionId": "a", "kind": "allow_always"}, {"optionId": "n", "kind": "reject_once"}]'
)
SELECTED = '{"outcome": {"outcome": "selected", "optionId": "%s"}}'
CANCELLED = '{"outcome": {"outcome": "cancelled"}}'


def asked(record: Record, request: str, reply: str, **options: object) -> Live:
    """Returns a replay in which the agent has just sent a request."""
    return record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s", "prompt": []}}
        6 <- #0 {request}
        7 -> #0 {reply}
        8 <- session/update {{"sessionId": "s", "update": {{}}}}
        9 <- #2 result {{"stopReason": "end_turn"}}
    """).replay(1, 3, 5, **options)


PERMISSION = f'session/request_permission {{"sessionId": "s", "options": {OPTIONS}}}'
READ = 'fs/read_text_file {"sessionId": "s", "path": "/p/f"}'
WRITE = 'fs/write_text_file {"sessionId": "s", "path": "/p/f", "content": "x"}'
WAIT = 'terminal/wait_for_exit {"sessionId": "s", "terminalId": "t"}'
ASK = 'elicitation/create {"sessionId": "s", "message": "?", "mode": "form"}'
GONE = '{"jsonrpc": "2.0", "id": 0, "error": {"code": -32002, "message": "gone"}}'


@pytest.mark.parametrize(
    ("request_", "recorded", "live_"),
    [
        (PERMISSION, SELECTED % "y", SELECTED % "y"),
        (PERMISSION, SELECTED % "y", SELECTED % "yy"),
        (PERMISSION, SELECTED % "n", SELECTED % "n"),
        (PERMISSION, CANCELLED, CANCELLED),
        (READ, '{"content": "then"}', '{"content": "now"}'),
        (WRITE, "null", "{}"),
        (WRITE, "{}", '{"_meta": {"a": 1}}'),
        (WAIT, '{"exitCode": 1}', '{"exitCode": 1.0, "signal": null}'),
        (WAIT, '{"exitCode": null, "signal": "KILL"}', '{"signal": "KILL"}'),
        (ASK, '{"action": "accept", "content": {"a": 1}}', '{"action": "accept"}'),
    ],
)
def test_a_reply_with_the_recorded_outcome_continues_the_replay(
    record: Record, request_: str, recorded: str, live_: str
) -> None:
    """If a client's reply has the recorded outcome, a replay accepts the reply and continues."""
    live = asked(record, request_, f"result {recorded}")
    live.check(f"""
        -> #0 result {live_}
        <- 8
        <- 9
        -> end
        <- end
    """)
    assert live.mismatches == []


@pytest.mark.parametrize(
    ("request_", "recorded", "live_"),
    [
        (PERMISSION, SELECTED % "y", SELECTED % "a"),
        (PERMISSION, SELECTED % "y", SELECTED % "n"),
        (PERMISSION, SELECTED % "n", SELECTED % "y"),
        (PERMISSION, SELECTED % "y", CANCELLED),
        (PERMISSION, CANCELLED, SELECTED % "y"),
        (WAIT, '{"exitCode": 0}', '{"exitCode": 1}'),
        (WAIT, '{"exitCode": 0}', '{"exitCode": null, "signal": "TERM"}'),
        (ASK, '{"action": "accept"}', '{"action": "decline"}'),
        (ASK, '{"action": "decline"}', '{"action": "cancel"}'),
    ],
)
def test_another_outcome_gives_up_the_session(
    record: Record, request_: str, recorded: str, live_: str
) -> None:
    """If a client's reply has an unrecorded outcome, a replay plays the session no further.

    The open prompt gets an error.
    """
    live = asked(record, request_, f"result {recorded}")
    live.check(f"""
        -> #0 result {live_}
        <- refusal #2
    """)
    assert live.mismatches == ["outcome-differs primary in s 7"]


@pytest.mark.parametrize("request_", [PERMISSION, READ, WRITE, WAIT, ASK, "_x/y {}"])
def test_an_error_is_another_outcome_than_a_result(record: Record, request_: str) -> None:
    """If a client sends an error in place of a recorded result, a replay diverges."""
    live = asked(record, request_, "result {}")
    live.send(GONE)
    (divergence,) = [item for item in live.divergences if item.rank == "primary"]
    assert divergence.kind == "outcome-differs"
    assert divergence.summary.endswith("the client answered error")


def test_all_errors_are_one_outcome(record: Record) -> None:
    """In a replay, an error of the client matches a recorded error with a different code."""
    book_reply = 'error {"code": -32001, "message": "no such file"}'
    live = asked(record, READ, book_reply)
    assert live.send(GONE) == ["<- 8", "<- 9"]
    assert live.informed == ["drift in s 7"]


def test_drift_is_reported_with_its_place(record: Record) -> None:
    """If a client returns different file content, a replay only notes where the content differs."""
    live = asked(record, READ, 'result {"content": "then"}')
    live.send('#0 result {"content": "now"}')
    assert live.informed == ["drift in s 7"]
    (difference,) = live.divergences[0].differences
    assert (difference.pointer, difference.recorded, difference.live) == (
        "/result/content", '"then"', '"now"'
    )  # fmt: skip
    assert live.report.verdict == "clean"


def test_a_reply_before_its_request_is_reported(record: Record) -> None:
    """If a client replies before a replay has sent the request, the replay reports a divergence."""
    live = record(f"""
        1-4 session
        5 -> #2 session/prompt {{"sessionId": "s", "prompt": []}}
        6 <- #0 {READ}
        7 -> #0 result {{"content": ""}}
        8 <- #2 result {{"stopReason": "end_turn"}}
    """).replay(1, 3)
    live.check("""
        -> 7
        -> 5
        <- refusal #2
    """)
    assert live.mismatches == ["unknown-reply-id primary in s 7", "unmatched cascade in s"]


def test_a_second_reply_is_reported(record: Record) -> None:
    """If a client replies twice to one request, a replay reports a divergence."""
    live = asked(record, READ, 'result {"content": ""}')
    live.send(7, 7)
    assert live.mismatches == ["unknown-reply-id primary in s 7"]


HOSTILE = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    6 <- #0 fs/write_text_file {"sessionId": "s", "path": "/home/me/.bashrc", "content": "evil"}
    7 -> #0 result {}
    8 <- #1 terminal/create {"sessionId": "s", "command": "rm", "args": ["-rf", "/"]}
    9 -> #1 result {"terminalId": "t"}
    10 <- {"jsonrpc":"2.0","method":"fs\\/write_text_file","params":{"sessionId":"s","path":"/x"}}
    11 <- [{"jsonrpc":"2.0","id":2,"method":"terminal/kill","params":{"sessionId":"s"}},{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s"}}]
    12 -> [{"jsonrpc":"2.0","id":2,"result":{}},{"jsonrpc":"2.0","id":3,"result":{}}]
    13 <- #4 fs/read_text_file {"sessionId": "s", "path": "/p/a"}
    14 -> #4 result {"content": ""}
    15 <- #2 result {"stopReason": "end_turn"}
"""


def test_an_inert_replay_writes_and_runs_nothing(record: Record) -> None:
    """`replay --inert` sends no requests to write or run, and plays on with recorded answers."""
    live = record(HOSTILE).replay(1, 3, inert=True)
    live.check("""
        -> 5
        <- [{"jsonrpc":"2.0","id":3,"method":"fs/read_text_file","params":{"sessionId":"s"}}]
        -> #3 result {}
        13-15
        -> end
        <- end
    """)
    assert live.mismatches == []
    assert b"evil" not in live.bytes
    assert b"terminal" not in live.bytes
    assert len(live.report.withheld) == 4
    assert live.report.unplayed == 0


def test_a_replay_that_allows_outside_sends_every_request(record: Record) -> None:
    """`replay --allow-outside` withholds no request."""
    live = record(HOSTILE).replay(1, 3, allow_outside=True)
    live.check("""
        5-8
    """)
    assert live.report.withheld == ()
