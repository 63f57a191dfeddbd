# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""The helper that plays scenarios against a replay fails if something differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.playbook import Record, RecordedTranscript, record

if TYPE_CHECKING:
    from pathlib import Path

TALK = """
    1 -> #0 initialize {"protocolVersion": 1}
    .. 2s
    2 <- #0 result {"protocolVersion": 1}
    3 <- | odd\\r
"""


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A recording of a handshake."""
    return record(TALK)


def test_a_transcript_becomes_frames(recorded: RecordedTranscript) -> None:
    """A conversation in the arrow notation of the tests becomes frames with numbers and times."""
    assert recorded.raw == {
        1: b'{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}\n',
        2: b'{"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}\n',
        3: b"odd\r\n",
    }
    script = recorded.script()
    first, second = script.wire(recorded.seq(1)), script.wire(recorded.seq(2))
    assert second.t_ns - first.t_ns == 2_001_000_000


@pytest.mark.parametrize("line", ["initialize {}", "2 -> #0 initialize {}", "-> | x", "1 => #0 x"])
def test_a_bad_line_is_refused(tmp_path: Path, line: str) -> None:
    """In the arrow notation of the tests for a conversation, a line of a wrong form is an error."""
    if line == "-> | x":
        record(tmp_path, line).close()  # a number may be left out
        return
    with pytest.raises(ValueError, match="expected a line such as"):
        record(tmp_path, line)


def test_what_goes_out_is_compared(recorded: RecordedTranscript) -> None:
    """A test scenario of a replay fails if a frame that it expects is missing or different."""
    for wrong in ("-> 1", "-> 1\n<- 2", "-> 1\n<- 3\n<- 2", "-> 1\n<- 2\n<- 3\n<- end"):
        with pytest.raises(AssertionError):
            recorded.replay().check(wrong)
    recorded.replay().check("-> 1\n<- 2\n<- 3")


def test_frames_that_pass_as_recorded_are_written_in_one_line(
    recorded: RecordedTranscript,
) -> None:
    """In a test scenario of a replay, `1-3` stands for three frames that pass as recorded."""
    assert [*recorded.lines("1-3\n-> end")] == ["-> 1", "<- 2", "<- 3", "-> end"]
    recorded.replay().check("1-3")
