"""Records of faults in a capture log become rows, however the log is indexed in batches."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.log.log_reader import LogReader
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.indexed_rows import dump, new_database, query
from tests.support.log_writer import LogWriter, notification, request

if TYPE_CHECKING:
    from pathlib import Path

FIRED = "select seq, rule, action, received, delivered from faults_fired order by rowid"


def fault(recorder: LogWriter, stream: int = TO_CLIENT, **fields: Any) -> None:
    """Logs that a rule fired on the last line."""
    recorder.event(capture_log.FAULT, stream, **{"rule": "r", "action": "drop", **fields})


def part(recorder: LogWriter, data: bytes, stream: int = TO_CLIENT) -> None:
    """Logs a piece of a line that a fault made."""
    recorder._record(capture_log.PART, stream, data)


def made(recorder: LogWriter, data: bytes, stream: int = TO_CLIENT, **fields: Any) -> None:
    """Logs that a rule injected a line."""
    part(recorder, data, stream)
    recorder.event(capture_log.MADE, stream, rule="m", action="stray-stdout", **fields)


def tell(recorder: LogWriter) -> None:
    """Logs all kinds of fault effects on lines; the comments give the numbers of the frames."""
    recorder.chunk(TO_CLIENT, b"one\ntwo\r\n")  # 2, 3
    fault(recorder, delivered="none")
    recorder.chunk(TO_CLIENT, b"thr")
    recorder.to_agent(request(1, "session/prompt", sessionId="s"))  # 4
    fault(recorder, TO_AGENT, rule="late", action="latency", delivered="full", same=1)
    recorder.chunk(TO_CLIENT, b"ee\n")  # 5
    part(recorder, b"th\0\xff")
    part(recorder, b"\n")
    fault(recorder, action="corrupt", delivered="full")
    fault(recorder, rule="s", action="corrupt", delivered="partial", same=1)
    made(recorder, b"hey\r\n", at=recorder.t_ns)  # 6
    recorder.event(capture_log.EFFECT, TO_CLIENT, rule="x", action="kill", signal=9)  # 7
    recorder.to_agent(request(2, "session/prompt", sessionId="s"))  # 8
    fault(recorder, TO_AGENT, rule="gone", delivered="none", again=1)
    recorder.chunk(TO_CLIENT, b"last")  # 9
    part(recorder, b"la")
    fault(recorder, action="truncate", delivered="partial", last=1)
    recorder.event(capture_log.END, TO_CLIENT, reason="end of file")  # 10


ROWS = [
    (2, b"one", "full", None),
    (3, b"two", "none", "r"),
    (4, None, "full", "late"),
    (5, b"three", "partial", "s"),
    (6, b"hey", "full", "m"),
    (8, None, "none", "gone"),
    (9, b"last", "partial", "r"),
]
FAULTS = [
    (3, "r", "drop", b"two", None),
    (4, "late", "latency"),
    (5, "r", "corrupt", b"three", b"th\0\xff\n"),
    (5, "s", "corrupt", b"three", b"three\n"),
    (6, "m", "stray-stdout", None, b"hey\r\n"),
    (9, "r", "truncate", b"last", b"la"),
]


def check(connection: Any) -> None:
    """Asserts that the rows are those of the effects that `tell` has logged."""
    frames = query(connection, "select seq, raw, delivered, fault from frames order by seq")
    for frame, (seq, raw, delivered, by) in zip(frames, ROWS, strict=True):
        assert (frame[0], *frame[2:]) == (seq, delivered, by)
        assert raw is None or frame[1] == raw
    fired = query(connection, FIRED)
    for row, expected in zip(fired, FAULTS, strict=True):
        assert row[: len(expected)] == expected
    assert fired[1][4] == fired[1][3] + b"\n"


@pytest.mark.parametrize("limit", [1, 60, 1 << 18])
def test_rows_of_faults(tmp_path: Path, limit: int) -> None:
    """The rows of faults are the same, in whatever steps the indexer reads the log."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        tell(recorder)
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step(limit):
            pass
        assert indexer.is_whole
        indexer.settle()
        check(connection)
        whole = dump(connection)
    with LogWriter(tmp_path / "y.db") as recorder, new_database() as connection:
        tell(recorder)
        for _ in range(100):  # another indexer for each batch, as after a crash
            Indexer(connection, LogReader(recorder._fd)).step(limit)
        Indexer(connection, LogReader(recorder._fd)).settle()
        check(connection)
        assert dump(connection)["frame_rows"] == whole["frame_rows"]


def test_a_line_that_waits_for_its_end_is_kept(tmp_path: Path) -> None:
    """While a line that a fault changed is incomplete, the indexer waits for its end."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        recorder.chunk(TO_CLIENT, b"one\n")
        part(recorder, b"piece")
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step():
            pass
        assert not indexer.is_whole


@pytest.mark.parametrize("indexed", [False, True])
def test_a_live_recording_shows_faults(tmp_path: Path, indexed: bool) -> None:
    """`log` and `export` of a running recording contain the faults that have fired so far."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_CLIENT, b"zero\n")
        fault(recorder, delivered="none")
        if indexed:
            recorder.index()
        recorder.chunk(TO_CLIENT, b"one\n")
        part(recorder, b"un\n")
        fault(recorder, rule="s", action="replace", delivered="full")
        with RecordingReader(recorder.path) as reader:
            assert reader.live
            rows = [row for row in reader.frames() if row["fault"]]
            assert [row["fault"] for row in rows] == ["r", "s"]
            assert [row["fired"][0]["delivered"] for row in rows] == [None, b"un\n"]
        assert run("inspect", "export", recorder.path, "-o", tmp_path / "x.jsonl").exit_code == 0
        assert (tmp_path / "x.jsonl").read_text().count('"fired"') == 2


def test_a_fault_at_a_line_that_is_in_rows_already(tmp_path: Path) -> None:
    """The indexer links a fault to its frame even if the frame is in the database already."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.chunk(TO_CLIENT, b"zero\n")
        recorder.index()
        fault(recorder, delivered="full", same=1)
        with RecordingReader(recorder.path) as reader:
            ((seq, received, delivered),) = [
                (row["seq"], row["received"], row["delivered"])
                for row in reader.query("select seq, received, delivered from faults_fired")
            ]
            assert (seq, received, delivered) == (2, b"zero", b"zero\n")


def test_how_late_lines_went_out(tmp_path: Path) -> None:
    """If a fault delays a frame, the indexer stores the length of the delay."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        for more in ({"late": 20}, {"held": 1}, {}):
            recorder.chunk(TO_CLIENT, b"line\n")
            fault(recorder, delivered="full", same=1, **more)
        made(recorder, b"more\n", held=2)
        recorder.event(capture_log.SENT, TO_CLIENT, held=2, late=50)
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step(1):
            pass
        recorder.event(capture_log.SENT, TO_CLIENT, held=1, late=40)
        recorder.event(capture_log.SENT, TO_CLIENT, held=1, late=41)
        while indexer.step(1):
            pass
        delays = query(connection, "select late_ns from faults_fired order by seq")
        assert delays == [20, 40, None, 50]


def test_a_request_that_never_arrived_is_not_waited_for(tmp_path: Path) -> None:
    """If a fault withheld a request, the indexer does not count the request as open."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        tell(recorder)
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step():
            pass
        waiting = indexer.open_requests(Direction.TO_AGENT)
        assert [exchange.rpc_id for exchange in waiting] == ["1"]


def test_undelivered_bytes_are_not_those_that_were_dropped(tmp_path: Path) -> None:
    """The indexer assigns undelivered bytes to the last frame that no fault has dropped."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        recorder.chunk(TO_CLIENT, b"one\ntwo\n")
        fault(recorder, delivered="none")
        recorder.event(capture_log.UNDELIVERED, TO_CLIENT, bytes=4)
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step():
            pass
        assert query(connection, "select delivered, fault from frames") == [
            ("none", None),
            ("none", "r"),
        ]


def test_faults_of_no_line(tmp_path: Path) -> None:
    """The indexer ignores invalid records about faults in a capture log."""
    with LogWriter(tmp_path / "x.db") as recorder, new_database() as connection:
        fault(recorder, TO_AGENT, delivered="nonsense")
        fault(recorder, 0)
        made(recorder, b"", STDERR)
        recorder.event(capture_log.FAULT, TO_CLIENT)
        recorder.to_client(notification("a"))
        recorder.event(capture_log.FAULT, TO_CLIENT, delivered="nonsense")
        indexer = Indexer(connection, LogReader(recorder._fd))
        while indexer.step(1):
            pass
        assert query(connection, "select stream, delivered, fault from frames") == [
            ("stderr", "full", "m"),
            ("to-client", "full", ""),
        ]


@pytest.mark.parametrize(
    ("text", "expected"), [("7", 7), ("-7", -7), ("9" * 30, None), ("x", None), ("", None)]
)
def test_the_seed_and_the_plan(tmp_path: Path, text: str, expected: int | None) -> None:
    """The database of a recording has the seed and the plan of its faults."""
    path = tmp_path / "x.db"
    with LogWriter(path, seed=text, fault_plan="[[fault]]\nkind = 'drop'") as recorder:
        recorder.close()
        recorder.finish()
    with sqlite3.connect(path) as connection:
        rows = query(connection, "select seed, fault_plan from recording")
    connection.close()
    assert rows == [(expected, "[[fault]]\nkind = 'drop'")]
