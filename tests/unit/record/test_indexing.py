"""At the end of a conversation, the recorder's indexer stops in the middle of a backlog."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.record import indexing
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.indexing import Indexing
from acp_proxy.recording.log_format import CLOSE, START, TO_AGENT
from acp_proxy.store.indexing.indexer import Indexer
from acp_proxy.store.reader import RecordingReader

LINE = b'{"jsonrpc":"2.0","method":"m"}\n'
PROMPT = b'{"jsonrpc":"2.0","id":0,"method":"session/prompt"}\n'


@pytest.fixture
def log(tmp_path: Path) -> CaptureLog:
    """Returns the capture log of a running conversation."""
    log = CaptureLog.create(str(tmp_path / "talk.db.log"))
    masking = {"redaction": "secrets", "marker_key": "00" * 16}
    log.event(START, {"id": "1", "name": "talk", "origin": 0, "wall": 0, **masking})
    return log


async def test_a_backlog_is_left_at_the_end(
    log: CaptureLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recorder is cancelled with a backlog of chunks, its indexer stops at once."""
    steps: list[Indexer] = []
    log.append(TO_AGENT, 1, LINE)

    def endless_step(indexer: Indexer) -> int:
        """Reports more work each time. The third call ends the conversation."""
        steps.append(indexer)
        assert len(steps) <= 3, "expected nothing more to be indexed"
        if len(steps) == 3:
            trio.from_thread.run_sync(nursery.cancel_scope.cancel)
        return 1

    monkeypatch.setattr(Indexer, "step", endless_step)
    monkeypatch.setattr(indexing, "QUIET", 0.0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Indexing(log).run)
    assert len(steps) == 3


def test_half_a_line_is_finished_at_the_end(log: CaptureLog) -> None:
    """At the end of a recording, an unfinished line becomes a frame."""
    log.append(TO_AGENT, 1, LINE + b"half a l")
    log.event(CLOSE, {"reason": "the agent exited"})
    it = Indexing(log)
    it.finish()
    with RecordingReader(it.path) as reader:
        frames = [(bytes(f["raw"]), f["newline"]) for f in reader.frames()]
        assert frames == [(LINE[:-1], "\n"), (b"half a l", "")]
        assert reader.recording.state == "complete"


def test_a_log_that_cannot_be_finished_in_time_stays(
    log: CaptureLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a recorder has no time to index its last frames, the next command indexes them."""
    log.append(TO_AGENT, 1, LINE * 10)
    log.event(CLOSE, {"reason": "the agent exited"})
    monkeypatch.setattr(indexing, "LAST", -1.0)
    it = Indexing(log)
    it.finish()
    assert (it.path.parent / "talk.db.log").exists()
    with RecordingReader(it.path) as reader:
        assert sum(1 for _ in reader.frames()) == 10


ENV = b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"env":{"DEPLOY":"Zq81xplKsecR7tv"}}}\n'


@pytest.mark.parametrize("seconds", [60.0, 0.0])
def test_earlier_rows_are_masked_at_the_end(
    log: CaptureLog, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """At its end, a recorder masks in earlier frames the secrets that it recognized later."""
    log.append(TO_AGENT, 1, b"it is Zq81xplKsecR7tv\n" + ENV)
    log.event(CLOSE, {"reason": "the agent exited"})
    it, log_path = Indexing(log), Path(log.path)
    it._open().step()  # the recorder was quiet for a while
    monkeypatch.setattr(indexing, "LAST", seconds)
    it.finish()
    assert log_path.exists() == (seconds == 0.0)
    assert (b"Zq81xplK" in it.path.read_bytes()) == (seconds == 0.0)
    os.close(log.fd)
    with RecordingReader(it.path) as reader:
        assert reader.recording.state == "complete"
        assert [row["masked"] for row in reader.frames()] == [1, 1]
    assert not log_path.exists()
    assert b"Zq81xplK" not in it.path.read_bytes()


async def test_an_open_request_is_known(log: CaptureLog) -> None:
    """`Indexing.is_open_request` is true for a request that is in the log, not in the database."""
    log.append(TO_AGENT, 1, PROMPT)
    is_open = Indexing(log).is_open_request
    assert await trio.to_thread.run_sync(is_open, Direction.TO_AGENT) is True
    assert await trio.to_thread.run_sync(is_open, Direction.TO_CLIENT) is False


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ([".log"], None),
        (["", ".log"], "it was removed; {log} was removed, so only the frames in talk.db are kept"),
        (
            [""],
            "it was removed; the recording is kept in {log}, and a later command indexes it",
        ),
    ],
)
def test_only_what_is_there_is_said_to_be_kept(
    log: CaptureLog, gone: list[str], said: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    """If the database was removed, the last error of a recorder names the file with the frames."""
    log.append(TO_AGENT, 1, LINE)
    it = Indexing(log)
    it._open()
    log.event(CLOSE, {"reason": "the agent exited"})
    for suffix in gone:
        Path(f"{it.path}{suffix}").unlink()
    it.finish()
    told = capfd.readouterr().err
    if said is None:
        assert told == ""
        with RecordingReader(it.path) as reader:
            assert reader.count() == 1
    else:
        assert told == f"acp-proxy: cannot index into {it.path}: {said.format(log=log.path)}\n"
