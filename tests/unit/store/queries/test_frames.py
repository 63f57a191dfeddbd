"""Queries for single frames read only the frames that they return."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.log_format import TO_CLIENT
from acp_proxy.store.queries import exchanges, fired_faults, frames
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, record_conversation, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording of `write_conversation`."""
    with RecordingReader(record_conversation(tmp_path / "chat.db")) as reader:
        yield reader


def test_the_first_message_of_a_stream_is_found(tmp_path: Path) -> None:
    """The store finds the first message of a stream even if other lines come before it."""
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
    """If no frame has a given number, the store's queries about the frame return nothing."""
    assert frames.start_of_line(chat, 999, 10) is None
    assert exchanges.turn_of(chat, 999) is None
    assert frames.parse_error_of(chat, 999) is None
    assert frames.frame_times(chat, [999]) == {}
    assert fired_faults.lost_answers(chat, 10) == []
