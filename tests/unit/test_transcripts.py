"""The transcripts of the playbooks are read correctly."""

from __future__ import annotations

import json

import pytest

from acp_proxy.protocol.connection_state import Transition
from tests.transcripts import NOTHING, Conversation, check, describe, frame, play


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#0 initialize", {"id": 0, "method": "initialize"}),
        ('#"a" x {"b": [1]}', {"id": "a", "method": "x", "params": {"b": [1]}}),
        ("session/cancel", {"method": "session/cancel"}),
        ('session/cancel {"s": 1}', {"method": "session/cancel", "params": {"s": 1}}),
        ("#1 result null", {"id": 1, "result": None}),
        ('#1 error {"code": 2}', {"id": 1, "error": {"code": 2}}),
        ("error {}", {"error": {}}),
    ],
)
def test_messages_are_written_short(text: str, message: dict[str, object]) -> None:
    """A message is written by its id, its method or kind of answer, and its value."""
    assert json.loads(frame(text)) == {"jsonrpc": "2.0", **message}


@pytest.mark.parametrize("text", ['{"id":  1}', "[1,  2]"])
def test_a_whole_line_is_left_as_it_is(text: str) -> None:
    """A line that begins as JSON is sent byte for byte."""
    assert frame(text) == text.encode()


@pytest.mark.parametrize("text", ["", "#1", "#1 result"])
def test_an_incomplete_message_is_refused(text: str) -> None:
    """A frame without a method, or a response without its value."""
    with pytest.raises(ValueError, match="expected a message"):
        frame(text)


def test_labels_are_written_in_one_order() -> None:
    """In the order of their fields; missing labels are left out."""
    assert describe(Transition("m", 1, "s", 2, "c", "t")) == (
        "m, exchange 1, session s, turn 2, tool_call c, terminal t"
    )
    assert describe(Transition(turn=0)) == "turn 0"
    assert describe(Transition()) == NOTHING


def test_a_transcript_is_played_in_order() -> None:
    """Each frame in its direction, one microsecond after the other."""
    conversation = Conversation()
    lines = list(play(["-> #7 a", "<- #7 b", "-> #7 result 1"], conversation))
    assert lines == [
        "-> #7 a",
        "a, exchange 1",
        "<- #7 b",
        "b, exchange 2",
        "-> #7 result 1",
        "b, exchange 2",
    ]
    asked, answered = conversation.exchanges
    assert (asked.request_seq, asked.response_seq) == (1, None)
    assert (answered.request_seq, answered.response_seq, answered.latency_ns) == (2, 3, 1000)


def test_other_labels_fail() -> None:
    """A transcript with a label that a frame does not get is not accepted."""
    with pytest.raises(AssertionError, match="exchange 1"):
        check("""
            -> #0 initialize
               initialize, exchange 2
        """)


def test_missing_labels_fail() -> None:
    """A frame without a line of labels is not accepted, not even if it gets none."""
    check("-> {}\n nothing")
    with pytest.raises(AssertionError):
        check("-> {}")


def test_labels_before_a_frame_are_an_error() -> None:
    """A transcript has to begin with a frame."""
    with pytest.raises(ValueError, match="expected a frame"):
        check("session/new")


def test_the_dialect_can_be_forced() -> None:
    """A transcript can be played in a dialect."""
    assert check("-> {}\n nothing", dialect="v2").connection.dialect == "v2"
