"""Prompts and turns: which updates are late, and what ends a turn rightly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.conformance.checker import check
from tests.judged import judge, reader_of

if TYPE_CHECKING:
    from acp_proxy.store.reader import RecordingReader

LATE = ("turn.update-late", "cancel.update-after")
SESSION = "a v1 handshake, session s"
TURN = f"{SESSION}, a prompt"
END = '<- #2 result {"stopReason": "end_turn"}'
LOAD = '-> #3 session/load {"sessionId": "s", "cwd": "/proj/app", "mcpServers": []}'
CHUNK = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "agent_message_chunk",'
    ' "content": {"type": "text", "text": "and"}}}'
)
CALL = (
    '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call",'
    ' "toolCallId": "c1", "title": "Run", "status": "pending"}}'
)
ASK = (
    '<- #0 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "c1"},'
    ' "options": [{"optionId": "no", "name": "No", "kind": "reject_once"}]}'
)
NEXT = '-> #3 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "next"}]}'


def _late(reader: RecordingReader) -> set[int]:
    """The late updates."""
    return {one.seq for one in check(reader, chosen=LATE).findings}


@pytest.mark.parametrize(
    ("lines", "late"),
    [
        ([CHUNK, END, CHUNK, CHUNK], [2, 3]),
        ([END, LOAD, CHUNK, "<- #3 result {}"], []),
        ([CHUNK, NEXT, END, CHUNK], []),
        (
            ['-> session/cancel {"sessionId": "s"}', END.replace("end_turn", "cancelled"), CHUNK],
            [2],
        ),
        (['-> session/cancel {"sessionId": "s"}', END, CHUNK], [2]),
        (['<- #2 error {"code": -32603, "message": "no"}', CHUNK], [1]),
    ],
)
def test_which_updates_are_late(lines: list[str], late: list[int]) -> None:
    """What comes after the end and before another prompt, but for history."""
    opened = [
        '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
        '<- #1 result {"sessionId": "s"}',
        NEXT.replace("#3", "#2"),
    ]
    assert _late(reader_of([*opened, *lines])) == {len(opened) + 1 + at for at in late}


def test_late_updates_of_a_session_that_was_opened_before() -> None:
    """A recording may begin in the middle of a connection."""
    assert _late(reader_of([NEXT.replace("#3", "#2"), CALL, END, CHUNK])) == {4}


@pytest.mark.parametrize(
    ("cancelled", "rule"),
    [(False, "turn.update-late"), (True, "cancel.update-after")],
)
def test_a_late_update_breaks_one_rule(rule: str, *, cancelled: bool) -> None:
    """That of cancelled turns is an error, the other a warning."""
    cancel = ['-> session/cancel {"sessionId": "s"}'] if cancelled else []
    end = END.replace("end_turn", "cancelled") if cancelled else END
    lines = [*cancel, end, CHUNK, f"   {rule} by agent"]
    assert judge(lines, TURN) == lines


def test_late_history_is_not_a_late_update() -> None:
    """What comes after the answer to session/load is late for that."""
    lines = [
        END, LOAD, CHUNK, "<- #3 result {}", CHUNK, "   session.load-late-replay by agent",
    ]  # fmt: skip
    assert judge(lines, TURN) == lines


def test_a_call_whose_question_was_dropped_is_the_clients_to_settle() -> None:
    """A client that answers as if it had cancelled marks the call itself."""
    dropped = '-> #0 result {"outcome": {"outcome": "cancelled"}}'
    lines = [CALL, ASK, dropped, END]
    assert judge(lines, TURN, only="turn.tools-open") == lines


@pytest.mark.parametrize("option", ["go", "skip"])
def test_what_was_only_asked_for_is_no_open_call(option: str) -> None:
    """A follow-up is no tool call; but an update of it makes it one."""
    ask = (
        '<- #0 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "f",'
        ' "status": "pending"}, "options": [{"optionId": "go", "name": "Go", "kind": "allow_once"},'
        ' {"optionId": "skip", "name": "Skip", "kind": "reject_once"}]}'
    )
    answer = f'-> #0 result {{"outcome": {{"outcome": "selected", "optionId": "{option}"}}}}'
    lines = [CHUNK, ask, answer, END]
    assert judge(lines, TURN, only="turn.tools-open") == lines
    named = (
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update",'
        ' "toolCallId": "f"}}'
    )
    lines = [CHUNK, ask, answer, named, END, "   turn.tools-open by agent"]
    assert judge(lines, TURN, only="turn.tools-open") == lines


def test_a_request_that_the_agent_gave_up_is_not_open() -> None:
    """An agent may cancel its own request and go on."""
    read = '<- #0 fs/read_text_file {"sessionId": "s", "path": "/proj/app/a.py"}'
    lines = [CHUNK, read, '<- $/cancel_request {"requestId": 0}', END]
    assert judge(lines, TURN) == lines


def test_a_terminal_may_outlive_its_turn() -> None:
    """An agent may wait for a command that goes on in the background."""
    lines = [
        '<- #0 terminal/create {"sessionId": "s", "command": "make"}',
        '-> #0 result {"terminalId": "t"}',
        '<- #1 terminal/wait_for_exit {"sessionId": "s", "terminalId": "t"}',
        END,
    ]
    assert judge(lines, TURN, only="turn.requests-open") == lines


@pytest.mark.parametrize(
    ("data", "is_right"),
    [
        ("aGVsbG8=", True),
        ("aGVs\r\nbG8=\n", True),
        ("", True),
        ("[redacted:token:0123abcd]", True),
        ("aGVsbG8", False),
        ("aGVs-_8=", False),
        ("data:image/png;base64,aGVsbG8=", False),
        ("é", False),
    ],
)
def test_what_is_base64(data: str, *, is_right: bool) -> None:
    """The standard alphabet with its padding, on several lines too; what is masked may be."""
    escaped = data.replace("\r", "\\r").replace("\n", "\\n")
    block = f'{{"type": "image", "mimeType": "image/png", "data": "{escaped}"}}'
    line = f'-> #2 session/prompt {{"sessionId": "s", "prompt": [{block}]}}'
    assert judge([line], SESSION) == [line, *([] if is_right else ["   prompt.base64 by client"])]


def test_a_session_that_the_agent_lost_is_not_a_prompt_that_it_refuses() -> None:
    """The error is found once, as that of the session."""
    line = '-> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}'
    lost = '<- #2 error {"code": -32602, "message": "Unknown session s"}'
    assert judge([line, lost], SESSION) == [line, lost, "   session.lost by agent"]


def test_a_prompt_with_a_fault_may_be_refused() -> None:
    """Only a prompt that is right in all else must be accepted."""
    for member in ('"prompt": [{"type": "text"}]', '"prompt": [], "mode": 7', '"prompt": "hi"'):
        line = f'-> #2 session/prompt {{"sessionId": "s", {member}}}'
        refused = '<- #2 error {"code": -32602, "message": "invalid"}'
        lines = [line, refused]
        assert judge(lines, SESSION, only="prompt.baseline-refused") == lines
