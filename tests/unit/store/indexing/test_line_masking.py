"""The database never contains a secret, whichever process indexes the log."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import MARKER_KEY, STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.redaction.markers import MARKER
from acp_proxy.store.indexing import line_masking
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.reader import RecordingReader
from tests.support.capture_logs import reader
from tests.support.indexed_rows import dump, new_database, query, settle
from tests.support.log_writer import LogWriter, behind, line, notification, request

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path


SECRET = "Zq81xplKsecR7tv"
KEY = "0123456789abcdef" * 2


def masking_log(path: Path, level: str = "secrets", **start: Any) -> LogWriter:
    """Returns the log of a recorder that masks."""
    return LogWriter(path, **{"redaction": level, MARKER_KEY: KEY, **start})


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[LogWriter]:
    """Returns the log of a recorder that masks, with its first records."""
    with masking_log(tmp_path / "x.db") as writing:
        yield writing


def new_session(value: str = SECRET) -> dict[str, Any]:
    """Returns a request that passes a secret to an MCP server."""
    server = {"name": "x", "command": "y", "args": [], "env": [{"name": "A_TOKEN", "value": value}]}
    return request(1, "session/new", cwd="/srv/project", mcpServers=[server])


def chunk(text: str) -> dict[str, Any]:
    """Returns a line with a piece of the agent's message."""
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    return notification("session/update", sessionId="s1", update=update)


def index(recorder: LogWriter, rows: sqlite3.Connection, limit: int = 1 << 30) -> int:
    """Indexes the log with a new indexer for each batch; returns the number of bytes left."""
    with reader(recorder.log_path) as log:
        machine = Indexer(rows, log)
        while machine.step(limit):
            machine = Indexer(rows, log)
        return behind(machine)


def lines(rows: sqlite3.Connection) -> list[tuple[bytes, int]]:
    """Returns the line of each frame, and whether it is masked."""
    return [(bytes(raw), masked) for raw, masked in
            query(rows, "SELECT raw, flags >> 6 FROM frame_rows ORDER BY seq")]  # fmt: skip


def test_lines_are_masked(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """The indexer marks the lines in which it has masked a secret."""
    recorder.to_agent(new_session())
    recorder.to_client({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1"}})
    recorder.stderr(f"started with {SECRET}")
    recorder.stderr("started")
    settle(recorder.log_path, rows)
    assert [masked for _, masked in lines(rows)] == [1, 0, 1, 0]
    marker = MARKER.search(lines(rows)[0][0].decode())
    assert marker is not None
    assert lines(rows)[2][0] == f"started with {marker[0]}".encode()
    assert query(rows, "SELECT redaction FROM recording") == ["secrets"]


@pytest.mark.parametrize("level", ["none", "secrets", "private"])
def test_the_key_of_the_markers_is_in_no_row(tmp_path: Path, level: str) -> None:
    """The database of a masked recording does not contain the key of the markers."""
    with masking_log(tmp_path / "x.db", level, arg=["agent", "--token", SECRET]) as recorder:
        recorder.to_agent(new_session())
        recorder.end()
        recorder.close()
        recorder.index()
        recorder.finish()
    content = (tmp_path / "x.db").read_bytes()
    assert KEY.encode() not in content
    assert (SECRET.encode() in content) == (level == "none")


def test_a_piece_of_text_stays_in_the_log(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If a chunk may end with the start of a secret, the indexer stores it after the next chunk."""
    recorder.to_agent(new_session())
    recorder.to_client(chunk("harmless"), chunk(f"it is {SECRET[:6]}"))
    assert index(recorder, rows) > 0
    assert len(lines(rows)) == 2
    recorder.to_client(chunk(f"{SECRET[6:]}!"))
    assert index(recorder, rows) == 0
    texts = [json.loads(raw)["params"]["update"]["content"]["text"] for raw, _ in lines(rows)[1:]]
    assert [MARKER.sub("M", text) for text in texts] == ["harmless", "it is M", "!"]


def test_a_reader_does_not_wait(recorder: LogWriter) -> None:
    """While a chunk is held back for masking, commands show it without the start of the secret."""
    recorder.to_agent(new_session())
    recorder.to_client(chunk(f"it is {SECRET[:10]}"))
    with RecordingReader(recorder.path) as opened:
        assert opened.live
        texts = [bytes(row["raw"]) for row in opened.frames()]
        assert len(texts) == 2
        assert SECRET[:10].encode() not in texts[1]
        recorder.to_client(chunk(SECRET[10:]), chunk(" and more"))
        opened.refresh()
        texts = [bytes(row["raw"]) for row in opened.frames()]
        assert len(texts) == 4
        assert SECRET[10:].encode() not in texts[2]


@pytest.mark.parametrize("ended", ["end", "settle"])
def test_the_end_of_a_stream_ends_the_waiting(
    recorder: LogWriter, rows: sqlite3.Connection, ended: str
) -> None:
    """When a stream ends, the indexer stores a chunk that was held back for masking."""
    recorder.to_agent(new_session())
    recorder.to_client(chunk(SECRET[:4]), chunk(f"and {SECRET[:12]}"))
    if ended == "end":
        recorder.end()
        assert index(recorder, rows) == 0
    else:
        settle(recorder.log_path, rows)
    assert len(lines(rows)) == 3
    assert SECRET[:12].encode() not in lines(rows)[2][0]


MESSAGES = st.lists(
    st.one_of(
        st.tuples(st.just(TO_AGENT), st.just(line(new_session()))),
        st.tuples(st.just(TO_CLIENT), st.text("Zq81xplKsecR7tv ", max_size=12).map(
            lambda text: line(chunk(text)))),
        st.tuples(st.just(TO_CLIENT), st.integers(0, 15).flatmap(lambda n: st.sampled_from(
            [line(chunk(SECRET[:n])) + line(chunk(SECRET[n:])), line(chunk(SECRET * 2))]))),
        st.tuples(st.just(STDERR), st.just(f"log {SECRET}\n".encode())),
        st.tuples(st.just(TO_CLIENT), st.just(line({"id": 1, "result": {"x": SECRET * 20}}))),
    ),
    max_size=12,
)  # fmt: skip


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=settings().max_examples // 2,  # each has three indexers and their files
)
@given(MESSAGES, st.integers(1, 400), st.sets(st.integers(0, 11)), st.integers(1, 300))
def test_every_indexer_makes_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    messages: list[tuple[int, bytes]],
    limit: int,
    trims: set[int],
    size: int,
) -> None:
    """The masked rows are the same, however many indexers share the work and in which steps."""
    directory = tmp_path_factory.mktemp("logs")
    with (
        masking_log(directory / "a.db") as whole,
        masking_log(directory / "b.db", name="a") as emptied,
        new_database() as at_once,
        new_database() as in_batches,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(line_masking, "LARGE_LINE", 200)
        patch.setattr(line_masking, "LINE_EDGE", 100)
        whole.to_agent(new_session())
        emptied.to_agent(new_session())
        for number, (stream, data) in enumerate(messages):
            for start in range(0, len(data), size):
                for recorder in (whole, emptied):
                    recorder.chunk(stream, data[start : start + size])
            if number in trims:
                emptied.index()
                with reader(emptied.log_path) as log:
                    is_done = behind(Indexer(emptied._database(), log)) == 0
                if is_done:
                    emptied.trim()
                    whole.t_ns = emptied.t_ns
        settle(whole.log_path, at_once)
        # Each indexer reads the log from its beginning, so there are a hundred at most.
        index(whole, in_batches, max(limit, whole.log_path.stat().st_size // 100))
        settle(whole.log_path, in_batches)
        emptied.index()
        settle(emptied.log_path, emptied._database())
        assert dump(at_once) == dump(in_batches)
        assert not any(SECRET in repr(row) for row in dump(at_once))
        assert lines(at_once) == lines(emptied._database())


def test_what_masking_remembers_cannot_be_read(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """If the stored state of masking cannot be read, the indexer still masks secrets."""
    with LogWriter(recorder.path.with_name("y.db")) as other:
        other._record(capture_log.MASKING, 0, b"nonsense")
        other.to_agent(new_session())
        settle(other.log_path, rows)
    assert SECRET.encode() not in lines(rows)[0][0]


def test_large_lines_are_masked(
    recorder: LogWriter, rows: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The indexer masks the secrets in a large line without holding the line in memory."""
    monkeypatch.setattr(line_masking, "LARGE_LINE", 200)
    monkeypatch.setattr(line_masking, "LINE_EDGE", 100)
    recorder.to_agent(new_session())
    text = f"{'x' * 300} {SECRET} {'y' * 300}"
    recorder.to_client({"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s1", "text": text}})
    settle(recorder.log_path, rows)
    raw, masked = lines(rows)[1]
    assert masked
    assert MARKER.sub("M", json.loads(raw)["result"]["text"]) == text.replace(SECRET, "M")
    assert query(rows, "SELECT session, kind FROM frames WHERE seq = 3") == [("s1", "response")]


def test_undelivered_frames_are_found_by_what_was_received(
    recorder: LogWriter, rows: sqlite3.Connection
) -> None:
    """The indexer finds undelivered frames by their received sizes, not the sizes after masking."""
    for value in ("Zq81xplK" * 40, "Zq8"):
        recorder.to_agent(new_session(value))
    recorder.to_agent(request(2, "x"))
    lost = len(line(request(2, "x"))) + len(line(new_session("Zq8"))) + 5
    recorder.event(capture_log.UNDELIVERED, TO_AGENT, bytes=lost)
    settle(recorder.log_path, rows)
    delivered = query(rows, "SELECT delivered FROM frames ORDER BY seq")
    assert delivered == ["partial", "none", "none"]


def test_what_faults_changed_is_masked(recorder: LogWriter, rows: sqlite3.Connection) -> None:
    """If a fault changes a line, secrets are masked in the received and the delivered line."""
    recorder.to_agent(new_session())
    recorder._record(capture_log.PART, TO_AGENT, line(new_session())[:-20])
    recorder.event(capture_log.FAULT, TO_AGENT, rule="r", action="truncate")
    recorder._record(capture_log.PART, TO_CLIENT, line(chunk(SECRET)))
    recorder.event(capture_log.MADE, TO_CLIENT, rule="r", action="inject")
    settle(recorder.log_path, rows)
    fired = query(rows, "SELECT received, delivered FROM faults_fired")
    assert len(fired) == 2
    assert not any(SECRET.encode() in (value or b"") for row in fired for value in row)
    assert [masked for _, masked in lines(rows)] == [1, 1]


def test_private_text_is_masked(tmp_path: Path, rows: sqlite3.Connection) -> None:
    """With the level `private`, prompts are masked in the database."""
    with masking_log(tmp_path / "p.db", "private") as recorder:
        recorder.to_client(chunk("Hello, world"))
        settle(recorder.log_path, rows)
    assert b'"xxxxxx xxxxx"' in lines(rows)[0][0]
