"""Queries of exchanges, turns and events return typed values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.queries import exchanges, fired_faults, frames, recorded_events
from acp_proxy.store.queries.exchanges import TurnRow
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    ORIGIN_NS,
    LogWriter,
    error,
    record_conversation,
    request,
    result,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[RecordingReader]:
    """Makes a conversation with one turn."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        yield reader


def test_exchanges_come_in_the_order_in_which_they_were_asked(chat: RecordingReader) -> None:
    """The store lists the exchanges of a recording in the order of their requests."""
    every = list(exchanges.exchanges(chat, order="request_seq"))
    rows = list(chat.query("SELECT * FROM exchanges ORDER BY request_seq"))
    assert [exchange.id for exchange in every] == [row["id"] for row in rows]
    answered = [exchange for exchange in every if exchange.latency_ns is not None]
    assert answered[0].method == "initialize"
    assert answered[0].direction == "to-agent"
    assert (answered[0].latency_ns or 0) > 0


def test_an_exchange_is_open_between_its_request_and_its_answer(chat: RecordingReader) -> None:
    """The store counts an exchange as open from the time of its request to that of its answer."""
    first = next(exchanges.exchanges(chat))
    assert first.latency_ns is not None
    (sent,) = chat.query(
        "SELECT t_ns FROM frames WHERE seq = (SELECT request_seq FROM exchanges WHERE id = ?)",
        (first.id,),
    )
    start, end = sent["t_ns"], sent["t_ns"] + first.latency_ns
    assert first.id in exchanges.exchanges_open_during(chat, [(start, start + 1)])
    assert first.id not in exchanges.exchanges_open_during(chat, [(end, end + 1)])
    assert exchanges.exchanges_open_during(chat, []) == set()


def test_events_are_chosen_by_kind(chat: RecordingReader) -> None:
    """The store can list all events of a recording, or only events of some kinds."""
    every = list(recorded_events.events(chat))
    assert [event.seq for event in every] == sorted(event.seq for event in every)
    assert {event.kind for event in recorded_events.events(chat, "start", "exit")} == {
        "start",
        "exit",
    }
    (start,) = recorded_events.events(chat, "start")
    assert start.data["command"] == ["agent", "--acp"]
    assert recorded_events.clock_origin_ns(chat) == ORIGIN_NS


def test_turns_are_counted(chat: RecordingReader) -> None:
    """The store lists and counts the turns of a recording."""
    turns = exchanges.turns(chat)
    assert exchanges.turn_count(chat) == len(turns) == 1
    assert isinstance(turns[0], TurnRow)
    assert turns[0].prompt_seq < (turns[0].end_seq or 0)
    assert exchanges.turn_of(chat, 1) == turns[0]
    prompt = frames.first_prompt(chat, 20)
    assert prompt is not None
    assert len(prompt) == 20
    assert not fired_faults.has_fired_faults(chat)


def test_exchanges_are_chosen_by_method_direction_and_outcome(chat: RecordingReader) -> None:
    """A query of exchanges can be limited to methods, to a direction and to an outcome."""
    every = list(exchanges.exchanges(chat))
    asked = list(exchanges.exchanges(chat, direction="to-client"))
    assert asked == [row for row in every if row.direction == "to-client"]
    (prompt,) = exchanges.exchanges(chat, methods=["session/prompt"], outcome="result", most=1)
    assert (prompt.method, prompt.request_seq) == ("session/prompt", 6)
    assert list(exchanges.exchanges(chat, methods=["session/prompt", "x"], most=0)) == []


def test_the_initialization_that_was_answered_counts(tmp_path: Path) -> None:
    """Of two `initialize` requests, the store returns the answered one as the handshake."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(0, "initialize"))
        recorder.to_client(result(0))
        recorder.to_agent(request(1, "initialize"))
    with RecordingReader(recorder.path) as reader:
        row = exchanges.initialization(reader)
    assert row is not None
    assert (row.request_seq, row.response_seq) == (2, 3)


def test_requests_to_the_client_are_counted_by_outcome(tmp_path: Path) -> None:
    """The store counts the agent's requests of a method by outcome, such as failed or open."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for number in range(4):
            recorder.to_client(request(number, "fs/read_text_file"))
        recorder.to_client(request(4, "fs/write_text_file"))
        recorder.to_agent(request(4, "fs/read_text_file"))
        recorder.to_agent(result(0))
        recorder.to_agent(result(1))
        recorder.to_agent(error(2, -32603, "no such file"))
    with RecordingReader(recorder.path) as reader:
        counts = exchanges.outcome_counts(reader, "fs/read_text_file")
    assert counts == {"result": 2, "error": 1, None: 1}
