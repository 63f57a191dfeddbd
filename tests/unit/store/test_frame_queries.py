"""Queries of frames read no more of them than their answers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.store import exchange_queries, fired_faults, frame_queries
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import LogWriter, record_conversation, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording that `write_conversation` makes."""
    with RecordingReader(record_conversation(tmp_path / "chat.db")) as reader:
        yield reader


def test_updates_outside_turns_are_found_within_the_stretches(tmp_path: Path) -> None:
    """Neither end of a stretch counts, nor what belongs to a turn."""
    with LogWriter(tmp_path / "x.db") as recorder:
        chunk = update("s", "agent_message_chunk", content=text("a"))
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[]))  # 2
        recorder.to_client(chunk, result(1, stopReason="end_turn"), chunk, chunk, chunk)  # 3 to 7
    with RecordingReader(recorder.path) as reader:
        found = list(frame_queries.updates_outside_turns(reader, [(1, 4), (4, 7)]))
    assert [(frame.seq, frame.session) for frame in found] == [(5, "s"), (6, "s")]


def test_updates_outside_turns_are_read_by_number(
    chat: RecordingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the index of methods, all updates would be read again for each stretch."""
    asked: list[str] = []

    def query(sql: str, _: object) -> Iterator[dict[str, object]]:
        asked.append(sql)
        return iter(())

    monkeypatch.setattr(chat, "query", query)
    list(frame_queries.updates_outside_turns(chat, [(1, 9)]))
    plan = chat.connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}", (1, 9))
    steps = [step for *_, step in plan if step.startswith(("SEARCH f", "SCAN f"))]
    assert len(steps) == 1
    assert "INTEGER PRIMARY KEY" in steps[0]


def test_an_unknown_number_has_an_empty_answer(chat: RecordingReader) -> None:
    """A number without a frame or turn is no error."""
    assert frame_queries.start_of_line(chat, 999, 10) is None
    assert exchange_queries.turn_of(chat, 999) is None
    assert frame_queries.parse_error_of(chat, 999) is None
    assert frame_queries.frame_times(chat, [999]) == {}
    assert fired_faults.lost_answers(chat, 10) == []
