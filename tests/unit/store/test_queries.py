"""What other rooms ask of a recording is answered from its tables, as typed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.store import queries
from acp_proxy.store.queries import TurnSpan
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import ORIGIN_NS, record_conversation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def story(tmp_path: Path) -> Iterator[RecordingReader]:
    """A chat with one turn."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        yield reader


def test_answered_requests_come_in_the_order_they_were_sent(story: RecordingReader) -> None:
    """With their method, direction and latency; one that is open has none."""
    found = list(queries.answered_requests(story))
    rows = list(story.query("SELECT * FROM exchanges ORDER BY request_seq"))
    assert [one.exchange for one in found] == [
        row["id"] for row in rows if row["latency_ns"] is not None
    ]
    assert found[0].method == "initialize"
    assert found[0].direction == "to-agent"
    assert found[0].latency_ns > 0


def test_an_exchange_is_open_between_its_request_and_its_answer(story: RecordingReader) -> None:
    """A span that only touches one of its ends is outside."""
    first = next(queries.answered_requests(story))
    (sent,) = story.query(
        "SELECT t_ns FROM frames WHERE seq = (SELECT request_seq FROM exchanges WHERE id = ?)",
        (first.exchange,),
    )
    start, end = sent["t_ns"], sent["t_ns"] + first.latency_ns
    assert first.exchange in queries.exchanges_open_during(story, [(start, start + 1)])
    assert first.exchange not in queries.exchanges_open_during(story, [(end, end + 1)])
    assert queries.exchanges_open_during(story, []) == set()


def test_events_are_chosen_by_kind(story: RecordingReader) -> None:
    """Their data are decoded; without a kind all of them come, in order."""
    every = list(queries.events(story))
    assert [event.seq for event in every] == sorted(event.seq for event in every)
    assert {event.kind for event in queries.events(story, "start", "exit")} == {"start", "exit"}
    (start,) = queries.events(story, "start")
    assert start.data["command"] == ["agent", "--acp"]
    assert queries.clock_origin_ns(story) == ORIGIN_NS


def test_what_a_list_shows_is_counted(story: RecordingReader) -> None:
    """Turns, where each stands, methods, the first prompt, and whether a fault has fired."""
    spans = queries.turn_spans(story)
    assert queries.turn_count(story) == len(spans) == 1
    assert isinstance(spans[0], TurnSpan)
    assert spans[0].prompt_seq < (spans[0].end_seq or 0)
    assert {"initialize", "session/prompt"} <= queries.request_methods(story)
    prompt = queries.first_prompt(story, 20)
    assert prompt is not None
    assert len(prompt) == 20
    assert not queries.has_fired_faults(story)
