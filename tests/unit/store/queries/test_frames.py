"""Queries of frames read no more frames than their answers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.log_format import TO_CLIENT
from acp_proxy.store.queries import exchanges, fired_faults, frames
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    LogWriter,
    record_conversation,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording of `write_conversation`."""
    with RecordingReader(record_conversation(tmp_path / "chat.db")) as reader:
        yield reader


def test_the_first_message_of_a_stream_is_found(tmp_path: Path) -> None:
    """The first message of a stream is found behind lines that are not messages."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_CLIENT, b"hello\n\n")  # 2, 3
        recorder.to_client(update("s", "agent_message_chunk", content=text("a")))  # 4
    with RecordingReader(recorder.path) as reader:
        first = frames.first_message(reader, "to-client")
        assert first is not None
        assert first.seq == 4
        assert frames.first_message(reader, "to-client", 4) is None
        assert frames.first_message(reader, "to-agent") is None


def test_an_unknown_number_has_an_empty_answer(chat: RecordingReader) -> None:
    """For a number without a frame or a turn, the result is empty."""
    assert frames.start_of_line(chat, 999, 10) is None
    assert exchanges.turn_of(chat, 999) is None
    assert frames.parse_error_of(chat, 999) is None
    assert frames.frame_times(chat, [999]) == {}
    assert fired_faults.lost_answers(chat, 10) == []


def test_the_edges_of_a_call_are_its_first_and_last_frames(tmp_path: Path) -> None:
    """The edges of a call are in order, and overlap if the call is short."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for title in "abcd":
            recorder.to_client(update("s", "tool_call_update", toolCallId="c", title=title))
    with RecordingReader(recorder.path) as reader:
        edges = frames.edges_of_call(reader, "s", "c", (0, 9), 1)
    assert [b'"a"' in edges[0], b'"d"' in edges[1], len(edges)] == [True, True, 2]


def test_a_terminal_is_found_without_a_look_at_all_others(tmp_path: Path) -> None:
    """Finding one terminal takes the same work however many terminals there are."""
    few, many = (_steps_of_a_terminal(tmp_path / f"{n}.db", n) for n in (20, 200))
    assert many <= few + 100


def _steps_of_a_terminal(path: Path, terminals: int) -> int:
    """Counts SQLite's steps, in tens, to find the frames of the first of some terminals."""
    with LogWriter(path) as recorder:
        for number in range(terminals):
            recorder.to_client(request(number, "terminal/create", sessionId="s", command="make"))
            recorder.to_agent(result(number, terminalId=f"t{number}"))
    steps = 0

    def note() -> None:
        nonlocal steps
        steps += 10

    with RecordingReader(path) as reader:
        reader.connection.set_progress_handler(note, 10)
        assert list(frames.frames_of_terminal(reader, "s", "t0", 0)) == [2, 3]
    return steps
