"""If recorders and readers are killed while they mask, no frame is lost, no secret stored."""

from __future__ import annotations

import base64
import json
import mmap
import os
import random
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch
from urllib.parse import quote

import pytest

from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.record import indexing
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.recording.log_format import MARKER_KEY, START, STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.store.indexing.row_writer import RowWriter
from acp_proxy.store.reader import RecordingReader
from tests.support.indexed_rows import TABLES, query
from tests.support.log_writer import line, request, result, text, update

if TYPE_CHECKING:
    from collections.abc import Callable

SMALL = 6 << 10
"""The size from which a log is emptied, so small that this happens several times."""
SLOWEST_S = 0.15
KILLS = 100
"""The number of recorders that are killed in the long run, and the same number of readers."""
SECRETS = [base64.b64encode(random.Random(n).randbytes(18)).decode().replace("/", "-")
           for n in range(9)]  # fmt: skip

Record = tuple[int, bytes]


def conversation(seed: int) -> list[Record]:
    """Returns chunks of three streams with secrets in many forms, cut at random."""
    chance = random.Random(seed)

    records: list[Record] = []

    def cut(stream: int, data: bytes) -> None:
        while data:
            size = chance.choice([1, 7, 40, 300, 3000])
            records.append((stream, data[:size]))
            data = data[size:]

    for number, secret in enumerate(SECRETS):
        env = [{"name": "API_KEY", "value": secret}]
        server = {"name": "m", "command": "x", "args": [], "env": env}
        new = request(number, "session/new", cwd="/srv", mcpServers=[server])
        cut(TO_AGENT, line(new))
        cut(TO_CLIENT, line(result(number, sessionId=f"s{number}")))
        known = SECRETS[: number + 1]
        for _ in range(chance.randrange(4, 9)):
            said = chance.choice(known)
            form = chance.choice([said, quote(said, safe=""), json.dumps({"key": said})])
            content = f"{'lorem ipsum ' * chance.randrange(9)}it is {form}, as you see"
            while content and chance.random() < 0.98:
                size = chance.randrange(1, 30)
                piece, content = content[:size], content[size:]
                cut(
                    TO_CLIENT,
                    line(update(f"s{number}", "agent_message_chunk", content=text(piece))),
                )
            if chance.random() < 0.4:
                cut(STDERR, f"connecting with {chance.choice(known)}\n".encode())
            if chance.random() < 0.4:
                tool = {"toolCallId": "t", "rawOutput": chance.choice(known)}
                cut(TO_CLIENT, line(update(f"s{number}", "tool_call_update", **tool)))

    return records


def record(path: Path, records: list[Record], count_map: mmap.mmap, *, works: bool = True) -> None:
    """Records chunks as a recorder does, with a clock that is the same in each run."""
    ticks = iter(range(10**9, 1 << 62, 1000))
    with patch("acp_proxy.record.capture.log_writer.time.monotonic_ns", lambda: next(ticks)):
        log = CaptureLog.create(f"{path}.log")
        fields: dict[str, Any] = {"id": "c0ffee", "name": "x", "wall": 1, "origin": 10**9}
        log.event(START, {**fields, "arg": ["a"], "redaction": "secrets", MARKER_KEY: "5a" * 16})
    indexer = indexing.Indexing(log)
    for number, (stream, data) in enumerate(records):
        log.append(stream, 2 * 10**9 + number * 1000, data)
        count_map[:4] = (number + 1).to_bytes(4, "little")
        if works and number % 5 == 4:
            indexer._work()


def in_child(work: Callable[[], None]) -> int:
    """Runs a function in a child process, and returns the process id."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        with (
            patch("trio.from_thread.check_cancelled"),
            patch.object(indexing, "TRIM", SMALL),
        ):
            work()
        status = 0
    finally:
        os._exit(status)


def ended(pid: int) -> int:
    """Waits for a child process; returns its exit code, or a negative signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def read(path: Path) -> None:
    """Opens a recording with a reader, which indexes the rest of its log."""
    with RecordingReader(path):
        pass


def rows(path: Path) -> dict[str, list[Any]]:
    """Returns all rows of a finished recording, by table."""
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: query(connection, f"SELECT * FROM {table} ORDER BY rowid") for table in TABLES
        }


def expect_hidden(path: Path) -> None:
    """Asserts that no file of a database contains a secret, even in unused pages."""
    for suffix in ("", "-wal", "-journal", "-shm"):
        file = Path(f"{path}{suffix}")
        data = file.read_bytes() if file.exists() else b""
        for secret in SECRETS:
            assert secret.encode() not in data, f"{secret} in {file.name}"
            assert quote(secret, safe="").encode() not in data


def expect_whole(path: Path, records: list[Record], count_map: mmap.mmap, place: Path) -> None:
    """Asserts that the rows equal those of a recorder that stopped at the same chunk."""
    read(path)
    expect_hidden(path)
    assert not Path(f"{path}.log").exists()
    count, actual = int.from_bytes(count_map[:4], "little"), rows(path)
    wanted = []
    for size in (count, count + 1):  # killed before or after the next record
        other = place / f"{size}.db"
        assert ended(in_child(lambda: record(other, records[:size], count_map, works=False))) == 0  # noqa: B023
        read(other)
        wanted.append(rows(other))
    assert actual in wanted
    said: dict[str, str] = {}
    with RecordingReader(path) as reader:
        for row in reader.frames():
            if (chunk := chunk_of(row["raw"])) is not None:
                said[row["session"]] = said.get(row["session"], "") + chunk.text
    for secret in SECRETS:
        assert not any(secret in whole for whole in said.values())


def kill_at(name: str, number: int) -> Callable[[], Any]:
    """Returns a patch that kills the process after a given call of a function."""
    owner, _, attribute = name.rpartition(".")
    target: Any = {"os": os, "rows": RowWriter, "log": CaptureLog}[owner]
    function, calls = getattr(target, attribute), iter(range(1, 1 << 30))

    def call(*arguments: Any, **options: Any) -> Any:
        actual = function(*arguments, **options)
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return actual

    return lambda: patch.object(target, attribute, call)


@pytest.mark.parametrize(
    "point",
    [
        ("rows.commit", 1),
        ("rows.commit", 7),
        ("os.ftruncate", 1),
        ("log.trim", 2),
        ("log.append", 333),
    ],
    ids=lambda point: " ".join(map(str, point)),
)
def test_a_recorder_is_killed_at_a_point(tmp_path: Path, point: tuple[str, int]) -> None:
    """If a masking recorder is killed at any write, no frame is lost or stored without masking."""
    records, path, count_map = conversation(1), tmp_path / "x.db", mmap.mmap(-1, 4)
    patched = kill_at(*point)

    def work() -> None:
        with patched():
            record(path, records, count_map)

    assert ended(in_child(work)) == -signal.SIGKILL
    expect_hidden(path)
    expect_whole(path, records, count_map, tmp_path)


def test_a_recorder_that_is_not_killed(tmp_path: Path) -> None:
    """If a masking recorder is not killed and empties its log several times, no frame is lost."""
    records, path, count_map = conversation(1), tmp_path / "x.db", mmap.mmap(-1, 8)

    def work() -> None:
        trim = CaptureLog.trim

        def counted(*arguments: Any) -> bool:
            count_map[4:8] = (int.from_bytes(count_map[4:8], "little") + 1).to_bytes(4, "little")
            return trim(*arguments)

        with patch.object(CaptureLog, "trim", counted):
            record(path, records, count_map)

    assert ended(in_child(work)) == 0
    assert int.from_bytes(count_map[4:8], "little") > 3
    expect_whole(path, records, count_map, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(KILLS))
def test_a_recorder_and_a_reader_are_killed(tmp_path: Path, seed: int) -> None:
    """If a masking recorder and then a reader that indexes the log are killed, no frame is lost."""
    chance = random.Random(seed)
    records, path, count_map = conversation(seed), tmp_path / "x.db", mmap.mmap(-1, 4)
    pid = in_child(lambda: record(path, records, count_map))
    moment = chance.randrange(1, len(records))
    while int.from_bytes(count_map[:4], "little") < moment:
        time.sleep(0.0001)
    time.sleep(chance.random() * 0.02)  # in whatever it does then
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    expect_hidden(path)
    pid = in_child(lambda: read(path))
    time.sleep(chance.random() * SLOWEST_S * chance.random())
    os.kill(pid, signal.SIGKILL)
    ended(pid)
    expect_hidden(path)
    expect_whole(path, records, count_map, tmp_path)
