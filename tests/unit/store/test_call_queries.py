"""Queries of the frames of a tool call read no more of them than their answers need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.store import call_queries
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import LogWriter, update

if TYPE_CHECKING:
    from pathlib import Path


def test_the_edges_of_a_call_are_its_first_and_last_frames(tmp_path: Path) -> None:
    """They come in order; of a short call some come twice."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for title in "abcd":
            recorder.to_client(update("s", "tool_call_update", toolCallId="c", title=title))
    with RecordingReader(recorder.path) as reader:
        edges = call_queries.edges_of_call(reader, "s", "c", (0, 9), 1)
    assert [b'"a"' in edges[0], b'"d"' in edges[1], len(edges)] == [True, True, 2]
