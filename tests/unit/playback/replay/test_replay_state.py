"""A replay compares messages by their values, and invalid lines by their bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.playback.replay.replay_state import ClientMessage, MessageComparer
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.typed_places import Place

if TYPE_CHECKING:
    from acp_proxy.recording.steps import Step
    from tests.support.playbook import Record, RecordedTranscript

MASK = MessageMask("none")
RECORDED = r"""
    1-4 session
    5 -> | not json
    6 -> | [{"jsonrpc": "2.0", "method": "_a", "params": {}}, {"jsonrpc": "2.0", "method": "_b"}]
    7 -> #2 session/load {"sessionId": "s", "cwd": "/p"}
    8 <- #2 result {}
    9 -> #3 session/prompt {"sessionId": "s", "prompt": "a"}
    10 <- #3 result {"stopReason": "end_turn"}
    11 -> #4 session/prompt {"sessionId": "t", "prompt": "a"}
    12 <- #4 result {"stopReason": "end_turn"}
    13 -> #5 session/prompt {"sessionId": "t", "prompt": "b"}
    14 <- #5 result {"stopReason": "end_turn"}
    15 -> session/cancel {"sessionId": "t"}
    16 <- #0 fs/read_text_file {"sessionId": "t", "path": "/p/f"}
    17 -> #0 result {"content": "x"}
    18 <- #1 fs/read_text_file {"sessionId": "t", "path": "/p/f"}
    19 -> #1 error {"code": -32603, "message": "m"}
    20 -> | "half
    21 -> | half a \xff
    22 -> | {"a": 1}
"""


class Comparison:
    """The steps of a recording, to be compared with lines of a client."""

    def __init__(self, recorded: RecordedTranscript, *ignored: str) -> None:
        script = recorded.script()
        self.bindings = Bindings()
        self.comparer = MessageComparer(script, self.bindings, ignored, MASK)
        every = iter(script.read, [])
        numbers = recorded.numbers
        self.steps: dict[tuple[int, int | None], Step] = {
            (numbers[step.seq], step.member): step for steps in every for step in steps
        }

    def compare(self, number: int, raw: bytes) -> Any:
        """Compares a recorded frame with a line."""
        return self.comparer.compare(self.steps[number, None], ClientMessage(read(raw), 1, MASK))


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A recording of messages and of invalid lines."""
    return record(RECORDED)


@pytest.mark.parametrize(("number", "raw"), [(5, b"not json"), (20, b'"half')])
def test_a_line_that_is_no_message_is_compared_by_its_bytes(
    recorded: RecordedTranscript, number: int, raw: bytes
) -> None:
    """A replay compares a line that is not a message by its bytes."""
    comparison = Comparison(recorded)
    assert comparison.compare(number, raw).is_equal
    result = comparison.compare(number, b"other \xff")
    text = raw.decode().replace('"', '\\"')
    assert result.differences == [Difference("", f'"{text}"', '"other \ufffd"')]


def test_lines_that_look_alike_may_differ(recorded: RecordedTranscript) -> None:
    """For a replay, lines with different invalid bytes differ, even if both print alike."""
    result = Comparison(recorded).compare(21, b"half a \xfe")
    assert result.differences == [Difference("", '"half a \ufffd"', '"half a \ufffd"')]


def test_json_that_is_no_message_is_compared_by_its_bytes(recorded: RecordedTranscript) -> None:
    """A replay compares JSON that is not a message by its bytes."""
    comparison = Comparison(recorded)
    assert comparison.compare(22, b'{"a": 1}').is_equal
    (difference,) = comparison.compare(22, b'{"a":1}').differences
    assert difference == Difference("", '"{\\"a\\": 1}"', '"{\\"a\\":1}"')


def test_a_message_does_not_equal_a_line_that_is_none(recorded: RecordedTranscript) -> None:
    """In a replay, a message never matches a line that is not a message."""
    comparison = Comparison(recorded)
    message = b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{}}'
    (difference,) = comparison.compare(5, message).differences
    assert (difference.pointer, difference.recorded) == ("", '"not json"')
    (difference,) = comparison.compare(9, b"not json").differences
    assert (difference.pointer, difference.live) == ("", '"not json"')


def test_a_member_of_a_batch_is_a_message(recorded: RecordedTranscript) -> None:
    """A replay compares each message in a JSON-RPC batch separately."""
    comparison = Comparison(recorded)
    first, second = comparison.steps[6, 0], comparison.steps[6, 1]
    assert comparison.comparer.value(first)["method"] == "_a"
    assert comparison.comparer.raw(second) == b'{"jsonrpc": "2.0", "method": "_b"}'


def test_a_session_that_a_request_opens_is_bound(recorded: RecordedTranscript) -> None:
    """If a client's request opens a session, a replay pairs the live id with the recorded id."""
    comparison = Comparison(recorded)

    def load(session: str) -> bytes:
        params = f'{{"sessionId":"{session}","cwd":"/p"}}'
        return f'{{"jsonrpc":"2.0","id":2,"method":"session/load","params":{params}}}'.encode()

    sessions = [
        item for item in comparison.compare(7, load("x")).proposals if item[0] != Place.ROOT
    ]
    assert sessions == [(Place.SESSION, "s", "x")]
    comparison.bindings.bind(Place.SESSION, "s", "x")
    assert (Place.SESSION, "s", "x") not in comparison.compare(7, load("x")).proposals
    assert (Place.SESSION, "s", "s") in comparison.compare(7, load("s")).proposals


def test_recorded_messages_may_be_alike(recorded: RecordedTranscript) -> None:
    """To swap sessions, `replay` treats recorded messages as alike if only session ids differ."""
    comparison = Comparison(recorded)
    alike = comparison.comparer.are_alike
    prompt, of_other, other = (comparison.steps[number, None] for number in (9, 11, 13))
    cancel, result, error = (comparison.steps[number, None] for number in (15, 17, 19))
    assert alike(prompt, of_other)
    assert not alike(prompt, other)
    assert not alike(prompt, cancel)
    assert not alike(result, error)
    assert alike(result, result)


def test_ignored_places_do_not_tell_recorded_messages_apart(recorded: RecordedTranscript) -> None:
    """`replay` treats recorded messages as alike if they differ only in values of `--ignore`."""
    comparison = Comparison(recorded, "/params/prompt")
    prompt, other = comparison.steps[9, None], comparison.steps[13, None]
    assert comparison.comparer.are_alike(prompt, other)
    raw = b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s"}}'
    assert comparison.compare(9, raw).is_match
