"""Queries for the frames of a tool call or a terminal read only the frames that they need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.store.queries import call_frames
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import LogWriter, request, result, update

if TYPE_CHECKING:
    from pathlib import Path


def test_the_edges_of_a_call_are_its_first_and_last_frames(tmp_path: Path) -> None:
    """For `stats`, the store finds the first and the last frame of a tool call that has four."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for title in "abcd":
            recorder.to_client(update("s", "tool_call_update", toolCallId="c", title=title))
    with RecordingReader(recorder.path) as reader:
        edges = call_frames.edges_of_call(reader, "s", "c", (0, 9), 1)
    assert [b'"a"' in edges[0], b'"d"' in edges[1], len(edges)] == [True, True, 2]


def test_a_terminal_is_found_without_a_look_at_all_others(tmp_path: Path) -> None:
    """The store finds a terminal's frames as quickly among 200 terminals as among 20."""
    few, many = (_steps_of_a_terminal(tmp_path / f"{n}.db", n) for n in (20, 200))
    assert many <= few + 100


def _steps_of_a_terminal(path: Path, terminals: int) -> int:
    """Counts the steps of SQLite, in tens, that it takes to find the frames of a terminal."""
    with LogWriter(path) as recorder:
        for number in range(terminals):
            recorder.to_client(request(number, "terminal/create", sessionId="s", command="make"))
            recorder.to_agent(result(number, terminalId=f"t{number}"))
    steps = 0

    def note() -> None:
        nonlocal steps
        steps += 10

    with RecordingReader(path) as reader:
        reader.connection.set_progress_handler(note, 10)
        assert list(call_frames.frames_of_terminal(reader, "s", "t0", 0)) == [2, 3]
    return steps
