"""Cancels: what may have crossed them on the wire, and what asks for them in another way."""

from __future__ import annotations

import pytest

from tests.judged import judge

TURN = "a v1 handshake, session s, a prompt"
CANCEL = '-> session/cancel {"sessionId": "s"}'
END = '<- #2 result {"stopReason": "end_turn"}'
CANCELLED = '<- #2 result {"stopReason": "cancelled"}'
FAILED = '<- #2 error {"code": -32603, "message": "aborted"}'
CHUNK = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",'
    ' "content": {"type": "text", "text": "and"}}}'
)
READ = '<- #0 fs/read_text_file {"sessionId": "s", "path": "/proj/app/a.py"}'
WAS_READ = '-> #0 result {"content": ""}'
CALL = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call",'
    ' "toolCallId": "c1", "title": "Run", "status": "in_progress"}}'
)
ASK = (
    '<- #0 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "c1"},'
    ' "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}'
)
REFUSED = '-> #0 result {"outcome": {"outcome": "selected", "optionId": "no"}}'
DROPPED = '-> #0 result {"outcome": {"outcome": "cancelled"}}'
DONE = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update",'
    ' "toolCallId": "c1", "status": "failed"}}'
)


@pytest.mark.parametrize("end", [END, FAILED])
def test_an_end_right_after_the_cancel_is_not_charged(end: str) -> None:
    """An answer within ten milliseconds was written before the cancel was read."""
    assert judge([CANCEL, end], TURN, gap_ms=5) == [CANCEL, end]


@pytest.mark.parametrize(("end", "rule"), [(END, "stop-reason"), (FAILED, "error")])
def test_an_end_soon_after_the_cancel_is_a_warning(end: str, rule: str) -> None:
    """Within half a second an answer may have crossed the cancel, also after other messages."""
    lines = [CANCEL, CHUNK, end, f"   cancel.{rule} by agent (warning)"]
    assert judge(lines, TURN, gap_ms=100) == lines


def test_a_cancelled_request_may_end_in_any_way() -> None:
    """The answer to a prompt that $/cancel_request names is partial data, or error -32800."""
    for end in (END, '<- #2 error {"code": -32800, "message": "cancelled"}'):
        lines = ['-> $/cancel_request {"requestId": 2}', CHUNK, end]
        assert judge(lines, TURN) == lines


def test_session_cancel_counts_after_a_cancelled_request() -> None:
    """Who sends both waits for the stop reason."""
    lines = [
        '-> $/cancel_request {"requestId": 2}',
        CHUNK,
        CANCEL,
        CHUNK,
        END,
        "   cancel.stop-reason by agent",
    ]
    assert judge(lines, TURN) == lines


def test_an_unknown_reason_is_one_mistake() -> None:
    """A cancelled turn that ends with a reason that does not exist breaks one rule."""
    end = '<- #2 result {"stopReason": "aborted"}'
    lines = [CANCEL, CHUNK, end, "   prompt.stop-reason by agent"]
    assert judge(lines, TURN) == lines


def test_the_code_of_the_draft_is_right() -> None:
    """The 1.0 draft has an error code for what was cancelled."""
    lines = [CANCEL, '<- #2 error {"code": -32003, "message": "cancelled"}']
    assert judge(lines, "a 1.0 draft handshake, session s, a prompt") == lines


def test_work_that_crosses_a_cancel_is_not_charged() -> None:
    """What was asked within half a second was on its way, and so was the first message."""
    for gap_ms, lines in (
        (100, [CANCEL, CHUNK, READ, WAS_READ]),
        (9_000, [CANCEL, READ, WAS_READ]),
    ):
        assert judge(lines, TURN, gap_ms=gap_ms) == lines


def test_a_cancel_that_crosses_the_end_is_not_charged() -> None:
    """A client may cancel what has just ended."""
    lines = [CHUNK, END, CANCEL]
    assert judge(lines, TURN, gap_ms=400) == lines
    found = judge(lines, TURN, gap_ms=600)
    assert found == [*lines, "   cancel.no-turn by client"]


def test_a_refused_call_may_cancel_the_turn() -> None:
    """Agents offer to stop as an answer to a question, and end the turn as cancelled then."""
    lines = [CALL, ASK, REFUSED, DONE, CANCELLED]
    assert judge(lines, TURN) == lines


def test_who_leaves_cancels() -> None:
    """An agent may end its turn as cancelled when the client is gone."""
    lines = [CALL, ASK, DROPPED, "== client leaves", CANCELLED]
    assert judge(lines, TURN, only="cancel.reason-unasked") == lines


def test_another_prompt_of_a_cancelled_session_may_be_cancelled() -> None:
    """A prompt that was sent while another one is cancelled may end with it."""
    more = '-> #3 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "and"}]}'
    lines = [CANCEL, more, CANCELLED, '<- #3 result {"stopReason": "cancelled"}']
    assert judge(lines, TURN, only="cancel.reason-unasked") == lines


@pytest.mark.parametrize(
    ("answer", "is_right"),
    [
        ('-> #0 error {"code": -32800, "message": "cancelled"}', True),
        ('-> #0 error {"code": -32603, "message": "no"}', False),
        (REFUSED, False),
    ],
)
def test_a_pending_question_is_settled_by_the_cancel(answer: str, *, is_right: bool) -> None:
    """Only the outcome cancelled and its error code are right."""
    lines = [CALL, ASK, CANCEL, answer]
    expected = lines if is_right else [*lines, "   cancel.permission by client"]
    assert judge(lines, TURN) == expected


def test_a_question_after_the_cancel_is_answered_cancelled() -> None:
    """A client that has cancelled selects nothing, whenever it was asked."""
    lines = [CALL, CANCEL, ASK, REFUSED, "   cancel.permission by client"]
    assert judge(lines, TURN) == lines


def test_a_question_that_the_agent_cancels_is_not_unasked() -> None:
    """The agent cancels its own request, and the client says so."""
    lines = [CALL, ASK, '<- $/cancel_request {"requestId": 0}', DROPPED, DONE, END]
    assert judge(lines, TURN) == lines


def test_a_later_answer_shows_that_one_is_missing() -> None:
    """An agent that answers the next prompt will not answer the cancelled one."""
    more = '-> #3 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "and"}]}'
    first = more.replace("#3", "#2")
    lines = [first, CANCEL, more, CHUNK, END.replace("#2", "#3"), "== client leaves"]
    found = judge(lines, "a v1 handshake, session s", only="cancel.unanswered")
    assert found[:2] == [first, "   cancel.unanswered by agent"]
