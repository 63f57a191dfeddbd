"""A pass over a recording's messages finds the same facts as the indexer."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from acp_proxy.explain.message_pass import PAUSE_NS, MessagePass, messages_of
from acp_proxy.protocol.connection import FORCED
from acp_proxy.protocol.connection_state import Transition
from acp_proxy.protocol.jsonrpc import Direction, Kind, read
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import LogWriter, error, request, result, text

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.db"))


@each_case("path", RECORDINGS, ids=lambda path: path.stem)
def test_the_labels_are_those_that_were_stored(path: Path) -> None:
    """`MessagePass` gives each frame of a shipped recording the labels that the database has."""
    names = ("method", "exchange", "session", "turn", "tool_call", "terminal")
    with RecordingReader(path) as reader:
        stored = {head.seq: [getattr(head, name) for name in names] for head in reader.heads()}
        messages = MessagePass(reader)
        labels = {
            run.seq: [getattr(transition, name) for name in names]
            for run, _, transition in messages.read(-1)
        }
        unanswered = "SELECT request_seq FROM exchanges WHERE response_seq IS NULL"
        expected = {row["request_seq"] for row in reader.query(unanswered)}
    assert labels == stored
    still = (
        open_request for way in Direction for open_request in messages.connection.open_requests(way)
    )
    assert {exchange.request_seq for exchange in still} == expected


def test_a_large_line_is_read_from_its_ends(tmp_path: Path) -> None:
    """`MessagePass` finds the session of a huge prompt, though it reads only the two ends."""
    with LogWriter(tmp_path / "x.db") as recorder:
        prompt = [text("x" * (3 << 20))]
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=prompt))
        recorder.to_client(result(1, stopReason="end_turn"))
        recorder.end()
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        (asked, answered) = [transition for run, _, transition in MessagePass(reader).read(0)]
    assert asked.session == "s"
    assert answered.answered is asked.opened
    assert answered.ended == [asked.begun]


def test_a_message_on_stderr_is_a_line_of_text(tmp_path: Path) -> None:
    """`MessagePass` does not take a line of stderr for a message, even if it looks like one."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for line in ('{"method": "a"}', '{"id": 1, "method": "a"}', '{"id": 1, "result": {}}'):
            recorder.stderr(line)
        recorder.end()
        recorder.close()
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        messages = MessagePass(reader).read(PAUSE_NS)
        kinds = [(message.kind, transition) for _, message, transition in messages]
        MessagePass(reader).play_to([], PAUSE_NS)
    assert kinds == [(Kind.BLANK, Transition())] * 3


def test_a_forced_dialect_is_kept(tmp_path: Path) -> None:
    """If a user has chosen the dialect of a recording, `MessagePass` reads it in this dialect."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=2))
        recorder.end()
        recorder.close()
        recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as database, database:
        database.execute("UPDATE recording SET dialect = 'v1', dialect_reason = ?", (FORCED,))
    with RecordingReader(recorder.path) as reader:
        messages = MessagePass(reader)
        assert len(list(messages.read(0))) == 1
    assert messages.connection.dialect == "v1"


def test_a_batch_is_taken_apart() -> None:
    """`messages_of` returns each message of a JSON-RPC batch as a message of its own."""
    batch = read(b'[{"id": 1, "method": "a"}, {"id": 2, "method": "b"}]')
    transition = Transition(members=[Transition("a"), Transition("b")])
    pairs = [(message.method, its.method) for message, its in messages_of(batch, transition)]
    assert pairs == [("a", "a"), ("b", "b")]
    alone = read(b'{"method": "a"}')
    assert alone.kind is Kind.NOTIFICATION
    assert list(messages_of(alone, Transition())) == [(alone, Transition())]


def test_a_history_ends_with_the_answer_that_opens_its_session(tmp_path: Path) -> None:
    """In a `MessagePass`, the history of a loaded session ends at the answer to `session/load`."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/load", sessionId="s"))
        recorder.to_agent(request(2, "session/resume", sessionId="s"))
        recorder.to_client(result(1), error(2, -32603, "no"))
    with RecordingReader(recorder.path) as reader:
        messages = MessagePass(reader)
        numbers = [messages.history_seq("s") for _ in messages.read(0)]
        assert numbers == [2, 2, 3, None]
        assert messages.history_seq("t") is None


def test_a_fork_opens_its_session_again_until_it_is_answered(tmp_path: Path) -> None:
    """In a `MessagePass`, updates between a `session/fork` and its answer are history."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/fork", sessionId="s"))
        recorder.to_client(result(1, sessionId="t"))
    with RecordingReader(recorder.path) as reader:
        messages = MessagePass(reader)
        assert [messages.history_seq("s") for _ in messages.read(0)] == [2, None]
