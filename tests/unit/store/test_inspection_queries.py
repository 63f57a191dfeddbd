"""What `inspection` asks of a recording is answered by name, and without reading all frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.store import inspection_queries as queries
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import LogWriter, record_conversation, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def story(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording that `write_conversation` makes."""
    with RecordingReader(record_conversation(tmp_path / "story.db")) as reader:
        yield reader


def test_exchanges_are_chosen_by_method_direction_and_outcome(story: RecordingReader) -> None:
    """All conditions that are given hold, and the first ones come first."""
    every = list(queries.exchanges(story))
    asked = list(queries.exchanges(story, direction="to-client"))
    assert asked == [row for row in every if row.direction == "to-client"]
    (prompt,) = queries.exchanges(story, methods=["session/prompt"], outcome="result", most=1)
    assert (prompt.method, prompt.request_seq) == ("session/prompt", 6)
    assert list(queries.exchanges(story, methods=["session/prompt", "x"], most=0)) == []


def test_the_initialization_that_was_answered_counts(tmp_path: Path) -> None:
    """A later one without an answer does not replace it."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(0, "initialize"))
        recorder.to_client(result(0))
        recorder.to_agent(request(1, "initialize"))
    with RecordingReader(recorder.path) as reader:
        row = queries.initialization(reader)
    assert row is not None
    assert (row.request_seq, row.response_seq) == (2, 3)


def test_updates_outside_turns_stand_within_the_stretches(tmp_path: Path) -> None:
    """Neither end of a stretch counts, nor what belongs to a turn."""
    with LogWriter(tmp_path / "x.db") as recorder:
        chunk = update("s", "agent_message_chunk", content=text("a"))
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[]))  # 2
        recorder.to_client(chunk, result(1, stopReason="end_turn"), chunk, chunk, chunk)  # 3 to 7
    with RecordingReader(recorder.path) as reader:
        found = list(queries.updates_outside_turns(reader, [(1, 4), (4, 7)]))
    assert [(frame.seq, frame.session) for frame in found] == [(5, "s"), (6, "s")]


def test_updates_outside_turns_are_read_by_number(
    story: RecordingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the index of methods, all updates would be read again for each stretch."""
    asked: list[str] = []

    def query(sql: str, _: object) -> Iterator[dict[str, object]]:
        asked.append(sql)
        return iter(())

    monkeypatch.setattr(story, "query", query)
    list(queries.updates_outside_turns(story, [(1, 9)]))
    plan = story.connection.execute(f"EXPLAIN QUERY PLAN {asked[0]}", ("[]",))
    steps = [step for *_, step in plan if step.startswith(("SEARCH f", "SCAN f"))]
    assert len(steps) == 1
    assert "INTEGER PRIMARY KEY" in steps[0]


def test_the_edges_of_a_call_are_its_first_and_last_frames(tmp_path: Path) -> None:
    """They come in order; of a short call some come twice."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for title in "abcd":
            recorder.to_client(update("s", "tool_call_update", toolCallId="c", title=title))
    with RecordingReader(recorder.path) as reader:
        edges = queries.edges_of_call(reader, "s", "c", 1)
    assert [b'"a"' in edges[0], b'"d"' in edges[1], len(edges)] == [True, True, 2]


def test_what_is_not_there_has_an_empty_answer(story: RecordingReader) -> None:
    """A number of no frame or turn is no error."""
    assert queries.start_of_line(story, 999, 10) is None
    assert queries.turn_of(story, 999) is None
    assert queries.parse_error_of(story, 999) is None
    assert queries.frame_times(story, [999]) == {}
    assert queries.lost_answers(story, 10) == []
