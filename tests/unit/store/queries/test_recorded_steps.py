"""`replay` reads a recording as steps in order, and reads the bytes of a step by its number."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import DamagedRecording
from acp_proxy.store.queries import recorded_steps
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support.indexed_rows import alter
from tests.support.log_writer import LogWriter, handshake, record_conversation, write_conversation
from tests.support.playbook import record

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.recording.steps import Script, Step

HELLO = """
    1-2 handshake
"""


def steps(script: Script) -> list[Step]:
    """Returns all steps of a recording."""
    every = []
    while some := script.read():
        every += some
    return every


def test_steps_know_their_exchange(tmp_path: Path) -> None:
    """Each step of a replay has the exchange and the session of its frame."""
    recorded = record(tmp_path, HELLO + """
        3 -> #1 session/new {"cwd": "/"}
        4 <- #1 result {"sessionId": "s"}
        5 <- #0 fs/read_text_file {"sessionId": "s", "path": "/a"}
        6 -> #0 result {"content": ""}
        7 -> session/cancel {"sessionId": "s"}
    """)  # fmt: skip
    new, made, ask, reply, cancel = steps(recorded.script())[2:]
    assert (new.session, new.names_session, new.response_seq) == ("s", False, made.seq)
    assert [(answer.exchange, answer.rpc_id) for answer in made.answers] == [(new.exchange, "1")]
    assert [(a.rpc_id, a.method, a.reply_seq) for a in ask.asks] == [
        ("0", "fs/read_text_file", reply.seq)
    ]
    assert (reply.exchange, reply.method) == (ask.exchange, "fs/read_text_file")
    assert [step.is_awaited for step in (new, reply, cancel)] == [True] * 3
    recorded.close()


def test_requests_that_a_client_may_omit(tmp_path: Path) -> None:
    """For `replay`, some requests are optional for the client, such as `session/list`."""
    recorded = record(tmp_path, HELLO + """
        3 -> #1 session/list {}
        4 -> #2 authenticate {"methodId": "m"}
        5 -> _x/y {}
        6 -> $/cancel_request {"requestId": 77}
        7 -> {"jsonrpc": "2.0", "id": 8, "result": {}}
    """)  # fmt: skip
    book_steps = [step for step in steps(recorded.script()) if not step.from_agent]
    assert [step.is_optional for step in book_steps] == [False, True, False, *[False] * 3]
    assert [step.is_awaited for step in book_steps] == [True, True, True, *[False] * 3]
    recorded.close()


def test_a_batch_of_the_client_is_its_members(tmp_path: Path) -> None:
    """Each message in a JSON-RPC batch of the client is a step of its own for `replay`."""
    recorded = record(tmp_path, HELLO + """
        3 <- #5 _x/ask {}
        4 -> [{"id":5,"method":"_x/a"},{"id":5,"result":{}},{"method":"_x/n"},3]
        5 <- [{"id":5,"result":{}},{"id":6,"method":"_x/b"}]
    """)  # fmt: skip
    asked, request, reply, note, odd, batch = steps(recorded.script())[2:]
    assert [step.key[1] for step in (request, reply, note, odd)] == [0, 1, 2, 3]
    assert [step.kind for step in (request, reply, note, odd)] == [
        "request", "response", "notification", "invalid"
    ]  # fmt: skip
    assert reply.exchange == asked.asks[0].exchange
    assert batch.answers[0].exchange == request.exchange
    assert [ask.rpc_id for ask in batch.asks] == ["6"]
    recorded.close()


def test_frames_are_read_by_number(tmp_path: Path) -> None:
    """`replay` can read the bytes of any frame by the frame's number."""
    recorded = record(tmp_path, HELLO + r"""
        3 <- | one\r
        4 <- | \xff
        5 <- | last\c
    """)  # fmt: skip
    script = recorded.script()
    for number in (5, 1, 4, 3, 4):
        wire = script.wire(recorded.seq(number))
        assert wire.raw + wire.newline.encode() == recorded.raw[number]
    recorded.close()


def test_a_large_recording_is_read_in_pieces(tmp_path: Path) -> None:
    """`replay` does not hold all large frames in memory."""
    lines = "\n".join(f'<- _n {{"n": {n}, "x": "{"x" * 50_000}"}}' for n in range(300))
    recorded = record(tmp_path, lines)
    script = recorded.script()
    assert 0 < len(script.read()) < 300
    for number in (1, 300, 2, 150):
        assert script.wire(recorded.seq(number)).raw + b"\n" == recorded.raw[number]
    assert recorded.script()._held == 0
    assert script._held < 8 << 20
    recorded.close()


def test_later_messages_are_found_by_method(tmp_path: Path) -> None:
    """For `replay`, the store lists the client's requests of one method after a given frame."""
    recorded = record(tmp_path, HELLO + """
        3 -> #1 _x/a {}
        4 <- #1 _x/a {}
        5 -> #2 _x/b {}
        6 -> #3 _x/a {}
        7 -> _x/a {}
    """)  # fmt: skip
    script = recorded.script()
    assert [s.seq for s in script.later("_x/a", "request", 0)] == [recorded.seq(3), recorded.seq(6)]
    assert [s.seq for s in script.later("_x/a", "request", recorded.seq(3))] == [recorded.seq(6)]
    assert [*script.later("_x/none", "request", 0)] == []
    recorded.close()


def test_the_peer_that_left_first(tmp_path: Path) -> None:
    """`replay` reads from a recording if and when the agent ended before its client left."""
    assert record(tmp_path, HELLO).script().agent_left_at is None
    died = record(tmp_path, HELLO + "<- end")
    assert (died.script().agent_left_at or 0) > died.seq(2)
    assert record(tmp_path, HELLO + "-> end\n<- end").script().agent_left_at is None


def test_the_dialect_is_known(tmp_path: Path) -> None:
    """For a recording whose handshake agrees on version 1, `replay` uses the dialect `v1`."""
    assert record(tmp_path, HELLO).script().dialect == "v1"


@pytest.mark.parametrize("indexed", [0, 1, 2])
def test_frames_that_only_the_log_has_are_played_as_well(tmp_path: Path, indexed: int) -> None:
    """`replay` also plays frames that are only in the recorder's capture log."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        if indexed > 0:
            recorder.index()
        write_conversation(recorder)
        if indexed > 1:
            recorder.index()
        recorder.end()
        with RecordingReader(recorder.path) as reader:
            assert reader.live
            script = RecordedSteps(reader)
            early = [(s.seq, s.kind, s.method, s.exchange, s.response_seq) for s in steps(script)]
            lines = [script.wire(seq).raw for seq, *_ in early]
        recorder.close()
        recorder.finish()
        with RecordingReader(recorder.path) as reader:
            script = RecordedSteps(reader)
            later = [(s.seq, s.kind, s.method, s.exchange, s.response_seq) for s in steps(script)]
            assert early == later
            assert lines == [script.wire(seq).raw for seq, *_ in later]


def test_damage_is_reported_from_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the table of fired faults is damaged, `replay` reports this before the first frame."""

    def broken(_: sqlite3.Connection) -> None:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(recorded_steps, "FaultedFrames", broken)
    path = record_conversation(tmp_path / "x.db")
    with RecordingReader(path) as reader, pytest.raises(DamagedRecording, match="malformed"):
        RecordedSteps(reader)


def test_what_was_delivered_has_to_be_bytes(tmp_path: Path) -> None:
    """`replay` calls a recording damaged if a fault's delivered bytes are stored as a number."""
    alter(
        record_conversation(tmp_path / "x.db"),
        "INSERT INTO faults_fired (seq, rule, action, received, delivered)"
        " VALUES (7, 'r', 'a', x'01', 5)",
    )
    expected = pytest.raises(DamagedRecording, match="frame 7: expected delivered bytes, got int")
    with RecordingReader(tmp_path / "x.db") as reader, expected:
        RecordedSteps(reader).wire(7)
