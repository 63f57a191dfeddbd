"""Measures how long `diff` of two long recordings takes: reading and comparing.

Two pairs of recordings are compared, each of 100,000 frames: chats that stream text, and tool calls
one after the other. In recording B of the second pair, one of a hundred calls has another title,
and all ids are different.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import frozen

from acp_proxy.diff.diff import diff
from acp_proxy.store.reader import RecordingReader
from bench.subjects import in_own_process
from tests.support.log_writer import LogWriter, notification, request, result, text
from tests.support.million_frames import record_million

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FRAMES = 100_000
_CALLS_OF_A_TURN = 200


@frozen
class DiffTime:
    """The times of a comparison in seconds: those of the round with the median total time.

    Attributes:
        rows: the time to read the frames of both recordings, without comparing them.
        read: the time to read the frames of A and their values, while a fork reads B.
        align: all remaining time: to wait for B, to pair values and to align.
        whole: the time of the whole comparison.
        differences: the number of differences.
    """

    name: str
    frames: int
    rows: float
    read: float
    align: float
    whole: float
    differences: int

    def line(self) -> str:
        """Returns the times as a line for the terminal."""
        return (
            f"diff of 2 x {self.frames:,} frames, {self.name}: rows {self.rows:.2f} s,"
            f" read {self.read:.2f} s, align {self.align:.2f} s, all {self.whole:.2f} s"
            f" ({self.whole / self.rows:.1f} x rows); {self.differences} differences"
        )


def measure_diffs(rounds: int, frames: int = FRAMES) -> list[DiffTime]:
    """Measures both pairs of recordings."""
    with tempfile.TemporaryDirectory(prefix="acp-bench-") as directory:
        chats = [
            in_own_process(record_million, Path(directory) / f"chat-{side}.db", frames)
            for side in "ab"
        ]
        calls = [
            in_own_process(_record_calls, Path(directory) / f"calls-{side}.db", frames, seed)
            for seed, side in enumerate("ab")
        ]
        return [_measured("chat", chats, rounds), _measured("calls", calls, rounds)]


def _measured(name: str, paths: list[Path], rounds: int) -> DiffTime:
    a, b = paths
    with RecordingReader(a) as of_a, RecordingReader(b) as of_b:
        taken: list[tuple[float, float, float, int]] = []
        for _ in range(rounds):
            start = time.perf_counter()
            frames = sum(1 for reader in (of_a, of_b) for _ in reader.heads())
            rows = time.perf_counter() - start
            clock = _Clock()
            start = time.perf_counter()
            count = diff(of_a, of_b, watch=clock.watch).counts.total
            taken.append((rows, clock.read, time.perf_counter() - start, count))
    rows, read, whole, count = sorted(taken, key=lambda item: item[2])[rounds // 2]
    return DiffTime(name, frames // 2, rows, read, whole - read, whole, count)


class _Clock:
    """Measures the time of reading; `diff` calls it in place of a progress bar."""

    def __init__(self) -> None:
        self.read = 0.0

    def watch(self, items: Iterable[Any], _total: int, _label: str) -> Iterator[Any]:
        """Yields all items, and adds the time until the last one to the time of reading."""
        start = time.perf_counter()
        yield from items
        self.read += time.perf_counter() - start


def _record_calls(path: Path, frames: int, seed: int) -> Path:
    """Records a session of tool calls; the seed determines ids and some titles."""
    ids, told, changed = random.Random(seed), random.Random(7), random.Random(seed)
    session, cwd = f"ses_{ids.getrandbits(64):016x}", f"/srv/{seed}/project"
    with LogWriter(path) as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=1))
        recorder.to_client(result(0, protocolVersion=1, agentCapabilities={}))
        recorder.to_agent(request(1, "session/new", cwd=cwd, mcpServers=[]))
        recorder.to_client(result(1, sessionId=session))
        for turn in range(2, 2 + frames // (3 * _CALLS_OF_A_TURN + 2)):
            prompt = [text(f"question {turn}")]
            recorder.to_agent(request(turn, "session/prompt", sessionId=session, prompt=prompt))
            for _ in range(_CALLS_OF_A_TURN):
                call, file = f"toolu_{ids.getrandbits(64):016x}", f"file{told.randrange(10**6)}.py"
                title = "Look" if seed and changed.random() < 0.01 else f"Read {file}"
                for update in (
                    {"sessionUpdate": "tool_call", "title": title, "kind": "read"},
                    {"sessionUpdate": "tool_call_update", "locations": [{"path": f"{cwd}/{file}"}]},
                    {"sessionUpdate": "tool_call_update", "status": "completed"},
                ):
                    params = {"sessionId": session, "update": {**update, "toolCallId": call}}
                    recorder.to_client(notification("session/update", **params))
            recorder.to_client(result(turn, stopReason="end_turn"))
        recorder.end()
        recorder.close()
        recorder.finish()
    return path
