"""Runs of frames: each frame is in one, and only pieces without a pause share one."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.capture import log_format as capture_log
from acp_proxy.errors import DamagedRecording
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import MS, LogWriter, request, result, text, update

if TYPE_CHECKING:
    from acp_proxy.recording import FrameRun

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.db"))
FOREVER = 1 << 62


def chunk(recorder: LogWriter, session: str = "s", **more: Any) -> None:
    """The agent streams a piece of a message."""
    recorder.to_client(update(session, "agent_message_chunk", content=text("…"), **more))


def runs(recorder: LogWriter, pause_ns: int = 5 * MS) -> list[tuple[int, int]]:
    """The first and the last number of each run from the prompt on."""
    with RecordingReader(recorder.path) as reader:
        return [(run.seq, run.last_seq) for run in reader.runs(pause_ns)]


@pytest.fixture
def recorder(tmp_path: Path) -> Any:
    """A log in which a prompt is open; its next frame is number 3."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        yield recorder


def test_the_first_frames_may_be_runs_by_themselves(recorder: LogWriter) -> None:
    """A run begins with the last of them at the earliest."""
    for _ in range(6):
        chunk(recorder)  # 3 to 8
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        found = [(run.seq, run.last_seq) for run in reader.runs(5 * MS, single_upto=5)]
    assert found == [(2, 2), (3, 3), (4, 4), (5, 8)]


def test_pieces_are_one_run_until_a_pause(recorder: LogWriter) -> None:
    """A pause, a tool call and the end of the turn end it."""
    for _ in range(3):
        chunk(recorder)  # 3, 4, 5
    recorder.t_ns += 10 * MS
    for _ in range(2):
        chunk(recorder)  # 6, 7
    recorder.to_client(update("s", "tool_call", toolCallId="c"))  # 8
    chunk(recorder)  # 9
    recorder.to_client(result(1, stopReason="end_turn"))  # 10
    for _ in range(2):
        chunk(recorder)  # 11, 12: of no turn
    recorder.abandon()
    assert runs(recorder) == [
        (2, 2), (3, 5), (6, 7), (8, 8), (9, 9), (10, 10), (11, 11), (12, 12),
    ]  # fmt: skip


def test_updates_about_a_terminal_are_no_run(recorder: LogWriter) -> None:
    """Each may have another command (v2)."""
    chunk(recorder)
    for _ in range(2):
        recorder.to_client(update("s", "terminal_update", terminalId="t"))
    chunk(recorder)
    chunk(recorder)
    recorder.abandon()
    assert runs(recorder) == [(2, 2), (3, 3), (4, 4), (5, 5), (6, 7)]


def test_an_event_ends_a_run(recorder: LogWriter) -> None:
    """What happens between two frames is not passed over."""
    chunk(recorder)
    chunk(recorder)
    recorder.event(capture_log.NOTE, capture_log.TO_CLIENT, action="stalled", since=0)
    chunk(recorder)
    chunk(recorder)
    recorder.abandon()
    assert runs(recorder) == [(2, 2), (3, 4), (6, 7)]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
@pytest.mark.parametrize("pause_ns", [-1, 0, FOREVER])
def test_each_frame_is_in_one_run(path: Path, pause_ns: int) -> None:
    """A run has the time, stream, kind and line of its first frame, and the time of its last."""
    with RecordingReader(path) as reader:
        frames = {frame["seq"]: frame for frame in reader.frames()}
        found: list[FrameRun] = list(reader.runs(pause_ns))
    assert [seq for run in found for seq in range(run.seq, run.last_seq + 1)] == list(frames)
    for run in found:
        frame = frames[run.seq]
        assert (run.t_ns, run.stream, run.kind) == (frame["t_ns"], frame["stream"], frame["kind"])
        assert run.raw == (None if run.kind == "stderr" else frame["raw"])
        assert run.last_ns == frames[run.last_seq]["t_ns"]
        assert pause_ns >= 0 or run.frames == 1


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ("kind = 99 WHERE seq = 3", "unknown code"),
        ("t_ns = 'soon' WHERE seq = 3", "no time"),
        ("t_ns = 'soon' WHERE seq = 5", "no time"),  # the last one of the run
    ],
)
def test_a_damaged_row_is_damage(recorder: LogWriter, spoilt: str, reason: str) -> None:
    """An unknown kind is not skipped, nor a time that is a text, which SQLite takes for 0."""
    for _ in range(3):
        chunk(recorder)
    recorder.close()
    recorder.finish()
    with contextlib.closing(sqlite3.connect(recorder.path)) as database, database:
        database.execute(f"UPDATE frame_rows SET {spoilt}")
    with (
        RecordingReader(recorder.path) as reader,
        pytest.raises(DamagedRecording, match=reason),
    ):
        list(reader.runs(5 * MS))
